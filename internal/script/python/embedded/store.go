package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/internal/atomicfile"
)

// Options says where the interpreter is kept.
type Options struct {
	Home  string       // HERMES_HOME: it goes below cache/python
	Cache string       // tried next; "" = the user's cache directory
	Temp  string       // tried last; "" = the system's temp directory
	Log   *slog.Logger // nil = none
}

// Store lays the interpreter out once and finds it again. It is safe for concurrent use, by processes too.
type Store struct {
	o      Options
	unpack func(dir string) error // writes the original tree
	digest string

	mu    sync.Mutex
	path  string
	notes []string
}

// ErrAbsent says that this build has no interpreter of its own for this platform.
var ErrAbsent = errors.New("this build of Hermes has no Python of its own")

// Available reports whether this build has an interpreter for this platform.
func Available() bool { return original != nil && digests[platform()] != "" }

func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }

// New returns a Store; nothing is written before Path.
func New(o Options) *Store {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Store{o: o, unpack: original, digest: digests[platform()]}
}

// Notes says why the interpreter isn't where it should be, a line for each place that failed.
func (s *Store) Notes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.notes...)
}

// Path returns the path of the interpreter, made at the first use: that takes seconds, and progress is told. A tree that is there
// is checked once in each process.
func (s *Store) Path(ctx context.Context, progress func(string)) (string, error) {
	if s.unpack == nil || s.digest == "" {
		return "", ErrAbsent
	}
	if progress == nil {
		progress = func(string) {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.path != "" {
		if _, err := os.Stat(s.path); err == nil {
			return s.path, nil
		}
	}
	s.path, s.notes = "", nil
	var errs []error
	for _, base := range s.bases() {
		dir, err := s.ensure(ctx, base, progress)
		if err == nil {
			s.path = filepath.Join(dir, filepath.FromSlash(Binary))
			return s.path, nil
		}
		err = fmt.Errorf("in %s: %w", base, err)
		errs = append(errs, err)
		s.notes = append(s.notes, err.Error())
		if ctx.Err() != nil {
			break
		}
	}
	return "", fmt.Errorf("lay out Hermes's own Python: %w", errors.Join(errs...))
}

func (s *Store) bases() []string {
	var out []string
	if s.o.Home != "" {
		out = append(out, filepath.Join(s.o.Home, "cache", "python"))
	}
	cache := s.o.Cache
	if cache == "" {
		cache, _ = os.UserCacheDir()
	}
	if cache != "" {
		out = append(out, filepath.Join(cache, "hermes", "python"))
	}
	temp := s.o.Temp
	if temp == "" {
		temp = os.TempDir()
	}
	return append(out, filepath.Join(temp, fmt.Sprintf("hermes-python-%d", os.Getuid())))
}

// lockWait bounds the wait for another process that lays the tree out.
const lockWait = 2 * time.Minute

// ensure returns the tree below base, whole and checked.
func (s *Store) ensure(ctx context.Context, base string, progress func(string)) (string, error) {
	if err := os.MkdirAll(base, 0o700); err != nil {
		return "", err
	}
	if i, err := os.Lstat(base); err != nil || !i.IsDir() || !ownedPrivately(i) {
		return "", errors.New("the directory isn't this user's alone")
	}
	name := Version + "-" + s.digest[:16]
	final := filepath.Join(base, name)
	if err := s.check(final); err == nil {
		return final, nil
	}
	progress("Preparing Hermes's own Python " + Version + ", once: this takes some seconds.")
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	lock, err := lockIn(ctx, filepath.Join(base, "."+name+".lock"))
	if err != nil {
		return "", err
	}
	defer lock.Unlock() //nolint:errcheck // nothing depends on it
	err = s.check(final)
	if err == nil {
		return final, nil // somebody else has done it
	}
	if !errors.Is(err, fs.ErrNotExist) {
		s.o.Log.Warn("Hermes's own Python is laid out anew", "reason", err)
	}
	if err := s.make(ctx, base, name); err != nil {
		return "", err
	}
	return final, nil
}

// lockIn waits for the lock for as long as ctx allows.
func lockIn(ctx context.Context, path string) (*atomicfile.Held, error) {
	for {
		lock, err := atomicfile.Lock(ctx, path)
		if err == nil || ctx.Err() != nil || !errors.Is(err, atomicfile.ErrLocked) {
			return lock, err
		}
	}
}

// make lays the tree out beside its place, checks it, and moves it there. The lock is held: what lies half made beside it is of
// processes that died.
func (s *Store) make(ctx context.Context, base, name string) error {
	stale, _ := filepath.Glob(filepath.Join(base, "."+name+".tmp*"))
	for _, d := range stale {
		removeTree(d) //nolint:errcheck // tried again the next time
	}
	dir, err := os.MkdirTemp(base, "."+name+".tmp")
	if err != nil {
		return err
	}
	defer func() {
		if _, err := os.Lstat(dir); err == nil {
			removeTree(dir) //nolint:errcheck // tried again the next time
		}
	}()
	for _, step := range []func(ctx context.Context, dir string) error{s.fill, s.verify, compile, seal} {
		if err := step(ctx, dir); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
	}
	final := filepath.Join(base, name)
	if _, err := os.Lstat(final); err == nil {
		old, err := os.MkdirTemp(base, "."+name+".tmp")
		if err != nil {
			return err
		}
		defer removeTree(old)  //nolint:errcheck // tried again the next time
		os.Chmod(final, 0o700) //nolint:errcheck,gosec // the rename tells
		if err := os.Rename(final, filepath.Join(old, "damaged")); err != nil {
			return err
		}
	}
	if err := os.Rename(dir, final); err != nil {
		return err
	}
	return os.Chmod(final, 0o500) //nolint:gosec // a directory
}

// removeTree removes a tree that was made read-only.
func removeTree(dir string) error {
	_ = filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			os.Chmod(p, 0o700) //nolint:errcheck,gosec // the removal tells
		}
		return nil
	})
	return os.RemoveAll(dir)
}

func (s *Store) fill(_ context.Context, dir string) error {
	if err := s.unpack(dir); err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	var surplus []string
	err := walk(dir, func(name string, _ fs.FileInfo) error {
		if !Keep(name) {
			surplus = append(surplus, filepath.Join(dir, filepath.FromSlash(name)))
		}
		return nil
	})
	for _, p := range surplus {
		err = errors.Join(err, os.Remove(p))
	}
	for _, link := range Links {
		p := filepath.Join(dir, filepath.FromSlash(link))
		err = errors.Join(err, os.RemoveAll(p), os.Symlink(filepath.Base(Binary), p))
	}
	return err
}

// verify compares what lies on the disk with what was known when this program was built, and writes it down.
func (s *Store) verify(_ context.Context, dir string) error {
	files, err := list(dir, nil)
	if err != nil {
		return err
	}
	if got := Digest(files); got != s.digest {
		return fmt.Errorf("the files don't have the digest that they were built with: %s, not %s", got, s.digest)
	}
	return writeManifest(filepath.Join(dir, manifestName), files)
}

// list hashes the files below dir but those of skip.
func list(dir string, skip map[string]File) ([]File, error) {
	var files []File
	err := walk(dir, func(name string, i fs.FileInfo) error {
		if _, known := skip[name]; known || name == manifestName || name == compiledName {
			return nil
		}
		sum, err := hashFile(filepath.Join(dir, filepath.FromSlash(name)))
		files = append(files, File{Name: name, Size: i.Size(), Hash: sum})
		return err
	})
	return files, err
}

const (
	manifestName = "manifest"
	compiledName = "compiled"
)

func writeManifest(path string, files []File) error {
	var b strings.Builder
	for _, f := range files {
		b.WriteString(f.Line())
	}
	return os.WriteFile(path, []byte(b.String()), 0o600)
}

func readManifest(path string) (map[string]File, []File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	files, err := parseManifest(string(text))
	byName := make(map[string]File, len(files))
	for _, f := range files {
		byName[f.Name] = f
	}
	return byName, files, err
}
