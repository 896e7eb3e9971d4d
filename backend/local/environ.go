package local

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/hermes-runtime/hermes/internal/secret"
)

// forced begins a variable of an embedder that is given to commands under the rest of its name, whatever the list says.
const forced = "_HERMES_FORCE_"

// paths are the directories that PATH has in any case, in this order behind the user's own.
var paths = []string{
	"/opt/homebrew/bin", "/opt/homebrew/sbin", "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin",
}

// source is what the variables of commands are made from.
type source struct {
	host        []string          // "name=value"
	passthrough []string          // names that the user lets through
	secrets     map[string]string // .env
	home        string            // HOME of commands, "" = the host's
}

// environ gives the variables that commands start with.
func (s source) environ() []string {
	user := set(s.passthrough)
	vars, forcedVars := map[string]string{}, map[string]string{}
	for _, e := range s.host {
		name, value, ok := strings.Cut(e, "=")
		if !ok || name == "" {
			continue
		}
		if real, ok := strings.CutPrefix(name, forced); ok {
			forcedVars[real] = value
			continue
		}
		_, hidden := s.secrets[name]
		if user[name] || !hidden && !secret.IsOwn(name) {
			vars[name] = value
		}
	}
	for name, value := range s.secrets { // named by the user, and not in the host's environment
		if _, have := vars[name]; !have && user[name] {
			vars[name] = value
		}
	}
	for name, value := range forcedVars {
		vars[name] = value
	}
	vars["PATH"] = fullPath(vars["PATH"])
	if s.home != "" {
		vars["HERMES_REAL_HOME"] = vars["HOME"]
		vars["HOME"] = s.home
	}
	list := make([]string, 0, len(vars))
	for name, value := range vars {
		list = append(list, name+"="+value)
	}
	return list
}

func set(names []string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// fullPath drops empty and repeated entries, keeps the order, and appends what is missing of paths.
func fullPath(path string) string {
	seen := map[string]bool{"": true}
	var list []string
	for _, p := range append(strings.Split(path, string(os.PathListSeparator)), paths...) {
		if !seen[p] {
			seen[p] = true
			list = append(list, p)
		}
	}
	return strings.Join(list, string(os.PathListSeparator))
}

// The values of home_mode.
const (
	homeReal    = "real"
	homeProfile = "profile"
	homeAuto    = "auto"
)

// profileHome is HOME of commands for a mode, "" where it stays the host's. In a container the image's home is gone with it, so
// automatic means below HERMES_HOME there.
func profileHome(mode, hermesHome string, inContainer bool) string {
	if hermesHome == "" || mode == homeReal || mode != homeProfile && !inContainer {
		return ""
	}
	return filepath.Join(hermesHome, "home")
}

// inContainer looks for the marks that container engines leave.
func inContainer(getenv func(string) string) bool {
	for _, f := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(f); err == nil {
			return true
		}
	}
	return getenv("container") != ""
}

// tempDir is where temporary files go: what the process says, else /tmp, else the system's place.
func tempDir(getenv func(string) string) string {
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		if d := getenv(name); d != "" {
			if i, err := os.Stat(d); err == nil && i.IsDir() {
				return d
			}
		}
	}
	if i, err := os.Stat("/tmp"); err == nil && i.IsDir() {
		return "/tmp"
	}
	return os.TempDir()
}
