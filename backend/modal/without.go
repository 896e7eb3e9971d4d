//go:build !modal

package modal

import (
	"context"
	"errors"

	"github.com/hermes-runtime/hermes/environment"
)

// usable says what this build lacks.
func usable(environment.OpenOptions) error {
	return &environment.Error{Kind: environment.ErrUnavailable, Op: "use Modal",
		Err: errors.New("this hermes was built without Modal's client, which adds 16 MB; build one that has it: go build -tags modal -o bin/hermes ./cmd/hermes")}
}

func open(ctx context.Context, o environment.OpenOptions) (environment.Environment, error) {
	return nil, check(ctx, o)
}

func probe(ctx context.Context, o environment.OpenOptions) []string {
	return []string{check(ctx, o).Error()}
}
