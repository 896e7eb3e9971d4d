package resident

import (
	"context"
	"fmt"
	"io"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/resident/wire"
)

// fileOps are the operations on files. read sends content and answers before it.
var fileOps = map[string]func(ctx context.Context, f environment.FS, st *wire.Stream, r *fileRequest, a *fileAnswer) error{
	"resolve": func(ctx context.Context, f environment.FS, _ *wire.Stream, r *fileRequest, a *fileAnswer) (err error) {
		a.Path, err = f.Resolve(ctx, r.Name, r.Path)
		return err
	},
	"stat": func(ctx context.Context, f environment.FS, _ *wire.Stream, r *fileRequest, a *fileAnswer) error {
		i, err := f.Stat(ctx, r.Path)
		a.Info = &i
		return err
	},
	"replace": func(ctx context.Context, f environment.FS, st *wire.Stream, r *fileRequest, a *fileAnswer) error {
		r.Replace.Result = &a.Outcome
		i, err := f.Replace(ctx, r.Path, st.Reader(chBytes), r.Replace)
		a.Info = &i
		return err
	},
	"rename": func(ctx context.Context, f environment.FS, _ *wire.Stream, r *fileRequest, _ *fileAnswer) error {
		return f.Rename(ctx, r.Path, r.To)
	},
	"remove": func(ctx context.Context, f environment.FS, _ *wire.Stream, r *fileRequest, _ *fileAnswer) error {
		return f.Remove(ctx, r.Path)
	},
	"mkdir": func(ctx context.Context, f environment.FS, _ *wire.Stream, r *fileRequest, _ *fileAnswer) error {
		return f.MkdirAll(ctx, r.Path, r.Mode)
	},
	"list": func(ctx context.Context, f environment.FS, _ *wire.Stream, r *fileRequest, a *fileAnswer) (err error) {
		a.Entries, err = f.ReadDir(ctx, r.Path)
		return err
	},
}

// file does one operation on files.
func (s *server) file(st *wire.Stream, t *talk) error {
	var req fileRequest
	if err := t.hear(&req); err != nil {
		return err
	}
	var f environment.FS = s.files
	if req.Guarded {
		f = s.files.Guarded(judge(t, func(j *judgement) any { return fileAnswer{Judge: j} }))
	}
	if req.Op == "read" {
		return read(st, t, f, &req)
	}
	do, ok := fileOps[req.Op]
	if !ok {
		return fmt.Errorf("the file operation %.50q is not known", req.Op)
	}
	var a fileAnswer
	a.Error = failureOf(do(st.Context(), f, st, &req, &a))
	return t.say(a)
}

func read(st *wire.Stream, t *talk, f environment.FS, req *fileRequest) error {
	r, err := f.Read(st.Context(), req.Path, req.Offset, req.Bytes)
	if err != nil {
		return t.say(fileAnswer{Error: failureOf(err)})
	}
	defer r.Close()
	if err := t.say(fileAnswer{}); err != nil {
		return err
	}
	w := st.Writer(chBytes)
	if _, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, make([]byte, wire.MaxPayload)); err != nil {
		return t.say(fileAnswer{Error: failureOf(err)}) // the channel ends with the stream, behind this
	}
	if err := w.Close(); err != nil {
		return err
	}
	return t.say(fileAnswer{})
}
