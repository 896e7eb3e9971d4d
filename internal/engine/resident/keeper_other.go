//go:build !linux && !darwin

package resident

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// ErrKept is why a keeper doesn't start: another one is there.
var ErrKept = errors.New("a keeper is there already")

// ScopeVariable tells a keeper whose process table its records name.
const ScopeVariable = "HERMES_KEEPER_SCOPE"

// KeeperServeOptions says what a keeper keeps.
type KeeperServeOptions struct {
	Home  string
	Scope string
	Build string
	Idle  time.Duration
	Log   *slog.Logger
}

// ServeKeeper fails: commands don't run on this system.
func ServeKeeper(context.Context, KeeperServeOptions) error {
	return &environment.Error{Kind: environment.ErrUnsupported, Op: "keep jobs", Err: errors.New("commands don't run on this system")}
}

// Detach does nothing here.
func Detach() error { return nil }
