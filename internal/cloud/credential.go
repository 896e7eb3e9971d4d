package cloud

import (
	"errors"
	"strings"

	"github.com/hermes-runtime/hermes/environment"
)

// Credential refuses a value that can't be sent as one. The error names the variable that it stands in, and not the value.
func Credential(variable, value string) error {
	if !strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil
	}
	return &environment.Error{Kind: environment.ErrConfig, Op: variable, Err: errors.New("it holds a space, a line break or another character that no credential has")}
}
