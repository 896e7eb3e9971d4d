// Package redact replaces secrets in text by marks that name them: the values that are known (RED-1), and, where asked,
// whatever has the shape of a secret (RED-2).
package redact

import (
	"sync/atomic"

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

// Known returns s with the known values replaced, each by the mark of its name.
func (r *Redactor) Known(s string) string { return r.Text(ModeKnown, s) }

// All returns s with the known values replaced and whatever else looks like a secret.
func (r *Redactor) All(s string) string { return r.Text(ModeAll, s) }
