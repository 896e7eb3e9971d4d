// Command embed is an agent in thirty lines: embed [PROVIDER/]MODEL PROMPT. As a model, replay:examples/tour.jsonl needs no key.
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
	hermes.Init() // first: the program may have been started in a hidden role for another run of it
	if len(os.Args) != 3 {
		log.Fatal("usage: embed [PROVIDER/]MODEL PROMPT")
	}
	ctx := context.Background()
	rt, err := hermes.New(hermes.Options{}).Open(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close(ctx)
	c, err := rt.Converse(ctx, hermes.ConversationOptions{Model: os.Args[1]})
	if err != nil {
		log.Fatal(err)
	}
	o := c.Turn(ctx, os.Args[2])
	fmt.Println(o.Answer)
	if o.Status != hermes.Completed {
		log.Print(o.Err)
	}
}
