// Package memory keeps the notes that an agent has across sessions: two small files of entries, which people edit by hand too.
package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/internal/atomicfile"
	"github.com/hermes-runtime/hermes/internal/config"
	"github.com/hermes-runtime/hermes/internal/textcap"
)

// Target is one of the two files.
type Target string

// The targets.
const (
	Agent Target = "memory" // what the agent noted for itself
	User  Target = "user"   // what it knows of its user
)

// Targets are all there are, in the order in which they are shown.
var Targets = []Target{Agent, User}

// Action is what is done to a file.
type Action string

// The actions.
const (
	Add     Action = "add"
	Replace Action = "replace"
	Remove  Action = "remove"
)

// Actions are all there are.
var Actions = []Action{Add, Replace, Remove}

// Config is `memory:`.
type Config struct {
	Agent int `yaml:"memory_char_limit" default:"2200" min:"100" max:"100000" help:"characters that the agent's own notes may have together"`
	User  int `yaml:"user_char_limit" default:"1375" min:"100" max:"100000" help:"characters that its notes about the user may have together"`
}

// Section is where Config stands in the configuration.
func (*Config) Section() string { return "memory" }

func init() { config.Register(func() config.Sectioned { return &Config{} }) }

// Files are the two files of one home. They hold nothing in memory: each call reads what is there now. They are safe for concurrent
// use, by several processes too.
type Files struct {
	dir    string
	limits map[Target]int
	now    func() time.Time
}

// The limits of files where the configuration names none, in characters.
const (
	agentLimit = 2200
	userLimit  = 1375
)

// New finds the files below a home. They, and their directory, are made with the first entry.
func New(home string, c Config) *Files {
	return &Files{dir: filepath.Join(home, "memories"), limits: map[Target]int{Agent: cmp.Or(c.Agent, agentLimit), User: cmp.Or(c.User, userLimit)}, now: time.Now}
}

var fileNames = map[Target]string{Agent: "MEMORY.md", User: "USER.md"}

func (f *Files) path(t Target) string { return filepath.Join(f.dir, fileNames[t]) }

// Change is one change of a file. Old is part of the entry that is meant.
type Change struct {
	Action  Action
	Target  Target
	Content string
	Old     string
}

// State is a file after a change, or as it is where there was none.
type State struct {
	Target  Target
	Entries []string
	Used    int // characters of the file
	Limit   int
}

// Usage says how full a file is.
func (s State) Usage() string {
	return fmt.Sprintf("%d%% — %d/%d chars", s.Used*100/s.Limit, s.Used, s.Limit)
}

// Apply makes a change to what is in the file now. done says what became of it. A change that can't be made is a Refusal.
func (f *Files) Apply(ctx context.Context, c Change) (s State, done string, err error) {
	s = State{Target: c.Target, Limit: f.limits[c.Target]}
	if s.Limit == 0 {
		return s, "", refuse("there is no target %q: it is %s", c.Target, list(Targets))
	}
	c.Content, c.Old = clean(c.Content), strings.TrimSpace(c.Old)
	if err := c.check(); err != nil {
		return s, "", err
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return s, "", fmt.Errorf("make the directory of notes: %w", err)
	}
	err = atomicfile.Update(ctx, f.path(c.Target), atomicfile.DefaultPerm, func(old []byte) ([]byte, error) {
		before := parse(string(old))
		s.Entries, s.Used = before, used(before)
		after, said, err := c.apply(before)
		if err != nil {
			return nil, err
		}
		done = said
		if slices.Equal(before, after) {
			return old, nil
		}
		if n := used(after); n > s.Limit && n >= s.Used { // what makes a file shorter is never in the way
			return nil, f.tooMuch(s, n, string(old))
		}
		s.Entries, s.Used = after, used(after)
		return []byte(format(after)), nil
	})
	return s, done, err
}

// Refusal is a change that can't be made, and why, in words for the model.
type Refusal struct {
	Text    string
	Full    bool     // Entries of the state are needed to go on
	Matches []string // what old_text could mean, shortened
}

// Error gives the reason.
func (r *Refusal) Error() string { return r.Text }

func refuse(format string, args ...any) *Refusal { return &Refusal{Text: fmt.Sprintf(format, args...)} }

func list[T ~string](words []T) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return strings.Join(out, ", ")
}

// check finds what is wrong with a change whatever the file holds.
func (c Change) check() error {
	switch {
	case !slices.Contains(Actions, c.Action):
		return refuse("there is no action %q: it is %s", c.Action, list(Actions))
	case c.Action != Remove && c.Content == "":
		return refuse("%s needs content: the text of the entry", c.Action)
	case c.Action != Add && c.Old == "":
		return refuse("%s needs old_text: a part of the entry that no other has", c.Action)
	case c.Action == Remove:
		return nil
	}
	if len(parse(c.Content)) != 1 {
		return refuse("content is one entry: it can't hold a line that is %s alone, which parts entries", mark)
	}
	found, words := Screen(c.Content)
	if found == "" {
		return nil
	}
	if words != "" {
		found += fmt.Sprintf(" (%q)", words)
	}
	return refuse("not kept: the text has %s. Notes go into every later session: say what is so, in plain words", found)
}

// previewed is how much of an entry is shown to tell it from others, in characters.
const previewed = 80

// apply gives the entries after the change.
func (c Change) apply(entries []string) (after []string, done string, err error) {
	if c.Action == Add {
		if slices.Contains(entries, c.Content) {
			return entries, "the entry was there already; nothing was added", nil
		}
		return append(slices.Clone(entries), c.Content), "added", nil
	}
	at := -1
	var matches []string
	for i, e := range entries { // no two are equal
		if strings.Contains(e, c.Old) {
			at = i
			matches = append(matches, textcap.Head(e, previewed, "…"))
		}
	}
	switch {
	case at < 0:
		r := refuse("no entry has old_text in it; these are the entries")
		r.Full = true
		return nil, "", r
	case len(matches) > 1:
		r := refuse("%d entries have old_text in them: give a part that only one has", len(matches))
		r.Matches = matches
		return nil, "", r
	}
	after = slices.Clone(entries)
	if c.Action == Remove {
		return slices.Delete(after, at, at+1), "removed", nil
	}
	after[at] = c.Content
	return unique(after), "replaced", nil
}

// tooMuch refuses a change that makes a file too long. If people wrote there, a copy of their text is kept.
func (f *Files) tooMuch(s State, n int, text string) error {
	r := refuse("that would make %d characters, and %d is the limit: replace entries by shorter ones or remove what matters least, then try again", n, s.Limit)
	r.Full = true
	if s.Used <= s.Limit && text == format(s.Entries) {
		return r
	}
	kept, err := f.backup(f.path(s.Target), text)
	if err != nil {
		return fmt.Errorf("keep a copy of a file of notes that was edited by hand: %w", err)
	}
	r.Text += fmt.Sprintf(". %s was edited by hand; a copy of it is kept as %s", fileNames[s.Target], filepath.Base(kept))
	return r
}

// backup keeps a copy of a text beside its file, one for each text.
func (f *Files) backup(path, text string) (string, error) {
	copies, err := filepath.Glob(path + ".bak.*")
	if err != nil {
		return "", err
	}
	for _, c := range copies {
		if had, err := os.ReadFile(c); err == nil && string(had) == text {
			return c, nil
		}
	}
	name := path + ".bak." + f.now().UTC().Format("20060102T150405.000Z")
	return name, atomicfile.Write(name, []byte(text), atomicfile.DefaultPerm)
}

// read gives the entries of a file as they are now.
func (f *Files) read(t Target) ([]string, error) {
	text, err := os.ReadFile(f.path(t))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the notes: %w", err)
	}
	return parse(string(text)), nil
}
