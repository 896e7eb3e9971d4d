// Package redact replaces secrets in text by marks that name them: the values that are known (RED-1), and, where asked,
// whatever has the shape of a secret (RED-2).
//
// Both are streams. A stage looks at each pair of bytes, two or more at a time, in a table of 64 KiB; almost no pair of
// ordinary text is in it, so that the price of a byte is that of a look-up. What a stage finds depends on the text
// alone, never on the pieces it comes in.
package redact

import (
	"sync/atomic"
	"unsafe"

	"github.com/hermes-runtime/hermes/internal/secret"
)

// Mode says what is replaced.
type Mode uint8

// The modes of redaction.
const (
	ModeKnown Mode = iota // known values only, for text that must stay exact, such as the contents of files (RED-3)
	ModeAll               // known values, then what looks like a secret
)

// Redactor replaces the secrets of a set, which may change at any time. A nil Redactor knows no values. It is safe for
// concurrent use.
type Redactor struct {
	set      *secret.Set
	compiled atomic.Pointer[known]
}

// New returns a Redactor for the values of set, which may be nil.
func New(set *secret.Set) *Redactor { return &Redactor{set: set} }

// Known returns s with the known values replaced, each by the mark of its name. Doing it twice changes nothing more.
func (r *Redactor) Known(s string) string { return r.Text(ModeKnown, s) }

// All returns s with the known values replaced and whatever else looks like a secret. Doing it twice changes nothing
// more.
func (r *Redactor) All(s string) string { return r.Text(ModeAll, s) }

// Text returns s redacted by mode: s itself, at no allocation, if nothing is replaced. JSON stays valid JSON.
func (r *Redactor) Text(mode Mode, s string) string {
	b := unsafe.Slice(unsafe.StringData(s), len(s)) // only read
	out, changed := r.redact(mode, b)
	if !changed {
		return s
	}
	return string(out)
}

// Bytes returns b redacted by mode: b itself if nothing is replaced, else a new slice.
func (r *Redactor) Bytes(mode Mode, b []byte) []byte {
	out, _ := r.redact(mode, b)
	return out
}

func (r *Redactor) redact(mode Mode, b []byte) (out []byte, changed bool) {
	if k := r.known(); k != nil {
		if at, _ := k.next(b, 0); at >= 0 {
			var s knownStage
			b = s.feed(k, b, true)
			changed = s.replaced
		}
	}
	if mode == ModeAll && table().next(b, 0) >= 0 {
		var s shapeStage
		b = s.feed(b, true)
		changed = changed || s.replaced
	}
	return b, changed
}

// known returns the values of the set, made ready to be looked for; nil if there are none.
func (r *Redactor) known() *known {
	if r == nil {
		return nil
	}
	snap := r.set.Snapshot()
	if len(snap.Values) == 0 {
		return nil
	}
	k := r.compiled.Load()
	if k == nil || k.snap != snap {
		k = compile(snap)
		r.compiled.Store(k)
	}
	return k
}
