package python

import (
	"log/slog"

	"github.com/hermes-runtime/hermes/internal/script/python/embedded"
)

// EmbeddedOptions says where the embedded interpreter is kept.
type EmbeddedOptions struct {
	Home string       // HERMES_HOME; the interpreter goes below cache/python
	Log  *slog.Logger // nil = none
}

// Embedded returns Hermes's own interpreter, for Options; nil if the build has none.
func Embedded(o EmbeddedOptions) Own {
	if !embedded.Available() {
		return nil
	}
	return embedded.New(embedded.Options{Home: o.Home, Log: o.Log})
}
