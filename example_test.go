//go:build unix

package hermes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	hermes "github.com/hermes-runtime/hermes"
	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/tool"
)

// A person who is asked, and a hook that stops calls: both are functions.
func Example() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	asker := channel.AskerFunc(func(_ context.Context, q channel.Question) (channel.Answer, error) {
		fmt.Println("may this run?", q.Command, "-", q.Findings[0].Key)
		return channel.Answer{Choice: channel.Once, Who: "example"}, nil
	})
	noWrites := hermes.Hook{
		Name: "read-only",
		PreToolCall: func(_ context.Context, c hermes.HookCall) (hermes.HookVerdict, error) {
			if c.ToolName == "write_file" {
				return hermes.HookVerdict{Action: hermes.Block, Message: "no writes today"}, nil
			}
			return hermes.HookVerdict{}, nil
		},
	}
	ctx := context.Background()
	rt, err := hermes.New(hermes.Options{Home: dir + "/home", Dir: dir, Asker: asker, Hooks: []hermes.Hook{noWrites}}).Open(ctx)
	if err != nil {
		panic(err)
	}
	defer rt.Close(ctx)

	for _, c := range []tool.Request{
		{Name: "terminal", Arguments: json.RawMessage(`{"command": "mkdir old && rm -r old && echo gone"}`)},
		{Name: "write_file", Arguments: json.RawMessage(`{"path": "a.txt", "content": "x"}`)},
	} {
		r := rt.Call(ctx, c)
		var out struct{ Output, Error string }
		if err := json.Unmarshal([]byte(r.JSON), &out); err != nil {
			panic(err)
		}
		fmt.Println(r.Status, out.Output+out.Error)
	}
	// Output:
	// may this run? mkdir old && rm -r old && echo gone - recursive delete
	// ok gone
	// blocked no writes today
}
