// Package skill finds skills, texts that teach an agent a kind of work, and loads them into sessions.
package skill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/internal/atomicfile"
	"github.com/hermes-runtime/hermes/internal/config"
)

// Config is `skills:`.
type Config struct {
	External []string `yaml:"external_dirs" help:"further directories in which skills are looked for; a relative one starts from HERMES_HOME"`
	Project  string   `yaml:"project" default:"ask" enum:"ask|on|off" help:"skills that a project brings in .agents/skills and .claude/skills: ask uses them once you agreed to that project's"`
}

// The values of Config.Project.
const (
	projectAsk = "ask"
	projectOn  = "on"
	projectOff = "off"
)

// Section is where Config stands in the configuration.
func (*Config) Section() string { return "skills" }

func init() { config.Register(func() config.Sectioned { return &Config{} }) }

// Options makes a Library.
type Options struct {
	Home     string // HERMES_HOME
	UserHome string // HOME; "" = there is none
	Config   Config
	Getenv   func(name string) string
	// CheckFile says why a path isn't that of a file below HERMES_HOME which can be handed to commands; fs.ErrNotExist = there is none.
	CheckFile func(name string) error
	// Keep stores the value of a variable that a person has typed, for this process and later ones.
	Keep func(ctx context.Context, name, value string) error
}

// Library is the skills of one home. It reads the disk at each look. It is safe for concurrent use.
type Library struct{ o Options }

// New makes a library. It reads nothing.
func New(o Options) *Library {
	if o.CheckFile == nil {
		o.CheckFile = func(string) error { return errors.New("no files are handed over here") }
	}
	return &Library{o}
}

// places are the user's own roots, in the order in which they count.
func (l *Library) places() []place {
	out := []place{{dir: filepath.Join(l.o.Home, "skills")}}
	for _, dir := range l.o.Config.External {
		switch rest, home := strings.CutPrefix(dir, "~/"); {
		case home && l.o.UserHome != "":
			dir = filepath.Join(l.o.UserHome, rest)
		case !filepath.IsAbs(dir):
			dir = filepath.Join(l.o.Home, dir)
		}
		out = append(out, place{dir: dir})
	}
	if l.o.UserHome != "" {
		out = append(out, place{dir: filepath.Join(l.o.UserHome, ".config", "agents", "skills")})
	}
	plugins := filepath.Join(l.o.Home, "plugins")
	entries, _ := os.ReadDir(plugins) // none is the usual case
	for _, e := range entries {
		if e.Name()[0] != '.' && isDir(plugins, e) {
			out = append(out, place{dir: filepath.Join(plugins, e.Name(), "skills"), plugin: e.Name()})
		}
	}
	return out
}

// inProject are the roots of a project.
func inProject(dir string) []place {
	return []place{{dir: filepath.Join(dir, ".agents", "skills")}, {dir: filepath.Join(dir, ".claude", "skills")}}
}

// agreements are the projects whose skills the user agreed to: directory → when.
type agreements map[string]time.Time

func (l *Library) agreementFile() string {
	return filepath.Join(l.o.Home, "state", "project-skills.json")
}

// agreed reports whether the user agreed to a project's skills once.
func (l *Library) agreed(project string) bool {
	text, err := os.ReadFile(l.agreementFile())
	if err != nil {
		return false
	}
	var a agreements
	return json.Unmarshal(text, &a) == nil && !a[project].IsZero()
}

// agree remembers a yes.
func (l *Library) agree(ctx context.Context, project string) error {
	if err := os.MkdirAll(filepath.Dir(l.agreementFile()), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("remember that a project's skills are used: %w", err)
	}
	return atomicfile.Update(ctx, l.agreementFile(), atomicfile.DefaultPerm, func(old []byte) ([]byte, error) {
		a := agreements{}
		if json.Unmarshal(old, &a) != nil { // what can't be read holds no consent
			a = agreements{}
		}
		a[project] = time.Now().UTC()
		return json.MarshalIndent(a, "", "  ")
	})
}

// Session is the skills as one session has them. It is safe for concurrent use.
type Session struct {
	library *Library
	id      string
	project func() string
	inside  Locate

	mu      sync.Mutex
	turned  map[string]bool // projects whose skills the user doesn't want in this session
	asked   map[string]bool // variables that the user was asked for
	granted []string        // variables that loaded skills declare
	files   []string        // that they ask for
}

// Locate gives the path by which a session's commands find a directory of this machine, "" where they don't.
type Locate func(ctx context.Context, dir string) string

// Session begins with nothing loaded. project gives the directory of the session's project on this machine, "" where there is none. nil as
// inside = commands see this machine's files.
func (l *Library) Session(id string, project func() string, inside Locate) *Session {
	if inside == nil {
		inside = func(_ context.Context, dir string) string { return dir }
	}
	return &Session{library: l, id: id, project: project, inside: inside, turned: map[string]bool{}, asked: map[string]bool{}}
}

// Declared are the variables that the skills loaded in this session declare.
func (s *Session) Declared() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.granted...)
}

// Variables are those of them that have a value, by the session's own configuration.
func (s *Session) Variables() map[string]string {
	out := map[string]string{}
	for _, name := range s.Declared() {
		if v := s.library.o.Getenv(name); v != "" {
			out[name] = v
		}
	}
	return out
}
