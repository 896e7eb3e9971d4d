package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/internal/script"
	"github.com/hermes-runtime/hermes/tool"
)

// slow is a tool that takes 100 ms.
func slow() tool.Tool {
	return tool.Func(tool.Spec{Name: "bench_slow", Toolset: "bench", Description: "Takes 100 ms.", Effects: tool.ReadOnly},
		func(ctx context.Context, _ *tool.Call, _ struct{}) (any, error) {
			select {
			case <-time.After(100 * time.Millisecond):
				return map[string]bool{"ok": true}, nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		})
}

func scriptPaths() []path {
	return []path{
		{"16 calls of 100 ms in one batch, to two sleeps", "×", 1.15, false, batchTime},
		{"execute_code print(1), whole call", "ms", 0, false, printOne},
	}
}

func batchTime(ctx context.Context, b *Bench) (float64, string, error) {
	var calls []tool.Request
	for i := range 16 {
		calls = append(calls, tool.Request{ID: fmt.Sprint(i), Name: "bench_slow", Arguments: json.RawMessage(fmt.Sprintf(`{}%s`, strings.Repeat(" ", i)))})
	}
	start := time.Now()
	for _, r := range b.session.CallBatch(ctx, calls) {
		if r.Status != tool.StatusOK {
			return 0, "", errors.New(r.JSON)
		}
	}
	d := time.Since(start)
	return float64(d) / float64(200*time.Millisecond), d.String(), nil
}

func printOne(ctx context.Context, b *Bench) (float64, string, error) {
	var best time.Duration
	for i := range 8 {
		start := time.Now()
		r := b.session.Call(ctx, tool.Request{Name: script.ToolName, Arguments: json.RawMessage(`{"code":"print(1)"}`)})
		if r.Status != tool.StatusOK {
			return 0, "", errors.New(r.JSON)
		}
		if d := time.Since(start); i == 0 || d < best {
			best = d
		}
	}
	return float64(best.Microseconds()) / 1000, "best of 8", nil
}
