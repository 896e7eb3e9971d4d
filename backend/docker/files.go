package docker

import (
	"context"
	"io"
	"io/fs"
	"slices"

	"github.com/hermes-runtime/hermes/environment"
)

// reachFS is the file system of a container over whatever contact there is.
type reachFS struct {
	p      *place
	guards []environment.Guard
}

var (
	_ environment.FS      = (*reachFS)(nil)
	_ environment.Guarder = (*reachFS)(nil)
)

// Files is the file system of the container.
func (p *place) Files() environment.FS { return &reachFS{p: p} }

// Guarded returns the same file system with g asked before every operation, after the guards that are there already.
func (f *reachFS) Guarded(g environment.Guard) environment.FS {
	return &reachFS{f.p, append(slices.Clone(f.guards), g)}
}

// with does an operation over a contact that works, again if the contact turned out to be over before it was told.
func with[T any](ctx context.Context, f *reachFS, do func(environment.FS) (T, error)) (T, error) {
	for again := true; ; again = false {
		l, err := f.p.reach(ctx)
		if err != nil {
			var none T
			return none, err
		}
		files := l.Files()
		for _, g := range f.guards {
			files = files.(environment.Guarder).Guarded(g)
		}
		v, err := do(files)
		if err == nil || !again || !isOver(l) || !unbegun(err) {
			return v, err
		}
	}
}

// none is the value of an operation that has none.
type none struct{}

// Resolve gives the absolute path that a name means there.
func (f *reachFS) Resolve(ctx context.Context, name string, dir environment.Path) (environment.Path, error) {
	return with(ctx, f, func(fs environment.FS) (environment.Path, error) { return fs.Resolve(ctx, name, dir) })
}

// Stat follows links.
func (f *reachFS) Stat(ctx context.Context, p environment.Path) (environment.FileInfo, error) {
	return with(ctx, f, func(fs environment.FS) (environment.FileInfo, error) { return fs.Stat(ctx, p) })
}

// Read reads a regular file.
func (f *reachFS) Read(ctx context.Context, p environment.Path, off, n int64) (io.ReadCloser, error) {
	return with(ctx, f, func(fs environment.FS) (io.ReadCloser, error) { return fs.Read(ctx, p, off, n) })
}

// Replace puts content in place of a file.
func (f *reachFS) Replace(ctx context.Context, p environment.Path, content io.Reader, o environment.ReplaceOptions) (environment.FileInfo, error) {
	return with(ctx, f, func(fs environment.FS) (environment.FileInfo, error) { return fs.Replace(ctx, p, content, o) })
}

// Rename gives a file another name.
func (f *reachFS) Rename(ctx context.Context, from, to environment.Path) error {
	_, err := with(ctx, f, func(fs environment.FS) (none, error) { return none{}, fs.Rename(ctx, from, to) })
	return err
}

// Remove removes a file or an empty directory.
func (f *reachFS) Remove(ctx context.Context, p environment.Path) error {
	_, err := with(ctx, f, func(fs environment.FS) (none, error) { return none{}, fs.Remove(ctx, p) })
	return err
}

// MkdirAll makes a directory and what is missing above it.
func (f *reachFS) MkdirAll(ctx context.Context, p environment.Path, mode fs.FileMode) error {
	_, err := with(ctx, f, func(fs environment.FS) (none, error) { return none{}, fs.MkdirAll(ctx, p, mode) })
	return err
}

// ReadDir lists a directory.
func (f *reachFS) ReadDir(ctx context.Context, p environment.Path) ([]environment.DirEntry, error) {
	return with(ctx, f, func(fs environment.FS) ([]environment.DirEntry, error) { return fs.ReadDir(ctx, p) })
}
