package envtest

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// contract holds what Run and Close promise.
var contract = []check{
	{"CON-1_ACommandThatFailedIsAResult", "", func(t *testing.T, s *suite) {
		res, _ := s.run(t, environment.Command{Script: "exit 7"})
		if res.ExitCode != 7 || res.Reason != environment.Exited {
			t.Errorf("%+v", res)
		}
	}},
	{"CON-4_WordsInOutputAreNoFailure", "", func(t *testing.T, s *suite) {
		for _, words := range []string{
			"connection lost", "Error: No such container: x", "Connection to host closed by remote host.", "command not started", "No space left on device",
		} {
			res, out := s.run(t, environment.Command{Script: "echo '" + words + "'; echo '" + words + "' >&2; exit 255"}) // fails the test if Run fails
			if res.ExitCode != 255 || res.Reason != environment.Exited || res.Recreated || out != words+"\n"+words+"\n" {
				t.Errorf("%q: %+v, %q", words, res, out)
			}
		}
	}},
	{"CON-5_TheCauseDecides", "", theCauseDecides},
	{"CON-5_OutputHasArrivedWhenACommandIsCut", "", func(t *testing.T, s *suite) {
		f := string(join(s.dir(t), "printed"))
		res, out := s.cutWhen(t, "[ -e "+f+" ]", environment.Command{Script: "echo first; echo second >&2; : >" + f + "; sleep 600", Grace: 50 * time.Millisecond})
		if res.Reason != environment.TimedOut || out != "first\nsecond\n" {
			t.Errorf("%+v, output %q", res, out)
		}
	}},
	{"CON-5_AnEndedContextStartsNothingForLong", "", func(t *testing.T, s *suite) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		res, err := s.env.Run(ctx, environment.Command{Script: "sleep 60", Grace: 50 * time.Millisecond})
		if err == nil && res.Reason != environment.Interrupted {
			t.Errorf("%+v", res)
		}
		if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, environment.ErrNotStarted) {
			t.Errorf("error %v", err)
		}
	}},
	{"CON-6_PathsBelongToTheirNamespace", "", func(t *testing.T, s *suite) {
		info := s.env.Info()
		host, ok := info.HostPath("/x")
		if ok != (info.Namespace == environment.NamespaceHost) || ok && host != "/x" {
			t.Errorf("HostPath gives %q, %v in namespace %s", host, ok, info.Namespace)
		}
	}},
	{"CON-9_CloseTwiceAndRunAfterClose", "", func(t *testing.T, s *suite) {
		e := s.open(t)
		s.closeAtEnd(t, e) // the second time
		if err := e.Close(context.Background()); err != nil {
			t.Fatalf("Close: %v", err)
		}
		if _, err := e.Run(context.Background(), environment.Command{Script: "true"}); !errors.Is(err, environment.ErrUnavailable) {
			t.Errorf("Run after Close: %v, want ErrUnavailable", err)
		}
	}},
	{"CON-9_CloseEndsWhatRuns", "", closeEndsWhatRuns},
	{"CON_ConcurrentUse", "", func(t *testing.T, s *suite) {
		for range 8 {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				if _, out := s.run(t, environment.Command{Script: "echo $$"}); strings.TrimSpace(out) == "" {
					t.Error("no output")
				}
			})
		}
	}},
	{"CON_InvalidCommandsAreRefusedInWords", "", func(t *testing.T, s *suite) {
		for name, c := range map[string]environment.Command{
			"nothing":   {},
			"both":      {Script: "true", Argv: []string{"true"}},
			"zero byte": {Script: "echo a\x00b"},
			"too long":  {Script: "#" + strings.Repeat("x", 1<<20)},
		} {
			res, out := s.run(t, c)
			if res.ExitCode != -1 || out == "" {
				t.Errorf("%s: exit %d, %q; want -1 and the reason", name, res.ExitCode, out)
			}
		}
	}},
	{"EXC_Table", "", exitCodes},
	{"EXC-1_OwnExitCodesAreToldApart", "", func(t *testing.T, s *suite) {
		for _, code := range []string{"124", "130", "137"} {
			res, out := s.run(t, environment.Command{Script: "exit " + code})
			if res.Reason != environment.Exited || out != "" {
				t.Errorf("exit %s: %+v, output %q", code, res, out)
			}
		}
	}},
	{"LIM-2_ALimitThatStrikesIsNamed", "", func(t *testing.T, s *suite) {
		d := s.dir(t)
		res, out := s.run(t, environment.Command{
			Script: "exec head -c 3000000 /dev/zero >big", Dir: string(d), Limits: environment.Limits{FileSizeMB: 1},
		})
		if res.Reason != environment.LimitHit || res.ExitCode != 137 || !strings.Contains(res.Limit, "file_size_mb") || !strings.Contains(res.Limit, "1") {
			t.Errorf("%+v, output %q", res, out)
		}
	}},
	{"ENV_VariablesAreThoseOfACommand", Variables, func(t *testing.T, s *suite) {
		st := environment.NewState(s.env.Info().Temp)
		s.run(t, environment.Command{Script: "export ENVTEST_A=1; unset HOME", State: st})
		vars, err := s.env.(environment.Environer).Environ(context.Background(), st)
		if err != nil {
			t.Fatal(err)
		}
		if _, home := vars["HOME"]; vars["ENVTEST_A"] != "1" || home || vars["PATH"] == "" {
			t.Errorf("ENVTEST_A=%q HOME there %v PATH=%q", vars["ENVTEST_A"], home, vars["PATH"])
		}
	}},
}

func theCauseDecides(t *testing.T, s *suite) {
	user := errors.New("the user stopped it")
	for _, row := range []struct {
		name   string
		ctx    func() (context.Context, func())
		limit  time.Duration
		reason environment.Reason
		code   int
	}{
		{"deadline of the context", func() (context.Context, func()) {
			return context.WithTimeout(context.Background(), 200*time.Millisecond)
		}, 0, environment.TimedOut, 124},
		{"timeout of the command", func() (context.Context, func()) { return context.Background(), func() {} }, 200 * time.Millisecond, environment.TimedOut, 124},
		{"cancelled", func() (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(context.Background())
			stop := time.AfterFunc(200*time.Millisecond, func() { cancel(user) })
			return ctx, func() { stop.Stop(); cancel(nil) }
		}, 0, environment.Interrupted, 130},
	} {
		ctx, cancel := row.ctx()
		res, _ := run(t, ctx, s.env, environment.Command{Script: "sleep 60", Timeout: row.limit, Grace: 50 * time.Millisecond})
		cancel()
		if res.Reason != row.reason || res.ExitCode != row.code || len(res.Left) > 0 {
			t.Errorf("%s: %+v", row.name, res)
		}
		s.noSurvivor(t, res)
	}
}

func closeEndsWhatRuns(t *testing.T, s *suite) {
	e := s.open(t)
	s.closeAtEnd(t, e)
	started := make(chan struct{})
	type ended struct {
		res environment.Result
		err error
	}
	done := make(chan ended, 1)
	go func() {
		res, err := e.Run(context.Background(), environment.Command{
			Script: "sleep 60", Grace: 50 * time.Millisecond, OnStart: func(int) { close(started) },
		})
		done <- ended{res, err}
	}()
	<-started
	if err := e.Close(context.Background()); err != nil {
		t.Errorf("Close: %v", err)
	}
	select {
	case got := <-done:
		if got.err == nil && got.res.Reason != environment.Interrupted {
			t.Errorf("%+v", got.res)
		}
	case <-time.After(patience):
		t.Error("the command still runs")
	}
}

func exitCodes(t *testing.T, s *suite) {
	d := s.dir(t)
	s.sh(t, `cd `+string(d)+` && echo >plain && printf '#!/none\n' >bad && chmod +x bad`)
	for _, row := range []struct {
		c      environment.Command
		code   int
		reason environment.Reason
	}{
		{environment.Command{Script: "true"}, 0, environment.Exited},
		{environment.Command{Script: "exit 125"}, 125, environment.Exited},
		{environment.Command{Script: "nosuchprogram-x"}, 127, environment.Exited},
		{environment.Command{Script: "./plain"}, 126, environment.Exited},
		{environment.Command{Script: "kill -TERM $$"}, 143, environment.Signaled},
		{environment.Command{Script: "sh -c 'kill -KILL $$'; exit $?"}, 137, environment.Exited},
		{environment.Command{Argv: []string{"true"}}, 0, environment.Exited},
		{environment.Command{Argv: []string{"sh", "-c", "exit 3"}}, 3, environment.Exited},
		{environment.Command{Argv: []string{"nosuchprogram-x"}}, 127, environment.Exited},
		{environment.Command{Argv: []string{"./plain"}}, 126, environment.Exited},
		{environment.Command{Argv: []string{"./none"}}, 127, environment.Exited},
		{environment.Command{Argv: []string{"sh", "-c", "kill -SEGV $$"}}, 139, environment.Signaled},
	} {
		row.c.Dir = string(d)
		if res, out := s.run(t, row.c); res.ExitCode != row.code || res.Reason != row.reason {
			t.Errorf("%q %q: exit %d, %s (%q); want %d, %s", row.c.Script, row.c.Argv, res.ExitCode, res.Reason, out, row.code, row.reason)
		}
	}
	if res, _ := s.run(t, environment.Command{Script: "kill -TERM $$"}); res.Signal != "SIGTERM" {
		t.Errorf("signal %q, want SIGTERM", res.Signal)
	}
	if _, err := s.env.Files().Stat(context.Background(), join(d, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat of nothing: %v", err)
	}
}
