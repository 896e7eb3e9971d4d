package skill

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/channel"
)

// View is a skill as a session has loaded it, or one of its files.
type View struct {
	Skill   *Skill
	File    string // "" = the skill's own text
	Text    string
	Dir     string   // of the skill, as the session's commands find it; "" = they don't
	Files   []string // of the skill, relative to its directory
	Missing []string // variables without a value that it can't do without

	MissingFiles []string  // that it asks for
	RefusedFiles []Refused // likewise
}

// NotFound says that a name means no skill, or several.
type NotFound struct {
	Name    string
	Matches []string // what it may mean; nil = nothing
	Known   []string // the names that there are
}

// Error says what became of the name.
func (e *NotFound) Error() string {
	if len(e.Matches) > 0 {
		return fmt.Sprintf("%q means several skills; give one of matches", e.Name)
	}
	return fmt.Sprintf("there is no skill %q", e.Name)
}

// Load brings a skill into the session: from now on what runs in it gets the variables that the skill declares. p is asked for those
// without a value, unseen by the model; nil = nobody is. An unknown or ambiguous name is a NotFound.
func (s *Session) Load(ctx context.Context, name, file string, p Person) (*View, error) {
	skills := s.List(ctx, p)
	found := named(skills, name)
	if len(found) != 1 {
		e := &NotFound{Name: name}
		for _, k := range found {
			e.Matches = append(e.Matches, exact(found, k))
		}
		for _, k := range skills {
			e.Known = append(e.Known, k.Title())
		}
		return nil, e
	}
	k := found[0]
	v := &View{Skill: k, File: file, Files: k.files(), Dir: s.inside(ctx, k.Dir)}
	var err error
	if v.Text, err = k.text(file, v.Dir); err != nil {
		return nil, err
	}
	fill := []string{"${HERMES_SESSION_ID}", s.id}
	if v.Dir != "" {
		fill = append(fill, "${HERMES_SKILL_DIR}", v.Dir)
	}
	v.Text = strings.NewReplacer(fill...).Replace(v.Text)
	s.grant(k)
	v.MissingFiles, v.RefusedFiles = s.credentials(k)
	v.Missing = s.missing(ctx, k, p)
	return v, nil
}

// exact is a name that means k and none of the others.
func exact(found []*Skill, k *Skill) string {
	full := func(k *Skill) string { return path.Join(k.Category, k.Title()) }
	if slices.ContainsFunc(found, func(o *Skill) bool { return o != k && full(o) == full(k) }) {
		return k.Dir
	}
	return full(k)
}

// text is the skill's own text, or a file of it. dir is where commands find the skill.
func (s *Skill) text(file, dir string) (string, error) {
	if file == "" {
		_, body, err := s.load()
		return body, err
	}
	if !filepath.IsLocal(filepath.FromSlash(file)) {
		return "", fmt.Errorf("file_path %q leads out of the skill: give a path below its directory", file)
	}
	text, err := s.read(filepath.FromSlash(file))
	switch {
	case err != nil:
		return "", fmt.Errorf("file_path %q can't be read: %w; files lists what there is", file, err)
	case strings.ContainsRune(text, 0) || !utf8.ValidString(text):
		where := ""
		if dir != "" {
			where = "; programs find it at " + strings.TrimSuffix(filepath.ToSlash(dir), "/") + "/" + path.Clean(file)
		}
		return "", fmt.Errorf("file_path %q is no text (%d bytes)%s", file, len(text), where)
	}
	return text, nil
}

// mostFiles is how many files of a skill are listed.
const mostFiles = 500

// files lists what lies in the skill's directory, its own text and hidden files aside.
func (s *Skill) files() []string {
	out := []string{}
	_ = fs.WalkDir(os.DirFS(s.Dir), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // what can't be read isn't listed
		case name != "." && (e.Name()[0] == '.' || e.Name() == "node_modules" || e.Name() == "__pycache__"):
			if e.IsDir() {
				return fs.SkipDir
			}
		case !e.IsDir() && name != fileName:
			out = append(out, name)
		}
		if len(out) == mostFiles {
			return fs.SkipAll
		}
		return nil
	})
	return out
}

// grant lets the variables of a skill through in this session.
func (s *Session) grant(k *Skill) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range k.Variables {
		if !slices.Contains(s.granted, v.Name) {
			s.granted = append(s.granted, v.Name)
		}
	}
}

// typingTime is how long a person has to type a value: they may have to look it up.
const typingTime = 5 * time.Minute

// missing are the variables that a skill needs and that have no value. The user is asked for each once in a session.
func (s *Session) missing(ctx context.Context, k *Skill, p Person) []string {
	var out []string
	for _, v := range k.Variables {
		if v.Optional || s.library.o.Getenv(v.Name) != "" {
			continue
		}
		if p != nil && !s.wasAsked(v.Name) {
			value, reached := ask(ctx, p, k, v)
			if !reached { // nobody sits at a terminal
				p = nil
			}
			if value != "" && s.library.o.Keep(ctx, v.Name, value) == nil {
				continue
			}
		}
		out = append(out, v.Name)
	}
	return out
}

func (s *Session) wasAsked(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.asked[name]
	s.asked[name] = true
	return was
}

// ask has a person type a value that is shown to nobody.
func ask(ctx context.Context, p Person, k *Skill, v Variable) (value string, reached bool) {
	now := time.Now()
	q := channel.Question{Kind: channel.KindSecret, Title: fmt.Sprintf("The skill %s needs %s. It is kept in the .env of HERMES_HOME.", k.Title(), v.Name),
		Created: now, Expires: now.Add(typingTime)}
	for _, note := range []string{v.Prompt, v.Help, v.RequiredFor} {
		if note != "" {
			q.Notes = append(q.Notes, note)
		}
	}
	a, err := p.Ask(ctx, q)
	return strings.TrimSpace(a.Secret), err == nil
}
