//go:build unix

package script_test

import (
	"context"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/resident"
	"github.com/hermes-runtime/hermes/internal/script"
	"github.com/hermes-runtime/hermes/internal/script/python"
	"github.com/hermes-runtime/hermes/internal/script/scripttest"
	"github.com/hermes-runtime/hermes/tool"
)

// farTest is the test below which fixtures have a place elsewhere.
const farTest = "TestFar_IsAsHere"

// far is a place elsewhere: its engine stands at the other end of a pipe, and its files happen to be this machine's.
type far struct {
	*resident.Place
	here   *scripttest.Env
	link   net.Conn
	served chan struct{} // closed when the other end has ended
}

// Environ tells the variables that a test has set.
func (f *far) Environ(context.Context, *environment.State) (map[string]string, error) {
	return maps.Clone(f.here.Vars), nil
}

func newFar(t testing.TB, here *scripttest.Env) *far {
	t.Helper()
	near, there := net.Pipe()
	served := make(chan struct{})
	environ := append(os.Environ(), "HOME="+here.Home, "XDG_RUNTIME_DIR=")
	go func() {
		defer close(served)
		_ = resident.Serve(context.Background(), there, resident.ServeOptions{Environ: environ}) // a test may cut the link
	}()
	p, err := resident.Connect(t.Context(), near, environment.Info{Backend: "elsewhere", ID: "pipe", Namespace: environment.NamespaceOwn}, resident.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Close(context.Background())
		<-served
	})
	return &far{p, here, near, served}
}

// same are the tests that a place elsewhere passes as this machine does: results, limits, texts, ends, the channel.
var same = map[string]func(t *testing.T){
	"Example_Pipeline": TestExample_Pipeline, "Example_Refactoring": TestExample_Refactoring, "Example_BuildAndTest": TestExample_BuildAndTest,
	"Example_Research": TestExample_Research, "Example_ResearchNamesWhatIsNotAvailable": TestExample_ResearchNamesWhatIsNotAvailable,
	"Example_Sketch": TestExample_SketchEndsAtTheNameItNeverSets,

	"Run_PrintedOutput": TestRun_PrintedOutputComesBack, "Run_ToolCalls": TestRun_ToolCallsGoThroughTheHostAndReturnDicts,

	"Limits_Timeout": TestLimits_TimeoutAtItsDefault, "Limits_TimeoutNothingPrinted": TestLimits_TimeoutConfiguredWithNothingPrinted,
	"Limits_Ladder": TestLimits_TermThenGraceThenKill, "Limits_BusyLoop": TestLimits_BusyLoopIsKilled, "Limits_Stdout": TestLimits_Stdout,
	"Limits_LinesLeftOut": TestLimits_LinesLeftOutAreNeverLessThanOne, "Limits_LongOutput": TestLimits_LongOutputIsCountedExactlyInConstantMemory,
	"Limits_Stderr": TestLimits_StderrOnFailure, "Limits_ToolCalls": TestLimits_ToolCalls, "Limits_BeforeTheDoor": TestLimits_CallsBeforeTheDoorDoNotCount,

	"Ending_Interruptions": TestEnding_EveryInterruptionNamesItsCause, "Ending_ExitCodes": TestEnding_ExitCodesAreTheScriptsOwn,
	"Ending_Tracebacks": TestEnding_TracebacksSpeakOfTheScript, "Ending_NoStagingPath": TestEnding_ExceptionsNameNoStagingPath,
	"Ending_Hints": TestEnding_Hints, "Ending_Silence": TestEnding_SilentSuccessIsToldPlainly, "Ending_Filters": TestEnding_OutputIsFiltered,
	"Ending_Token": TestEnding_TokenIsNeverShown, "Ending_Clock": TestEnding_ClockStandsStillWhileAPersonIsAsked,
	"Ending_Denied": TestEnding_DeniedCommandIsNotAskedAgain, "Ending_Origin": TestEnding_OriginTellsTheLine,
	"Ending_Attacks": TestEnding_AttacksHarmOnlyTheirOwnResult, "Ending_Lines": TestEnding_LinesAreToldAsTheyCome,

	"Modes_PlaceAndInterpreterOnly": TestModes_PlaceAndInterpreterOnly, "Modes_DirectoryGone": TestModes_DirectoryThatIsGoneIsTold,
	"Modes_Arguments": TestModes_ArgumentsOfAPerson, "Modes_RealFile": TestModes_ScriptIsARealFile, "Modes_RunsShareNothing": TestModes_RunsShareNothing,
	"Environ_Declared":  TestEnviron_DeclaredVariablesComeFromTheConfiguration,
	"Environ_OwnGrants": TestEnviron_TwoSessionsSeeTheirOwnGrantsOnly, "Environ_Withheld": TestEnviron_WithheldNamesAreTold,

	"Stub_OwnAnswers": TestStub_ThreadsProcessesAndCoroutinesGetTheirOwnAnswers, "Stub_Spawn": TestStub_SpawnAndForkserverWork,
	"Stub_Fork": TestStub_ForkInTheMiddleOfACallIsSafe, "Stub_Cancel": TestStub_CancelledCoroutineCancelsItsCall,
	"Stub_Modules": TestStub_ModulesOfTheProjectDoNotComeBetween, "Stub_Large": TestStub_LargeMessagesBothWays,
	"Stub_OddText": TestStub_PathsAndOddTextTravel, "Stub_Lost": TestStub_LostChannelRaises, "Stub_ManyConnections": TestStub_MoreConnectionsThanTheServerHolds,
}

func TestFar_IsAsHere(t *testing.T) { // XF-1
	for _, name := range slices.Sorted(maps.Keys(same)) {
		t.Run(name, same[name])
	}
}

// newFarFixture is a session whose place is elsewhere.
func newFarFixture(t *testing.T) (*fixture, *far) {
	t.Helper()
	f := newFixture(t)
	p := newFar(t, f.here)
	f.Environment = p
	return f, p
}

func TestFar_InterpreterIsThatOfThePlace(t *testing.T) { // XF-2
	t.Parallel()
	f, _ := newFarFixture(t)
	f.vars()["PYTHONPATH"], f.vars()["PYTHONSTARTUP"] = "/inherited", "/x"
	f.Services = append(f.Services, grants{"PYTHONSTARTUP"})
	const facts = "import os, site, sys\nprint(sys.executable, sys.flags.no_user_site, [p for p in sys.path if p == '/inherited'], sorted(n for n in os.environ if n.startswith('PYTHON')))"
	venv := filepath.Join(f.dir, "venv")
	if err := scripttest.VirtualEnv(venv); err != nil {
		t.Fatal(err)
	}
	f.vars()["VIRTUAL_ENV"] = venv
	py, _ := systemPython()
	usual := "['PYTHONDONTWRITEBYTECODE', 'PYTHONIOENCODING', "
	for mode, want := range map[string]string{
		script.ModeProject: " 0 ['/inherited'] " + usual + "'PYTHONPATH', 'PYTHONSTARTUP', 'PYTHONUTF8']\n",
		script.ModeStrict:  py.Path + " 1 [] " + usual + "'PYTHONNOUSERSITE', 'PYTHONPATH', 'PYTHONUTF8']\n",
	} {
		f.vars()["PATH"] = filepath.Dir(py.Path)
		f.config.Mode = mode
		if rep := f.run(facts); rep.Status != script.StatusSuccess || !strings.HasSuffix(rep.Output, want) {
			t.Errorf("%s: %s %s: %s\nwant %s", mode, rep.Status, rep.Error, rep.Output, want)
		}
	}
}

func TestFar_WithoutAnInterpreterNothingRuns(t *testing.T) { // XF-2
	t.Parallel()
	f, _ := newFarFixture(t)
	f.vars()["PATH"] = t.TempDir()
	for _, mode := range []string{script.ModeProject, script.ModeStrict} {
		f.config.Mode = mode
		rep := f.run("open('made', 'w')")
		if rep.Status != script.StatusError || !strings.Contains(rep.Error, "elsewhere") || !strings.Contains(rep.Error, "install") || !strings.Contains(rep.Error, python.Oldest) {
			t.Errorf("%s: %+v", mode, rep)
		}
	}
	if _, err := os.Stat(filepath.Join(f.dir, "made")); err == nil {
		t.Error("it ran somewhere else")
	}
}

// cut is a place in which a part of the way is missing.
type cut struct {
	*far
	run    func(c *environment.Command)
	socket environment.Path
}

func (c cut) Run(ctx context.Context, command environment.Command) (environment.Result, error) {
	if c.run != nil {
		c.run(&command)
	}
	return c.far.Run(ctx, command)
}

func (c cut) Forward(ctx context.Context, files map[string][]byte) (environment.Forwarding, error) {
	f, err := c.far.Forward(ctx, files)
	if c.socket != "" && err == nil {
		return astray{f, c.socket}, nil
	}
	return f, err
}

// astray is a socket that is not where it is said to be.
type astray struct {
	environment.Forwarding
	socket environment.Path
}

func (a astray) Socket() environment.Path { return a.socket }

func TestFar_TheWayIsProvenBeforeTheFirstLine(t *testing.T) { // XF-3
	t.Parallel()
	isScript := func(c *environment.Command) bool {
		return slices.ContainsFunc(c.Argv, func(a string) bool { return strings.HasSuffix(a, "/script.py") })
	}
	for name, c := range map[string]struct {
		broken cut
		late   bool // nothing but time shows it
		want   string
	}{
		"nothing runs": {cut{run: func(c *environment.Command) {
			if isScript(c) {
				c.Argv = []string{"true"}
			}
		}}, false, "interpreter did not come up"},
		"nothing can run": {cut{run: func(c *environment.Command) {
			if isScript(c) {
				c.Argv[0] = "/nowhere"
			}
		}}, false, "exit code 127"},
		"no socket": {cut{socket: "/nowhere/s"}, false, "socket there does not lead here"},
		"no output": {cut{run: func(c *environment.Command) {
			if isScript(c) {
				c.Output = nil
			}
		}}, true, "its output does not arrive"},
		"no second output": {cut{run: func(c *environment.Command) {
			if isScript(c) {
				c.Stderr = io.Discard
			}
		}}, true, "its error output does not arrive"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, p := newFarFixture(t)
			clock := f.withClock()
			c.broken.far = p
			f.Environment = c.broken
			stop := make(chan struct{})
			defer close(stop)
			clock.armed = make(chan time.Duration, 100)
			if c.late {
				go func() {
					for d := time.Duration(0); d != 20*time.Second; {
						select {
						case d = <-clock.armed:
						case <-stop:
							return
						}
					}
					clock.advance(20 * time.Second)
				}()
			}
			rep := f.run("open('made', 'w')")
			if rep.Status != script.StatusError || !strings.Contains(rep.Error, c.want) || !strings.Contains(rep.Error, "did not begin") || rep.ToolCallsMade != 0 {
				t.Errorf("%+v", rep)
			}
			if _, err := os.Stat(filepath.Join(f.dir, "made")); err == nil {
				t.Error("its first line ran")
			}
		})
	}
}

func TestFar_NothingStandsInArguments(t *testing.T) { // XF-4
	t.Parallel()
	f, _ := newFarFixture(t)
	f.Tools["terminal"] = echo
	f.vars()["GRANTED_KEY"] = "granted-value"
	f.Services = append(f.Services, grants{"GRANTED_KEY"})
	rep := f.run(`
import glob, os
from hermes_tools import terminal
secrets = [os.environ["GRANTED_KEY"], os.environ["HERMES_RPC_COOKIE"], "text-of" + "-the-script", "an-argument" + "-of-a-call"]  # text-of-the-script
terminal("an-argument-of-a-call")
lines = []
for f in glob.glob("/proc/[0-9]*/cmdline"):
    try:
        lines.append(open(f, errors="replace").read())
    except OSError:
        pass
mine = open("/proc/self/cmdline").read()
print(mine in lines, [s for s in secrets if any(s in l for l in lines)], mine.count("\0") <= 4)
`)
	if runtime.GOOS == "linux" && rep.Output != "True [] True\n" {
		t.Errorf("%s %s: %s", rep.Status, rep.Error, rep.Output)
	}
}

func TestFar_ALostConnectionEndsBothEnds(t *testing.T) { // XF-5, RES-4
	t.Parallel()
	f, p := newFarFixture(t)
	called, ended := make(chan struct{}), make(chan error, 1)
	pid := filepath.Join(f.dir, "pid")
	f.Tools["terminal"] = func(ctx context.Context, r tool.Request, _ map[string]any) tool.Result {
		close(called)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return scripttest.Result(r, map[string]any{})
	}
	go func() {
		<-called
		for !slices.Contains(f.Told(), "before") { // what is printed takes another way than what is called
			time.Sleep(time.Millisecond)
		}
		_ = p.link.Close()
	}()
	rep := f.run("import os\nfrom hermes_tools import terminal\nopen('pid', 'w').write(str(os.getpid()))\nprint('before', flush=True)\ntry:\n    terminal('x')\nfinally:\n    while True: pass")
	if rep.Status != script.StatusError || !strings.Contains(rep.Error, environment.ErrLost.Error()) || rep.Output != "before\n" || rep.ToolCallsMade != 1 {
		t.Errorf("%+v", rep)
	}
	if err := <-ended; err == nil {
		t.Error("the call was not told")
	}
	if n := len(f.Calls()); n != 1 {
		t.Errorf("%d calls", n)
	}
	<-p.served // the other end has let go of everything
	b, err := os.ReadFile(pid)
	id, _ := strconv.Atoi(string(b))
	if err != nil || id == 0 {
		t.Fatalf("%q, %v", b, err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) { // it had its KILL; a machine that is busy takes its time
		left, _ := filepath.Glob(filepath.Join(f.home, ".cache", "hermes", "run", "*"))
		if syscall.Kill(id, 0) != nil && len(left) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("process %d or %v is still there", id, left)
		}
	}
}

func TestFar_TheSessionStaysAsItWas(t *testing.T) { // XF-6
	t.Parallel()
	f, _ := newFarFixture(t)
	value := "1"
	f.State.Merge(environment.Snapshot{}, environment.Snapshot{Dir: environment.Path(f.dir), Vars: map[string]*string{"KEPT": &value, "GONE": nil}})
	before := f.State.Snapshot()
	f.Tools["terminal"] = func(_ context.Context, r tool.Request, _ map[string]any) tool.Result {
		f.State.SetDir("/") // as a cd there would
		return scripttest.Result(r, map[string]any{"exit_code": 0})
	}
	f.want("done\n", "import os, subprocess\nos.chdir('/tmp')\nos.environ['NEW'] = '1'\nsubprocess.run('cd /; export NEW=2', shell=True)\nprint('done')")
	if after := f.State.Snapshot(); !reflect.DeepEqual(before, after) {
		t.Errorf("it was %+v and is %+v", before, after)
	}
	f.want("done\n", "from hermes_tools import terminal\nterminal('cd /')\nprint('done')")
	if f.State.Dir() != "/" {
		t.Errorf("what its call changed did not stay: %s", f.State.Dir())
	}
}
