// Package envtest is the conformance suite: what every environment must do, shown against a real one.
package envtest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hermes-runtime/hermes/environment"
)

// Abilities says what the environment under test does not have, each with the reason. What isn't named here must work; what is named
// must be declared in Info.Lacking and be refused with ErrUnsupported, or not be there at all.
type Abilities struct {
	Place   string // under which the results stand in the table; "" = the backend's name
	Lacking []Ability
}

// Ability is something that not every environment has.
type Ability string

// The abilities.
const (
	Search     Ability = "search"      // environment.Searcher
	Variables  Ability = "variables"   // environment.Environer
	Descriptor Ability = "descriptors" // Command.Extra
	Sudo       Ability = "sudo"        // Command.SudoSecret
	Forward    Ability = "forward"     // environment.Forwarder
	Bash       Ability = "bash"        // exported functions, state under an EXIT trap of the script's own
	Jobs       Ability = "jobs"        // environment.Starter and environment.Keeper
	Terminals  Ability = "pty"         // jobs on a terminal
)

// part is a group of checks. What they show stands under its name in the table, unless a check needs an ability that has a name itself.
type part struct {
	name   Ability
	checks []check
}

// parts are the suite. What every environment must do comes first.
var (
	ends  = part{"ends", ending}
	parts = []part{{"contract", contract}, {"commands", shells}, {"state", carrying}, ends, {"files", fileSystem}, {Search, searching}, {Jobs, working}, {Forward, forwarding}}
)

// Run shows that what open returns is an environment. It takes some ten seconds and runs subtests side by side; open is called
// more than once and must give a place of its own each time.
func Run(t *testing.T, open func(t *testing.T) environment.Environment, a Abilities) {
	conform(t, open, a, parts)
}

// RunEnds is the part of Run that is about the ends of commands, for the other ways that an environment has to bring them about.
func RunEnds(t *testing.T, open func(t *testing.T) environment.Environment, a Abilities) {
	conform(t, open, a, []part{ends})
}

func conform(t *testing.T, open func(t *testing.T) environment.Environment, a Abilities, parts []part) {
	before := count(t)
	results := newTally()
	t.Run("suite", func(t *testing.T) {
		s := &suite{open: open, lacking: map[Ability]bool{}}
		for _, l := range a.Lacking {
			s.lacking[l] = true
		}
		s.env = open(t)
		results.of(cmp.Or(a.Place, s.env.Info().Backend), s.env.Info().Lacking)
		s.closeAtEnd(t, s.env)
		t.Run("declared", s.declared)
		for _, part := range parts {
			for _, c := range part.checks {
				t.Run(c.name, func(t *testing.T) {
					if s.lacking[c.needs] {
						s.refused(t, c.needs)
						return
					}
					t.Parallel()
					t.Cleanup(func() { results.add(cmp.Or(c.needs, part.name), !t.Failed()) })
					c.run(t, s)
				})
			}
		}
	})
	before.same(t)
	results.write(t)
}

// check is one rule: its name begins with the id of the requirement.
type check struct {
	name  string
	needs Ability // "" = nothing that may be lacking
	run   func(t *testing.T, s *suite)
}

type suite struct {
	open    func(t *testing.T) environment.Environment
	env     environment.Environment // shared by the checks that don't close it
	lacking map[Ability]bool
}

// closeAtEnd closes a place after the test, and shows that it can be closed.
func (s *suite) closeAtEnd(t *testing.T, e environment.Environment) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
}

// declared holds the environment to what it says of itself.
func (s *suite) declared(t *testing.T) {
	info := s.env.Info()
	if info.Backend == "" || info.Home == "" || info.Temp == "" || info.Shell == "" {
		t.Errorf("Info lacks backend, home, temp or shell: %+v", info)
	}
	if info.Namespace != environment.NamespaceHost && info.Namespace != environment.NamespaceOwn {
		t.Errorf("namespace %q", info.Namespace)
	}
	for ability := range s.lacking {
		if info.Lacking[string(ability)] == "" {
			t.Errorf("Info.Lacking gives no reason for %s", ability)
		}
	}
	_, search := s.env.(environment.Searcher)
	_, variables := s.env.(environment.Environer)
	_, starts := s.env.(place)
	for ability, has := range map[Ability]bool{Search: search, Variables: variables, Jobs: starts} {
		if has == s.lacking[ability] {
			t.Errorf("%s: there %v, declared missing %v", ability, has, s.lacking[ability])
		}
	}
}

// refused shows that what an environment declares missing is refused, where a command can ask for it.
func (s *suite) refused(t *testing.T, a Ability) {
	c := environment.Command{Script: "true"}
	switch a {
	case Forward:
		f, ok := s.env.(environment.Forwarder)
		if !ok {
			return
		}
		if _, err := f.Forward(context.Background(), nil); !errors.Is(err, environment.ErrUnsupported) {
			t.Errorf("it is declared missing and gives %v, want ErrUnsupported", err)
		}
		return
	case Descriptor:
		c.Extra = []environment.Extra{{Name: "ENVTEST_FD", File: os.Stdin}}
	case Sudo:
		c.SudoSecret = func(context.Context) (string, error) { return "", nil }
	default:
		t.Skipf("declared missing: %s", a)
	}
	if _, err := s.env.Run(context.Background(), c); !errors.Is(err, environment.ErrUnsupported) {
		t.Errorf("%s is declared missing and gives %v, want ErrUnsupported", a, err)
	}
}

// patience bounds every wait of the suite. It is long: what is waited for comes at once, but for a machine that is busy.
const patience = time.Minute

// run runs a command in the shared place and gives its result and output.
func (s *suite) run(t *testing.T, c environment.Command) (environment.Result, string) {
	t.Helper()
	return run(t, context.Background(), s.env, c)
}

func run(t *testing.T, ctx context.Context, e environment.Environment, c environment.Command) (environment.Result, string) {
	t.Helper()
	var out buffer
	if c.Output == nil {
		c.Output = &out
	}
	if c.Timeout == 0 {
		c.Timeout = patience // a broken place must not hold the suite up
	}
	res, err := e.Run(ctx, c)
	if err != nil {
		t.Fatalf("Run(%.200q %q): %v", c.Script, c.Argv, err)
	}
	return res, out.String()
}

// sh runs a script that must succeed and gives what it printed.
func (s *suite) sh(t *testing.T, script string) string {
	t.Helper()
	res, out := s.run(t, environment.Command{Script: script})
	if res.ExitCode != 0 {
		t.Fatalf("%s: exit %d: %s", script, res.ExitCode, out)
	}
	return out
}

// dir makes a directory of the test's own in the place, with its links resolved.
func (s *suite) dir(t *testing.T) environment.Path {
	t.Helper()
	d := strings.TrimSpace(s.sh(t, `cd "$(mktemp -d "`+string(s.env.Info().Temp)+`/envtest.XXXXXX")" && pwd -P`))
	if !strings.HasPrefix(d, "/") {
		t.Fatalf("no directory: %q", d)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_, _ = s.env.Run(ctx, environment.Command{Argv: []string{"rm", "-rf", "--", d}}) // the check has said what was wrong
	})
	return environment.Path(d)
}

func join(d environment.Path, name string) environment.Path {
	return environment.Path(path.Join(string(d), name))
}

// alive reports whether a process of the place lives, zombies not counted.
func (s *suite) alive(t *testing.T, pid string) bool {
	t.Helper()
	_, out := s.run(t, environment.Command{Script: `kill -0 ` + pid + ` 2>/dev/null && case "$(cat /proc/` + pid + `/stat 2>/dev/null)" in *') Z '*) ;; *) echo alive;; esac`})
	return strings.Contains(out, "alive")
}

// gone waits, within bounds, until a process doesn't live any more.
func (s *suite) gone(t *testing.T, pid string) {
	t.Helper()
	if pid == "" {
		t.Fatal("no pid to look for")
	}
	for end := time.Now().Add(patience); s.alive(t, pid); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("process %s is still there", pid)
			return
		}
	}
}

// noSurvivor shows that nothing of a command that was ended stays: what is named as not gone yet has had its KILL, and goes.
func (s *suite) noSurvivor(t *testing.T, res environment.Result) {
	t.Helper()
	for _, p := range res.Survivors {
		if p.PID != 0 { // 0 stands for those that couldn't be counted in time
			s.gone(t, strconv.Itoa(p.PID))
		}
	}
}

// pidIn reads a file in which a script wrote a process id.
func (s *suite) pidIn(t *testing.T, f environment.Path) string {
	t.Helper()
	return strings.TrimSpace(s.sh(t, `i=0; until [ -s '`+string(f)+`' ] || [ $i -ge 300 ]; do sleep 0.1; i=$((i+1)); done; cat '`+string(f)+`'`))
}

// cutWhen runs a command and, once a script that is run beside it succeeds, ends it as a timeout does: a clock would end it before it
// stands where the machine is busy.
func (s *suite) cutWhen(t *testing.T, ready string, c environment.Command) (environment.Result, string) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		defer cancel(context.DeadlineExceeded)
		script := "i=0; until " + ready + "; do [ $i -lt 600 ] || exit 1; sleep 0.05; i=$((i+1)); done 2>/dev/null"
		if res, err := s.env.Run(context.Background(), environment.Command{Script: script, Timeout: patience}); err != nil || res.ExitCode != 0 {
			t.Errorf("%s never comes true: %+v, %v", ready, res, err)
		}
	}()
	res, out := run(t, ctx, s.env, c)
	<-watched
	return res, out
}

// buffer is a bytes.Buffer for several writers.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// census is what this process holds: goroutines, descriptors, children.
type census struct {
	routines goleak.Option
	files    int
	children map[string]bool
}

func count(t *testing.T) census {
	t.Helper()
	if r, w, err := os.Pipe(); err == nil { // the first one has Go open what it waits with
		_, _ = r.Close(), w.Close()
	}
	return census{routines: goleak.IgnoreCurrent(), files: descriptors(), children: children()}
}

// same shows that nothing is left behind, once what is on its way out has gone.
func (c census) same(t *testing.T) {
	t.Helper()
	left := c.left()
	for end := time.Now().Add(patience); left != nil && !t.Failed() && time.Now().Before(end); left = c.left() {
		time.Sleep(20 * time.Millisecond)
	}
	if left != nil {
		t.Error(left)
	}
}

// left says what there is that was not there before.
func (c census) left() error {
	var left []error
	if err := goleak.Find(c.routines, goleak.IgnoreAnyFunction("testing.(*T).Parallel")); err != nil {
		left = append(left, fmt.Errorf("goroutines are left: %w", err))
	}
	if now := descriptors(); now > c.files {
		left = append(left, fmt.Errorf("%d descriptors are open, %d were before", now, c.files))
	}
	for child := range children() {
		if !c.children[child] {
			left = append(left, fmt.Errorf("a child process is left: %s", child))
		}
	}
	return errors.Join(left...)
}

// descriptors counts the open ones, 0 where that can't be told.
func descriptors() int {
	dir := "/proc/self/fd"
	if runtime.GOOS == "darwin" {
		dir = "/dev/fd"
	}
	open, _ := os.ReadDir(dir)
	return len(open)
}

// children lists the processes whose parent is this one, zombies too, where /proc tells.
func children() map[string]bool {
	found := map[string]bool{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range stats {
		b, err := os.ReadFile(f)
		if errors.Is(err, os.ErrNotExist) || len(b) == 0 {
			continue
		}
		rest := b[bytes.LastIndexByte(b, ')')+1:]
		if fields := bytes.Fields(rest); len(fields) > 1 && string(fields[1]) == strconv.Itoa(os.Getpid()) {
			found[string(b[:len(b)-len(rest)])] = true
		}
	}
	return found
}
