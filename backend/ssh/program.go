package ssh

import (
	"context"

	"github.com/hermes-runtime/hermes/internal/engine/brought"
)

// found is a search for the hermes binary that goes on beside something else.
type found struct {
	brought.Program
	err  error
	done chan struct{}
}

// search starts looking. Whoever asks for the outcome waits for it.
func search(f brought.Finder, m brought.Machine) *found {
	r := &found{done: make(chan struct{})}
	go func() { // ends with the file
		defer close(r.done)
		r.Program, r.err = f.Program(m)
	}()
	return r
}

func (r *found) wait(ctx context.Context) (brought.Program, error) {
	select {
	case <-r.done:
		return r.Program, r.err
	case <-ctx.Done():
		return brought.Program{}, context.Cause(ctx)
	}
}
