//go:build linux

package plain_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/plain"
)

func TestPlain_WhatMayHaveRunIsNotToldAsNotStarted(t *testing.T) { // CON-2, CON-3
	lost := &environment.Error{Kind: environment.ErrLost, Op: "follow a shell"}
	for _, c := range []struct {
		fails error
		want  error
	}{{lost, environment.ErrLost}, {errors.New("refused"), environment.ErrNotStarted}} {
		inner, opened := here("sh", nil), false
		exec := func(ctx context.Context, script string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
			if opened && strings.Contains(script, "eval") { // the command; its guard and its members are left alone
				return -1, c.fails
			}
			return inner(ctx, script, stdin, stdout, stderr)
		}
		p, err := plain.Open(t.Context(), exec, plain.Options{})
		if err != nil {
			t.Fatal(err)
		}
		opened = true
		_, err = p.Run(t.Context(), environment.Command{Script: "true"})
		if !errors.Is(err, c.want) || errors.Is(err, environment.ErrNotStarted) != (c.want == environment.ErrNotStarted) {
			t.Errorf("%v: %v", c.fails, err)
		}
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}
