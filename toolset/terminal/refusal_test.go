package terminal_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/tool"
	"github.com/hermes-runtime/hermes/toolset/terminal"
)

func TestTerminal_BadArgumentsRunNothing_TRM3(t *testing.T) {
	for _, tc := range []struct {
		args string
		want []string
	}{
		{`{"command": 5}`, []string{"command", "number"}},
		{`{"command": ["ls"]}`, []string{"command", "array"}},
		{`{"command": ""}`, []string{"command", "empty"}},
		{`{"command": " \n"}`, []string{"command", "empty"}},
		{`{}`, []string{"command", "empty"}},
		{`{"command": "a\u0000b"}`, []string{"NUL"}},
		{`{"command": "ls", "timeout": "soon"}`, []string{"timeout", "string"}},
		{`{"command": "ls", "timeout": 0}`, []string{"timeout", "0"}},
		{`{"command": "ls", "timeout": 601}`, []string{"601", "600", "background"}}, // the cap names both
		{`{"command": "ls", "background": "maybe"}`, []string{"background", "string"}},
		{`{"command": "ls", "background": true, "timeout": 0}`, []string{"timeout", "0"}},
		{`{"command": "ls", "background": true, "watch_patterns": ["a\nb"]}`, []string{"watch_patterns", "line"}},
		{`{"command": "ls", "watch_patterns": [1]}`, []string{"watch_patterns", "number"}},
		{`{"command": "ls", "stdin": "x"}`, []string{"stdin", "keep_stdin"}},
		{`[]`, []string{"object", "array"}},
	} {
		h := told(exited(0))
		r := run(t, h, tc.args)
		if r.ExitCode != -1 || r.Status != "error" || r.outcome.Status != tool.StatusError || r.outcome.Type != tool.ErrTypeInvalidArguments {
			t.Errorf("%s: %s", tc.args, r.text)
		}
		mention(t, r.err(), tc.want...)
		if h.places != 0 {
			t.Errorf("%s: an environment was made for a refused call", tc.args)
		}
	}
}

func TestTerminal_TimeoutCapIsTheUsersToSet(t *testing.T) {
	for _, tc := range []struct {
		cfg terminal.Config
		ask int
		ok  bool
	}{
		{terminal.Config{}, 600, true},
		{terminal.Config{}, 601, false},
		{terminal.Config{MaxForeground: 10 * time.Second}, 10, true},
		{terminal.Config{MaxForeground: 10 * time.Second}, 11, false},
	} {
		h := told(exited(0))
		h.services = []any{&tc.cfg}
		if r := run(t, h, fmt.Sprintf(`{"command": "ls", "timeout": %d}`, tc.ask)); (r.ExitCode == 0) != tc.ok {
			t.Errorf("limit %v, asked for %d: %s", tc.cfg.MaxForeground, tc.ask, r.text)
		}
	}
	var got time.Duration
	h := told(func(_ context.Context, c environment.Command) (environment.Result, error) {
		got = c.Timeout
		return environment.Result{Reason: environment.Exited}, nil
	})
	run(t, h, command(t, "ls"))
	if got != 180*time.Second {
		t.Errorf("without a word a command has %v", got)
	}
	h.services = []any{&terminal.Config{Timeout: time.Hour}}
	if run(t, h, command(t, "ls")); got != time.Hour { // a configured default may be above the cap
		t.Errorf("with a configured default of an hour a command has %v", got)
	}
}

func TestTerminal_StaysInTheForeground_TRM9(t *testing.T) {
	refused := []string{
		"nohup make", "setsid sleep 5", "sleep 5 & disown", "FOO=1 nohup make", "cd x && nohup make > log 2>&1",
		"sleep 100 &", "echo a; sleep 100 &", "make & echo started",
		"npm start", "npm run dev", "pnpm dev", "yarn serve", "bun run watch", "docker compose up", "docker compose up web", "next dev",
		"vite", "nodemon app.js", "uvicorn app:app", "gunicorn app:app", "python -m http.server", "python3 -m http.server 8000",
		"tail -f log", "tail -F log", "tail -n5 -f log", "tail -nf log", "watch ls", "cd web && npm run dev",
		"npx vite", "npx --yes next dev", "pnpm exec vite", "yarn run nodemon x", "uv run uvicorn app:app", "poetry run python3 -m http.server",
		"trap 'echo bye' EXIT; sleep 9 & p=$!", "trap 'kill $p' USR1; sleep 9 & p=$!", "sleep 9 & kill $(pgrep x)",
	}
	for _, c := range refused {
		h := told(exited(0))
		r := run(t, h, command(t, c))
		if r.ExitCode != -1 || r.Status != "error" || h.places != 0 {
			t.Errorf("%q: %s", c, r.text)
		}
		mention(t, r.err(), "background")
	}
	allowed := []string{
		"man nohup", "echo 'nohup x'", "grep setsid log", "cat <<E\nnohup x &\nE", "echo hi # nohup x &",
		"make &> log", "make 2>&1", "a & b; wait", "srv & curl localhost; kill $!", "sleep 1 & wait $!", "sleep 9 & fg",
		"npm test", "npm run build", "npm start --help", "vite build", "vite --version", "next build", "docker compose up -d", "docker compose ps",
		"gunicorn --daemon app", "timeout 5 npm start", "timeout 5 tail -f log", "tail -n 5 log", "uvicorn --help", "python -m pytest", "python x.py",
		"nodemon -v", "npm run dev & sleep 5; kill $!", "echo npm start",
		"trap 'kill $p' EXIT; srv & p=$!; curl localhost", "end() { kill $p; }; trap end EXIT INT; srv & p=$!; curl localhost",
		"srv & kill $(jobs -p)", "srv & jobs -p | xargs kill", "npx vite build", "npx tsc", "npx", "uv run pytest", "uv sync", "timeout 9 npx vite", "yarn run build",
	}
	for _, c := range allowed {
		if r := run(t, told(exited(0)), command(t, c)); r.ExitCode != 0 || r.Error != nil {
			t.Errorf("%q: %s", c, r.text)
		}
	}
}

func TestTerminal_UnreadableTextIsForTheShell_TRM10(t *testing.T) {
	for _, c := range []string{"if nohup; then", "echo 'open", "nohup x & ("} {
		if r := run(t, told(exited(2)), command(t, c)); r.ExitCode != 2 {
			t.Errorf("%q: %s", c, r.text)
		}
	}
}

func TestTerminal_RisksNamesTheCommandAndItsDirectory_TRM2(t *testing.T) {
	h := told(exited(0))
	risky, ok := tool.As[tool.Risky](registered(t))
	if !ok {
		t.Fatal("the tool tells no risks")
	}
	got, err := risky.Risks(t.Context(), call(h, `{"command": "rm -r x", "workdir": "sub"}`))
	if err != nil || len(got) != 1 || got[0] != (tool.Action{Kind: tool.ActionCommand, Text: "rm -r x", Dir: "sub"}) {
		t.Errorf("risks %v, %v", got, err)
	}
	if h.places != 0 {
		t.Error("an environment was made before approval")
	}
}

// nowhere says that commands can't run.
type nowhere struct{}

func (nowhere) TerminalUnavailable(context.Context) error {
	return errors.New("commands don't run on this system")
}

func TestTerminal_UnavailableSaysWhy_CHK7(t *testing.T) {
	h := told(exited(0))
	h.services = []any{nowhere{}}
	r := run(t, h, command(t, "ls"))
	if r.Status != "disabled" || r.ExitCode != -1 || h.places != 0 {
		t.Errorf("%s", r.text)
	}
	mention(t, r.err(), "on this system")
	if err := registered(t).Spec().Check.Run(t.Context(), h); err == nil {
		t.Error("the check passes")
	}
	if err := registered(t).Spec().Check.Run(t.Context(), told(exited(0))); err != nil {
		t.Errorf("the check fails without a word of the runtime: %v", err)
	}
}

func TestTerminal_PlaceWithoutCommandsSaysWhy_LOC6(t *testing.T) {
	p := &toldPlace{lacking: map[string]string{"commands": "no shell is known on this system"}}
	h := &host{place: func(context.Context) (environment.Place, error) { return environment.Place{Environment: p}, nil }}
	r := run(t, h, command(t, "ls"))
	if r.Status != "disabled" || r.ExitCode != -1 {
		t.Errorf("%s", r.text)
	}
	mention(t, r.err(), "no shell")
}

func TestTerminal_ShapeOfTheDoorsAnswers_A61(t *testing.T) {
	shaper, ok := tool.As[tool.Shaper](registered(t))
	if !ok {
		t.Fatal("the tool has no shape")
	}
	c := call(told(exited(0)), "{}")
	m := shaper.Shape(c, tool.StatusDenied)
	if m["output"] != "" || m["exit_code"] != -1 || m["status"] != "blocked" {
		t.Errorf("denied: %v", m)
	}
	if _, has := m["error"]; !has {
		t.Error("a model's answer always has the member error")
	}
	c.Caller = tool.CallerScript
	if m := shaper.Shape(c, tool.StatusError); m["status"] != "error" || len(m) != 3 {
		t.Errorf("script: %v", m)
	}
}

func TestTerminal_LostPlaceIsNoFailedCommand_TRM5(t *testing.T) {
	for _, tc := range []struct {
		kind   error
		status string
		words  []string
	}{
		{environment.ErrLost, "degraded", []string{"unknown"}},
		{environment.ErrGone, "degraded", []string{"gone"}},
		{environment.ErrUnavailable, "degraded", []string{"did not run", "not run anywhere else"}},
		{environment.ErrConfig, "error", []string{"did not run", "user"}},
		{environment.ErrUnsupported, "disabled", []string{"did not run"}},
		{errors.New("odd"), "degraded", []string{"unknown"}},
	} {
		fail := &environment.Error{Kind: tc.kind, Op: "run /opt/secret/place/bin/bash"}
		r := run(t, told(func(_ context.Context, c environment.Command) (environment.Result, error) {
			_, _ = c.Output.Write([]byte("so far\n"))
			return environment.Result{}, fail
		}), command(t, "make"))
		if r.Status != tc.status || r.ExitCode != -1 || r.Output != "so far" {
			t.Errorf("%v: %s", tc.kind, r.text)
		}
		mention(t, r.err(), tc.words...)
		if strings.Contains(r.err(), "/opt/secret") { // TRM-6
			t.Errorf("%v: a path of the host in %q", tc.kind, r.err())
		}
	}
	h := &host{place: func(context.Context) (environment.Place, error) {
		return environment.Place{}, &environment.Error{Kind: environment.ErrUnavailable, Op: "open"}
	}}
	if r := run(t, h, command(t, "make")); r.Status != "degraded" || r.ExitCode != -1 {
		t.Errorf("no place: %s", r.text)
	}
}

func TestTerminal_ExitCodeMeaning_TRM8(t *testing.T) {
	for _, tc := range []struct {
		command string
		code    int
		want    bool
	}{
		{"grep x f", 1, true}, {"cat f | grep x", 1, true}, {"A=1 rg x", 1, true}, {"env A=1 egrep x f", 1, true}, {"timeout 5 fgrep x f", 1, true},
		{"/usr/bin/grep x f", 1, true}, {"ag x", 1, true}, {"ack x", 1, true}, {"diff a b", 1, true}, {"colordiff a b", 1, true}, {"find / -name x", 1, true},
		{"test -f x", 1, true}, {"[ -f x ]", 1, true}, {"curl u", 6, true}, {"curl u", 7, true}, {"curl u", 22, true}, {"curl u", 28, true}, {"git diff --exit-code", 1, true},
		{"cd x; grep y f", 1, true},
		{"grep x f", 2, false}, {"grep x f", 0, false}, {"curl u", 1, false}, {"make", 1, false}, {"grep x f | wc", 1, false}, {"grep x f; make", 1, false},
		{"echo grep", 1, false}, {"git x", 128, false},
	} {
		r := run(t, told(exited(tc.code)), command(t, tc.command))
		if (r.ExitCodeMeaning != "") != tc.want {
			t.Errorf("%q ended with %d: meaning %q", tc.command, tc.code, r.ExitCodeMeaning)
		}
		if r.Output != "" { // TRM-11
			t.Errorf("%q: output %q", tc.command, r.Output)
		}
	}
}
