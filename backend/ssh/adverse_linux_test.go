package ssh_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/hermes-runtime/hermes/backend/ssh/sshtest"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/environment/envtest"
	"github.com/hermes-runtime/hermes/internal/engine/adversetest"
	"github.com/hermes-runtime/hermes/internal/envs"
	"github.com/hermes-runtime/hermes/internal/session"
)

// What a host in a bad state does to commands, files and jobs: with the engine there, and by a plain shell.

// troubled is a host whose sshd runs in a machine of its own, brought into a state.
type troubled struct {
	*lab
	machine adversetest.Machine
}

func newTroubled(t *testing.T, state adversetest.State, env ...string) *troubled {
	t.Helper()
	m := adversetest.New(t)
	dir := filepath.Join(m.Top, "sshd")
	if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // another user's keys are looked for there
		t.Fatal(err)
	}
	l := newLab(t, sshtest.Options{Home: m.Home, Dir: dir, Env: env, Command: func(argv ...string) *exec.Cmd { return m.Command(state, argv...) }})
	return &troubled{l, m}
}

// modes are the ways that commands get there.
var modes = map[string]string{"engine": "", "plain shell": "off"}

// each opens a place on a host in a state, in every mode.
func each(t *testing.T, state adversetest.State, do func(t *testing.T, h *troubled, e environment.Environment)) {
	for name, resident := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newTroubled(t, state)
			h.config.Resident = cmp.Or(resident, h.config.Resident)
			e := h.open(t)
			defer closed(t, e)
			do(t, h, e)
			h.hostIsUntouched(t)
		})
	}
}

// hostIsUntouched shows that nothing was done here in place of there: the home there lies over one that is empty here.
func (h *troubled) hostIsUntouched(t *testing.T) {
	t.Helper()
	if left, err := os.ReadDir(h.machine.Home); err != nil || len(left) > 0 {
		t.Errorf("the home as it is here holds %v, %v", left, err)
	}
}

// small is a home that takes the binary, and little more.
const small adversetest.State = `mount -t tmpfs -o size=96m none $H;`

func TestAdverse_ADiskThatFillsUp(t *testing.T) { // LOG-7, CON-2, JOB-3
	t.Parallel()
	each(t, small, func(t *testing.T, _ *troubled, e environment.Environment) { envtest.FullDisk(t, e) })
}

func TestAdverse_ADiskThatIsFullAtTheStart(t *testing.T) { // RES-7, LOG-7, CON-2. The binary goes elsewhere
	t.Parallel()
	each(t, adversetest.FullHome, func(t *testing.T, h *troubled, e environment.Environment) {
		if out := sh(t, e, "echo ran >>"+h.machine.Dir+"/ran; echo hi"); out != "hi\n" {
			t.Errorf("a command prints %q", out)
		}
		if _, err := e.Files().Replace(t.Context(), e.Info().Home+"/f", strings.NewReader("x"), environment.ReplaceOptions{}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("a file: %v", err)
		}
		h.noJob(t, e, "no space left")
	})
}

// noJob shows that a job doesn't begin, and why. A plain shell has none anyway.
func (h *troubled) noJob(t *testing.T, e environment.Environment, why string) {
	t.Helper()
	s, ok := e.(environment.Starter)
	if !ok {
		return
	}
	_, err := s.Start(t.Context(), environment.Job{Command: environment.Command{Script: "echo ran >>" + h.machine.Dir + "/ran"}})
	if !errors.Is(err, environment.ErrNotStarted) && !errors.Is(err, environment.ErrUnavailable) || !strings.Contains(err.Error(), why) {
		t.Errorf("a job: %v", err)
	}
	if ran := read(t, h.machine.Dir+"/ran"); ran != "ran\n" {
		t.Errorf("there ran %q", ran)
	}
}

func TestAdverse_AHomeThatCantBeWrittenTo(t *testing.T) { // RES-7, CON-2: all but the home's files works, jobs too
	t.Parallel()
	each(t, adversetest.ReadOnlyHome, func(t *testing.T, _ *troubled, e environment.Environment) {
		if out := sh(t, e, "echo x >~/f || echo hi"); !strings.HasSuffix(out, "hi\n") {
			t.Errorf("a command prints %q", out)
		}
		if _, err := e.Files().Replace(t.Context(), e.Info().Home+"/f", strings.NewReader("x"), environment.ReplaceOptions{}); !errors.Is(err, syscall.EROFS) {
			t.Errorf("a file: %v", err)
		}
		if s, ok := e.(environment.Starter); ok {
			endsWith(t, s, "exit 3", 3)
		}
	})
}

// endsWith has a job come to its end.
func endsWith(t *testing.T, s environment.Starter, script string, code int) string {
	t.Helper()
	p, err := s.Start(t.Context(), environment.Job{Command: environment.Command{Script: script}})
	if err != nil {
		t.Fatalf("a job: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), endTime)
	defer cancel()
	if err := p.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	i, err := p.Info(ctx, 1000)
	if err != nil || i.ExitCode == nil || *i.ExitCode != code {
		t.Errorf("a job: %+v, %v", i, err)
	}
	return i.Preview
}

// readOnly is a machine on which nothing can be written but in the directory that its tests look at.
const readOnly = adversetest.ReadOnlyHome + `mount -t tmpfs none /tmp; mount -o remount,ro /tmp; mount -t tmpfs none /dev/shm; mount -o remount,ro /dev/shm;`

func TestAdverse_NothingCanBeWritten(t *testing.T) { // RES-7, RES-8: a plain shell does, and says why; where that isn't wanted, nothing does
	t.Parallel()
	h := newTroubled(t, readOnly)
	e := h.open(t)
	defer closed(t, e)
	if out := sh(t, e, "export A=1; echo hi"); out != "hi\n" {
		t.Errorf("a command prints %q", out)
	}
	if _, ok := e.(environment.Starter); ok || !strings.Contains(strings.ToLower(e.Info().Lacking["jobs"]), "read-only") {
		t.Errorf("it has jobs: %v, or doesn't say why not: %q", ok, e.Info().Lacking["jobs"])
	}
	h.config.Resident = "require"
	if _, err := h.try(t); !errors.Is(err, environment.ErrUnavailable) || !strings.Contains(strings.ToLower(err.Error()), "read-only") {
		t.Errorf("%v", err)
	}
	h.hostIsUntouched(t)
}

func TestAdverse_NoBashNoTmp(t *testing.T) { // ENG-1, ENG-21
	t.Parallel()
	for name, resident := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newTroubled(t, adversetest.NoBashNoTmp, "TMPDIR=/none")
			h.config.Resident = cmp.Or(resident, h.config.Resident)
			e := h.open(t)
			defer closed(t, e)
			const script = "echo $0; ls -d /tmp 2>/dev/null || echo none"
			out := sh(t, e, script)
			if !strings.Contains(out, "sh\nnone\n") || strings.Contains(out, "bash") || e.Info().Lacking["bash"] == "" {
				t.Errorf("a command prints %q; lacking: %v", out, e.Info().Lacking)
			}
			if s, ok := e.(environment.Starter); ok {
				if printed := endsWith(t, s, script, 0); printed != out {
					t.Errorf("a job prints %q, a command %q", printed, out)
				}
			}
			st := environment.NewState(e.Info().Home)
			for _, want := range []string{"", "1 " + h.machine.Dir + "\n"} {
				var got bytes.Buffer
				if _, err := e.Run(t.Context(), environment.Command{Script: `[ -z "$A" ] || echo $A $PWD; export A=1; cd ` + h.machine.Dir, State: st, Output: &got}); err != nil || got.String() != want {
					t.Errorf("%q, %v, want %q", got.String(), err, want)
				}
			}
		})
	}
}

// crowded has room for so many processes of one user, whom bounds hold as they don't root. It is another one each time: the kernel counts
// what is left of others of the same number.
func crowded() adversetest.State {
	id := fmt.Sprint(1<<20 + os.Getpid()<<6 + int(users.Add(1)))
	return adversetest.State(`{ cat /etc/passwd; echo far:x:` + id + `:` + id + `::$H:/bin/sh; } >$T/passwd; mount --bind $T/passwd /etc/passwd; chmod 644 $T/sshd/authorized; ENTER="prlimit --nproc=80:80";`)
}

var users atomic.Int32

func TestAdverse_AFullProcessTable(t *testing.T) { // CON-1, CON-2
	t.Parallel()
	for name, resident := range modes {
		t.Run(name, func(t *testing.T) {
			h := newTroubled(t, crowded())
			h.config.User, h.config.Resident = "far", cmp.Or(resident, h.config.Resident)
			e := h.open(t)
			defer closed(t, e)
			envtest.FullProcesses(t, e)
		})
	}
}

// call runs a command as the terminal tool does.
func (l *lab) call(t *testing.T, m *envs.Manager, text string) (session.Answer, error) {
	t.Helper()
	place, err := m.Place(t.Context(), "task")
	if err != nil {
		return session.Answer{}, err
	}
	return session.Run(t.Context(), session.Request{Place: place, Command: environment.Command{Script: text}, Renew: func(ctx context.Context, old environment.Environment) (environment.Place, error) {
		return m.Renew(ctx, "task", old)
	}})
}

func TestAdverse_AServerThatIsRestartedUnderUs(t *testing.T) { // SSH-5, CON-2, CON-3, MGR-4: nothing runs twice, and nothing here
	t.Parallel()
	for name, resident := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newTroubled(t, `mount -t tmpfs none $H;`)
			h.config.Resident = cmp.Or(resident, h.config.Resident)
			r := h.relayed(t)
			sshtest.Write(t, h.config.SSHConfig, strings.Join(h.lines, "\n")+"\n")
			m := envs.New(envs.Options{Backend: "ssh", Cwd: "~", Settings: func(environment.Backend, string, envs.Override) (environment.OpenOptions, error) {
				o, c := h.o, h.config
				o.Config = &c
				return o, nil
			}})
			t.Cleanup(func() { _ = m.Close(context.Background()) })
			place, err := m.Place(t.Context(), "task")
			if err != nil {
				t.Fatal(err)
			}
			if a, err := h.call(t, m, "export A=kept; cd "+h.machine.Dir); err != nil {
				t.Fatalf("%+v, %v", a, err)
			}
			done := background(place, environment.Command{Script: "echo ran >>" + h.machine.Dir + "/ran; " + stubborn, Dir: h.machine.Dir})
			pids := started(t, h.machine.Dir)
			h.server.Stop()
			r.Cut()
			if got := within(t, done); !errors.Is(got.err, environment.ErrLost) || errors.Is(got.err, environment.ErrNotStarted) {
				t.Errorf("the command that was under way: %+v", got)
			}
			gone(t, pids)
			if _, err := place.Run(t.Context(), environment.Command{Script: "echo ran >>" + h.machine.Dir + "/ran"}); !errors.Is(err, environment.ErrNotStarted) {
				t.Errorf("while it is away: %v", err)
			}
			if _, err := place.Files().Stat(t.Context(), environment.Path(h.machine.Dir)); err == nil {
				t.Error("a file was found while it is away")
			}
			if err := h.server.Run(); err != nil {
				t.Fatal(err)
			}
			if a, err := h.call(t, m, "echo $A $PWD; cat ran"); err != nil || a.Text.Head != "kept "+h.machine.Dir+"\nran\n" {
				t.Errorf("%+v, %v", a, err)
			}
			h.hostIsUntouched(t)
		})
	}
}
