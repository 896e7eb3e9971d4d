package files

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/hermes-runtime/hermes/environment"
)

// Rename gives from the name to, replacing a file that has it. Links in the directories are followed, one that is itself named is
// renamed. Both ends are judged first. A regular file moves to another file system too: it is copied there, synced, and then removed.
func (f *FS) Rename(ctx context.Context, from, to environment.Path) error {
	a, err := f.locateName("rename", from)
	if err != nil {
		return err
	}
	b, err := f.locateName("rename", to)
	if err != nil {
		return err
	}
	grip, err := f.locks.hold(ctx, pathShard(a), pathShard(b))
	if err != nil {
		return failure("rename", a, err)
	}
	defer grip.release()
	source, err := f.openName(a)
	if err != nil {
		return failure("rename", a, err)
	}
	defer source.dir.close()
	target, err := f.openName(b)
	if err != nil {
		return failure("rename to", b, err)
	}
	defer target.dir.close()
	if source.info == nil {
		return failure("rename", a, syscall.ENOENT)
	}
	err = source.dir.rename(source.base, target.dir, target.base)
	if errors.Is(err, syscall.EXDEV) && source.info.Mode.IsRegular() {
		err = f.moveAcross(ctx, source, b, grip)
	}
	if err != nil {
		return failure("rename "+Display(a)+" to", b, err)
	}
	target.dir.sync()
	source.dir.sync()
	return nil
}

// moveAcross copies a file that can't be renamed as the other name is on another disk.
func (f *FS) moveAcross(ctx context.Context, source *named, to string, g *grip) error {
	file, now, err := source.dir.open(source.base, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer file.Close()
	if !now.Same(*source.info) {
		return swapped("read", string(source.info.Path))
	}
	r := &replacement{fs: f, path: to, grip: g, options: environment.ReplaceOptions{Mode: now.Mode}}
	defer r.close()
	if _, err := r.run(ctx, file); err != nil {
		return err
	}
	return source.dir.remove(source.base)
}

// Remove removes a file, an empty directory, or a link but not what it leads to.
func (f *FS) Remove(ctx context.Context, p environment.Path) error {
	path, err := f.locateName("remove", p)
	if err != nil {
		return err
	}
	grip, err := f.locks.hold(ctx, pathShard(path))
	if err != nil {
		return failure("remove", path, err)
	}
	defer grip.release()
	n, err := f.openName(path)
	if err != nil {
		return failure("remove", path, err)
	}
	defer n.dir.close()
	if n.info == nil {
		return failure("remove", path, syscall.ENOENT)
	}
	if err := n.dir.remove(n.base); err != nil {
		return failure("remove", path, err)
	}
	n.dir.sync()
	return nil
}

// MkdirAll makes p and what is missing above it. mode 0 is 0777; the umask applies. A directory that is there is no error.
func (f *FS) MkdirAll(ctx context.Context, p environment.Path, mode fs.FileMode) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	path, err := f.locate("make directory", p)
	if err != nil {
		return err
	}
	var present *environment.FileInfo
	if info, err := statPath(path); err == nil {
		info.Path = environment.Path(path)
		present = &info
	}
	if err := f.judge(path, present, environment.OpWrite); err != nil {
		return err
	}
	if present != nil && present.Mode.IsDir() {
		return nil
	}
	if mode == 0 {
		mode = 0o777
	}
	d, _, err := makeDirs(path, mode)
	if d != nil {
		d.close()
	}
	return failure("make directory", path, err)
}

// named is one name in a directory that is held open.
type named struct {
	dir  *dir
	base string
	info *environment.FileInfo // nil = nothing has the name
}

// locateName resolves the directory of p, but not its last name: that is what will be renamed or removed.
func (f *FS) locateName(op string, p environment.Path) (string, error) {
	path, err := checked(op, string(p))
	if err != nil {
		return "", err
	}
	parent, base := splitLast(path)
	if base == "" || base == "." || base == ".." {
		return f.locate(op, p)
	}
	parent, err = f.locate(op, environment.Path(parent))
	if err != nil {
		return "", err
	}
	return childOf(parent, base), nil
}

// openName holds the directory of path and has a change of the name judged.
func (f *FS) openName(path string) (*named, error) {
	d, base, err := openParent(path)
	if err != nil {
		return nil, err
	}
	n := &named{dir: d, base: base}
	info, err := d.stat(base)
	switch {
	case err == nil:
		info.Path = environment.Path(path)
		n.info = &info
	case !errors.Is(err, fs.ErrNotExist):
		d.close()
		return nil, err
	}
	if err := f.judge(path, n.info, environment.OpWrite); err != nil {
		d.close()
		return nil, err
	}
	return n, nil
}

// makeDirs makes path and what is missing above it, links refused, and gives it opened with the names made, outermost first.
func makeDirs(path string, mode fs.FileMode) (*dir, []string, error) {
	d, err := openDir(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return d, nil, err
	}
	parent, base := splitLast(path)
	if base == "" {
		return nil, nil, err
	}
	up, made, err := makeDirs(parent, mode)
	if err != nil {
		return nil, made, err
	}
	defer up.close()
	switch err := up.mkdir(base, mode); {
	case err == nil:
		made = append(made, path)
	case !errors.Is(err, fs.ErrExist): // someone else may have made it meanwhile
		return nil, made, err
	}
	d, err = up.into(base)
	return d, made, err
}

// splitLast splits a path at its last separator; the root stays whole.
func splitLast(path string) (parent, base string) {
	root, _ := splitRoot(path)
	i := len(path)
	for i > len(root) && !os.IsPathSeparator(path[i-1]) {
		i--
	}
	parent, base = path[:i], path[i:]
	for len(parent) > len(root) && os.IsPathSeparator(parent[len(parent)-1]) {
		parent = parent[:len(parent)-1]
	}
	return parent, base
}

func sortEntries(list []fs.DirEntry) {
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
}
