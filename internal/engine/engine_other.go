//go:build !linux && !darwin

package engine

import (
	"context"
	"errors"
	"os"
	"runtime"

	"github.com/hermes-runtime/hermes/environment"
)

// Engine runs no commands on this system, and says why.
type Engine struct{}

// unavailable is why there are no commands here.
var unavailable = Unsupported(runtime.GOOS)

var errNotDir = errors.New("not a directory")

func searchable(string) error { return nil }

func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// New makes an engine.
func New(Options) *Engine { return &Engine{} }

// Shell is "": there is none.
func (*Engine) Shell() string { return "" }

// Describe says for people why commands don't run.
func (*Engine) Describe() []string { return []string{unavailable} }

// Guarded is "": there is nothing to guard.
func (*Engine) Guarded() string { return "" }

// Lacking says that there are no commands, and why.
func (*Engine) Lacking() map[string]string { return map[string]string{"commands": unavailable} }

// Run fails with ErrUnavailable.
func (*Engine) Run(context.Context, environment.Command, Base) (environment.Result, error) {
	return environment.Result{}, &environment.Error{Kind: environment.ErrUnavailable, Op: "run a command", Err: errors.New(unavailable)}
}

// Close does nothing.
func (*Engine) Close(context.Context) error { return nil }

// LoginEnviron reads nothing here.
func (*Engine) LoginEnviron(_ context.Context, b Base, _ []string) *Login {
	return &Login{Environ: b.Environ}
}

// Sweep finds nothing here.
func (*Engine) Sweep() {}
