//go:build !linux && !darwin

package resident

import (
	"context"
	"errors"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/resident/wire"
)

// keeping is empty: commands don't run on this system, and so no jobs do.
type keeping struct{}

func (*server) job(_ *wire.Stream, t *talk) error {
	return t.say(jobAnswer{Error: failureOf(&environment.Error{Kind: environment.ErrUnsupported, Op: "keep jobs", Err: errors.New("commands don't run on this system")})})
}

func (*server) endJobs(context.Context) error { return nil }
