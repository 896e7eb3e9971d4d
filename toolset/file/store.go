package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/redact"
	"github.com/hermes-runtime/hermes/tool"
	"github.com/hermes-runtime/hermes/toolset/file/memory"
)

// before is a file as it was when a write began.
type before struct {
	exists bool
	info   environment.FileInfo
	raw    []byte // what it held, if that was read
	known  bool   // it was
}

// rooms keeps memory that files were read into: for a large file fresh memory costs more than reading it.
var rooms = sync.Pool{New: func() any { return new([]byte) }}

// doneAfter gives the memory of what the file held back, once it was checked. Nobody may look at it any more: a checker that was given up
// might.
func (b before) doneAfter(l *lintResult) {
	if cap(b.raw) > 0 && (l == nil || l.Status == lintSkipped) {
		rooms.Put(&b.raw)
	}
}

// look finds out what is there. content says whether what it holds is wanted too.
func (w *work) look(t target, limit int64) (before, error) {
	info, err := w.fs.Stat(w.ctx, t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return before{}, nil
	case err != nil:
		return before{}, err
	case info.Mode.IsDir():
		return before{}, &refused{failure{Error: fmt.Sprintf("%s is a directory", t.name) + w.listing(t.path), ResolvedPath: string(t.path)}, tool.ErrTypeTool}
	case limit <= 0 || info.Size > limit:
		return before{exists: true, info: info}, nil
	}
	r, err := w.fs.Read(w.ctx, t.path, 0, limit+1)
	if err != nil {
		return before{exists: true, info: info}, err
	}
	defer r.Close()
	b := bytes.NewBuffer((*rooms.Get().(*[]byte))[:0])
	b.Grow(int(info.Size) + bytes.MinRead)
	if _, err := b.ReadFrom(r); err != nil {
		return before{exists: true, info: info}, err
	}
	if int64(b.Len()) > limit {
		return before{exists: true, info: info}, nil
	}
	return before{exists: true, info: info, raw: b.Bytes(), known: true}, nil
}

// stampOf is the state of a file that holds this.
func stampOf(info environment.FileInfo, content []byte) memory.Stamp {
	s := memory.StampOf(info)
	s.Hash = memory.Hash(content)
	return s
}

// stamp is the state of the file, with its hash where the content is known.
func (b before) stamp() memory.Stamp {
	if !b.known {
		return memory.StampOf(b.info)
	}
	return stampOf(b.info, b.raw)
}

// stored says how a write went.
type stored struct {
	info    environment.FileInfo
	stamp   memory.Stamp
	outcome environment.ReplaceOutcome
}

// replace puts content in place of a file that must still be as it was, and hold what it did if that is known.
func (w *work) replace(t target, old before, content []byte) (stored, error) {
	var out stored
	o := environment.ReplaceOptions{Parents: true, Result: &out.outcome}
	var src io.Reader = bytes.NewReader(content)
	if old.exists {
		o.Unchanged = &old.info
		if old.known {
			src = &verified{Reader: src, check: func() error { return w.still(t, old) }}
		}
	}
	hash := make(chan uint64, 1)
	go func() { hash <- memory.Hash(content) }() // while the disk is waited for
	info, err := w.fs.Replace(w.ctx, t.path, src, o)
	out.info, out.stamp = info, memory.StampOf(info)
	out.stamp.Hash = <-hash
	return out, err
}

// verified makes sure of something before its first byte is read: what is replaced has the same size and time, and may still hold
// something else.
type verified struct {
	io.Reader
	check func() error
}

func (v *verified) Read(b []byte) (int, error) {
	if v.check != nil {
		if err := v.check(); err != nil {
			return 0, err
		}
		v.check = nil
	}
	return v.Reader.Read(b)
}

// still compares a file with what it held.
func (w *work) still(t target, old before) error {
	r, err := w.fs.Read(w.ctx, t.path, 0, -1)
	if err != nil {
		if errors.Is(err, environment.ErrGuarded) {
			return nil
		}
		return err
	}
	defer r.Close()
	same := &comparer{want: old.raw}
	piece := pieces.Get().(*[compareSize]byte)
	defer pieces.Put(piece)
	if _, err := io.CopyBuffer(same, r, piece[:]); err != nil && !errors.Is(err, environment.ErrChanged) {
		return err
	}
	if same.differs || len(same.want) > 0 {
		return fmt.Errorf("%w since it was read: it has other content", environment.ErrChanged)
	}
	return nil
}

// compareSize is how much of a file is compared at once.
const compareSize = 256 << 10

var pieces = sync.Pool{New: func() any { return new([compareSize]byte) }}

// comparer compares what is written to it.
type comparer struct {
	want    []byte
	differs bool
}

func (c *comparer) Write(b []byte) (int, error) {
	if len(b) > len(c.want) || !bytes.Equal(b, c.want[:len(b)]) {
		c.differs = true
		return 0, environment.ErrChanged
	}
	c.want = c.want[len(b):]
	return len(b), nil
}

// stale warns of what the task doesn't know of the file that it is about to change.
func (w *work) stale(t target, old before) string {
	if !old.exists || w.call.Host.Getenv("HERMES_DISABLE_FILE_STATE_GUARD") != "" {
		return ""
	}
	return w.book.Stale(t.path, old.stamp(), relative(t.name), w.dir)
}

// freshMarks refuses new text with the marks that hermes puts in place of secrets: what stood there would be lost.
func freshMarks(content string, old []byte) error {
	if !redact.HasMark(content) {
		return nil
	}
	had := redact.Marks(string(old))
	for _, m := range redact.Marks(content) {
		i := slices.Index(had, m)
		if i < 0 {
			return &refused{failure{
				Error: fmt.Sprintf("the new text holds %s, which hermes shows in place of a secret: writing it would put the mark where the secret is needed. Leave that part of the file as it is, or have the program read the value from its environment.", m),
			}, tool.ErrTypeGuardrailBlock}
		}
		had = slices.Delete(had, i, i+1)
	}
	return nil
}

// ownAnswer refuses the text of our "unchanged" answer as content: a model that writes it has lost the file.
func ownAnswer(content string) error {
	if len(content) < 2*len(unchangedText)+200 && strings.Contains(content, unchangedText) {
		return &refused{failure{
			Error: "the content is read_file's note that a file is unchanged, not the file's text: write what the file is to hold",
		}, tool.ErrTypeGuardrailBlock}
	}
	return nil
}

// tries is how often an edit is done while other processes change its file in between. Each time one of them got further, so few
// are enough; a file that never rests is refused.
const tries = 4

// inTurn does an edit of the paths when no other call edits one of them, and anew if a file changed in between all the same.
func (w *work) inTurn(paths []environment.Path, edit func() error) error {
	turns, err := w.book.Take(w.ctx, paths...)
	if err != nil {
		return err
	}
	w.turns = turns
	defer turns.Release()
	for range tries {
		if err = edit(); !errors.Is(err, environment.ErrChanged) || w.ctx.Err() != nil {
			break
		}
	}
	return err
}
