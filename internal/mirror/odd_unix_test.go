//go:build unix

package mirror_test

import (
	"syscall"
	"testing"
)

// odd makes something that can't be read to its end.
func odd(t testing.TB, file string) {
	t.Helper()
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
}
