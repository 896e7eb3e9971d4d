//go:build linux || darwin

package engine_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine"
	"github.com/hermes-runtime/hermes/internal/engine/guard"
)

// The test binary plays two more roles, named by its first argument: a guard, and a runtime that is killed by the test.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "role-guard":
			if err := guard.Serve(context.Background(), os.Stdin); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		case "role-runtime":
			runtimeRole(os.Args[2], os.Args[3], os.Args[4:])
			return
		}
	}
	os.Exit(m.Run())
}

// runtimeRole runs scripts one after the other for a home, with a guard if asked, and says when each has ended.
func runtimeRole(home, guarded string, scripts []string) {
	o := engine.Options{Home: home}
	if guarded == "guarded" {
		o.Guard = []string{os.Args[0], "role-guard"}
	}
	e := engine.New(o)
	for _, s := range scripts {
		res, err := e.Run(context.Background(), environment.Command{Script: s}, engine.Base{Environ: os.Environ(), Home: home, Temp: home})
		fmt.Println(res.ExitCode, err)
	}
	if err := e.Close(context.Background()); err != nil {
		fmt.Println(err)
	}
}
