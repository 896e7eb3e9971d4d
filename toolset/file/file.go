// Package file is the toolset of files: they are read, written, patched and searched where the session works.
package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/tool"
	"github.com/hermes-runtime/hermes/toolset/file/guard"
	"github.com/hermes-runtime/hermes/toolset/file/memory"
)

// toolset owns the tools of this package.
const toolset = "file"

// work is one call of a file tool in its place.
type work struct {
	ctx    context.Context
	call   *tool.Call
	config Config
	place  environment.Place
	fs     environment.FS // guarded
	guard  *guard.Guard
	dir    environment.Path // where relative paths start
	book   *memory.Book
	turns  *memory.Turns // of the paths that the call edits
}

// begin opens the place of a call.
func begin(ctx context.Context, c *tool.Call, crossProfile bool) (*work, error) {
	place, err := c.Host.Place(ctx)
	if err != nil {
		return nil, err
	}
	w := &work{ctx: ctx, call: c, config: settings(c.Host), place: place, fs: place.Files(), dir: place.Info().Home}
	if place.State != nil {
		if d := place.State.Dir(); d != "" {
			w.dir = d
		}
	}
	w.guard = newGuard(ctx, c, place, crossProfile)
	if g, ok := w.fs.(environment.Guarder); ok {
		w.fs = g.Guarded(w.guard.Judge)
	}
	m, _ := tool.Service[*tool.Memory](c)
	w.book = memory.Open(m, c, place.Info())
	return w, nil
}

// homed is the runtime as far as guards have to know it.
type homed interface {
	Home() string
	LookupEnv(name string) (string, bool)
}

// newGuard finds out what is to be guarded: HERMES_HOME where the place shares this machine's files, and its counterpart in the
// place's own home.
func newGuard(ctx context.Context, c *tool.Call, place environment.Place, crossProfile bool) *guard.Guard {
	info := place.Info()
	o := guard.Options{
		FS: place.Files(), Home: info.Home, Workspace: place.Workspace, WriteRoot: c.Host.Getenv("HERMES_WRITE_SAFE_ROOT"),
		CrossProfile: crossProfile,
	}
	if info.Home != "" {
		o.Root = environment.Path(path.Join(string(info.Home), ".hermes"))
	}
	if info.Home != "" {
		o.Home = resolved(ctx, o.FS, info.Home)
	}
	if info.Namespace == environment.NamespaceHost {
		if user := c.Host.Getenv("HOME"); user != "" && user != string(info.Home) { // commands may have a home of their own
			o.Homes = append(o.Homes, resolved(ctx, o.FS, environment.Path(user)))
		}
		home := c.Host.Getenv("HERMES_HOME")
		if r, ok := tool.Service[homed](c); ok {
			home = r.Home()
		}
		if home != "" {
			o.Hermes = append(o.Hermes, resolved(ctx, o.FS, environment.Path(home)))
			root, profile := splitProfile(home)
			o.Profile = profile
			o.Root = resolved(ctx, o.FS, environment.Path(root))
		}
	}
	if o.Root != "" {
		o.Hermes = append(o.Hermes, o.Root)
	}
	return guard.New(ctx, o)
}

// resolved follows links, so that the path compares with resolved ones.
func resolved(ctx context.Context, f environment.FS, p environment.Path) environment.Path {
	if r, err := f.Resolve(ctx, string(p), "/"); err == nil {
		return r
	}
	return p
}

// splitProfile tells the home of a profile from that of the default one.
func splitProfile(home string) (root, profile string) {
	home = path.Clean(home)
	if dir := path.Dir(home); path.Base(dir) == "profiles" {
		return path.Dir(dir), path.Base(home)
	}
	return home, ""
}

// target is one file that a call names.
type target struct {
	name string           // as the call gave it
	path environment.Path // resolved
	warn string           // it lies where one may not expect it
}

// resolve finds the file that a name means.
func (w *work) resolve(name string) (target, error) {
	p, err := w.fs.Resolve(w.ctx, name, w.dir)
	if err != nil {
		return target{}, err
	}
	t := target{name: name, path: p}
	if ws := w.place.Workspace; ws != "" && relative(name) && !inside(p, resolvedWorkspace(w)) {
		t.warn = fmt.Sprintf("%s is %s here, which lies outside of the workspace %s", name, p, ws)
	}
	return t, nil
}

func resolvedWorkspace(w *work) environment.Path { return resolved(w.ctx, w.fs, w.place.Workspace) }

func relative(name string) bool { return !path.IsAbs(name) && !strings.HasPrefix(name, "~") }

func inside(p, dir environment.Path) bool {
	d := strings.TrimSuffix(string(dir), "/")
	return string(p) == d || strings.HasPrefix(string(p), d+"/")
}

// checkPath refuses what can't be a path.
func checkPath(param, p string) error {
	switch {
	case p == "":
		return refuse("%s is empty: name a file", param)
	case strings.IndexByte(p, 0) >= 0:
		return refuse("%s holds a NUL byte, which no file name has", param)
	}
	return nil
}

// failure is what a model reads when a call doesn't do what it was asked for.
type failure struct {
	Error        string   `json:"error"`
	Hint         string   `json:"_hint,omitempty"`
	Status       string   `json:"status,omitempty"`
	ResolvedPath string   `json:"resolved_path,omitempty"`
	Similar      []string `json:"similar_files,omitempty"`
	AlreadyRead  int      `json:"already_read,omitempty"`
	Path         string   `json:"path,omitempty"`
}

// refused is an error that answers the call.
type refused struct {
	failure
	kind tool.ErrorType
}

func (r *refused) Error() string { return r.failure.Error }

// refuse makes the answer of a call that can't be done as it stands.
func refuse(format string, args ...any) error {
	return &refused{failure{Error: fmt.Sprintf(format, args...)}, tool.ErrTypeInvalidArguments}
}

// statusDegraded marks failures of the place itself.
const statusDegraded = "degraded"

// answer turns what went wrong into the result of the call. What ended the call's context is left to the door.
func answer(ctx context.Context, err error) (any, error) {
	if ctx.Err() != nil {
		return nil, err
	}
	var r *refused
	if errors.As(err, &r) {
		return tool.Outcome{Value: r.failure, Status: tool.StatusError, Type: r.kind}, nil
	}
	f := failure{Error: describe(err)}
	kind := tool.ErrTypeTool
	switch {
	case errors.Is(err, environment.ErrGuarded):
		return tool.Outcome{Value: f, Status: tool.StatusBlocked, Type: tool.ErrTypeGuardrailBlock}, nil
	case isPlace(err):
		f.Status = statusDegraded
		f.Error = "the environment failed: " + f.Error
	}
	return tool.Outcome{Value: f, Status: tool.StatusError, Type: kind}, nil
}

// isPlace tells a failure of the environment from one of a file.
func isPlace(err error) bool {
	for _, kind := range []error{environment.ErrUnavailable, environment.ErrLost, environment.ErrGone, environment.ErrNotStarted, environment.ErrConfig} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// kinds says in words what may be wrong with a path.
var kinds = []struct {
	is   error
	says string
}{
	{fs.ErrNotExist, "there is no such file"},
	{fs.ErrExist, "there is a file already"},
	{fs.ErrPermission, "permission denied"},
	{syscall.EISDIR, "it is a directory"},
	{syscall.ENOTDIR, "a part of the path is a file, not a directory"},
	{syscall.ENAMETOOLONG, "the name is too long"},
	{syscall.EROFS, "the file system is read-only"},
	{syscall.ENOSPC, "the disk is full"},
}

// describe names operation, path and kind.
func describe(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		for _, k := range kinds {
			if errors.Is(pe.Err, k.is) {
				return fmt.Sprintf("%s %s: %s", pe.Op, pe.Path, k.says)
			}
		}
		return pe.Error()
	}
	return err.Error()
}

func isDirectory(err error) bool { return errors.Is(err, syscall.EISDIR) }

// guardName refuses in Risks what the name alone shows.
func guardName(c *tool.Call, name string, op environment.Operation) error {
	if err := guard.ByName(name, c.Host.Dir(), op); err != nil {
		return &tool.Refusal{Result: failure{Error: err.Error()}, Type: tool.ErrTypeGuardrailBlock}
	}
	return nil
}

// decode reads arguments that passed the door.
func decode(c *tool.Call, into any) error {
	if err := json.Unmarshal(c.Args, into); err != nil {
		return refuse("the arguments of %s can't be read: %v", c.Name, err)
	}
	return nil
}

// declined makes a Refusal of an error, for Risks.
func declined(err error) error {
	var r *refused
	if errors.As(err, &r) {
		return &tool.Refusal{Result: r.failure, Type: r.kind}
	}
	return err
}

// lines joins advice, leaving out what is empty.
func lines(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "\n")
}

// number is a whole number that a caller may give in any form; what is none counts as left out.
type number struct {
	value int
	given bool
}

// UnmarshalJSON takes numbers, and text that is one.
func (n *number) UnmarshalJSON(b []byte) error {
	var f float64
	text := strings.Trim(string(b), `"`)
	if _, err := fmt.Sscanf(text, "%g", &f); err == nil && f == f {
		n.value, n.given = int(min(max(f, -1e15), 1e15)), true
	}
	return nil
}

// or gives the number if it is at least least, else def, and never more than most (0 = no bound).
func (n number) or(def, least, most int) int {
	v := n.value
	if !n.given || v < least {
		v = def
	}
	if most > 0 {
		v = min(v, most)
	}
	return v
}
