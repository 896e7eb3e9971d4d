package file

import "github.com/hermes-runtime/hermes/environment"

// The settings of terminal.lint.
const (
	lintAuto    = "auto"
	lintBuiltin = "builtin"
	lintOff     = "off"
)

// lintResult is what a check of written files found.
type lintResult struct {
	Status  string `json:"status"`
	Output  string `json:"output,omitempty"`
	Message string `json:"message,omitempty"`
}

// written is one file that a call wrote.
type written struct {
	path     environment.Path
	name     string
	old, new []byte
	created  bool
}

func (w *work) lint(files []written) *lintResult { return nil }
