package guard

import (
	"path"
	"strings"

	"github.com/hermes-runtime/hermes/environment"
)

// ByName refuses what the name alone shows, without asking the environment anything. dir is the directory that relative names start
// from, "" if that isn't known. What it lets pass is judged again when it is used.
func ByName(name string, dir string, op environment.Operation) error {
	p := name
	if strings.HasPrefix(name, "~/") {
		if why := atHome(name[2:], op); why != "" {
			return refuse(name, why, op)
		}
	} else if !path.IsAbs(name) {
		p = path.Join(dir, name)
	}
	if strings.Contains("/"+name+"/", "/../") { // links decide what that means
		return nil
	}
	p = path.Clean(p)
	for i := range rows {
		r := &rows[i]
		if !r.refuses(op) {
			continue
		}
		if r.at == anywhere && r.covers(path.Base(p)) || r.at == absolute && r.covers(p) {
			return refuse(name, r.why, op)
		}
	}
	return nil
}

func atHome(rest string, op environment.Operation) string {
	if strings.Contains("/"+rest+"/", "/../") {
		return ""
	}
	for i := range rows {
		if r := &rows[i]; r.at == home && r.refuses(op) && r.covers(path.Clean(rest)) {
			return r.why
		}
	}
	return ""
}
