package environment

import (
	"path"
	"path/filepath"
	"strings"
)

// Share is a directory or a file of this machine that a place is to have for reading, at SharedPath of its home.
//
// A backend whose places can show directories of this machine binds Host there, read-only, when it makes a place, and has each in
// Info.Shows: {Host, Inside}. A mount that the user asked for at the same path wins. Whatever isn't in Info.Shows is brought through
// Environment.Files by whoever opened the place, so that other backends have nothing to do.
type Share struct {
	Host string // absolute, links followed; it exists
	Name string // slash-separated, without dot segments
}

// SharedDir is the directory in the home of a place that holds what it has of this machine.
const SharedDir = ".hermes"

// SharedPath is where a place whose home directory is home has what is shared under a name.
func SharedPath(home Path, name string) Path { return Path(path.Join(string(home), SharedDir, name)) }

// Shown is where a place shows a file or directory of this machine that lies at host, an absolute path; false where it doesn't.
func (i Info) Shown(host string) (Path, bool) {
	host = filepath.ToSlash(host)
	for _, list := range [][]Mount{i.Shows, i.Traits.Mounts} {
		for _, m := range list {
			dir := strings.TrimRight(filepath.ToSlash(m.Host), "/")
			if host == dir || strings.HasPrefix(host, dir+"/") {
				return Path(path.Join(string(m.Inside), host[len(dir):])), true
			}
		}
	}
	return "", false
}
