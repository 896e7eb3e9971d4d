//go:build !unix

package keys

import (
	"errors"
	"os"
	"time"
)

// Supported tells whether keys can be read on this system.
const Supported = false

// Reader reads a terminal key by key.
type Reader struct{}

// Open fails: there is no such system with commands to run.
func Open(*os.File) (*Reader, error) { return nil, errors.ErrUnsupported }

// Discard does nothing.
func (*Reader) Discard() error { return nil }

// Close does nothing.
func (*Reader) Close() error { return nil }

// Read fails.
func (*Reader) Read([]byte, time.Duration) (int, error) { return 0, errors.ErrUnsupported }

// Suspend does nothing.
func Suspend() {}
