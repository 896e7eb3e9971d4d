package files

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/hermes-runtime/hermes/environment"
)

// tempPrefix and tempSuffix mark the names of files in the making. Only names of this form are ever swept.
const (
	tempPrefix = ".hermes-"
	tempSuffix = ".tmp"
)

// copyBuffer is the size of the pieces in which content moves; cancelling is noticed between two.
const copyBuffer = 256 << 10

// buffers keeps the pieces that content moves in.
var buffers = sync.Pool{New: func() any { return new([copyBuffer]byte) }}

func tempName() string { return tempPrefix + strings.ToLower(rand.Text()) + tempSuffix }

// IsTemp reports whether name, without directory, is one that Replace gives to a file in the making.
func IsTemp(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix) &&
		len(name) == len(tempPrefix)+len(tempSuffix)+26
}

// Replace puts content in place of the file that p leads to, links followed. It is written to a temporary file beside the old one
// and renamed, keeping mode, owner, access lists and extended attributes. Where a rename would break something (further hard
// links, a mount, a directory that can't be written, an owner that can't be kept), the file is overwritten in place, with a synced
// copy to fall back on. Whatever fails, the old content stays. A file that this process may not write is refused although its
// directory would allow a rename. Writers of one path go one after the other.
func (f *FS) Replace(ctx context.Context, p environment.Path, content io.Reader, o environment.ReplaceOptions) (environment.FileInfo, error) {
	var none environment.FileInfo
	if err := ctx.Err(); err != nil {
		return none, err
	}
	path, err := f.locate("write", p)
	if err != nil {
		return none, err
	}
	grip, err := f.locks.hold(ctx, pathShard(path))
	if err != nil {
		return none, failure("write", path, err)
	}
	defer grip.release()
	r := &replacement{fs: f, path: path, options: o, grip: grip}
	defer r.close()
	info, err := r.run(ctx, content)
	if err != nil {
		r.undoParents()
		return none, failure("write", path, err)
	}
	info.Path = environment.Path(path)
	if o.Result != nil {
		*o.Result = environment.ReplaceOutcome{Created: !r.exists, DirsCreated: len(r.made) > 0, InPlace: r.inPlace}
	}
	return info, nil
}

// replacement is one Replace under way.
type replacement struct {
	fs      *FS
	path    string
	options environment.ReplaceOptions
	grip    *grip

	dir     *dir
	base    string
	exists  bool
	old     environment.FileInfo
	made    []string // directories made, outermost first
	inPlace bool
}

// sum is what was written: enough to tell whether it is there afterwards.
type sum struct {
	size int64
	hash uint64
}

// seed makes the hashes of this process comparable with each other, and unpredictable.
var seed = maphash.MakeSeed()

func (r *replacement) run(ctx context.Context, content io.Reader) (environment.FileInfo, error) {
	var none environment.FileInfo
	if err := r.look(); err != nil {
		return none, err
	}
	if err := r.parents(); err != nil {
		return none, err
	}
	s, err := r.stage(ctx, content)
	if err != nil {
		return none, err
	}
	defer s.drop()
	if !r.inPlace {
		err := r.publish(s)
		switch {
		case err == nil:
		case r.exists && renameBreaks(err):
			r.inPlace = true
		default:
			return none, err
		}
	}
	if r.inPlace {
		if err := r.overwrite(ctx, s); err != nil {
			return none, err
		}
	}
	return r.confirm(s)
}

// look opens the directory, finds out what is there, and refuses what may not be done, before anything is changed.
func (r *replacement) look() error {
	d, base, err := openParent(r.path)
	switch {
	case err == nil:
		r.dir, r.base = d, base
		r.old, err = d.stat(base)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.exists = err == nil
	var present *environment.FileInfo
	if r.exists {
		r.old.Path = environment.Path(r.path)
		present = &r.old
	}
	if err := r.fs.judge(r.path, present, environment.OpWrite); err != nil {
		return err
	}
	return r.allowed()
}

// allowed is look's second half: the caller's conditions and the file's own.
func (r *replacement) allowed() error {
	if u := r.options.Unchanged; u != nil {
		if !r.exists {
			return fmt.Errorf("%w: it is gone", environment.ErrChanged)
		}
		if !unchanged(*u, r.old) {
			return fmt.Errorf("%w since it was read", environment.ErrChanged)
		}
	}
	if !r.exists {
		return nil
	}
	if r.options.Exclusive {
		return fs.ErrExist
	}
	if err := onlyRegular("write", r.path, r.old); err != nil {
		return err
	}
	return r.dir.writable(r.base)
}

func unchanged(a, b environment.FileInfo) bool {
	return a.Same(b) && a.Size == b.Size && a.ModTime.Equal(b.ModTime)
}

// parents makes the missing directories and opens the last.
func (r *replacement) parents() error {
	if r.dir != nil {
		return nil
	}
	if !r.options.Parents {
		return fmt.Errorf("its directory is missing: %w", syscall.ENOENT)
	}
	parent, base := splitLast(r.path)
	d, made, err := makeDirs(parent, 0o777)
	r.made = made
	r.dir, r.base = d, base
	return err
}

// undoParents takes back the directories that a failed write has made, unless someone uses them by now.
func (r *replacement) undoParents() {
	for i := len(r.made) - 1; i >= 0; i-- {
		if d, base, err := openParent(r.made[i]); err == nil {
			_ = d.removeDir(base)
			d.close()
		}
	}
}

func (r *replacement) close() {
	if r.dir != nil {
		r.dir.close()
	}
}

// stage writes the content to a temporary file and syncs it. Where the file's own directory can't take one, the copy is for a write
// in place and lies in the temporary directory.
func (r *replacement) stage(ctx context.Context, content io.Reader) (*staged, error) {
	if r.exists && r.old.Links > 1 {
		r.inPlace = true
	}
	s, err := r.newStage()
	if err != nil {
		return nil, err
	}
	s.sum, err = copySum(ctx, s.file, content)
	if err == nil && !r.inPlace {
		err = r.dress(s)
	}
	if err == nil && !r.inPlace {
		err = syncFile(s.file) // in place the target is synced, this isn't kept
	}
	if err != nil {
		s.drop()
		return nil, err
	}
	return s, nil
}

func (r *replacement) newStage() (*staged, error) {
	if !r.inPlace {
		s, err := newStaged(r.dir, r.grip)
		if err == nil || !r.exists || !cantCreate(err) {
			return s, err
		}
		r.inPlace = true
	}
	return r.fs.stageInTemp(r.grip)
}

// dress gives the temporary file what belongs to the old one. An owner that can't be kept turns the write into one in place.
func (r *replacement) dress(s *staged) error {
	if !r.exists {
		mode := r.options.Mode
		if mode == 0 {
			mode = 0o666 &^ umask()
		}
		return s.file.Chmod(mode)
	}
	kept, err := keepMetadata(s.file, r.dir, r.base, r.old)
	if err == nil && !kept {
		r.inPlace = true
	}
	return err
}

// publish renames the temporary file over the old one, if that is still the one that was judged.
func (r *replacement) publish(s *staged) error {
	if err := readyToRename(s.file); err != nil {
		return err
	}
	if !r.exists {
		err := s.dir.renameNew(s.name, r.dir, r.base)
		if errors.Is(err, fs.ErrExist) && !r.options.Exclusive {
			return fmt.Errorf("%w: it was made meanwhile", environment.ErrChanged)
		}
		if err == nil {
			s.published()
			r.dir.sync()
		}
		return err
	}
	now, err := r.dir.stat(r.base)
	if err != nil || !unchanged(r.old, now) {
		return fmt.Errorf("%w while the new content was being written", environment.ErrChanged)
	}
	if err := s.dir.rename(s.name, r.dir, r.base); err != nil {
		return err
	}
	// The directory isn't synced: after a crash of the machine one of the two is there, whole, and waiting for the disk a second
	// time would double what a write costs.
	s.published()
	return nil
}

// confirm reads back what is there under the name now.
func (r *replacement) confirm(s *staged) (environment.FileInfo, error) {
	file, info, err := r.dir.open(r.base, os.O_RDONLY)
	if errors.Is(err, fs.ErrPermission) { // a file that may be written and not read: its size must do
		info, err = r.dir.stat(r.base)
		if err == nil && info.Size != s.sum.size {
			err = errNotPersisted
		}
		return info, err
	}
	if err != nil {
		return info, fmt.Errorf("%w: reading it back: %w", errNotPersisted, err)
	}
	defer file.Close()
	found, err := copySum(context.Background(), io.Discard, file)
	if err != nil {
		return info, fmt.Errorf("%w: reading it back: %w", errNotPersisted, err)
	}
	if found != s.sum {
		return info, errNotPersisted
	}
	return info, nil
}

var errNotPersisted = errors.New("the write did not persist: the file doesn't hold what was written")

// copySum copies all of src, counting and hashing, until ctx ends.
func copySum(ctx context.Context, dst io.Writer, src io.Reader) (sum, error) {
	var h maphash.Hash
	h.SetSeed(seed)
	var total int64
	piece := buffers.Get().(*[copyBuffer]byte)
	defer buffers.Put(piece)
	buf := piece[:]
	for {
		if err := ctx.Err(); err != nil {
			return sum{}, err
		}
		n, err := src.Read(buf)
		if n > 0 {
			h.Write(buf[:n])
			total += int64(n)
			if _, werr := dst.Write(buf[:n]); werr != nil {
				return sum{}, werr
			}
		}
		if err == io.EOF {
			return sum{total, h.Sum64()}, nil
		}
		if err != nil {
			return sum{}, fmt.Errorf("the new content: %w", err)
		}
	}
}
