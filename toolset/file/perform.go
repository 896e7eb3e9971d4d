package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/tool"
	"github.com/hermes-runtime/hermes/toolset/file/diff"
	"github.com/hermes-runtime/hermes/toolset/file/match"
	"github.com/hermes-runtime/hermes/toolset/file/text"
	"github.com/hermes-runtime/hermes/toolset/file/v4a"
)

// done is how far a patch came, and how it is undone.
type done struct {
	work *work
	undo []undoing
}

type undoing struct {
	what string
	do   func() error
}

// perform does the steps; if one fails those before it are undone.
func (w *work) perform(steps []*step) (*patchResult, error) {
	d := &done{work: w}
	res := &patchResult{Success: true, MatchStrategy: string(match.Exact)}
	var files []written
	var diffs strings.Builder
	edited := false
	for _, s := range steps {
		if err := d.step(s); err != nil {
			return nil, d.back(s, err)
		}
		s.report(res)
		diffs.WriteString(s.diff())
		if len(s.op.Hunks) > 0 {
			edited = true
			if s.edit.strategy != match.Exact {
				res.MatchStrategy = string(s.edit.strategy)
			}
		}
		if s.fresh != nil {
			files = append(files, s.written())
		}
		res.Warning = lines(res.Warning, s.warn)
	}
	if !edited {
		res.MatchStrategy = ""
	}
	for _, s := range steps {
		w.book.Succeeded(s.from.path)
	}
	res.Diff = diff.Cut(diffs.String(), maxDiff)
	res.Lint = w.lint(files)
	return res, nil
}

// step does one operation.
func (d *done) step(s *step) error {
	switch s.op.Kind {
	case v4a.Add:
		return d.add(s)
	case v4a.Delete:
		return d.remove(s)
	case v4a.Move:
		return d.move(s)
	}
	return d.update(s, s.from)
}

func (d *done) later(what string, do func() error) { d.undo = append(d.undo, undoing{what, do}) }

func (d *done) add(s *step) error {
	w := d.work
	made := w.missingDirs(s.from.path)
	info, err := w.fs.Replace(w.ctx, s.from.path, bytes.NewReader(s.fresh), environment.ReplaceOptions{Parents: true, Exclusive: true})
	if err != nil {
		return err
	}
	w.wrote(s.from, stampOf(info, s.fresh))
	d.later(s.op.String(), func() error { return w.unmake(s.from.path, made) })
	return nil
}

func (d *done) update(s *step, at target) error {
	w := d.work
	if bytes.Equal(s.fresh, s.edit.old.raw) {
		return nil
	}
	old := s.edit.old
	if at.path != s.from.path { // moved by now
		info, err := w.fs.Stat(w.ctx, at.path)
		if err != nil {
			return err
		}
		old.info = info
	}
	out, err := w.replace(at, old, s.fresh)
	if err != nil {
		return err
	}
	w.wrote(at, out.stamp)
	d.later(s.op.String(), func() error {
		info, err := w.fs.Replace(w.ctx, at.path, bytes.NewReader(old.raw), environment.ReplaceOptions{Unchanged: &out.info})
		if err == nil {
			w.wrote(at, stampOf(info, old.raw))
		}
		return err
	})
	return nil
}

func (d *done) remove(s *step) error {
	w := d.work
	if err := w.still(s.from, s.edit.old); err != nil {
		return err
	}
	if err := w.fs.Remove(w.ctx, s.from.path); err != nil {
		return err
	}
	w.book.Removed(s.from.path)
	old := s.edit.old
	d.later(s.op.String(), func() error {
		_, err := w.fs.Replace(w.ctx, s.from.path, bytes.NewReader(old.raw), environment.ReplaceOptions{Mode: old.info.Mode.Perm(), Exclusive: true})
		return err
	})
	return nil
}

func (d *done) move(s *step) error {
	w := d.work
	made := w.missingDirs(s.to.path)
	if err := w.fs.MkdirAll(w.ctx, environment.Path(path.Dir(string(s.to.path))), 0); err != nil {
		return err
	}
	undoDirs := func() error { return w.removeDirs(made) }
	if err := w.rename(s.from.path, s.to.path, s.edit.old); err != nil {
		return errors.Join(err, undoDirs())
	}
	w.book.Removed(s.from.path)
	w.book.Removed(s.to.path)
	d.later(s.op.String(), func() error {
		if err := w.rename(s.to.path, s.from.path, s.edit.old); err != nil {
			return err
		}
		return undoDirs()
	})
	if s.fresh == nil {
		return nil
	}
	return d.update(s, s.to)
}

// rename moves a file, copying it where source and target lie on different file systems.
func (w *work) rename(from, to environment.Path, old before) error {
	if _, err := w.fs.Stat(w.ctx, to); err == nil {
		return &fs.PathError{Op: "move to", Path: string(to), Err: fs.ErrExist}
	}
	err := w.fs.Rename(w.ctx, from, to)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	r, err := w.fs.Read(w.ctx, from, 0, -1)
	if err != nil {
		return err
	}
	defer r.Close()
	if _, err := w.fs.Replace(w.ctx, to, r, environment.ReplaceOptions{Mode: old.info.Mode.Perm(), Exclusive: true}); err != nil {
		return err
	}
	return w.fs.Remove(w.ctx, from)
}

// missingDirs are the directories above p that are not there, the innermost first.
func (w *work) missingDirs(p environment.Path) []environment.Path {
	var out []environment.Path
	for d := path.Dir(string(p)); d != "/" && d != "."; d = path.Dir(d) {
		if _, err := w.fs.Stat(w.ctx, environment.Path(d)); err == nil {
			break
		}
		out = append(out, environment.Path(d))
	}
	return out
}

func (w *work) unmake(p environment.Path, dirs []environment.Path) error {
	if err := w.fs.Remove(w.ctx, p); err != nil {
		return err
	}
	w.book.Removed(p)
	return w.removeDirs(dirs)
}

func (w *work) removeDirs(dirs []environment.Path) error {
	for _, d := range dirs {
		if err := w.fs.Remove(w.ctx, d); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// undoTime is what taking back may take when the call was ended.
const undoTime = 10 * time.Second

// detach gives the work a bounded context that doesn't end with the call, until the function that it returns is called.
func (w *work) detach(limit time.Duration) (attach func()) {
	was := w.ctx
	ctx, cancel := context.WithTimeout(context.WithoutCancel(was), limit)
	w.ctx = ctx
	return func() { cancel(); w.ctx = was }
}

// back takes back what was done, newest first, and says what couldn't be.
func (d *done) back(s *step, cause error) error {
	w := d.work
	defer w.detach(undoTime)()
	var left []string
	for i := len(d.undo) - 1; i >= 0; i-- {
		if err := d.undo[i].do(); err != nil {
			left = append(left, fmt.Sprintf("%s (%v)", d.undo[i].what, err))
		}
	}
	if len(left) == 0 && errors.Is(cause, environment.ErrChanged) {
		return cause
	}
	text := fmt.Sprintf("%s could not be written: %s. ", s.op, describe(cause))
	if len(left) == 0 {
		text += "Everything before it was taken back: no file is changed."
	} else {
		text += "These were done before it and could not be taken back: " + strings.Join(left, "; ") + "."
	}
	return &refused{failure{Error: text}, tool.ErrTypeTool}
}

// report adds an operation to the result.
func (s *step) report(res *patchResult) {
	switch s.op.Kind {
	case v4a.Add:
		res.FilesCreated = append(res.FilesCreated, string(s.from.path))
	case v4a.Delete:
		res.FilesDeleted = append(res.FilesDeleted, string(s.from.path))
	case v4a.Move:
		res.FilesCreated = append(res.FilesCreated, string(s.to.path))
		res.FilesDeleted = append(res.FilesDeleted, string(s.from.path))
	default:
		res.FilesModified = append(res.FilesModified, string(s.from.path))
	}
}

func (s *step) written() written {
	w := written{path: s.from.path, name: s.op.Path, new: s.fresh, created: s.op.Kind == v4a.Add}
	if s.op.Kind == v4a.Move {
		w.path, w.name = s.to.path, s.op.To
	}
	if s.edit != nil {
		w.old = s.edit.old.raw
	}
	return w
}

// diff shows what an operation did.
func (s *step) diff() string {
	switch s.op.Kind {
	case v4a.Add:
		return diff.Named("", s.op.Path, diff.All(string(s.fresh), '+'))
	case v4a.Delete:
		raw := s.edit.old.raw
		if inspect(s.op.Path, raw[:min(len(raw), headSize)]).binary {
			return diff.Named(s.op.Path, "", "Binary file\n")
		}
		shown, _ := marked(text.Parse(raw).Text)
		return diff.Named(s.op.Path, "", diff.All(shown, '-'))
	case v4a.Move:
		head := fmt.Sprintf("rename from %s\nrename to %s\n", s.op.Path, s.op.To)
		if s.fresh == nil {
			return head
		}
		return head + diff.Named(s.op.Path, s.op.To, diff.Edits(s.edit.doc, s.edit.edits))
	}
	return diff.Named(s.op.Path, s.op.Path, diff.Edits(s.edit.doc, s.edit.edits))
}
