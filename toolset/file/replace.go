package file

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/tool"
	"github.com/hermes-runtime/hermes/toolset/file/diff"
	"github.com/hermes-runtime/hermes/toolset/file/match"
	"github.com/hermes-runtime/hermes/toolset/file/memory"
	"github.com/hermes-runtime/hermes/toolset/file/text"
)

// maxPatched bounds files that are patched: they are held in memory.
const maxPatched = 512 << 20

// tooOften is from which failed edit in a row on the hint advises another way.
const tooOften = 3

// replaceText is mode replace.
func (w *work) replaceText(a patchArgs) (any, error) {
	t, err := w.resolve(a.Path)
	if err != nil {
		return nil, err
	}
	req := match.Request{Old: text.Normalise(*a.Old), New: text.Normalise(*a.New), All: a.ReplaceAll}
	if req.Old == req.New {
		return nil, refuse("old_string and new_string are identical but for their line breaks, which the file decides: there is nothing to change")
	}
	var res *patchResult
	err = w.inTurn([]environment.Path{t.path}, func() error {
		var err error
		res, err = w.replaceOnce(t, req)
		return err
	})
	if err != nil {
		return nil, w.explainEdit(t, err)
	}
	w.book.Succeeded(t.path)
	return res, nil
}

func (w *work) replaceOnce(t target, req match.Request) (*patchResult, error) {
	e, err := w.open(t)
	if err != nil {
		return nil, err
	}
	if err := e.undecodable(req.Old); err != nil {
		return nil, err
	}
	found, err := match.Find(e.doc, req)
	if err != nil {
		return nil, err
	}
	e.edits, e.strategy = found.Edits, found.Strategy
	if err := e.compute(); err != nil {
		return nil, err
	}
	res := &patchResult{
		Success: true, ResolvedPath: string(t.path), MatchStrategy: string(found.Strategy), Matches: found.Matches,
		Warning: lines(t.warn, w.stale(t, e.old)),
	}
	if bytes.Equal(e.fresh, e.old.raw) {
		res.Unchanged = true
		res.Hint = "the file is as it would be after this edit: nothing was written"
		return res, nil
	}
	s, err := w.replace(t, e.old, e.fresh)
	if err != nil {
		return nil, err
	}
	w.wrote(t, s.stamp)
	res.InPlace = s.outcome.InPlace
	res.FilesModified = []string{string(t.path)}
	res.Diff = diff.Cut(diff.Named(t.name, t.name, diff.Edits(e.doc, e.edits)), maxDiff)
	res.Lint = w.lint([]written{{path: t.path, name: t.name, old: e.old.raw, new: e.fresh}})
	e.old.doneAfter(res.Lint)
	return res, nil
}

// wrote remembers what an edit left.
func (w *work) wrote(t target, s memory.Stamp) {
	w.book.Wrote(t.path, s, memory.Seen{Name: t.name, Dir: w.dir})
}

// editing is a file on its way through an edit.
type editing struct {
	target   target
	old      before
	doc      *text.Doc
	edits    []text.Edit
	strategy match.Strategy
	fresh    []byte
}

// open reads a file that is to be edited.
func (w *work) open(t target) (*editing, error) {
	if err := w.mayWrite(t); err != nil {
		return nil, err
	}
	old, err := w.look(t, maxPatched)
	switch {
	case err != nil:
		return nil, err
	case !old.exists:
		return nil, &fs.PathError{Op: "patch", Path: string(t.path), Err: fs.ErrNotExist}
	case !old.known:
		return nil, tooLarge(t, old.info.Size, maxPatched)
	}
	if k := inspect(t.name, old.raw[:min(len(old.raw), headSize)]); k.binary {
		return nil, &refused{failure{Error: fmt.Sprintf("%s is a binary file (%s): it can't be patched", t.name, k.mime), ResolvedPath: string(t.path)}, tool.ErrTypeTool}
	}
	return &editing{target: t, old: old, doc: text.Parse(old.raw)}, nil
}

// undecodable refuses text with replacement marks that stands in the file as bytes that can't be decoded.
func (e *editing) undecodable(old string) error {
	if e.doc.Encoding != text.EightBit || !strings.ContainsRune(old, utf8.RuneError) {
		return nil
	}
	shown, _ := marked(e.doc.Text)
	at := strings.Index(shown, old)
	if at < 0 {
		return nil
	}
	line := strings.Count(shown[:at+strings.IndexRune(old, utf8.RuneError)], "\n") + 1
	return &refused{failure{
		Error: fmt.Sprintf("old_string covers bytes in line %d that can't be decoded (%s): they would be lost. Choose a part without \uFFFD", line, e.doc.Encoding),
	}, tool.ErrTypeTool}
}

// compute applies the edits, and refuses new text that must not be written.
func (e *editing) compute() error {
	fresh, err := e.doc.Apply(e.edits)
	if errors.Is(err, text.ErrUndecodable) {
		return &refused{failure{Error: fmt.Sprintf("the edit touches bytes that can't be decoded: %v. Choose a part without them", err)}, tool.ErrTypeTool}
	}
	if err != nil {
		return err
	}
	for _, x := range e.edits {
		if err := freshMarks(x.New, e.old.raw); err != nil {
			return err
		}
	}
	e.fresh = fresh
	return nil
}

// explainEdit makes the answer of an edit that wasn't done.
func (w *work) explainEdit(t target, err error) error {
	var (
		missing   *match.NotFound
		ambiguous *match.Ambiguous
		unclear   *match.Refused
	)
	f := failure{Error: err.Error(), ResolvedPath: string(t.path)}
	switch {
	case errors.As(err, &missing):
		f.Error = fmt.Sprintf("old_string was not found in %s", t.name) + shownPlaces(missing.Near)
		f.Hint = "read the file with read_file and take the text from there"
	case errors.As(err, &ambiguous), errors.As(err, &unclear):
	case errors.Is(err, fs.ErrNotExist):
		f.Error, f.Similar = describe(err), w.similar(t)
	default:
		return err
	}
	if n := w.book.Failed(t.path); n >= tooOften {
		f.Hint = lines(f.Hint, fmt.Sprintf("this is failed edit number %d in a row on this file: read it anew, or write it whole with write_file", n))
	}
	return &refused{f, tool.ErrTypeTool}
}

func shownPlaces(near []match.Place) string {
	if len(near) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(". Similar places:")
	for _, p := range near {
		b.WriteString("\n")
		for i, l := range p.Lines {
			fmt.Fprintf(&b, "\n%d|", p.Line+i)
			show(&b, headOf(l, 200))
		}
	}
	return b.String()
}
