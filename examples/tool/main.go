// Command tool shows a program with a tool of its own: what a model is offered, and the calls of one turn without a loop around them.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"

	"github.com/hermes-runtime/hermes"
	_ "github.com/hermes-runtime/hermes/backend/all"
	"github.com/hermes-runtime/hermes/tool"
	_ "github.com/hermes-runtime/hermes/toolset/all"
)

// shout is a tool of this program. Its parameters are inferred from the struct.
var shout = tool.Func(tool.Spec{
	Name: "shout", Toolset: "voice", Description: "Say it louder.", Effects: tool.ReadOnly,
}, func(_ context.Context, _ *tool.Call, args struct {
	Text string `json:"text" desc:"what to say"`
}) (any, error) {
	return map[string]string{"said": strings.ToUpper(args.Text)}, nil
})

func main() {
	hermes.Init() // first: the program may have been started in a hidden role for another run of it
	log.SetFlags(0)
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	rt, err := hermes.New(hermes.Options{Tools: []tool.Tool{shout}}).Open(ctx)
	if err != nil {
		return fmt.Errorf("open the runtime: %w", err)
	}
	defer func() { _ = rt.Close(ctx) }() // nothing runs any more that could fail to end

	session := rt.NewSession(hermes.SessionOptions{Enabled: []string{"terminal", "voice"}})
	definitions, err := session.Definitions(ctx, hermes.OpenAI)
	if err != nil {
		return fmt.Errorf("define the tools: %w", err)
	}
	var offered []json.RawMessage
	if err := json.Unmarshal([]byte(definitions), &offered); err != nil {
		return fmt.Errorf("count the tools: %w", err)
	}
	fmt.Printf("a model is offered %d tools\n", len(offered))

	// Here a model would be asked, with the definitions as they are. These stand for the tool calls of its answer.
	calls := []tool.Request{
		{ID: "1", Name: "shout", Arguments: json.RawMessage(`{"text": "hello"}`)},
		{ID: "2", Name: "terminal", Arguments: json.RawMessage(`{"command": "echo $((6 * 7))"}`)},
		{ID: "3", Name: "terminal", Arguments: json.RawMessage(`{"command": "rm -r /tmp/none"}`)},
		{ID: "4", Name: "shout", Arguments: json.RawMessage(`{"words": 1}`)},
	}
	for _, result := range session.CallBatch(ctx, calls) {
		fmt.Println(result.ID, result.Status, result.JSON) // result.JSON goes back to the model, whatever the status
	}
	return session.Close(ctx)
}
