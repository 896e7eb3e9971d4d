//go:build linux

package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine"
)

func TestLimits_FewDescriptorsStillCarryTheState(t *testing.T) { // LIM-2, ENG-8
	e := open(t, engine.Options{Limits: environment.Limits{OpenFiles: 64}})
	s := environment.NewState(environment.Path(t.TempDir()))
	if _, out := call(t, e, environment.Command{Script: "export A=1; ulimit -n", State: s}); out != "64\n" {
		t.Errorf("%q", out)
	}
	if _, out := call(t, e, environment.Command{Script: `echo "$A"`, State: s}); out != "1\n" {
		t.Errorf("%q", out)
	}
}

func TestLimits_AHitIsNamedWithItsValue(t *testing.T) { // LIM-2
	const eat = `x=$(head -c 200000000 /dev/zero | tr '\0' x); echo ${#x}`
	for name, row := range map[string]struct {
		limits environment.Limits
		script string
		cgroup string // the line of Describe that must hold for the hit to be seen
		want   string
	}{
		"file size": {environment.Limits{FileSizeMB: 1}, `exec head -c 3000000 /dev/zero >big`, "", "file_size_mb: 1 MB"},
		"cpu":       {environment.Limits{CPUSeconds: 1}, `while :; do :; done`, "", "cpu: 1 s"},
		"memory":    {environment.Limits{MemoryMB: 64}, eat, "memory_mb = 64 MB: for the command", "memory_mb: 64 MB"},
		"processes": {environment.Limits{Processes: 8}, `exec sh -c "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 5 & done; exit 1"`, "processes = 8: for the command", "processes: 8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := open(t, engine.Options{Limits: row.limits})
			d := strings.Join(e.Describe(), "\n")
			if !strings.Contains(d, row.cgroup) {
				t.Skipf("not held here: %s", d)
			}
			res, out := call(t, e, environment.Command{Script: row.script, State: environment.NewState(environment.Path(t.TempDir())), EndLeft: true, Grace: 50 * time.Millisecond, Timeout: time.Minute})
			if res.Reason != environment.LimitHit || res.ExitCode != 137 || res.Limit != row.want {
				t.Errorf("%+v, %q; want %s\n%s", res, out, row.want, d)
			}
			if res, out := call(t, e, environment.Command{Argv: []string{"echo", "a b", "$c"}}); res.ExitCode != 0 || out != "a b $c\n" {
				t.Errorf("a program within its limits: %+v, %q", res, out)
			}
		})
	}
}
