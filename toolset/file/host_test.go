package file_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/backend/local"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/envs"
	"github.com/hermes-runtime/hermes/tool"
	"github.com/hermes-runtime/hermes/toolset/file"
)

// host is the runtime as far as the file tools see it, over this machine.
type host struct {
	tool.Host
	t        testing.TB
	dir      string
	services []any
	env      map[string]string
	manager  *envs.Manager
	task     string
	caller   tool.Caller
	around   func(environment.Environment) environment.Environment // puts something between; nil = nothing

	mu     sync.Mutex
	places int
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
	p, err := h.manager.Place(ctx, h.task)
	if err == nil && h.around != nil {
		p.Environment = h.around(p.Environment)
	}
	return p, err
}

// here makes a host whose session works in a directory of its own, with a home beside it.
func here(t testing.TB) *host {
	t.Helper()
	return hereIn(t, t.TempDir())
}

// inMemory is a directory that no disk is waited for: where the bytes count and not that they last.
func inMemory(t testing.TB) string {
	t.Helper()
	const memory = "/dev/shm"
	if _, err := os.Stat(memory); err != nil {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "hermes-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// The backends and their settings for the tests below a test; all others are done on this machine.
var (
	backends = map[string]string{}
	configs  = map[string]func() any{}
)

func hereIn(t testing.TB, dir string) *host {
	t.Helper()
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	work, home := filepath.Join(root, "work"), filepath.Join(root, "home")
	for _, d := range []string{work, home} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"HOME": home, "HERMES_HOME": filepath.Join(home, ".hermes"), "PATH": os.Getenv("PATH"), "SHLVL": "1"}
	group, _, _ := strings.Cut(t.Name(), "/")
	config, ok := configs[group]
	if !ok {
		config = func() any { return &local.Config{HomeMode: "real"} }
	}
	m := envs.New(envs.Options{Backend: cmp.Or(backends[group], "local"), Cwd: work, Settings: func(_ environment.Backend, _ string, _ envs.Override) (environment.OpenOptions, error) {
		return environment.OpenOptions{
			Config: config(), HermesHome: env["HERMES_HOME"], Getenv: func(n string) string { return env[n] },
			Environ: os.Environ, KillGrace: 200 * time.Millisecond,
		}, nil
	}})
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &host{t: t, dir: work, manager: m, task: "t1", env: env, caller: tool.CallerModel,
		services: []any{&tool.Memory{}, &file.Config{}}}
}

// as is the same host for another task or caller.
func (h *host) as(task string, caller tool.Caller) *host {
	return &host{t: h.t, dir: h.dir, manager: h.manager, task: task, env: h.env, caller: caller, services: h.services}
}

// number is that of the next call, as the runtime counts.
func (h *host) number() uint64 {
	m, ok := tool.Service[*tool.Memory](&tool.Call{Host: h})
	if !ok {
		return 0
	}
	return m.Called(h.task)
}

func (h *host) path(name string) string { return filepath.Join(h.dir, name) }

func (h *host) put(name, content string) string {
	h.t.Helper()
	p := h.path(name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
		h.t.Fatal(err)
	}
	return p
}

func (h *host) holds(name, want string) {
	h.t.Helper()
	got, err := os.ReadFile(h.path(name))
	if err != nil || string(got) != want {
		h.t.Errorf("%s holds %q (%v), want %q", name, got, err, want)
	}
}

// res is an answer as its reader gets it.
type res struct {
	Content       *string
	TotalLines    int `json:"total_lines"`
	FileSize      int `json:"file_size"`
	Truncated     bool
	Hint          string
	Advice        string `json:"_hint"`
	Warning       string `json:"_warning"`
	Encoding      string
	IsBinary      bool     `json:"is_binary"`
	IsImage       bool     `json:"is_image"`
	MimeType      string   `json:"mime_type"`
	Similar       []string `json:"similar_files"`
	Error         string
	Status        string
	Dedup         bool
	AlreadyRead   int `json:"already_read"`
	BytesWritten  int `json:"bytes_written"`
	Created       bool
	DirsCreated   bool `json:"dirs_created"`
	InPlace       bool `json:"in_place"`
	Unchanged     bool
	Success       bool
	Diff          string
	FilesModified []string `json:"files_modified"`
	FilesCreated  []string `json:"files_created"`
	FilesDeleted  []string `json:"files_deleted"`
	MatchStrategy string   `json:"match_strategy"`
	Matches       json.RawMessage
	Files         []string
	Counts        map[string]int
	TotalCount    int    `json:"total_count"`
	NextOffset    int    `json:"next_offset"`
	Resolved      string `json:"resolved_path"`
	Extracted     bool   `json:"extracted_document"`
	Lint          *struct{ Status, Output, Message string }

	text    string
	outcome tool.Outcome
}

func (r res) content() string {
	if r.Content == nil {
		return "(none)"
	}
	return *r.Content
}

type m = map[string]any

// do makes a call as the door does: risks first, then the run.
func (h *host) do(name string, args m) res {
	h.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.raw(name, raw)
}

func (h *host) raw(name string, args json.RawMessage) res {
	h.t.Helper()
	c := &tool.Call{ID: "c", Session: "s", Task: h.task, Number: h.number(), Caller: h.caller, Name: name, Raw: args, Args: args, Host: h}
	x := registered(h.t, name)
	if risky, ok := tool.As[tool.Risky](x); ok {
		var refusal *tool.Refusal
		if _, err := risky.Risks(context.Background(), c); errors.As(err, &refusal) {
			return parse(h.t, tool.Outcome{Value: refusal.Result, Status: tool.StatusError, Type: refusal.Type})
		} else if err != nil {
			h.t.Fatal(err)
		}
	}
	v, err := x.Run(context.Background(), c)
	if err != nil {
		h.t.Fatalf("%s %s: %v", name, args, err)
	}
	return parse(h.t, v)
}

func registered(t testing.TB, name string) tool.Tool {
	t.Helper()
	for _, e := range tool.Default().Entries() {
		if e.Tool.Spec().Name == name {
			return e.Tool
		}
	}
	t.Fatalf("%s did not register itself", name)
	return nil
}

func parse(t testing.TB, v any) res {
	t.Helper()
	o, ok := v.(tool.Outcome)
	if !ok {
		o = tool.Outcome{Value: v}
	}
	text, err := json.Marshal(o.Value)
	if err != nil {
		t.Fatal(err)
	}
	r := res{text: string(text), outcome: o}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return r
}

func mention(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q doesn't mention %q", text, w)
		}
	}
}
