// Command reference writes the reference pages in docs: tools, toolsets, settings. Run it with go generate ./... at the root.
package main

import (
	"context"
	"log"
	"time"

	_ "github.com/hermes-runtime/hermes/backend/all"
	_ "github.com/hermes-runtime/hermes/channel/all"
	_ "github.com/hermes-runtime/hermes/internal/chat" // those of the screen
	"github.com/hermes-runtime/hermes/internal/gen"
	_ "github.com/hermes-runtime/hermes/internal/runtime" // the settings of the services
	_ "github.com/hermes-runtime/hermes/provider/all"
	_ "github.com/hermes-runtime/hermes/toolset/all"
)

func main() {
	log.SetFlags(0)
	root, err := gen.Root()
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	pages, err := gen.Pages(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for name, content := range pages {
		if err := gen.Write(root, name, content); err != nil {
			log.Fatal(err)
		}
	}
}
