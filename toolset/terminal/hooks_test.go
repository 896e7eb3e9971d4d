package terminal_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/hook"
)

func TestTerminal_HookChangesTheOutput_TRM7(t *testing.T) {
	const key = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	var got hook.Terminal
	set := &hook.Set{}
	set.Add(
		hook.Hook{Name: "fails", TransformTerminalOutput: func(context.Context, hook.Terminal) (string, bool, error) {
			return "from the one that failed", true, errors.New("no")
		}},
		hook.Hook{Name: "declines", TransformTerminalOutput: func(_ context.Context, t hook.Terminal) (string, bool, error) {
			got = t
			return "", false, nil
		}},
		hook.Hook{Name: "changes", TransformTerminalOutput: func(context.Context, hook.Terminal) (string, bool, error) {
			return "\x1b[1mchanged\x1b[0m " + key + "\n" + strings.Repeat("x\n", 40_000), true, nil
		}},
		hook.Hook{Name: "late", TransformTerminalOutput: func(context.Context, hook.Terminal) (string, bool, error) {
			return "from the second", true, nil
		}},
	)
	long := strings.Repeat("é", 1_500_000)
	h := told(printed(long))
	h.services = []any{set}
	r := run(t, h, command(t, "make"))
	if got.Command != "make" || got.TaskID != "t1" || got.EnvType != "lab" || got.Output != long[:2*1_000_000] {
		t.Errorf("the hook was told %q of task %s in %s and %d bytes", got.Command, got.TaskID, got.EnvType, len(got.Output))
	}
	if !strings.HasPrefix(r.Output, "changed ") || strings.Contains(r.Output, key) {
		t.Errorf("the text of a hook is filtered too: %.60q", r.Output)
	}
	if len(r.Output) > 51_000 || r.Spilled == nil {
		t.Errorf("the text of a hook is bounded too: %d characters, spilled %+v", len(r.Output), r.Spilled)
	}
}
