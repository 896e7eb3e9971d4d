package skill

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/config"
)

// fileName is what makes a directory a skill.
const fileName = "SKILL.md"

// What bounds a search and what is read.
const (
	deepest  = 4       // directories between a root and a skill
	mostDirs = 5000    // looked into below one root
	largest  = 1 << 20 // bytes of a file that is read
)

// Skill is one that was found.
type Skill struct {
	Meta
	Dir    string // without symbolic links
	Plugin string // that brings it; "" = none
	root   int    // the first one wins
}

// Title is the name under which a skill is listed: one of a plugin's has the plugin's before it.
func (s *Skill) Title() string {
	if s.Plugin != "" {
		return s.Plugin + ":" + s.Name
	}
	return s.Name
}

// place is a directory that skills lie below.
type place struct {
	dir    string
	plugin string
}

// search looks through roots.
type search struct {
	skills []*Skill
	broken []error
	root   int
	place  place
	left   int // directories that may still be looked into
}

func find(places []place) ([]*Skill, []error) {
	var s search
	for i, p := range places {
		s.root, s.place, s.left = i, p, mostDirs
		s.look(p.dir, "", deepest)
	}
	s.shadow()
	return s.skills, s.broken
}

// look takes a directory for a skill, or goes on below it. category is its path below the root.
func (s *search) look(dir, category string, depth int) {
	if s.left--; s.left < 0 {
		return
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) && category == "" {
		return
	}
	if err != nil {
		s.broken = append(s.broken, fmt.Errorf("look for skills: %w", err))
		return
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == fileName }) {
		s.take(dir, filepath.ToSlash(filepath.Dir(category)))
		return
	}
	for _, e := range entries {
		name := e.Name()
		if depth == 0 || name[0] == '.' || name == "node_modules" || !isDir(dir, e) {
			continue
		}
		s.look(filepath.Join(dir, name), filepath.Join(category, name), depth-1)
	}
}

// isDir follows a link: people keep skills elsewhere and link them.
func isDir(dir string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	info, err := os.Stat(filepath.Join(dir, e.Name()))
	return err == nil && info.IsDir()
}

// take reads the skill in a directory.
func (s *search) take(dir, category string) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		s.broken = append(s.broken, fmt.Errorf("look for skills: %w", err))
		return
	}
	if slices.ContainsFunc(s.skills, func(o *Skill) bool { return o.Dir == real }) { // found by another way
		return
	}
	k := &Skill{Dir: real, Plugin: s.place.plugin, root: s.root}
	if k.Meta, _, err = k.load(); err != nil {
		s.broken = append(s.broken, err)
		return
	}
	if category == "." {
		category = ""
	}
	k.Category = cmp.Or(k.Category, category)
	s.skills = append(s.skills, k)
}

// load reads the skill's text.
func (s *Skill) load() (Meta, string, error) {
	path := filepath.Join(s.Dir, fileName)
	text, err := s.read(fileName)
	if err != nil {
		return Meta{}, "", fmt.Errorf("read %s: %w", path, err)
	}
	m, body, err := Parse(path, text)
	if err == nil && m.Name == "" {
		m.Name = filepath.Base(s.Dir)
		if !isName(m.Name) {
			err = &config.Problem{File: path, Line: 1, Column: 1, Key: "name", Text: "there is none, and that of the directory can't be one"}
		}
	}
	return m, body, err
}

var (
	errLarge  = fmt.Errorf("it has more than %d bytes", largest)
	errNoFile = errors.New("it is no regular file")
)

// read reads a file of the skill's directory. What leads out of it, by dots or by links, isn't followed.
func (s *Skill) read(name string) (string, error) {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	info, err := root.Stat(name) // before it is opened: a pipe would wait
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", errNoFile
	}
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, largest+1))
	if err == nil && len(text) > largest {
		err = errLarge
	}
	return string(text), err
}

// shadow drops skills whose name an earlier root has, and sorts.
func (s *search) shadow() {
	first := map[string]int{}
	for _, k := range s.skills {
		if _, taken := first[k.Title()]; !taken {
			first[k.Title()] = k.root
		}
	}
	s.skills = slices.DeleteFunc(s.skills, func(k *Skill) bool { return first[k.Title()] != k.root })
	slices.SortFunc(s.skills, func(a, b *Skill) int {
		return cmp.Or(strings.Compare(a.Category, b.Category), strings.Compare(a.Title(), b.Title()), strings.Compare(a.Dir, b.Dir))
	})
}

// named finds what a name may mean: a title, a category and a title, a directory, or the plain name of a plugin's.
func named(skills []*Skill, name string) []*Skill {
	for _, is := range []func(*Skill) bool{
		func(k *Skill) bool { return k.Title() == name },
		func(k *Skill) bool { return k.Category+"/"+k.Title() == name },
		func(k *Skill) bool { return k.Dir == name },
		func(k *Skill) bool { return k.Name == name },
	} {
		var found []*Skill
		for _, k := range skills {
			if is(k) {
				found = append(found, k)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}
