// Command discover writes the lists of what is linked in. Run it with go generate ./... at the root.
package main

import (
	"log"
	"path"

	"github.com/hermes-runtime/hermes/internal/gen"
)

func main() {
	log.SetFlags(0)
	root, err := gen.Root()
	if err != nil {
		log.Fatal(err)
	}
	for _, k := range gen.Kinds {
		content, err := gen.Discover(root, k)
		if err == nil {
			err = gen.Write(root, path.Join(k.Dir, "all", "all.go"), content)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
}
