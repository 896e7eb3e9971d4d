package resident

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/resident/wire"
)

// remoteFS is the file system there. Its guards stay here: the far side asks at the moment of use.
type remoteFS struct {
	place  *Place
	guards []environment.Guard
}

var (
	_ environment.FS      = (*remoteFS)(nil)
	_ environment.Guarder = (*remoteFS)(nil)
)

// Guarded returns the same file system with g asked before every operation, after the guards that are there already.
func (f *remoteFS) Guarded(g environment.Guard) environment.FS {
	return &remoteFS{f.place, append(append([]environment.Guard(nil), f.guards...), g)}
}

// fileCall is one operation on files under way.
type fileCall struct {
	f       *remoteFS
	ctx     context.Context
	st      *wire.Stream
	t       *talk
	refused []error // what guards said, by number of the question less one
}

func (f *remoteFS) begin(ctx context.Context, r fileRequest) (*fileCall, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	st, err := f.place.open(opFile)
	if err != nil {
		return nil, err
	}
	r.Guarded = len(f.guards) > 0
	c := &fileCall{f: f, ctx: ctx, st: st, t: newTalk(st)}
	if err := c.t.say(r); err != nil {
		st.Reset("the request could not be sent")
		return nil, f.place.failed(r.Op+" a file", environment.ErrNotStarted, err)
	}
	return c, nil
}

// answer waits for the outcome and lets guards decide on the way there.
func (c *fileCall) answer() (fileAnswer, error) {
	for {
		var a fileAnswer
		if err := c.t.hear(&a); err != nil {
			if cause := context.Cause(c.st.Context()); cause != nil && c.ctx.Err() == nil {
				err = cause
			}
			return a, c.f.place.failed("wait for a file operation", environment.ErrLost, cause(c.ctx, err))
		}
		if a.Judge == nil {
			return a, c.err(a.Error)
		}
		err := c.judge(a.Judge)
		c.refused = append(c.refused, err)
		var v verdict
		if err != nil {
			v.Refused = err.Error()
		}
		if err := c.t.say(v); err != nil {
			return a, c.f.place.failed("answer for a file", environment.ErrLost, err)
		}
	}
}

func (c *fileCall) judge(j *judgement) error {
	for _, g := range c.f.guards {
		if err := g(j.Path, j.Info, j.Op); err != nil {
			if !errors.Is(err, environment.ErrGuarded) {
				err = fmt.Errorf("%s %s: %w: %w", j.Op, j.Path, environment.ErrGuarded, err)
			}
			return err
		}
	}
	return nil
}

// err gives an error of the far side, or what a guard of this side said, as it said it.
func (c *fileCall) err(f *failure) error {
	if f != nil && f.Judge > 0 && f.Judge <= len(c.refused) && c.refused[f.Judge-1] != nil {
		return c.refused[f.Judge-1]
	}
	return f.err()
}

// do does an operation that sends no content.
func (f *remoteFS) do(ctx context.Context, r fileRequest) (fileAnswer, error) {
	c, err := f.begin(ctx, r)
	if err != nil {
		return fileAnswer{}, err
	}
	defer leave(ctx, c.st)()
	return c.answer()
}

// Resolve gives the absolute path that a name means there.
func (f *remoteFS) Resolve(ctx context.Context, name string, dir environment.Path) (environment.Path, error) {
	a, err := f.do(ctx, fileRequest{Op: "resolve", Name: name, Path: dir})
	return a.Path, err
}

// Stat follows links.
func (f *remoteFS) Stat(ctx context.Context, p environment.Path) (environment.FileInfo, error) {
	return info(f.do(ctx, fileRequest{Op: "stat", Path: p}))
}

func info(a fileAnswer, err error) (environment.FileInfo, error) {
	if a.Info == nil {
		a.Info = &environment.FileInfo{}
	}
	return *a.Info, err
}

// Rename gives a file another name.
func (f *remoteFS) Rename(ctx context.Context, from, to environment.Path) error {
	_, err := f.do(ctx, fileRequest{Op: "rename", Path: from, To: to})
	return err
}

// Remove removes a file or an empty directory.
func (f *remoteFS) Remove(ctx context.Context, p environment.Path) error {
	_, err := f.do(ctx, fileRequest{Op: "remove", Path: p})
	return err
}

// MkdirAll makes a directory and what is missing above it.
func (f *remoteFS) MkdirAll(ctx context.Context, p environment.Path, mode fs.FileMode) error {
	_, err := f.do(ctx, fileRequest{Op: "mkdir", Path: p, Mode: mode})
	return err
}

// ReadDir lists a directory.
func (f *remoteFS) ReadDir(ctx context.Context, p environment.Path) ([]environment.DirEntry, error) {
	a, err := f.do(ctx, fileRequest{Op: "list", Path: p})
	return a.Entries, err
}

// Replace puts content in place of a file. Content that can't be read to its end leaves the file as it is.
func (f *remoteFS) Replace(ctx context.Context, p environment.Path, content io.Reader, o environment.ReplaceOptions) (environment.FileInfo, error) {
	c, err := f.begin(ctx, fileRequest{Op: "replace", Path: p, Replace: o})
	if err != nil {
		return environment.FileInfo{}, err
	}
	defer leave(ctx, c.st)()
	sent := make(chan error, 1)
	go func() { sent <- c.send(content) }()
	a, err := c.answer()
	if unread := <-sent; unread != nil {
		return environment.FileInfo{}, fmt.Errorf("the new content: %w", unread)
	}
	if err == nil && o.Result != nil {
		*o.Result = a.Outcome
	}
	return info(a, err)
}

// send sends the content. Only a failure of its reader is one: the far side says what else went wrong.
func (c *fileCall) send(content io.Reader) error {
	w := c.st.Writer(chBytes)
	buf := make([]byte, wire.MaxPayload)
	for {
		n, err := content.Read(buf)
		if n > 0 {
			if _, werr := w.Write(buf[:n]); werr != nil {
				return nil
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			_ = w.Close()
			return nil
		case err != nil:
			c.st.Reset("the new content could not be read")
			return err
		}
	}
}

// Read reads a regular file.
func (f *remoteFS) Read(ctx context.Context, p environment.Path, off, n int64) (io.ReadCloser, error) {
	c, err := f.begin(ctx, fileRequest{Op: "read", Path: p, Offset: off, Bytes: n})
	if err != nil {
		return nil, err
	}
	left := leave(ctx, c.st)
	if _, err := c.answer(); err != nil {
		left()
		return nil, err
	}
	return &remoteFile{call: c, from: c.st.Reader(chBytes), left: left}, nil
}

// remoteFile is a file that is being read there.
type remoteFile struct {
	call *fileCall
	from io.Reader
	left func()
	over error
}

// Read gives what comes. The end counts only when the far side says that it was one.
func (r *remoteFile) Read(b []byte) (int, error) {
	if r.over != nil {
		return 0, r.over
	}
	n, err := r.from.Read(b)
	if err == nil {
		return n, nil
	}
	if errors.Is(err, io.EOF) {
		if _, aerr := r.call.answer(); aerr != nil {
			err = aerr
		}
	} else {
		err = r.call.f.place.failed("read a file", environment.ErrLost, cause(r.call.ctx, err))
	}
	r.over = err
	return n, err
}

// Close ends reading; again it does nothing.
func (r *remoteFile) Close() error {
	if r.left == nil {
		return nil
	}
	if r.over == nil { // what comes is no longer wanted
		r.call.st.Reset("no longer read")
	}
	r.left()
	r.left = nil
	return nil
}
