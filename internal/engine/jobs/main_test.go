//go:build linux || darwin

package jobs_test

import (
	"os"
	"testing"
)

// roles are what the test binary is started as by tests.
var roles = map[string]func(args []string){}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && roles[os.Args[1]] != nil {
		roles[os.Args[1]](os.Args[2:])
		return
	}
	os.Exit(m.Run())
}
