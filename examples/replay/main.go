// Command replay plays a recorded conversation with real tools and tells what happens: replay TAPE PROMPT. Record one of your own with
// `hermes chat -m record:FILE=[PROVIDER/]MODEL`.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/hermes-runtime/hermes"
	_ "github.com/hermes-runtime/hermes/backend/all"
	_ "github.com/hermes-runtime/hermes/provider/all"
	_ "github.com/hermes-runtime/hermes/toolset/all"
)

func main() {
	hermes.Init()
	if len(os.Args) != 3 {
		log.Fatal("usage: replay TAPE PROMPT")
	}
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, tape, prompt string) error {
	rt, err := hermes.New(hermes.Options{}).Open(ctx)
	if err != nil {
		return fmt.Errorf("open the runtime: %w", err)
	}
	defer func() { _ = rt.Close(ctx) }() // nothing runs any more that could fail to end
	c, err := rt.Converse(ctx, hermes.ConversationOptions{Model: "replay:" + tape, Listen: show})
	if err != nil {
		return fmt.Errorf("begin the conversation: %w", err)
	}
	o := c.Turn(ctx, prompt)
	fmt.Printf("%s after %d requests and %d calls; stored as %s\n", o.Status, o.APICalls, o.ToolCalls, c.ID())
	return c.Close(ctx)
}

func show(e hermes.Event) {
	switch e.Type {
	case hermes.EventText:
		fmt.Print(e.Text)
	case hermes.EventToolEnd:
		fmt.Printf("\n  [%s: %s]", e.Tool, e.Status)
	}
}
