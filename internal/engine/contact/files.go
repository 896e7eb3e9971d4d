package contact

import (
	"context"
	"io"
	"io/fs"
	"slices"

	"github.com/hermes-runtime/hermes/environment"
)

// keptFS is the file system of a place over whatever contact there is.
type keptFS struct {
	k      *keeper
	guards []environment.Guard
}

var (
	_ environment.FS      = (*keptFS)(nil)
	_ environment.Guarder = (*keptFS)(nil)
)

// Guarded returns the same file system with g asked before every operation, after the guards that are there already.
func (f *keptFS) Guarded(g environment.Guard) environment.FS {
	return &keptFS{f.k, append(slices.Clone(f.guards), g)}
}

func onFiles[T any](ctx context.Context, f *keptFS, do func(environment.FS) (T, error)) (T, error) {
	return with(ctx, f.k, func(l Link) (T, error) {
		files := l.Files()
		for _, g := range f.guards {
			guarder, ok := files.(environment.Guarder)
			if !ok { // unguarded is not an answer
				var none T
				return none, &environment.Error{Kind: environment.ErrUnsupported, Op: "guard the files of " + f.k.o.What}
			}
			files = guarder.Guarded(g)
		}
		return do(files)
	})
}

// Resolve gives the absolute path that a name means there.
func (f *keptFS) Resolve(ctx context.Context, name string, dir environment.Path) (environment.Path, error) {
	return onFiles(ctx, f, func(fs environment.FS) (environment.Path, error) { return fs.Resolve(ctx, name, dir) })
}

// Stat follows links.
func (f *keptFS) Stat(ctx context.Context, p environment.Path) (environment.FileInfo, error) {
	return onFiles(ctx, f, func(fs environment.FS) (environment.FileInfo, error) { return fs.Stat(ctx, p) })
}

// Read reads a regular file.
func (f *keptFS) Read(ctx context.Context, p environment.Path, off, n int64) (io.ReadCloser, error) {
	return onFiles(ctx, f, func(fs environment.FS) (io.ReadCloser, error) { return fs.Read(ctx, p, off, n) })
}

// Replace puts content in place of a file.
func (f *keptFS) Replace(ctx context.Context, p environment.Path, content io.Reader, o environment.ReplaceOptions) (environment.FileInfo, error) {
	return onFiles(ctx, f, func(fs environment.FS) (environment.FileInfo, error) { return fs.Replace(ctx, p, content, o) })
}

// Rename gives a file another name.
func (f *keptFS) Rename(ctx context.Context, from, to environment.Path) error {
	_, err := onFiles(ctx, f, func(fs environment.FS) (nothing, error) { return nothing{}, fs.Rename(ctx, from, to) })
	return err
}

// Remove removes a file or an empty directory.
func (f *keptFS) Remove(ctx context.Context, p environment.Path) error {
	_, err := onFiles(ctx, f, func(fs environment.FS) (nothing, error) { return nothing{}, fs.Remove(ctx, p) })
	return err
}

// MkdirAll makes a directory and what is missing above it.
func (f *keptFS) MkdirAll(ctx context.Context, p environment.Path, mode fs.FileMode) error {
	_, err := onFiles(ctx, f, func(fs environment.FS) (nothing, error) { return nothing{}, fs.MkdirAll(ctx, p, mode) })
	return err
}

// ReadDir lists a directory.
func (f *keptFS) ReadDir(ctx context.Context, p environment.Path) ([]environment.DirEntry, error) {
	return onFiles(ctx, f, func(fs environment.FS) ([]environment.DirEntry, error) { return fs.ReadDir(ctx, p) })
}
