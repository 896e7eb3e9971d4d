package file

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/tool"
	"github.com/hermes-runtime/hermes/toolset/file/v4a"
)

// step is one operation of a patch, checked and computed.
type step struct {
	op    v4a.Operation
	from  target
	to    target // Move
	edit  *editing
	fresh []byte // Add, Update and Move with hunks
	warn  string
}

// patch is mode patch: every operation is checked and computed before the first is done, and all are done or none.
func (w *work) patch(a patchArgs) (any, error) {
	var res *patchResult
	err := w.inTurn(w.named(a.ops), func() error {
		steps, err := w.plan(a.ops)
		if err != nil {
			return err
		}
		res, err = w.perform(steps)
		return err
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// named are the paths of the operations, as far as they can be resolved; plan tells of those that can't.
func (w *work) named(ops []v4a.Operation) []environment.Path {
	var out []environment.Path
	for _, o := range ops {
		for _, p := range o.Paths() {
			if t, err := w.resolve(p); err == nil {
				out = append(out, t.path)
			}
		}
	}
	return out
}

// invalid is an operation that can't be done; nothing has been by then.
func (w *work) invalid(s *step, err error) error {
	f := failure{Error: fmt.Sprintf("validation failed, nothing was written: %s: %s", s.op, describe(err))}
	var r *refused
	kind := tool.ErrTypeTool
	if errors.As(err, &r) {
		f.Similar, kind = r.Similar, r.kind
	}
	if errors.Is(err, environment.ErrGuarded) {
		kind = tool.ErrTypeGuardrailBlock
	}
	if isPlace(err) {
		f.Status = statusDegraded
	}
	if s.from.path != "" {
		f.ResolvedPath = string(s.from.path)
		if n := w.book.Failed(s.from.path); n >= tooOften {
			f.Hint = fmt.Sprintf("this is failed edit number %d in a row on this file: read it anew, or write it whole with write_file", n)
		}
	}
	return &refused{f, kind}
}

// plan checks and computes all operations.
func (w *work) plan(ops []v4a.Operation) ([]*step, error) {
	var out []*step
	owner := map[environment.Path]*step{}
	for _, o := range ops {
		s := &step{op: o}
		if err := w.prepare(s); err != nil {
			if w.ctx.Err() != nil || errors.Is(err, environment.ErrChanged) {
				return nil, err
			}
			return nil, w.invalid(s, err)
		}
		for _, p := range s.paths() {
			if first := owner[p]; first != nil {
				return nil, w.invalid(s, fmt.Errorf("it means the same file as %s", first.op))
			}
			owner[p] = s
		}
		for _, first := range out {
			if s.contends(first) {
				return nil, w.invalid(s, fmt.Errorf("it means the same file as %s, by another hard link", first.op))
			}
		}
		out = append(out, s)
	}
	return out, nil
}

func (s *step) paths() []environment.Path {
	if s.op.Kind == v4a.Move {
		return []environment.Path{s.from.path, s.to.path}
	}
	return []environment.Path{s.from.path}
}

// contends reports whether two operations on two names of one file can't both be meant: a name may go, but once the content is
// written the other operation was worked out for a file that isn't there any more.
func (s *step) contends(other *step) bool {
	return s.edit != nil && other.edit != nil && (s.fresh != nil || other.fresh != nil) && s.edit.old.info.Links > 1 &&
		s.edit.old.info.Same(other.edit.old.info)
}

// prepare checks one operation and works out what it will write.
func (w *work) prepare(s *step) error {
	var err error
	if s.from, err = w.stays(s.op.Path); err != nil {
		return err
	}
	s.warn = s.from.warn
	if err := w.mayWrite(s.from); err != nil {
		return err
	}
	if s.op.Kind == v4a.Add {
		return w.prepareAdd(s)
	}
	if s.op.Kind != v4a.Update {
		if err := w.notLink(s.from); err != nil {
			return err
		}
	}
	if s.op.Kind == v4a.Move {
		if err := w.prepareTarget(s); err != nil {
			return err
		}
	}
	if s.edit, err = w.openAny(s.from, s.op); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return &refused{failure{Error: describe(err), Similar: w.similar(s.from)}, tool.ErrTypeTool}
		}
		return err
	}
	s.warn = lines(s.warn, w.stale(s.from, s.edit.old))
	if len(s.op.Hunks) == 0 {
		return nil
	}
	applied, err := v4a.Apply(s.edit.doc, s.op.Hunks)
	if err != nil {
		return err
	}
	s.edit.edits, s.edit.strategy = applied.Edits, applied.Strategy
	if err := s.edit.compute(); err != nil {
		return err
	}
	s.fresh = s.edit.fresh
	return nil
}

// stays resolves a path, and refuses one that climbs out of the workspace.
func (w *work) stays(name string) (target, error) {
	t, err := w.resolve(name)
	if err != nil {
		return t, err
	}
	if !strings.Contains("/"+name+"/", "/../") {
		return t, nil
	}
	root := w.place.Workspace
	if root == "" {
		root = w.dir
	}
	if !inside(t.path, resolved(w.ctx, w.fs, root)) {
		return t, fmt.Errorf("%s leaves the workspace %s by .. (it is %s)", name, root, t.path)
	}
	return t, nil
}

func (w *work) prepareAdd(s *step) error {
	if _, err := w.fs.Stat(w.ctx, s.from.path); err == nil {
		return fmt.Errorf("%s exists already: use Update File", s.from.name)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	content := strings.Join(s.op.Lines, "\n")
	if len(s.op.Lines) > 0 {
		content += "\n"
	}
	if err := freshMarks(content, nil); err != nil {
		return err
	}
	s.fresh = []byte(content)
	return ownAnswer(content)
}

func (w *work) prepareTarget(s *step) error {
	var err error
	if s.to, err = w.stays(s.op.To); err != nil {
		return err
	}
	s.warn = lines(s.warn, s.to.warn)
	if s.to.path == s.from.path {
		return errors.New("source and target are the same file")
	}
	if _, err := w.fs.Stat(w.ctx, s.to.path); err == nil {
		return fmt.Errorf("the target %s exists already", s.to.name)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return w.mayWrite(s.to)
}

// notLink refuses to delete or move a symbolic link: what is meant, the link or the file, only its user knows.
func (w *work) notLink(t target) error {
	dir, base := path.Split(t.name)
	if base == "" || base == "." || base == ".." {
		return nil
	}
	if dir == "" {
		dir = "."
	}
	d, err := w.fs.Resolve(w.ctx, dir, w.dir)
	if err == nil && environment.Path(path.Join(string(d), base)) != t.path && !strings.HasPrefix(t.name, "~") {
		return fmt.Errorf("%s is a symbolic link to %s: name the file itself, or use rm or mv in the terminal for the link", t.name, t.path)
	}
	return nil
}

// openAny reads a file that is edited, or only moved or deleted, in which case it may hold anything.
func (w *work) openAny(t target, o v4a.Operation) (*editing, error) {
	if len(o.Hunks) > 0 {
		return w.open(t)
	}
	old, err := w.look(t, maxPatched)
	switch {
	case err != nil:
		return nil, err
	case !old.exists:
		return nil, &fs.PathError{Op: "patch", Path: string(t.path), Err: fs.ErrNotExist}
	case !old.known && o.Kind == v4a.Delete:
		return nil, tooLarge(t, old.info.Size, maxPatched) // couldn't be brought back
	}
	return &editing{target: t, old: old}, nil
}
