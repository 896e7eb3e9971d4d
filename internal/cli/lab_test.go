package cli_test

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/tool"
)

// The toolset lab: tools that behave as badly as tools can.
func init() {
	tool.Register(tool.Func(lab("lab_panic", tool.Exclusive), func(context.Context, *tool.Call, struct{}) (any, error) {
		panic("a tool that panics")
	}))
	tool.Register(tool.Func(lab("lab_fail", tool.ReadOnly), func(context.Context, *tool.Call, struct{}) (any, error) {
		return nil, errors.New("a tool that fails")
	}))
	stubborn := lab("lab_stubborn", tool.ReadOnly)
	stubborn.Timeout = 100 * time.Millisecond
	tool.Register(tool.Func(stubborn, func(_ context.Context, _ *tool.Call, a labArgs) (any, error) {
		time.Sleep(time.Duration(a.Milliseconds) * time.Millisecond) // what ctx says is ignored
		return "too late", nil
	}))
	tool.Register(tool.Func(lab("lab_slow", tool.ReadOnly), func(ctx context.Context, _ *tool.Call, a labArgs) (any, error) {
		select {
		case <-time.After(time.Duration(a.Milliseconds) * time.Millisecond):
			return "in time", nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}))
	tool.Register(tool.Func(lab("lab_big", tool.ReadOnly), func(_ context.Context, _ *tool.Call, a labArgs) (any, error) {
		return map[string]string{"output": strings.Repeat("0123456789abcde\n", a.Lines)}, nil
	}))
	tool.Register(tool.Func(lab("lab_echo", tool.ReadOnly), func(_ context.Context, c *tool.Call, a labArgs) (any, error) {
		return map[string]any{"text": a.Text, "lines": a.Lines, "task": c.Task, "session": c.Session}, nil
	}))
}

type labArgs struct {
	Text         string `json:"text,omitempty"`
	Lines        int    `json:"lines,omitempty"`
	Milliseconds int    `json:"milliseconds,omitempty"`
}

func lab(name string, e tool.Effects) tool.Spec {
	return tool.Spec{Name: name, Toolset: "lab", Description: "A tool of the tests.", Effects: e}
}
