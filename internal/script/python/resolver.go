// Package python finds the interpreter that a script runs in, and keeps Hermes's own.
package python

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// Oldest is the oldest version that scripts run in.
const Oldest = "3.8"

const (
	oldestMinor = 8
	probeTime   = 5 * time.Second  // a candidate that hasn't answered by then is passed over
	failureTTL  = 30 * time.Second // a broken interpreter may be mended
)

// Interpreter is one that works.
type Interpreter struct {
	Path    string // its own sys.executable: what is run
	Version string // such as 3.11.7
	Root    string // of the environment it belongs to, "" = none
	Why     string // why it was chosen, for people
	Passed  []string
}

// AtLeast reports whether the version is major.minor or newer.
func (i Interpreter) AtLeast(major, minor int) bool {
	var a, b int
	if n, err := fmt.Sscanf(i.Version, "%d.%d", &a, &b); n != 2 || err != nil {
		return false
	}
	return a > major || a == major && b >= minor
}

// ErrNone means that no interpreter on the machine works. The error that wraps it says what to install.
var ErrNone = errors.New("no Python interpreter")

// Options says where a Resolver looks. The zero value looks on the PATH of the process.
type Options struct {
	Embedded Own // Hermes's own interpreter; nil = there is none
	// Path is the search path for an interpreter where there is no embedded one; "" = PATH of the process.
	Path string
	Now  func() time.Time // nil = time.Now
}

// Own is an interpreter that comes with Hermes.
type Own interface {
	// Path returns where it is, made on demand: then progress is told. An error means that it can't run here.
	Path(ctx context.Context, progress func(string)) (string, error)
	// Notes says what was not as it should be, for doctor.
	Notes() []string
}

// Resolver finds interpreters and remembers what it learned of them. It is safe for concurrent use.
type Resolver struct {
	o       Options
	wait    time.Duration // for a candidate's answer
	site    Site
	place   string   // the site in messages and in what is remembered; "" = this machine
	environ []string // of candidates that are asked
	*memory
}

// memory is what Resolvers of one origin share.
type memory struct {
	mu    sync.Mutex
	known map[identity]answer
}

// maxKnown bounds what is remembered; beyond it everything is asked again.
const maxKnown = 1024

// identity changes when the candidate may have become another one.
type identity struct {
	place     string
	path      string
	size      int64
	mtime     int64
	inode     uint64 // of what links lead to
	venvSize  int64
	venvMtime int64
}

type answer struct {
	found facts
	err   error
	at    time.Time
}

// New returns a Resolver.
func New(o Options) *Resolver {
	if o.Path == "" {
		o.Path = os.Getenv("PATH")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Resolver{o: o, wait: probeTime, site: direct{}, environ: asked(os.Getenv("PATH"), os.Getenv("HOME")), memory: &memory{known: map[identity]answer{}}}
}

// asked are the variables of a candidate that is asked who it is.
func asked(path, home string) []string {
	return []string{"PATH=" + path, "HOME=" + home, "LC_ALL=C.UTF-8"}
}

// Through returns a Resolver with the same memory that asks candidates by s, which is this machine: a place where commands run ends all
// that they start, also what left their process group.
func (r *Resolver) Through(s Site) *Resolver {
	c := *r
	c.site = s
	return &c
}

// Elsewhere returns a Resolver with the same memory for another machine, where Hermes's own interpreter isn't: vars are the session's
// there, place is its name.
func (r *Resolver) Elsewhere(s Site, place string, vars map[string]string) *Resolver {
	c := *r
	c.site, c.place, c.environ = s, place, asked(vars["PATH"], vars["HOME"])
	c.o.Embedded, c.o.Path = nil, vars["PATH"]
	return &c
}

// Project finds the interpreter of project mode: the configured one, that of VIRTUAL_ENV, of CONDA_PREFIX, else Hermes's own.
// vars are the variables of the session.
func (r *Resolver) Project(ctx context.Context, configured string, vars map[string]string, progress func(string)) (Interpreter, error) {
	var passed []string
	var failed error
	try := func(why, root string, paths ...string) (Interpreter, bool) {
		var last error
		for _, p := range paths {
			f, err := r.ask(ctx, p)
			if err == nil {
				return Interpreter{Path: f.executable, Version: f.version, Root: root, Why: why, Passed: passed}, true
			}
			if environment.Failed(err) {
				failed = err
			}
			if last == nil || !errors.Is(err, fs.ErrNotExist) {
				last = err
			}
		}
		passed = append(passed, fmt.Sprintf("%s: %v", why, last))
		return Interpreter{}, false
	}
	if configured != "" {
		if i, ok := try("code_execution.python", "", configured); ok {
			return i, nil
		}
	}
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if root := vars[name]; root != "" {
			if i, ok := try(name, root, path.Join(root, "bin", "python"), path.Join(root, "bin", "python3")); ok {
				return i, nil
			}
		}
	}
	if failed != nil {
		return Interpreter{}, failed
	}
	own, err := r.Own(ctx, progress)
	if errors.Is(err, ErrNone) && vars["PATH"] != "" {
		if i, serr := r.search(ctx, vars["PATH"], "python on the session's PATH", nil); serr == nil {
			own, err = i, nil
		}
	}
	own.Passed = append(passed, own.Passed...)
	return own, err
}

// Own finds Hermes's own interpreter: the embedded one, else the first on PATH that works.
func (r *Resolver) Own(ctx context.Context, progress func(string)) (Interpreter, error) {
	var passed []string
	if r.o.Embedded != nil {
		path, err := r.o.Embedded.Path(ctx, progress)
		if err == nil {
			var f facts
			if f, err = r.ask(ctx, path); err == nil {
				return Interpreter{Path: f.executable, Version: f.version, Why: "Hermes's own"}, nil
			}
		}
		passed = append(passed, fmt.Sprintf("Hermes's own: %v", err))
	}
	i, err := r.search(ctx, r.o.Path, "python on PATH", passed)
	if err == nil || !errors.Is(err, ErrNone) {
		return i, err
	}
	if err := ctx.Err(); err != nil {
		return Interpreter{}, fmt.Errorf("find a Python interpreter: %w", context.Cause(ctx))
	}
	why := ""
	if len(passed) > 0 {
		why = " (" + strings.Join(passed, "; ") + ")"
	}
	if r.place != "" {
		return Interpreter{}, fmt.Errorf("%w in %s: none on its PATH is %s or newer%s; install one there, for example with its system's package python3",
			ErrNone, r.place, Oldest, why)
	}
	return Interpreter{}, fmt.Errorf("%w: none on PATH is %s or newer%s; install one, for example with your system's package python3",
		ErrNone, Oldest, why)
}

// search asks every python3, then every python, of a search path. The error is ErrNone where none works.
func (r *Resolver) search(ctx context.Context, dirs, why string, passed []string) (Interpreter, error) {
	for _, name := range []string{"python3", "python"} {
		for dir := range strings.SplitSeq(dirs, ":") {
			if !path.IsAbs(dir) || ctx.Err() != nil { // a relative entry would mean another file in each directory
				continue
			}
			f, err := r.ask(ctx, path.Join(dir, name))
			if err == nil {
				return Interpreter{Path: f.executable, Version: f.version, Why: why, Passed: passed}, nil
			}
			if environment.Failed(err) {
				return Interpreter{}, err
			}
		}
	}
	return Interpreter{}, ErrNone
}

// ask returns what the interpreter at p says of itself, from memory where nothing has changed.
func (r *Resolver) ask(ctx context.Context, p string) (facts, error) {
	id, err := r.identify(ctx, p)
	if err != nil {
		return facts{}, err
	}
	now := r.o.Now()
	r.mu.Lock()
	a, ok := r.known[id]
	r.mu.Unlock()
	if ok && (a.err == nil || now.Sub(a.at) < failureTTL) {
		return a.found, a.err
	}
	f, err := r.probe(ctx, p)
	if ctx.Err() != nil || environment.Failed(err) {
		return f, err // says nothing about the interpreter
	}
	r.mu.Lock()
	if len(r.known) >= maxKnown {
		clear(r.known)
	}
	r.known[id] = answer{found: f, err: err, at: now}
	r.mu.Unlock()
	return f, err
}

func (r *Resolver) identify(ctx context.Context, p string) (identity, error) {
	i, err := r.site.Stat(ctx, p)
	if err != nil {
		return identity{}, fmt.Errorf("look for an interpreter: %w", err)
	}
	if !i.Mode.IsRegular() || i.Mode.Perm()&0o111 == 0 {
		return identity{}, fmt.Errorf("look for an interpreter: %s is not an executable file", p)
	}
	id := identity{place: r.place, path: p, size: i.Size, mtime: i.ModTime.UnixNano(), inode: i.Inode}
	if v, err := r.site.Stat(ctx, path.Join(path.Dir(path.Dir(p)), "pyvenv.cfg")); err == nil {
		id.venvSize, id.venvMtime = v.Size, v.ModTime.UnixNano()
	}
	return id, nil
}

// HasOwn reports whether there is an embedded interpreter, without making it.
func (r *Resolver) HasOwn() bool { return r.o.Embedded != nil }

// Notes says what of the embedded interpreter is not as it should be, for doctor.
func (r *Resolver) Notes() []string {
	if r.o.Embedded == nil {
		return nil
	}
	return r.o.Embedded.Notes()
}
