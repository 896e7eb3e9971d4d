package python

import (
	"context"
	"log/slog"
)

// EmbeddedOptions says where the embedded interpreter is kept.
type EmbeddedOptions struct {
	Home string       // HERMES_HOME; the interpreter goes below cache/python
	Log  *slog.Logger // nil = none
}

// Embedded returns what makes Hermes's own interpreter, for Options; nil if the build has none.
func Embedded(EmbeddedOptions) func(ctx context.Context, progress func(string)) (string, error) {
	return nil
}
