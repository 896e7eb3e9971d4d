package jobs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine"
	"github.com/hermes-runtime/hermes/internal/engine/adversetest"
	"github.com/hermes-runtime/hermes/internal/engine/jobs"
)

// What a machine in a bad state does to a command in the foreground and to a job. Each case is a process of its own, in a mount
// namespace or under another user, which tells what became of both.

func init() { roles["role-adverse"] = adverse }

// outcome is what the process tells.
type outcome struct {
	Run, Job             string // what was printed, or the error
	RunFailed, JobFailed bool   // with environment.ErrNotStarted
	Code                 int    // of the job
	Ran                  int    // how often the script was begun
	Warnings             int
	Lacking              map[string]string
	Log                  string // of the job
}

// adverse runs a script in the foreground and as a job. args are the home, a directory that can be written to, "few" where there is
// room for no further process or "terminal" where the job has one, and the script; both append to a file there.
func adverse(args []string) {
	home, dir := args[0], args[1]
	var warned bytes.Buffer
	log := slog.New(slog.NewTextHandler(&warned, nil))
	e := engine.New(engine.Options{Log: log})
	o := outcome{Lacking: e.Lacking()}
	b := engine.Base{Environ: append(os.Environ(), "D="+dir, "H="+home), Home: dir}
	text := "echo begun >>$D/ran; " + args[3]
	table, failed := jobs.Open(jobs.Options{Dir: filepath.Join(home, "jobs"), Log: log})
	if args[2] == "few" {
		noProcesses()
	}
	ctx := context.Background()
	var out bytes.Buffer
	_, err := e.Run(ctx, environment.Command{Script: text, Dir: dir, Output: &out}, b)
	o.Run, o.RunFailed = out.String(), errors.Is(err, environment.ErrNotStarted)
	if err != nil {
		o.Run = err.Error()
	}
	var p environment.Process
	if failed == nil {
		j := environment.Job{Command: environment.Command{Script: text, Dir: dir}}
		if args[2] == "terminal" {
			j.Terminal = &environment.Size{Rows: 24, Cols: 80}
		}
		p, failed = table.Start(ctx, jobs.Spec{Job: j, Base: b})
	}
	if failed != nil {
		o.Job, o.JobFailed = failed.Error(), errors.Is(failed, environment.ErrNotStarted)
	} else {
		_ = p.Wait(ctx)
		i, _ := p.Info(ctx, 2000)
		o.Job, o.Code = i.Preview, *i.ExitCode
		page, _ := p.Log(ctx, 0, 1<<20)
		o.Log = page.Text
	}
	ran, _ := os.ReadFile(filepath.Join(dir, "ran"))
	o.Ran, o.Warnings = bytes.Count(ran, []byte("begun")), strings.Count(warned.String(), "level=WARN")
	_ = json.NewEncoder(os.Stdout).Encode(o)
}

// noProcesses has the kernel refuse this process any further one. What threads it will need are there by then.
func noProcesses() {
	var here, all sync.WaitGroup
	ready := make(chan struct{})
	for range 20 {
		here.Add(1)
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			here.Done()
			<-ready
		})
	}
	here.Wait() // each holds a thread now, and the runtime keeps them for reuse
	close(ready)
	all.Wait()
	if err := unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: 1, Max: 1}); err != nil {
		panic(err)
	}
}

// trouble makes the process of one case: "few" is for one without room for another process, "terminal" for a job on a terminal.
type trouble struct {
	state           adversetest.State
	special, script string
}

func (x trouble) outcome(t *testing.T) outcome {
	t.Helper()
	m := adversetest.New(t)
	self := filepath.Join(m.Top, "self")
	b, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(self, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	args := []string{self, "role-adverse", m.Home, m.Dir, x.special, x.script}
	cmd := m.Command(x.state, args...)
	if x.special == "few" {
		cmd = exec.Command(self, args[1:]...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}}
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	text, err := cmd.Output()
	var o outcome
	if err != nil || json.Unmarshal(text, &o) != nil {
		t.Fatalf("%v: %s%s", err, text, said.Bytes())
	}
	return o
}

// LOG-7, CON-2: with no room on the disk of its home no job begins, and the reason is said; a command in the foreground needs none there.
func TestAdverse_FullDiskAtTheStart(t *testing.T) {
	o := trouble{state: adversetest.FullHome, script: "echo hi"}.outcome(t)
	if o.Run != "hi\n" || !o.JobFailed || !strings.Contains(o.Job, "no space left") || o.Ran != 1 {
		t.Errorf("%+v", o)
	}
}

// LOG-7: a disk that fills up while a job prints: it runs on, the gap is marked, it is warned of once, and the receipt has its room.
func TestAdverse_DiskFillsUp(t *testing.T) {
	o := trouble{
		state:  `mount -t tmpfs -o size=512k none $H; head -c 300000 /dev/zero >$H/fill;`,
		script: `[ -e $H/jobs/*/log ] || exit 0; head -c 400000 /dev/zero | tr '\0' x | fold -w 99; rm $H/fill; echo; echo later; exit 5`,
	}.outcome(t)
	if o.JobFailed || o.Code != 5 || !strings.HasSuffix(o.Job, "later\n") || !strings.Contains(o.Log, "characters are missing here: the disk was full") || o.Warnings != 1 || o.Ran != 2 {
		o.Log = strings.ReplaceAll(o.Log, strings.Repeat("x", 99)+"\n", "")
		o.Job = o.Job[max(0, len(o.Job)-20):]
		t.Errorf("%+v", o)
	}
}

// CON-2: on a file system that can't be written to no job begins; a command in the foreground does.
func TestAdverse_ReadOnly(t *testing.T) {
	for name, state := range map[string]adversetest.State{
		"jobs there":    `mount -t tmpfs none $H; mkdir $H/jobs; mount -o remount,ro $H;`,
		"nothing there": adversetest.ReadOnlyHome,
	} {
		t.Run(name, func(t *testing.T) {
			o := trouble{state: state, script: "echo hi"}.outcome(t)
			if o.Run != "hi\n" || !strings.Contains(o.Job, "read-only file system") || o.Ran != 1 {
				t.Errorf("%+v", o)
			}
		})
	}
}

// CON-2, CON-3: where there is room for no further process nothing begins, and both say so as what may be tried again.
func TestAdverse_FullProcessTable(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector needs threads of its own; the test is done without it")
	}
	o := trouble{special: "few", script: "echo hi"}.outcome(t)
	if !o.RunFailed || !o.JobFailed || !strings.Contains(o.Run, "resource temporarily unavailable") || !strings.Contains(o.Job, "resource temporarily unavailable") || o.Ran != 0 {
		t.Errorf("%+v", o)
	}
}

// ENG-1, ENG-21, LOC-4: without bash and without /tmp commands and jobs run all the same, in sh, and what that lacks is declared.
func TestAdverse_NoBashNoTmp(t *testing.T) {
	o := trouble{
		state:  adversetest.NoBashNoTmp,
		script: "echo $0; ls -d /tmp 2>/dev/null || echo none",
	}.outcome(t)
	if o.Run != o.Job || !strings.Contains(o.Run, "sh\nnone\n") || strings.Contains(o.Run, "bash") || o.Lacking["bash"] == "" || o.Ran != 2 || o.Code != 0 {
		t.Errorf("%+v", o)
	}
}

// PTY-9: where there is no terminal to be had, the job does not begin on a pipe in its stead, and the system's limit is named.
func TestAdverse_NoTerminals(t *testing.T) {
	o := trouble{state: `mount -t devpts -o newinstance,ptmxmode=0666,max=1 devpts /dev/pts; mount --bind /dev/pts/ptmx /dev/ptmx; exec 9<>/dev/ptmx;`, special: "terminal", script: "echo hi"}.outcome(t)
	if o.Run != "hi\n" || !o.JobFailed || !strings.Contains(o.Job, "kernel.pty.max") || o.Ran != 1 {
		t.Errorf("%+v", o)
	}
}
