// Package files is the file system of the machine it runs on: it resolves names as the kernel would, reads regular files only, and
// replaces a file whole or not at all.
package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/environment"
)

// ErrNotRegular is the kind of an error for a path that holds neither a regular file nor what the operation asked for: a FIFO, a
// socket, a device.
var ErrNotRegular = errors.New("not a regular file")

// Options says where an FS finds what it needs. The zero value works: the user's home, the system's temporary directory, and
// writers that are ordered within this process only.
type Options struct {
	Home     string        // what ~ means; "" = the user's home
	Temp     string        // copies for writes in place; "" = the system's temporary directory
	LockDir  string        // locks shared by all processes of one HERMES_HOME, and the records that Sweep reads; "" = none
	LockWait time.Duration // how long a writer waits for another of the same path; 0 = 60 s
	// WriteRoot, if set, is the only directory in which anything may be changed (~ is expanded). It lifts no guard.
	WriteRoot string
}

// FS is the local file system. It implements environment.FS and environment.Guarder and is safe for concurrent use.
type FS struct {
	*disk
	guards []environment.Guard
}

// disk is what an FS shares with the guarded ones made from it.
type disk struct {
	home, temp string
	writeRoot  string
	locks      locks
}

var (
	_ environment.FS      = (*FS)(nil)
	_ environment.Guarder = (*FS)(nil)
)

// New returns the file system. It touches no file.
func New(o Options) *FS {
	if o.Home == "" {
		o.Home, _ = os.UserHomeDir() // "" leaves ~ unexpandable, which Resolve reports
	}
	if o.Temp == "" {
		o.Temp = os.TempDir()
	}
	if o.LockWait == 0 {
		o.LockWait = 60 * time.Second
	}
	return &FS{disk: &disk{
		home: o.Home, temp: o.Temp, writeRoot: o.WriteRoot,
		locks: locks{dir: o.LockDir, wait: o.LockWait, held: map[string]*heldLock{}},
	}}
}

// Guarded returns the same file system with g asked before every operation, after the guards that are there already. Locks are
// shared with the receiver.
func (f *FS) Guarded(g environment.Guard) environment.FS {
	guards := append(append([]environment.Guard(nil), f.guards...), g)
	return &FS{disk: f.disk, guards: guards}
}

// judge asks the guards in turn. info is nil where there is no file.
func (f *FS) judge(path string, info *environment.FileInfo, op environment.Operation) error {
	if op == environment.OpWrite {
		if err := f.insideWriteRoot(path); err != nil {
			return err
		}
	}
	for _, g := range f.guards {
		if err := g(environment.Path(path), info, op); err != nil {
			if errors.Is(err, environment.ErrGuarded) {
				return err
			}
			return fmt.Errorf("%s %s: %w: %w", op, Display(path), environment.ErrGuarded, err)
		}
	}
	return nil
}

// insideWriteRoot refuses what lies outside the only directory that may be written. The root is resolved each time: it may be made
// later, or be a link.
func (f *FS) insideWriteRoot(path string) error {
	if f.writeRoot == "" {
		return nil
	}
	root, err := f.resolve(f.writeRoot, f.home)
	if err != nil {
		return fmt.Errorf("the only directory that may be written, %s, can't be resolved: %w: %w",
			Display(f.writeRoot), environment.ErrGuarded, err)
	}
	if path == root || root == "/" || strings.HasPrefix(path, root+string(os.PathSeparator)) {
		return nil
	}
	return fmt.Errorf("write %s: %w: only %s may be written", Display(path), environment.ErrGuarded, Display(root))
}

// Stat follows links. It is never refused by a guard: it tells nothing of what a file holds.
func (f *FS) Stat(ctx context.Context, p environment.Path) (environment.FileInfo, error) {
	if err := ctx.Err(); err != nil {
		return environment.FileInfo{}, err
	}
	path, err := checked("stat", string(p))
	if err != nil {
		return environment.FileInfo{}, err
	}
	info, err := statPath(path)
	if err != nil {
		return info, failure("stat", path, err)
	}
	info.Path = p
	return info, nil
}

// Read opens the regular file p and gives n bytes from off, fewer if it ends before, all of them for n < 0. Nothing that isn't a
// regular file is opened, so reading never waits for a writer or a device; the null device reads as an empty file. Reading stops
// with the context's error once ctx ends.
func (f *FS) Read(ctx context.Context, p environment.Path, off, n int64) (io.ReadCloser, error) {
	if off < 0 {
		return nil, fmt.Errorf("read %s: offset %d is negative", Display(string(p)), off)
	}
	file, _, err := f.open(ctx, p)
	if err != nil {
		return nil, err
	}
	if file == nil {
		return io.NopCloser(strings.NewReader("")), nil
	}
	if off > 0 {
		if _, err := file.Seek(off, io.SeekStart); err != nil {
			file.Close()
			return nil, failure("read", string(p), err)
		}
	}
	return &reader{ctx: ctx, file: file, path: string(p), left: n}, nil
}

// Open opens the regular file p for reading, judged as Read does, and tells what was opened. For the null device the file is the
// device itself.
func (f *FS) Open(ctx context.Context, p environment.Path) (*os.File, environment.FileInfo, error) {
	file, info, err := f.open(ctx, p)
	if err == nil && file == nil {
		file, err = os.Open(os.DevNull)
	}
	return file, info, err
}

// open gives a nil file for the null device.
func (f *FS) open(ctx context.Context, p environment.Path) (*os.File, environment.FileInfo, error) {
	var none environment.FileInfo
	if err := ctx.Err(); err != nil {
		return nil, none, err
	}
	path, err := f.locate("read", p)
	if err != nil {
		return nil, none, err
	}
	d, base, err := openParent(path)
	if err != nil {
		return nil, none, failure("read", path, err)
	}
	defer d.close()
	info, err := d.stat(base)
	if err != nil {
		return nil, none, failure("read", path, err)
	}
	info.Path = environment.Path(path)
	if err := f.judge(path, &info, environment.OpRead); err != nil {
		return nil, none, err
	}
	if isNull(path, info) {
		return nil, info, nil
	}
	if err := onlyRegular("read", path, info); err != nil {
		return nil, none, err
	}
	file, opened, err := d.open(base, os.O_RDONLY)
	if err != nil {
		return nil, none, failure("read", path, err)
	}
	if !opened.Same(info) || !opened.Mode.IsRegular() {
		file.Close()
		return nil, none, swapped("read", path)
	}
	opened.Path = info.Path
	return file, opened, nil
}

// ReadDir lists p in the order of names. It follows links, as Stat does.
func (f *FS) ReadDir(ctx context.Context, p environment.Path) ([]environment.DirEntry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path, err := f.locate("list", p)
	if err != nil {
		return nil, err
	}
	d, err := openDir(path)
	if err != nil {
		return nil, failure("list", path, err)
	}
	defer d.close()
	info, err := d.self()
	if err != nil {
		return nil, failure("list", path, err)
	}
	info.Path = environment.Path(path)
	if err := f.judge(path, &info, environment.OpRead); err != nil {
		return nil, err
	}
	entries, err := d.entries()
	if err != nil {
		return nil, failure("list", path, err)
	}
	list := make([]environment.DirEntry, len(entries))
	for i, e := range entries {
		list[i] = environment.DirEntry{Name: e.Name(), Type: e.Type()}
	}
	return list, nil
}

// locate resolves links of p again, since the caller may have resolved it long ago or not at all.
func (f *FS) locate(op string, p environment.Path) (string, error) {
	path, err := checked(op, string(p))
	if err != nil {
		return "", err
	}
	path, err = f.resolve(path, "")
	if err != nil {
		return "", failure(op, string(p), err)
	}
	return path, nil
}

// reader is a bounded file whose reading ends with a context.
type reader struct {
	ctx  context.Context
	file *os.File
	path string
	left int64 // < 0 = unbounded
	once sync.Once
}

func (r *reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, fmt.Errorf("read %s: %w", Display(r.path), err)
	}
	if r.left == 0 {
		return 0, io.EOF
	}
	if r.left > 0 && int64(len(b)) > r.left {
		b = b[:r.left]
	}
	n, err := r.file.Read(b)
	if r.left > 0 {
		r.left -= int64(n)
	}
	if err != nil && err != io.EOF {
		err = failure("read", r.path, err)
	}
	return n, err
}

// Close closes the file; again it does nothing.
func (r *reader) Close() error {
	var err error
	r.once.Do(func() { err = r.file.Close() })
	return err
}

// checked refuses what no file system call may see.
func checked(op, path string) (string, error) {
	switch {
	case path == "":
		return "", &fs.PathError{Op: op, Path: `""`, Err: errors.New("the path is empty")}
	case strings.ContainsRune(path, 0):
		return "", &fs.PathError{Op: op, Path: Display(path), Err: errors.New("the path contains a NUL byte")}
	case !isAbs(path):
		return "", &fs.PathError{Op: op, Path: Display(path), Err: errors.New("the path isn't absolute")}
	}
	return path, nil
}

// onlyRegular refuses everything but a regular file, and says what it is.
func onlyRegular(op, path string, info environment.FileInfo) error {
	if info.Mode.IsRegular() {
		return nil
	}
	if info.Mode.IsDir() {
		return failure(op, path, syscall.EISDIR)
	}
	return failure(op, path, fmt.Errorf("%w but %s", ErrNotRegular, kindName(info.Mode)))
}

// kindNames are the kinds of files, most specific first: a character device has the device bit too.
var kindNames = []struct {
	bit  fs.FileMode
	name string
}{
	{fs.ModeNamedPipe, "a FIFO"},
	{fs.ModeSocket, "a socket"},
	{fs.ModeCharDevice, "a character device"},
	{fs.ModeDevice, "a block device"},
	{fs.ModeSymlink, "a symbolic link"},
	{fs.ModeDir, "a directory"},
}

func kindName(m fs.FileMode) string {
	for _, k := range kindNames {
		if m&k.bit != 0 {
			return k.name
		}
	}
	return "of unknown kind"
}

// swapped is the refusal of a path that became something else between check and use.
func swapped(op, path string) error {
	return fmt.Errorf("%s %s: %w while it was being opened", op, Display(path), environment.ErrChanged)
}

// failure names the operation, the path and the kind. Errors that carry a path of their own lose it: it would be relative to a
// descriptor and mean nothing to the reader.
func failure(op, path string, err error) error {
	if err == nil || errors.Is(err, environment.ErrGuarded) {
		return err
	}
	if errors.Is(err, errSwapped) {
		return swapped(op, path)
	}
	var pe *fs.PathError
	if errors.As(err, &pe) && pe.Path == Display(path) {
		return err
	}
	if errors.As(err, &pe) {
		err = pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		err = le.Err
	}
	return &fs.PathError{Op: op, Path: Display(path), Err: err}
}

// errSwapped is what openDir gives for a directory that has become a link since the path was resolved.
var errSwapped = errors.New("a directory became a symbolic link")

// Display is path as it may be shown: unprintable characters and invalid UTF-8 escaped, all else untouched.
func Display(path string) string {
	plain := utf8.ValidString(path)
	for _, r := range path {
		plain = plain && unicode.IsPrint(r)
	}
	if plain {
		return path
	}
	q := strconv.Quote(path)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}
