// Package scripttest is a session for tests of scripts: tools written as functions, a place on this machine, and every service a
// run asks for.
package scripttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"sync"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine"
	"github.com/hermes-runtime/hermes/internal/engine/files"
	"github.com/hermes-runtime/hermes/internal/engine/staging"
	"github.com/hermes-runtime/hermes/tool"
)

// Tool answers a nested call.
type Tool func(ctx context.Context, r tool.Request, args map[string]any) tool.Result

// Host is a session. Set its fields before the first call.
type Host struct {
	Environment environment.Environment
	State       *environment.State
	Tools       map[string]Tool
	Missing     map[string]string // tools that are not available, and why
	Services    []any             // by their own types and the interfaces they implement
	Variables   map[string]string // what Getenv knows
	SpillDir    string
	Unrecorded  bool // nested calls aren't kept in Requests: for benchmarks

	mu       sync.Mutex
	Requests []tool.Request // every nested call, in order of arrival
	Reports  []string       // what was told as progress
}

// Call makes a call of execute_code in this session.
func (h *Host) Call(id string) *tool.Call {
	return &tool.Call{ID: id, Session: "session", Task: "task", Turn: "turn", Caller: tool.CallerModel, Name: "execute_code", Host: h}
}

// Service finds a service by type.
func (h *Host) Service(t reflect.Type) any {
	for _, s := range append([]any{h}, h.Services...) {
		if v := reflect.TypeOf(s); v == t || t.Kind() == reflect.Interface && v.Implements(t) {
			return s
		}
	}
	return nil
}

// Offered tells what scripts may call: the tools that are there.
func (h *Host) Offered(context.Context, []string) map[string]string {
	out := maps.Clone(h.Missing)
	if out == nil {
		out = map[string]string{}
	}
	for name := range h.Tools {
		out[name] = ""
	}
	return out
}

// Getenv reads Variables.
func (h *Host) Getenv(name string) string { return h.Variables[name] }

// Place is the environment with the session's state.
func (h *Host) Place(context.Context) (environment.Place, error) {
	return environment.Place{Environment: h.Environment, State: h.State}, nil
}

// Dir is the session's directory.
func (h *Host) Dir() string { return string(h.State.Dir()) }

// Ask has nobody to answer.
func (h *Host) Ask(context.Context, channel.Question) (channel.Answer, error) {
	return channel.Answer{}, errors.New("nobody can answer")
}

// Approve consents to nothing.
func (h *Host) Approve(context.Context, tool.Action) (tool.Approval, error) {
	return tool.Approval{}, errors.New("nobody can consent")
}

// Progress keeps what is told.
func (h *Host) Progress(_, _ float64, message string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Reports = append(h.Reports, message)
}

// Told returns the progress so far.
func (h *Host) Told() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.Reports...)
}

// Invoke calls one of Tools.
func (h *Host) Invoke(ctx context.Context, r tool.Request) tool.Result {
	if !h.Unrecorded {
		h.mu.Lock()
		h.Requests = append(h.Requests, r)
		h.mu.Unlock()
	}
	f, ok := h.Tools[r.Name]
	if !ok {
		return Failure(r, tool.ErrTypeUnknownTool, "no tool "+r.Name)
	}
	args := map[string]any{}
	if err := json.Unmarshal(r.Arguments, &args); err != nil {
		return Failure(r, tool.ErrTypeInvalidJSON, err.Error())
	}
	return f(ctx, r, args)
}

// Calls returns the nested calls so far.
func (h *Host) Calls() []tool.Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]tool.Request(nil), h.Requests...)
}

// Result answers r with a value.
func Result(r tool.Request, v any) tool.Result {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return Failure(r, tool.ErrTypeInternal, err.Error())
	}
	return tool.Result{ID: r.ID, Name: r.Name, JSON: string(bytes.TrimSpace(b.Bytes())), Status: tool.StatusOK}
}

// Failure answers r with an error.
func Failure(r tool.Request, t tool.ErrorType, text string) tool.Result {
	quoted, _ := json.Marshal(text)
	return tool.Result{ID: r.ID, Name: r.Name, JSON: `{"error":` + string(quoted) + `}`, Status: tool.StatusError, Type: t, Err: errors.New(text)}
}

// Spill makes a file below SpillDir.
func (h *Host) Spill(context.Context) (tool.SpillFile, error) {
	f, err := os.CreateTemp(h.SpillDir, "spill")
	if err != nil {
		return nil, fmt.Errorf("make a spill file: %w", err)
	}
	return spillFile{f}, nil
}

type spillFile struct{ *os.File }

func (s spillFile) Path() string { return s.Name() }

// Env is a place on this machine that runs programs in a group of their own. Close it.
type Env struct {
	Home string
	Vars map[string]string // of its commands

	files *files.FS
	area  *staging.Area
}

var (
	_ environment.Environer = (*Env)(nil)
	_ environment.Forwarder = (*Env)(nil)
)

// NewEnv returns a place whose home is home.
func NewEnv(home string) *Env {
	return &Env{
		Home: home, Vars: map[string]string{"PATH": os.Getenv("PATH"), "HOME": home, "LANG": "C.UTF-8"},
		files: files.New(files.Options{Home: home, Temp: os.TempDir()}), area: staging.New(staging.Options{Home: home}),
	}
}

// Info describes the place.
func (p *Env) Info() environment.Info {
	return environment.Info{
		Backend: "test", Home: environment.Path(p.Home), Temp: environment.Path(os.TempDir()), Shell: "/bin/sh", Namespace: environment.NamespaceHost,
		MemoryMB: engine.MemoryMB(),
	}
}

// Environ returns Vars.
func (p *Env) Environ(context.Context, *environment.State) (map[string]string, error) {
	return maps.Clone(p.Vars), nil
}

// Files is the file system of this machine.
func (p *Env) Files() environment.FS { return p.files }

// Forward makes a socket in a directory below Home.
func (p *Env) Forward(_ context.Context, content map[string][]byte) (environment.Forwarding, error) {
	f, err := p.area.Forward(content)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Close removes the directory of sockets.
func (p *Env) Close(context.Context) error { return p.area.Close() }

// New returns a session in dir with no tools; home holds what Hermes keeps. Close its environment.
func New(dir, home string) *Host {
	return &Host{
		Environment: NewEnv(home),
		State:       environment.NewState(environment.Path(filepath.Clean(dir))),
		Tools:       map[string]Tool{},
		Variables:   map[string]string{},
		SpillDir:    home,
	}
}
