package code

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/script"
	"github.com/hermes-runtime/hermes/internal/script/python"
	"github.com/hermes-runtime/hermes/internal/script/scripttest"
	"github.com/hermes-runtime/hermes/internal/script/stub"
	"github.com/hermes-runtime/hermes/tool"
)

// services holds services by their types.
type services []any

func (s services) Service(t reflect.Type) any {
	for _, v := range s {
		if reflect.TypeOf(v) == t {
			return v
		}
	}
	return nil
}

func (services) Getenv(string) string { return "" }

func adapted(t *testing.T, cfg *script.Config, offered ...string) string {
	t.Helper()
	x := newExecuteCode()
	d, err := x.Adapt(context.Background(), tool.Adaptation{Definition: tool.Definition{Name: "execute_code"}, Offered: offered, Services: services{cfg}})
	if err != nil {
		t.Fatal(err)
	}
	return d.Description
}

func all() []string {
	var out []string
	for _, f := range stub.Functions {
		out = append(out, f.Name)
	}
	return append(out, "execute_code", "process", "delegate_task", "mcp_x_y")
}

func TestDefinition_NamesTheToolsThatPassedInOrder(t *testing.T) { // XD-1, XA-1
	text := adapted(t, script.DefaultConfig(), all()...)
	last := -1
	for _, f := range stub.Functions {
		at := strings.Index(text, "- "+f.Signature())
		if at <= last {
			t.Errorf("%s stands at %d, after %d", f.Signature(), at, last)
		}
		last = at
	}
	for _, bad := range []string{"execute_code", "delegate_task", "mcp_", "process", "background", "pty"} {
		if strings.Contains(strings.ReplaceAll(text, "background work", ""), bad) {
			t.Errorf("%q is named", bad)
		}
	}
	if !strings.Contains(text, "from hermes_tools import web_search, web_extract\n") {
		t.Error("no example of an import")
	}
	two := adapted(t, script.DefaultConfig(), "terminal", "read_file")
	if !strings.Contains(two, "from hermes_tools import read_file, terminal\n") || strings.Contains(two, "web_") || strings.Contains(two, "patch") {
		t.Errorf("got %s", two)
	}
	none := adapted(t, script.DefaultConfig(), "process")
	if strings.Contains(none, "import") && strings.Contains(none, "hermes_tools") || !strings.Contains(none, "Python") {
		t.Errorf("got %s", none)
	}
}

func TestDefinition_ShortStableAndPlain(t *testing.T) { // XD-2, XD-3
	project, strict := script.DefaultConfig(), script.DefaultConfig()
	strict.Mode = "strict"
	a, b := adapted(t, project, all()...), adapted(t, strict, all()...)
	if a != adapted(t, script.DefaultConfig(), all()...) {
		t.Error("equal inputs give different texts")
	}
	if len([]rune(a)) >= 2500 || len([]rune(b)) >= 2500 {
		t.Errorf("%d and %d characters", len([]rune(a)), len([]rune(b)))
	}
	if a == b || len([]rune(a))-len([]rune(b)) >= 200 || len([]rune(b))-len([]rune(a)) >= 200 {
		t.Errorf("the modes' texts have %d and %d characters", len([]rune(a)), len([]rune(b)))
	}
	for _, word := range []string{"sandbox", "isolated", "cloud"} {
		if strings.Contains(strings.ToLower(a+b), word) {
			t.Errorf("%q is said", word)
		}
	}
	changed := script.DefaultConfig()
	changed.Timeout, changed.MaxToolCalls, changed.MaxStdout = 20*time.Second, 7, 64_000
	text := adapted(t, changed, all()...)
	for _, want := range []string{"20s", "7 tool calls", "64KB"} {
		if !strings.Contains(text, want) || strings.Contains(a, want) {
			t.Errorf("%q isn't said, or always", want)
		}
	}
	for _, want := range []string{"300s", "50 tool calls", "50KB", "three or more", "Only what it prints", "terminal.env_passthrough", "retry(fn"} {
		if !strings.Contains(a, want) {
			t.Errorf("%q isn't said", want)
		}
	}
}

func call(h tool.Host, caller tool.Caller, code string) *tool.Call {
	args, _ := json.Marshal(Args{code})
	return &tool.Call{ID: "c", Caller: caller, Host: h, Args: args, Raw: args}
}

func TestRisks_TheScriptIsJudgedUnlessAPersonBroughtIt(t *testing.T) { // XA-4, XC-8
	x := newExecuteCode()
	h := scripttest.New(t.TempDir(), t.TempDir())
	risks := func(c *tool.Call) []tool.Action {
		t.Helper()
		a, err := x.Risks(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if a := risks(call(h, tool.CallerModel, "```python\nimport os\n```")); len(a) != 1 || a[0].Kind != tool.ActionCode || a[0].Text != "\nimport os" {
		t.Errorf("got %+v", a)
	}
	if a := risks(call(h, tool.CallerModel, "  ")); len(a) != 0 {
		t.Errorf("blank code asks: %+v", a)
	}
	h.Services = []any{&script.Invocation{Trusted: true}}
	if a := risks(call(h, tool.CallerCLI, "import os")); len(a) != 0 {
		t.Errorf("a person's own script asks: %+v", a)
	}
	if a := risks(call(h, tool.CallerModel, "import os")); len(a) != 1 {
		t.Error("a model's script passes for a person's")
	}
}

func TestShape_HasTheFourMembers(t *testing.T) { // XC-4
	x := newExecuteCode()
	for s, want := range map[tool.Status]string{tool.StatusError: "error", tool.StatusDenied: "error", tool.StatusTimeout: "error", tool.StatusCancelled: "interrupted"} {
		m := x.Shape(nil, s)
		if m["status"] != want || m["output"] != "" || m["tool_calls_made"] != 0 || m["duration_seconds"] == nil {
			t.Errorf("%s: %v", s, m)
		}
	}
}

// away is a session whose scripts run on another machine.
type away struct{ *scripttest.Host }

func (away) ScriptsRunElsewhere() bool { return true }

func TestCheck_APlaceElsewhereNeedsNoInterpreterHere(t *testing.T) { // XI-1, XF-2
	r := script.New(script.Options{Home: t.TempDir(), Resolver: python.New(python.Options{Path: t.TempDir()})})
	h := scripttest.New(t.TempDir(), t.TempDir())
	check := newExecuteCode().Spec().Check
	h.Services = []any{r}
	if err := check.Run(context.Background(), h); !errors.Is(err, python.ErrNone) {
		t.Errorf("without any interpreter: %v", err)
	}
	h.Services = []any{r, away{}}
	if err := check.Run(context.Background(), h); err != nil {
		t.Errorf("elsewhere: %v", err)
	}
}

func TestRun_ThroughTheTool(t *testing.T) { // XC-2
	r := script.New(script.Options{Home: t.TempDir(), Resolver: python.New(python.Options{})})
	defer r.Close() //nolint:errcheck // the directory is the test's
	h := scripttest.New(t.TempDir(), t.TempDir())
	defer h.Environment.Close(context.Background()) //nolint:errcheck // the directory is the test's
	h.Services = []any{r, script.DefaultConfig()}
	x := newExecuteCode()
	if err := x.Spec().Check.Run(context.Background(), h); err != nil {
		t.Skip(err)
	}
	v, err := x.Run(context.Background(), call(h, tool.CallerModel, "print('hi')"))
	o, ok := v.(tool.Outcome)
	if err != nil || !ok || o.Status != tool.StatusOK {
		t.Fatalf("%+v, %v", v, err)
	}
	if rep := o.Value.(*script.Report); rep.Output != "hi\n" || rep.Status != "success" { //nolint:forcetypeassert // checked by the line above
		t.Errorf("got %+v", rep)
	}
	h.Services = nil
	if err := x.Spec().Check.Run(context.Background(), h); err == nil {
		t.Error("available without what runs scripts")
	}
	v, err = x.Run(context.Background(), call(h, tool.CallerModel, "print('hi')"))
	if o := v.(tool.Outcome); err != nil || o.Status != tool.StatusError || o.Value.(*script.Report).Error == "" { //nolint:forcetypeassert // the test fails loudly
		t.Errorf("got %+v, %v", v, err)
	}
}
