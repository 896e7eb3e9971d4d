// Command approver decides by itself what may be done: it lets one directory be deleted and refuses everything else that is asked.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/hermes-runtime/hermes"
	_ "github.com/hermes-runtime/hermes/backend/all"
	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/tool"
	_ "github.com/hermes-runtime/hermes/toolset/all"
)

// scratch may be deleted.
var scratch = filepath.Join(os.TempDir(), "hermes-example-scratch")

// decide answers one question. What it doesn't know it refuses.
func decide(_ context.Context, q channel.Question) (channel.Answer, error) {
	answer := channel.Answer{Choice: channel.Deny, Who: "the rules of this program"}
	if q.Kind != channel.KindApproval {
		return answer, nil
	}
	for _, f := range q.Findings {
		if len(f.Targets) != 1 || f.Targets[0] != scratch {
			fmt.Println("refused:", f.Reason)
			return answer, nil
		}
	}
	answer.Choice = channel.Once
	return answer, nil
}

func main() {
	hermes.Init()
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	if err := os.MkdirAll(scratch, 0o700); err != nil {
		return fmt.Errorf("make something to delete: %w", err)
	}
	rt, err := hermes.New(hermes.Options{Asker: channel.AskerFunc(decide)}).Open(ctx)
	if err != nil {
		return fmt.Errorf("open the runtime: %w", err)
	}
	defer func() { _ = rt.Close(ctx) }() // nothing runs any more that could fail to end
	for _, dir := range []string{scratch, filepath.Join(os.TempDir(), "something-else")} {
		arguments, err := json.Marshal(map[string]string{"command": "rm -r " + dir})
		if err != nil {
			return fmt.Errorf("write the arguments: %w", err)
		}
		r := rt.Call(ctx, tool.Request{Name: "terminal", Arguments: arguments})
		fmt.Println(r.Status)
	}
	return nil
}
