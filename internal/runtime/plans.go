package runtime

import (
	"context"
	"errors"
	"time"

	"github.com/hermes-runtime/hermes/internal/store"
)

// plans is the plan of one session, as its tool needs it.
type plans struct {
	store   store.Store
	session string
}

// Todos gives the plan.
func (p plans) Todos(ctx context.Context) ([]store.Todo, error) {
	todos, err := p.store.Todos(ctx, p.session)
	if errors.Is(err, store.ErrUnknown) {
		return nil, nil
	}
	return todos, err
}

// SetTodos replaces the plan. A session that nobody talks in is kept for its plan alone.
func (p plans) SetTodos(ctx context.Context, todos []store.Todo) error {
	err := p.store.SetTodos(ctx, p.session, todos)
	if !errors.Is(err, store.ErrUnknown) {
		return err
	}
	if err := p.store.Begin(ctx, store.Session{ID: p.session, Source: planSource, Started: time.Now().UTC()}); err != nil {
		return err
	}
	return p.store.SetTodos(ctx, p.session, todos)
}
