package registry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-runtime/hermes/internal/registry"
	"github.com/hermes-runtime/hermes/tool"
)

// made makes a tool that does nothing, with whatever the options say.
func made(name, toolset string, opts ...func(*tool.Spec)) tool.Tool {
	s := tool.Spec{Name: name, Toolset: toolset, Description: "does " + name}
	for _, o := range opts {
		o(&s)
	}
	type args struct {
		Path string `json:"path" desc:"where"`
	}
	return tool.Func(s, func(context.Context, *tool.Call, args) (any, error) { return nil, nil })
}

func checked(c *tool.Check) func(*tool.Spec) { return func(s *tool.Spec) { s.Check = c } }

func passing(name string) *tool.Check {
	return &tool.Check{Name: name, Run: func(context.Context, tool.Services) error { return nil }}
}

func failing(name string) *tool.Check {
	return &tool.Check{Name: name, Run: func(context.Context, tool.Services) error { return errors.New(name + " is missing") }}
}

// journal is a log to look into.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(p)
}

func (j *journal) count(text string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Count(j.buf.String(), text)
}

// coreTools are the shipped tools by set, as they are documented.
var coreTools = map[string][]string{
	"terminal": {"terminal", "process"}, "file": {"read_file", "search_files", "write_file", "patch"}, "code_execution": {"execute_code"},
	"web": {"web_search", "web_extract"}, "image_gen": {"image_generate"}, "vision": {"vision_analyze"}, "todo": {"todo"}, "memory": {"memory"},
	"session_search": {"session_search"}, "delegation": {"delegate_task"}, "clarify": {"clarify"}, "skills": {"skills_list", "skill_view"},
	"browser": {"browser_navigate", "browser_snapshot", "browser_click", "browser_type", "browser_scroll", "browser_back", "browser_press",
		"browser_get_images", "browser_console", "browser_vision"},
}

func coreTable() *tool.Table {
	t := &tool.Table{}
	for set, names := range coreTools {
		for _, n := range names {
			t.Register(made(n, set))
		}
	}
	return t
}

type env struct {
	*registry.Registry
	log *journal
}

func newRegistry(t testing.TB, table *tool.Table, s registry.Settings) env {
	t.Helper()
	j := &journal{}
	if table == nil {
		table = &tool.Table{}
	}
	r := registry.New(registry.Options{Table: table, Settings: s, Log: slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return env{r, j}
}

func tableOf(tools ...tool.Tool) *tool.Table {
	t := &tool.Table{}
	for _, x := range tools {
		t.Register(x)
	}
	return t
}

func (e env) add(t testing.TB, o registry.Origin, tools ...tool.Tool) {
	t.Helper()
	c := registry.Change{Origin: o}
	for _, x := range tools {
		c.Add = append(c.Add, registry.Addition{Tool: x})
	}
	if err := e.Apply(c); err != nil {
		t.Fatal(err)
	}
}

func (e env) offered(t testing.TB, req registry.Request) []string {
	t.Helper()
	d, err := e.Definitions(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, x := range d.List {
		names = append(names, x.Name)
	}
	return names
}

// remote adds tools of an MCP server under the names that it gets in the registry.
func (e env) remote(t testing.TB, server string, names ...string) {
	t.Helper()
	c := registry.Change{Origin: registry.ServerOrigin(server)}
	for _, n := range names {
		c.Add = append(c.Add, registry.Addition{Tool: made(fmt.Sprintf("mcp_%s_%s", server, n), ""), Remote: n})
	}
	if err := e.Apply(c); err != nil {
		t.Fatal(err)
	}
}
