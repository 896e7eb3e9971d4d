package terminal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/tool"
)

// host is the runtime as far as the tool sees it.
type host struct {
	tool.Host
	services []any
	env      map[string]string
	dir      string
	keep     string // file for long output; "" = in memory
	place    func(ctx context.Context) (environment.Place, error)
	ask      func(ctx context.Context, q channel.Question) (channel.Answer, error)

	mu     sync.Mutex
	places int
	asked  []channel.Question
	spills []*spill
}

func (h *host) Service(t reflect.Type) any {
	for _, s := range h.services {
		if have := reflect.TypeOf(s); have == t || t.Kind() == reflect.Interface && have.Implements(t) {
			return s
		}
	}
	return nil
}

func (h *host) Getenv(name string) string { return h.env[name] }
func (h *host) Dir() string               { return h.dir }

func (h *host) Place(ctx context.Context) (environment.Place, error) {
	h.mu.Lock()
	h.places++
	h.mu.Unlock()
	return h.place(ctx)
}

func (h *host) Ask(ctx context.Context, q channel.Question) (channel.Answer, error) {
	h.mu.Lock()
	h.asked = append(h.asked, q)
	h.mu.Unlock()
	if h.ask == nil {
		return channel.Answer{}, errors.New("nobody is there")
	}
	return h.ask(ctx, q)
}

func (h *host) Spill(context.Context) (tool.SpillFile, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.keep != "" {
		f, err := os.Create(h.keep)
		return onDisk{f}, err
	}
	s := &spill{}
	h.spills = append(h.spills, s)
	return s, nil
}

type onDisk struct{ *os.File }

func (f onDisk) Path() string { return f.Name() }

type spill struct {
	bytes.Buffer
	closed bool
}

func (s *spill) Close() error { s.closed = true; return nil }
func (s *spill) Path() string { return "/tmp/hermes-results/call.txt" }

// registered finds the tool where a runtime does.
func registered(t testing.TB) tool.Tool {
	t.Helper()
	for _, e := range tool.Default().Entries() {
		if e.Tool.Spec().Name == "terminal" {
			return e.Tool
		}
	}
	t.Fatal("the tool did not register itself")
	return nil
}

func call(h *host, args string) *tool.Call {
	return &tool.Call{ID: "c1", Session: "s1", Task: "t1", Caller: tool.CallerModel, Name: "terminal", Raw: json.RawMessage(args), Args: json.RawMessage(args), Host: h}
}

// result is an answer as its reader gets it.
type result struct {
	Output               string
	ExitCode             int `json:"exit_code"`
	Error                *string
	Status               string
	Cwd                  string
	DurationSeconds      *float64 `json:"duration_seconds"`
	ExitCodeMeaning      string   `json:"exit_code_meaning"`
	Approval             *tool.Approval
	Spilled              *tool.Spill
	Truncated            bool
	EnvironmentRecreated bool                     `json:"environment_recreated"`
	CwdNote              string                   `json:"cwd_note"`
	LeftRunning          []environment.ProcessRef `json:"left_running"`
	Limit                string
	Note                 string

	text    string // the JSON
	outcome tool.Outcome
}

func (r result) err() string {
	if r.Error == nil {
		return ""
	}
	return *r.Error
}

// run makes a call as the door does: risks first, then the run.
func run(t testing.TB, h *host, args string) result { return runCall(t, t.Context(), call(h, args)) }

func runCall(t testing.TB, ctx context.Context, c *tool.Call) result {
	t.Helper()
	x := registered(t)
	risky, _ := tool.As[tool.Risky](x)
	var refusal *tool.Refusal
	if _, err := risky.Risks(ctx, c); errors.As(err, &refusal) {
		return parse(t, tool.Outcome{Value: refusal.Result, Status: tool.StatusError, Type: refusal.Type})
	} else if err != nil {
		t.Fatalf("risks of %s: %v", c.Args, err)
	}
	v, err := x.Run(ctx, c)
	if err != nil {
		t.Fatalf("run %s: %v", c.Args, err)
	}
	return parse(t, v)
}

func parse(t testing.TB, v any) result {
	t.Helper()
	o, ok := v.(tool.Outcome)
	if !ok {
		o = tool.Outcome{Value: v}
	}
	text, err := json.Marshal(o.Value)
	if err != nil {
		t.Fatal(err)
	}
	r := result{text: string(text), outcome: o}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return r
}

func args(t testing.TB, members map[string]any) string {
	t.Helper()
	b, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func command(t testing.TB, text string) string { return args(t, map[string]any{"command": text}) }

// toldPlace is an environment whose commands end as the test tells.
type toldPlace struct {
	environment.Environment
	run       func(ctx context.Context, c environment.Command) (environment.Result, error)
	namespace environment.Namespace
	lacking   map[string]string
}

func (p *toldPlace) Info() environment.Info {
	return environment.Info{Backend: "lab", ID: "1", Namespace: p.namespace, Lacking: p.lacking}
}
func (p *toldPlace) Run(ctx context.Context, c environment.Command) (environment.Result, error) {
	return p.run(ctx, c)
}

// told is a host whose place answers with run.
func told(run func(ctx context.Context, c environment.Command) (environment.Result, error)) *host {
	return &host{place: func(context.Context) (environment.Place, error) {
		return environment.Place{Environment: &toldPlace{run: run}, State: &environment.State{}}, nil
	}}
}

func exited(code int) func(context.Context, environment.Command) (environment.Result, error) {
	return func(context.Context, environment.Command) (environment.Result, error) {
		return environment.Result{ExitCode: code, Reason: environment.Exited, Dir: "/w"}, nil
	}
}

// program puts an executable of that name and text first on PATH.
func program(t *testing.T, name, text string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

func mention(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q doesn't mention %q", text, w)
		}
	}
}
