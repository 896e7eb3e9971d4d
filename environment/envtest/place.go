package envtest

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// Output runs a script in a place, and gives what it prints.
func Output(t testing.TB, e environment.Environment, script string) string {
	t.Helper()
	var out bytes.Buffer
	if _, err := e.Run(context.Background(), environment.Command{Script: script, Output: &out, Timeout: time.Minute}); err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return out.String()
}

// Shut closes a place.
func Shut(t testing.TB, e environment.Environment) {
	t.Helper()
	if err := e.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// Eventually waits, within bounds, until nothing is wrong any more: wrong says what is.
func Eventually(t testing.TB, wrong func() string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		w := wrong()
		if w == "" {
			return
		}
		if time.Now().After(end) {
			t.Error(w)
			return
		}
	}
}
