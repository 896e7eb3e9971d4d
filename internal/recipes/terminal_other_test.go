//go:build !linux

package recipes

import "testing"

// converse is for Linux: elsewhere terminals are made otherwise.
func (x *tree) converse(t *testing.T, s step) {
	t.Helper()
	t.Logf("line %d: the conversation is left out", s.line)
}
