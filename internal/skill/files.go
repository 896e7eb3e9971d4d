package skill

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/hermes-runtime/hermes/internal/secret"
)

// handing are the keys that files stand under which a skill's programs need, relative to HERMES_HOME.
var handing = []string{"required_credential_files", "credential_files"}

// files reads which files a skill asks for, each once.
func (r *reader) files() []string {
	var out []string
	for _, key := range handing {
		v, _ := r.doc.Get(key)
		for _, item := range items(v) {
			name, ok := item.(string)
			if m, is := item.(map[string]any); is {
				if name, ok = m["path"].(string); !ok {
					name, ok = m["name"].(string)
				}
			}
			switch {
			case !ok || name == "":
				r.wrong(key, "it lists files, each by its path below HERMES_HOME")
			case !slices.Contains(out, name):
				out = append(out, name)
			}
		}
	}
	return out
}

// CredentialFiles are the files that the skills loaded in this session ask for and get, relative to HERMES_HOME.
func (s *Session) CredentialFiles() []string {
	s.mu.Lock()
	names := slices.Clone(s.files)
	s.mu.Unlock()
	return slices.DeleteFunc(names, func(name string) bool { return s.library.fileRefusal(name) != nil })
}

// fileRefusal says why a skill doesn't get a file, nil if it does.
func (l *Library) fileRefusal(name string) error {
	if err := l.o.CheckFile(name); err != nil {
		return err
	}
	home, err := filepath.EvalSymlinks(l.o.Home)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(home, filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(home, real)
	if err != nil {
		return err
	}
	if secret.IsOwnFile(filepath.ToSlash(filepath.FromSlash(name))) || secret.IsOwnFile(filepath.ToSlash(rel)) {
		return fmt.Errorf("%q is one of hermes's own", name)
	}
	return nil
}

// credentials says of the files that a skill asks for which are missing, and which it doesn't get. The others it gets from now on.
func (s *Session) credentials(k *Skill) (missing []string, refused []Refused) {
	for _, name := range k.Credentials {
		switch err := s.library.fileRefusal(name); {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, name)
		case err != nil:
			refused = append(refused, Refused{name, err.Error()})
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range k.Credentials { // one that is missing may come
		if !slices.Contains(s.files, name) {
			s.files = append(s.files, name)
		}
	}
	return missing, refused
}

// Root is a directory that skills lie below.
type Root struct {
	Dir    string // on this machine
	Inside string // the same relative to HERMES_HOME, of slashes; "" = it lies elsewhere
}

// Roots are the user's own roots, in the order in which they count, without those that hold more of hermes than skills.
func (l *Library) Roots() []Root {
	var out []Root
	for _, p := range l.places() {
		if below(p.dir, l.o.Home) != "" { // HERMES_HOME, or what it lies in
			continue
		}
		r := Root{Dir: p.dir}
		if rel := below(l.o.Home, p.dir); rel != "" {
			r.Inside = rel
		}
		if !secret.IsOwnFile(r.Inside) {
			out = append(out, r)
		}
	}
	return out
}

// below is a path relative to a directory, both as they are and with links followed, "" if it lies elsewhere.
func below(dir, path string) string {
	for _, real := range []func(string) (string, error){func(p string) (string, error) { return p, nil }, filepath.EvalSymlinks} {
		d, err := real(dir)
		if err != nil {
			continue
		}
		p, err := real(path)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(d, p); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return ""
}
