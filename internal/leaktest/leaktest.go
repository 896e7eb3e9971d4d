// Package leaktest fails tests that leave goroutines behind. A goroutine that is about to end has the time for it that a busy machine takes.
package leaktest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long what was told to end may take.
const patience = 30 * time.Second

// Main runs the tests of a package, and ends the process.
func Main(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := find(patience); err != nil {
			fmt.Fprintln(os.Stderr, "the tests passed and left behind:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// None fails t for goroutines that options don't name.
func None(t testing.TB, options ...goleak.Option) {
	t.Helper()
	if err := find(patience, options...); err != nil {
		t.Error(err)
	}
}

func find(within time.Duration, options ...goleak.Option) error {
	for end := time.Now().Add(within); ; { // Find itself waits between its looks
		if err := goleak.Find(options...); err == nil || time.Now().After(end) {
			return err
		}
	}
}
