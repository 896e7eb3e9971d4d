package terminal

import (
	"context"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/tool"
)

// Tracer tells the trace that a call belongs to, as a W3C traceparent; "" = none.
type Tracer interface {
	Traceparent(ctx context.Context) string
}

// Declared is a service of the session: variables with their values that children get because of the skills loaded in it.
type Declared interface {
	Variables() map[string]string
}

// variable is one that children get. The session's own value always comes first; the one that the host was started with only where
// it is a wish of the user rather than a fact of the terminal that hermes runs in, or of an agent around this one.
type variable struct {
	name  string
	value func(ctx context.Context, c *tool.Call) string // "" = left out
	yield bool                                           // to the host's value
}

func fixed(v string) func(context.Context, *tool.Call) string {
	return func(context.Context, *tool.Call) string { return v }
}

var childVariables = []variable{
	{name: "HERMES_AGENT", value: fixed("1")},
	{name: "AI_AGENT", value: fixed("hermes")},
	{name: "HERMES_SESSION_ID", value: func(_ context.Context, c *tool.Call) string { return c.Session }},
	{name: "TRACEPARENT", value: traceparent},
	{name: "PAGER", value: fixed("cat"), yield: true},
	{name: "GIT_PAGER", value: fixed("cat"), yield: true},
	{name: "GIT_TERMINAL_PROMPT", value: fixed("0"), yield: true},
	{name: "TERM", value: fixed("dumb")},
}

func traceparent(ctx context.Context, c *tool.Call) string {
	if t, ok := tool.Service[Tracer](c); ok {
		return t.Traceparent(ctx)
	}
	return ""
}

// variables are those of this one call; none of them is carried on.
func variables(ctx context.Context, c *tool.Call, p environment.Place) map[string]string {
	var own map[string]*string
	if p.State != nil {
		own = p.State.Snapshot().Vars
	}
	onHost := p.Info().Namespace == environment.NamespaceHost
	env := map[string]string{}
	if d, ok := tool.Service[Declared](c); ok {
		for name, value := range d.Variables() {
			if _, set := own[name]; !set {
				env[name] = value
			}
		}
	}
	for _, v := range childVariables {
		if _, set := own[v.name]; set || v.yield && onHost && c.Host.Getenv(v.name) != "" {
			continue
		}
		if value := v.value(ctx, c); value != "" {
			env[v.name] = value
		}
	}
	return env
}
