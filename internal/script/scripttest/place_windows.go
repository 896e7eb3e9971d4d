package scripttest

import (
	"context"

	"github.com/hermes-runtime/hermes/environment"
)

// Run runs nothing on Windows.
func (p *Env) Run(context.Context, environment.Command) (environment.Result, error) {
	return environment.Result{ExitCode: -1}, &environment.Error{Kind: environment.ErrUnavailable, Op: "run a program"}
}
