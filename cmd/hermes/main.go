// Command hermes is the tool runtime for LLM agents.
package main

import (
	"os"

	_ "github.com/hermes-runtime/hermes/backend/all"
	_ "github.com/hermes-runtime/hermes/channel/all"
	"github.com/hermes-runtime/hermes/internal/cli"
	_ "github.com/hermes-runtime/hermes/provider/all"
	_ "github.com/hermes-runtime/hermes/toolset/all"
)

func main() { os.Exit(cli.Main()) }
