// Package staging gives each run of a script a private directory, and removes what dead processes left of theirs.
//
// A process has one directory of its own below the base, which holds a lock file locked for the life of the process: whoever can
// take the lock knows that the owner is gone. Nothing is removed on the strength of its name.
package staging

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/internal/atomicfile"
)

const (
	lockName  = "owner.lock"
	elseName  = "elsewhere" // the owner's directory outside its own
	ownerName = "owner"     // in such a directory: the owner's own
	// maxRun is the longest path of a run's directory below which sockets fit: the run's own, and those that programs make in its
	// TMPDIR (Python's multiprocessing adds up to 40 bytes). Sockets have 108 bytes on Linux, 104 on macOS.
	maxRun = 56
	// maxTemp is the longest temp directory whose directories of runs stay within that: hx, up to ten digits, a run's number.
	maxTemp = maxRun - len("/hx0123456789/0000000")
	// lockTry is how long a lock of somebody else is waited for: it is free or it isn't.
	lockTry = 5 * time.Millisecond
)

// Options says where directories are made.
type Options struct {
	Runtime string       // the user's runtime directory (XDG_RUNTIME_DIR), "" = none
	Home    string       // HERMES_HOME
	Temp    string       // shared temp directory, for what fits or can be written nowhere else; "" = the system's
	Log     *slog.Logger // nil = none
}

// Area is the process's own part. The zero value isn't usable; call New.
type Area struct {
	o Options

	mu    sync.Mutex
	dir   string // made at the first use
	short string // likewise, for what must have a short path; "" = not needed so far
	lock  *atomicfile.Held
	next  int
}

// Dir is the directory of one run. Paths are absolute.
type Dir struct {
	Path   string // 0700
	Socket string // where the socket is to be, under 100 bytes long
	Temp   string // TMPDIR of the run, 0700
	short  string // a directory elsewhere, "" = none
}

// New returns an Area; nothing is made before the first Make.
func New(o Options) *Area {
	if o.Temp == "" {
		o.Temp = os.TempDir()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Area{o: o}
}

// lastTemps are where the system keeps what is temporary, for a TMPDIR that isn't there, can't be written or is too long.
var lastTemps = []string{"/tmp", "/var/tmp"}

func (a *Area) temps() []string { return append([]string{filepath.Clean(a.o.Temp)}, lastTemps...) }

// Make makes the directory of one run.
func (a *Area) Make() (*Dir, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.open(); err != nil {
		return nil, err
	}
	a.next++
	d := &Dir{Path: filepath.Join(a.dir, strconv.Itoa(a.next))}
	if err := os.Mkdir(d.Path, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of a run: %w", err)
	}
	root := d.Path
	if len(root) > maxRun {
		if err := a.openShort(); err != nil {
			return nil, errors.Join(err, d.Remove())
		}
		d.short = filepath.Join(a.short, strconv.Itoa(a.next))
		if err := os.Mkdir(d.short, 0o700); err != nil {
			return nil, errors.Join(fmt.Errorf("make a short directory for a run: %w", err), d.Remove())
		}
		root = d.short
	}
	d.Socket, d.Temp = filepath.Join(root, "s"), filepath.Join(root, "t")
	if err := os.Mkdir(d.Temp, 0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("make the temp directory of a run: %w", err), d.Remove())
	}
	return d, nil
}

// Write puts a file into the directory, readable by the user alone.
func (d *Dir) Write(name string, content []byte) error {
	if err := os.WriteFile(filepath.Join(d.Path, name), content, 0o600); err != nil {
		return fmt.Errorf("write %s for a run: %w", name, err)
	}
	return nil
}

// Remove removes the directory and everything in it.
func (d *Dir) Remove() error {
	err := removeAll(d.Path)
	if d.short != "" {
		err = errors.Join(err, removeAll(d.short))
	}
	if err != nil {
		return fmt.Errorf("remove the directory of a run: %w", err)
	}
	return nil
}

// removeAll also removes what a script made unreadable.
func removeAll(path string) error {
	err := os.RemoveAll(path)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			os.Chmod(p, 0o700) //nolint:errcheck,gosec // the removal below tells
		}
		return nil
	})
	return os.RemoveAll(path)
}

// Close removes the process's part. Runs must have ended.
func (a *Area) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dir == "" {
		return nil
	}
	var err error
	if a.short != "" {
		err = removeAll(a.short)
	}
	err = errors.Join(err, removeAll(a.dir), a.lock.Unlock())
	a.dir, a.short, a.lock = "", "", nil
	return err
}

// open makes the owner's directory, and sweeps those of the dead. a.mu is held.
func (a *Area) open() error {
	if a.dir != "" {
		if _, err := os.Stat(a.dir); err == nil {
			return nil
		}
		a.lock.Unlock() //nolint:errcheck,gosec // its file is gone with the directory
		a.dir, a.lock = "", nil
	}
	var errs []error
	for _, base := range a.bases() {
		if err := Private(base); err != nil {
			errs = append(errs, err)
			continue
		}
		sweep(base, a.temps())
		dir, lock, err := own(base)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		a.dir, a.lock = dir, lock
		if a.short != "" { // runs are still in it
			return a.noteShort()
		}
		return nil
	}
	return fmt.Errorf("make a directory for scripts: %w", errors.Join(errs...))
}

func (a *Area) bases() []string {
	var out []string
	if i, err := os.Stat(a.o.Runtime); filepath.IsAbs(a.o.Runtime) && err == nil && i.IsDir() {
		out = append(out, filepath.Join(a.o.Runtime, "hermes"))
	}
	if a.o.Home != "" {
		out = append(out, filepath.Join(a.o.Home, "run"))
	}
	for _, temp := range a.temps() { // a home that can't be written; Private refuses a directory that somebody else made
		out = append(out, filepath.Join(temp, fmt.Sprintf("hermes-run-%d", os.Getuid())))
	}
	return out
}

// Private makes dir, if need be, and sees that it is a directory of this user's own that nobody else can enter. It refuses links, and
// directories that others own or could write to: what is in them may be theirs.
func Private(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	i, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !i.IsDir() {
		return fmt.Errorf("%s is no directory", dir)
	}
	if i.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s can be written to by others", dir)
	}
	if i.Mode().Perm() != 0o700 {
		if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // a directory
			return err
		}
	}
	if !mine(dir) {
		return fmt.Errorf("%s isn't this user's own", dir)
	}
	return nil
}

// own makes a directory and locks it. A sweeper may take it in the moment before the lock is held: then another is made.
func own(base string) (string, *atomicfile.Held, error) {
	for range 10 {
		dir, err := os.MkdirTemp(base, "")
		if err != nil {
			return "", nil, err
		}
		lock, err := tryLock(filepath.Join(dir, lockName))
		if err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, lockName)); err == nil {
			return dir, lock, nil
		}
		lock.Unlock() //nolint:errcheck,gosec // its file is gone
	}
	return "", nil, fmt.Errorf("lock a directory in %s", base)
}

func tryLock(path string) (*atomicfile.Held, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lockTry)
	defer cancel()
	return atomicfile.Lock(ctx, path)
}

// openShort makes the owner's directory in the shared temp directory. It is noted here where it is and there whose it is, for
// whoever sweeps after this process. a.mu is held.
func (a *Area) openShort() error {
	if a.short != "" {
		if _, err := os.Stat(a.short); err == nil {
			return nil
		}
	}
	var errs []error
	for _, temp := range a.temps() {
		if len(temp) > maxTemp {
			errs = append(errs, fmt.Errorf("%s is too long", temp))
			continue
		}
		dir, err := os.MkdirTemp(temp, "hx")
		if err != nil {
			errs = append(errs, err)
			continue
		}
		a.short = dir
		return a.noteShort()
	}
	return fmt.Errorf("make a short directory for sockets: %w", errors.Join(errs...))
}

func (a *Area) noteShort() error {
	if err := os.WriteFile(filepath.Join(a.short, ownerName), []byte(a.dir), 0o600); err != nil {
		return fmt.Errorf("note whose a short directory is: %w", err)
	}
	if err := os.WriteFile(filepath.Join(a.dir, elseName), []byte(a.short+"\n"), 0o600); err != nil {
		return fmt.Errorf("note a short directory: %w", err)
	}
	return nil
}

// sweep removes the parts of owners that are gone, best effort: what can't be removed now is tried again by the next process.
func sweep(base string, temps []string) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return
	}
	for _, e := range entries {
		dir := filepath.Join(base, e.Name())
		if _, err := os.Lstat(filepath.Join(dir, lockName)); !e.IsDir() || err != nil {
			continue
		}
		lock, err := tryLock(filepath.Join(dir, lockName))
		if err != nil {
			continue
		}
		list, _ := os.ReadFile(filepath.Join(dir, elseName))
		for short := range strings.Lines(string(list)) {
			short = strings.TrimSuffix(short, "\n")
			// The list lies where the dead process's scripts could write: only what names the same owner is believed.
			owner, err := os.ReadFile(filepath.Join(short, ownerName))
			if err == nil && string(owner) == dir && slices.Contains(temps, filepath.Dir(short)) && mine(short) {
				removeAll(short) //nolint:errcheck // best effort
			}
		}
		removeAll(dir) //nolint:errcheck // best effort
		lock.Unlock()  //nolint:errcheck,gosec // nothing was written
	}
}
