package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	env "github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/envs"
	"github.com/hermes-runtime/hermes/internal/mirror"
	"github.com/hermes-runtime/hermes/internal/skill"
)

// caches are the directories of HERMES_HOME for files that came from outside or were made for a person, and what older versions called
// them. The latter are used where they exist.
var caches = []struct{ dir, former string }{
	{"cache/documents", "document_cache"}, {"cache/images", "image_cache"}, {"cache/audio", "audio_cache"}, {"cache/videos", "video_cache"},
	{"cache/screenshots", "browser_screenshots"},
}

// elsewhereSkills holds, below ~/.hermes of a place, the skills that lie outside HERMES_HOME here.
const elsewhereSkills = "external_skills"

// newMirror makes what keeps skills, caches and credentials of this machine in places that are elsewhere.
func (r *Runtime) newMirror() *mirror.Mirror {
	c := r.settings.mirror
	for _, name := range c.CredentialFiles {
		if err := mirror.CheckFile(r.home, name); err != nil {
			r.problem(r.doc.Problem("terminal.credential_files", err.Error()))
		}
	}
	return mirror.New(mirror.Options{
		Home: r.home, Owner: envs.Owner(r.home), Trees: r.trees, NoFetch: !c.SyncBack, Always: set(r.environ["HERMES_FORCE_FILE_SYNC"]), Log: r.log, Tell: r.tell,
	})
}

// trees is what places of a key are to have: skills, files that the user or the skills of its sessions hand over, caches.
func (r *Runtime) trees(key string) []mirror.Tree {
	var out []mirror.Tree
	for i, root := range r.skills.Roots() {
		t := mirror.Tree{Base: r.home, Path: root.Inside, Name: root.Inside}
		if root.Inside == "" {
			t = mirror.Tree{Base: root.Dir, Path: ".", Name: path.Join(elsewhereSkills, fmt.Sprint(i))}
		}
		out = append(out, t)
	}
	for _, name := range r.handedOver(key) {
		name = path.Clean(filepath.ToSlash(name))
		out = append(out, mirror.Tree{Base: r.home, Path: name, Name: name, File: true})
	}
	for _, c := range caches {
		out = append(out, mirror.Tree{Base: r.home, Path: c.dir, Name: c.dir})
		if _, err := os.Stat(filepath.Join(r.home, c.former)); err == nil {
			out = append(out, mirror.Tree{Base: r.home, Path: c.former, Name: c.former})
		}
	}
	return out
}

// handedOver are the credential files for places of a key. A name that leads out of HERMES_HOME, or to nothing, is none.
func (r *Runtime) handedOver(key string) []string {
	var names []string
	for _, name := range r.settings.mirror.CredentialFiles {
		if mirror.CheckFile(r.home, name) == nil {
			names = append(names, name)
		}
	}
	r.mu.Lock()
	var loaded []*skill.Session
	var tasks []string
	for s := range r.sessions {
		loaded, tasks = append(loaded, s.skills), append(tasks, s.inner.Task)
	}
	r.mu.Unlock()
	for i, s := range loaded {
		if files := s.CredentialFiles(); len(files) > 0 && r.places.Key(tasks[i]) == key {
			names = append(names, files...)
		}
	}
	return names
}

// locate gives the path by which a task's commands find a directory of this machine. The place is made for it: its home is in the path.
// Where it can't be, the path begins with a tilde.
func (r *Runtime) locate(task string, place func(context.Context) (env.Place, error)) skill.Locate {
	return func(ctx context.Context, dir string) string {
		if !r.elsewhere(r.places.Backend(task)) {
			return dir
		}
		info := env.Info{Home: "~"}
		if p, err := place(ctx); err == nil {
			info = p.Info()
		}
		p, ok := r.mirror.Inside(r.places.Key(task), info, dir)
		if !ok {
			return ""
		}
		return string(p)
	}
}

// checkMirror says which credential files are handed over, and which can't be.
func (r *Runtime) checkMirror() []Finding {
	const about = "credential files"
	var out []Finding
	var handed []string
	for _, name := range r.settings.mirror.CredentialFiles {
		switch err := mirror.CheckFile(r.home, name); {
		case errors.Is(err, fs.ErrNotExist):
			out = append(out, Finding{stateWarn, about, err.Error() + " in HERMES_HOME; put it there, or take it out of terminal.credential_files"})
		case err != nil:
			out = append(out, Finding{stateWarn, about, err.Error()})
		default:
			handed = append(handed, name)
		}
	}
	if len(handed) > 0 {
		out = append(out, Finding{stateOK, about, "commands that run elsewhere can read " + strings.Join(handed, ", ")})
	}
	return out
}
