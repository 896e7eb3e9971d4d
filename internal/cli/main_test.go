package cli_test

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	_ "github.com/hermes-runtime/hermes/backend/all"
	_ "github.com/hermes-runtime/hermes/channel/all"
	"github.com/hermes-runtime/hermes/internal/cli"
	_ "github.com/hermes-runtime/hermes/provider/all"
	_ "github.com/hermes-runtime/hermes/toolset/all"
)

// playHermes in the environment makes the test binary a hermes that has the tools of lab_test.go besides.
const playHermes = "HERMES_TEST_AS_HERMES"

// The test binary plays hermes for scripts, by its name, and for tests, by a variable; and the guard that such a hermes starts.
func TestMain(m *testing.M) {
	hermes := func() { os.Exit(cli.Main()) }
	if os.Getenv(playHermes) != "" || len(os.Args) > 1 && os.Args[1] == "resident" {
		hermes()
	}
	_ = flag.Set("test.parallel", strconv.Itoa(3*runtime.NumCPU())) // most of what is done here waits for another process
	testscript.Main(m, map[string]func(){"hermes": hermes})
}
