// Package python finds the interpreter that a script runs in, and keeps Hermes's own.
package python

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
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
	o     Options
	wait  time.Duration // for a candidate's answer
	start Starter
	*memory
}

// memory is what Resolvers of one origin share.
type memory struct {
	mu    sync.Mutex
	known map[identity]answer
}

// identity changes when the candidate may have become another one.
type identity struct {
	path       string
	size       int64
	mtime      int64
	venvSize   int64
	venvMtime  int64
	linkTarget string
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
	return &Resolver{o: o, wait: probeTime, start: direct{}, memory: &memory{known: map[identity]answer{}}}
}

// Through returns a Resolver with the same memory that starts candidates by s: a place where commands run ends all that they start,
// also what left their process group.
func (r *Resolver) Through(s Starter) *Resolver {
	return &Resolver{o: r.o, wait: r.wait, start: s, memory: r.memory}
}

// Project finds the interpreter of project mode: the configured one, that of VIRTUAL_ENV, of CONDA_PREFIX, else Hermes's own.
// vars are the variables of the session.
func (r *Resolver) Project(ctx context.Context, configured string, vars map[string]string, progress func(string)) (Interpreter, error) {
	var passed []string
	try := func(why, root string, paths ...string) (Interpreter, bool) {
		var last error
		for _, p := range paths {
			f, err := r.ask(ctx, p)
			if err == nil {
				return Interpreter{Path: f.executable, Version: f.version, Root: root, Why: why, Passed: passed}, true
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
			if i, ok := try(name, root, filepath.Join(root, "bin", "python"), filepath.Join(root, "bin", "python3")); ok {
				return i, nil
			}
		}
	}
	own, err := r.Own(ctx, progress)
	if err != nil && vars["PATH"] != "" {
		if i, ok := r.search(ctx, vars["PATH"], "python on the session's PATH", nil); ok {
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
	if i, ok := r.search(ctx, r.o.Path, "python on PATH", passed); ok {
		return i, nil
	}
	if err := ctx.Err(); err != nil {
		return Interpreter{}, fmt.Errorf("find a Python interpreter: %w", context.Cause(ctx))
	}
	why := ""
	if len(passed) > 0 {
		why = " (" + strings.Join(passed, "; ") + ")"
	}
	return Interpreter{}, fmt.Errorf("%w: none on PATH is %s or newer%s; install one, for example with your system's package python3",
		ErrNone, Oldest, why)
}

// search asks every python3, then every python, of a search path.
func (r *Resolver) search(ctx context.Context, path, why string, passed []string) (Interpreter, bool) {
	for _, name := range []string{"python3", "python"} {
		for _, dir := range filepath.SplitList(path) {
			if !filepath.IsAbs(dir) || ctx.Err() != nil { // a relative entry would mean another file in each directory
				continue
			}
			if f, err := r.ask(ctx, filepath.Join(dir, name)); err == nil {
				return Interpreter{Path: f.executable, Version: f.version, Why: why, Passed: passed}, true
			}
		}
	}
	return Interpreter{}, false
}

// ask returns what the interpreter at path says of itself, from memory where nothing has changed.
func (r *Resolver) ask(ctx context.Context, path string) (facts, error) {
	id, err := identify(path)
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
	f, err := probe(ctx, r.start, path, r.wait)
	if ctx.Err() != nil {
		return f, err // says nothing about the interpreter
	}
	r.mu.Lock()
	r.known[id] = answer{found: f, err: err, at: now}
	r.mu.Unlock()
	return f, err
}

func identify(path string) (identity, error) {
	i, err := os.Stat(path)
	if err != nil {
		return identity{}, fmt.Errorf("look for an interpreter: %w", err)
	}
	if !i.Mode().IsRegular() || i.Mode().Perm()&0o111 == 0 {
		return identity{}, fmt.Errorf("look for an interpreter: %s is not an executable file", path)
	}
	id := identity{path: path, size: i.Size(), mtime: i.ModTime().UnixNano()}
	id.linkTarget, _ = os.Readlink(path)
	if v, err := os.Stat(filepath.Join(filepath.Dir(filepath.Dir(path)), "pyvenv.cfg")); err == nil {
		id.venvSize, id.venvMtime = v.Size(), v.ModTime().UnixNano()
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
