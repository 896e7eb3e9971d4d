//go:build !linux && !darwin

package guard

import (
	"context"
	"errors"
	"io"
)

// Serve fails: no command runs on this system, so there is nothing to guard.
func Serve(context.Context, io.Reader) error { return errors.ErrUnsupported }
