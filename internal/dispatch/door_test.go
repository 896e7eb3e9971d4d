package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/hook"
	"github.com/hermes-runtime/hermes/internal/leaktest"
	"github.com/hermes-runtime/hermes/internal/redact"
	"github.com/hermes-runtime/hermes/internal/registry"
	"github.com/hermes-runtime/hermes/internal/secret"
	"github.com/hermes-runtime/hermes/tool"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// log is an audit that is read back.
type log struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

func (l *log) lines(t testing.TB) []map[string]any {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []map[string]any
	for line := range strings.SplitSeq(strings.TrimSpace(l.String()), "\n") {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("an audit line is no JSON: %q: %v", line, err)
		}
		out = append(out, m)
	}
	return out
}

type bed struct {
	door  *Door
	audit *log
	hooks *hook.Set
	spill *memorySpill
}

func newBed(t testing.TB, c Config, tools ...tool.Tool) *bed {
	t.Helper()
	var table tool.Table
	for _, x := range tools {
		table.Register(x)
	}
	r := registry.New(registry.Options{Table: &table})
	for _, refused := range r.Refused() {
		t.Fatal(refused)
	}
	var secrets secret.Set
	secrets.Add("MY_KEY", "open-sesame-1234")
	b := &bed{audit: &log{}, hooks: &hook.Set{}, spill: &memorySpill{files: map[string]string{}}}
	b.door = New(Parts{Registry: r, Hooks: b.hooks, Redactor: redact.New(&secrets), Audit: b.audit, Config: c})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := errors.Join(b.door.Close(ctx), r.Close(ctx), b.hooks.Close(ctx)); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bed) session() *Session {
	return &Session{ID: "s", Task: "t", Caller: tool.CallerModel, Spill: b.spill, Calls: &Calls{}}
}

func (b *bed) call(t testing.TB, name, args string) tool.Result {
	t.Helper()
	r := b.door.Call(context.Background(), b.session(), tool.Request{Name: name, Arguments: json.RawMessage(args)})
	if !json.Valid([]byte(r.JSON)) {
		t.Fatalf("the result of %s is no JSON: %q", name, r.JSON)
	}
	return r
}

type memorySpill struct {
	mu    sync.Mutex
	files map[string]string
	err   error
	opens bool
}

func (m *memorySpill) SpillText(_ context.Context, call, text string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return "", m.err
	}
	m.files["/spill/"+call] = text
	return "/spill/" + call, nil
}

func (m *memorySpill) Open(_ context.Context, call string) (tool.SpillFile, error) {
	if !m.opens {
		return nil, errNoSpill
	}
	return &memoryFile{spill: m, path: "/spill/" + call}, nil
}

type memoryFile struct {
	spill *memorySpill
	path  string
}

func (f *memoryFile) Write(p []byte) (int, error) {
	f.spill.mu.Lock()
	defer f.spill.mu.Unlock()
	f.spill.files[f.path] += string(p)
	return len(p), nil
}

func (f *memoryFile) Close() error { return nil }
func (f *memoryFile) Path() string { return f.path }

// simple is a read-only tool that answers with what run gives.
func simple(name string, run func(ctx context.Context, c *tool.Call) (any, error)) tool.Tool {
	return tool.Func(tool.Spec{Name: name, Toolset: "test", Description: "A test.", Effects: tool.ReadOnly},
		func(ctx context.Context, c *tool.Call, _ struct {
			N    int    `json:"n,omitempty"`
			Text string `json:"text,omitempty"`
		}) (any, error) {
			return run(ctx, c)
		})
}

func giving(name string, v any) tool.Tool {
	return simple(name, func(context.Context, *tool.Call) (any, error) { return v, nil })
}

func failing(name string, err error) tool.Tool {
	return simple(name, func(context.Context, *tool.Call) (any, error) { return nil, err })
}

// DSP-5: whatever a handler returns, the answer is one JSON object or array.
func TestDispatch_EveryValueBecomesOneJSONText(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{nil, `{"result":null}`},
		{"", `{"result":""}`},
		{"plain <b>&</b> ü", `{"result":"plain <b>&</b> ü"}`},
		{`{"a": 1}`, `{"a": 1}`},
		{` [1, 2]`, ` [1, 2]`},
		{`{"a": 1`, `{"result":"{\"a\": 1"}`},
		{"\xff\xfe", `{"result":"\ufffd\ufffd"}`},
		{42, `{"result":42}`},
		{true, `{"result":true}`},
		{map[string]any(nil), `{"result":null}`},
		{map[string]any{"x": "<&>"}, `{"x":"<&>"}`},
		{[]int{1}, `[1]`},
		{json.RawMessage(`{"raw":1}`), `{"raw":1}`},
		{json.RawMessage(`7`), `{"result":7}`},
		{json.RawMessage(nil), `{"result":null}`},
	} {
		r := newBed(t, Config{}, giving("v", c.value)).call(t, "v", `{}`)
		if r.JSON != c.want || r.Status != tool.StatusOK {
			t.Errorf("%#v: got %s (%s), want %s", c.value, r.JSON, r.Status, c.want)
		}
	}
}

type classed struct{}

func (classed) Error() string     { return "not a number" }
func (classed) ErrorType() string { return "ValueError" }

// NamedError is an error type with a name of its own.
type NamedError struct{}

func (*NamedError) Error() string { return "named" }

// ERR-1, ERR-3: an error is one key, with the type that its cause has.
func TestDispatch_ErrorsCarryTheirType(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("boom"), "Error: boom"},
		{fmt.Errorf("open it: %w", fs.ErrNotExist), "FileNotFoundError: open it: file does not exist"},
		{fmt.Errorf("x: %w", fs.ErrExist), "FileExistsError: x: file already exists"},
		{fmt.Errorf("x: %w", fs.ErrPermission), "PermissionError: x: permission denied"},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), "TimeoutError: x: context deadline exceeded"},
		{fmt.Errorf("x: %w", context.Canceled), "CancelledError: x: context canceled"},
		{&url.Error{Op: "Get", URL: "u", Err: errors.New("no route")}, `ConnectionError: Get "u": no route`},
		{json.Unmarshal([]byte("{"), &struct{}{}), "JSONDecodeError: unexpected end of JSON input"},
		{fmt.Errorf("wrapped: %w", classed{}), "ValueError: wrapped: not a number"},
		{fmt.Errorf("wrapped: %w", &NamedError{}), "NamedError: wrapped: named"},
		{errors.New(""), "Error: no further message"},
		{errors.New("Error: boom"), "Error: boom"},
		{errors.New("error: Error: boom"), "Error: boom"},
		{errors.New("error: "), "Error: error:"},
		{fmt.Errorf("ValueError: %w", classed{}), "ValueError: not a number"},
		{fmt.Errorf("Error: %w", fs.ErrNotExist), "FileNotFoundError: file does not exist"},
		{errors.New("Tool execution failed: OSError: inner"), "OSError: inner"},
		{errors.New("open: error: x"), "Error: open: error: x"},
		{errors.New("<tag>\x1b[31mred\x1b[0m"), "Error: <tag>red"},
	} {
		r := newBed(t, Config{}, failing("f", c.err)).call(t, "f", `{}`)
		want := errorObject("Tool execution failed: "+c.want, nil)
		if r.JSON != want || r.Status != tool.StatusError || r.Type != tool.ErrTypeTool {
			t.Errorf("%v: got %s (%s, %s), want %s", c.err, r.JSON, r.Status, r.Type, want)
		}
	}
}

// ERR-4: a message is cut at 2 000 characters with a mark.
func TestDispatch_LongMessageIsCut(t *testing.T) {
	r := newBed(t, Config{}, failing("f", errors.New(strings.Repeat("ü", 5000)))).call(t, "f", `{}`)
	says, _ := saysError(r.JSON)
	if n := strings.Count(says, "ü"); n != 2000 || !strings.Contains(says, "cut") {
		t.Errorf("kept %d characters: %.60s", n, says)
	}
}

// ERR-5: a panic stays in its call, and the next call works.
func TestDispatch_PanicStaysInItsCall(t *testing.T) {
	b := newBed(t, Config{}, simple("p", func(context.Context, *tool.Call) (any, error) { panic("boom") }), giving("ok", 1))
	r := b.call(t, "p", `{}`)
	if r.JSON != `{"error":"Tool execution failed: Panic: boom"}` || r.Type != tool.ErrTypePanic {
		t.Errorf("got %s (%s)", r.JSON, r.Type)
	}
	if r := b.call(t, "ok", `{}`); r.Status != tool.StatusOK {
		t.Errorf("the next call got %s", r.JSON)
	}
}

// DSP-6: an error member makes the status error without a Go error.
func TestDispatch_TruthyErrorMemberIsAnError(t *testing.T) {
	for value, want := range map[string]tool.Status{
		`{"error":"x"}`: tool.StatusError, `{"error":null,"a":1}`: tool.StatusOK, `{"error":""}`: tool.StatusOK, `{"error":false}`: tool.StatusOK,
		`{"error":{"code":1}}`: tool.StatusError, `{"a":{"error":"inner"}}`: tool.StatusOK, `{"err\u006fr":"escaped key"}`: tool.StatusError,
	} {
		if r := newBed(t, Config{}, giving("v", value)).call(t, "v", `{}`); r.Status != want {
			t.Errorf("%s: status %s, want %s", value, r.Status, want)
		}
	}
}

// NAM-2, NAM-7, ARG-8: what can't be called is answered, audited, and shown to no hook.
func TestDispatch_RefusedBeforeHooksIsAuditedOnly(t *testing.T) {
	b := newBed(t, Config{}, giving("known_tool", 1))
	b.hooks.Add(hook.Hook{PreToolCall: func(context.Context, hook.Call) (hook.Verdict, error) {
		t.Error("a hook saw a call that can't run")
		return hook.Verdict{}, nil
	}})
	for _, c := range []struct {
		name, args string
		kind       tool.ErrorType
	}{
		{"entirely_different", `{}`, tool.ErrTypeUnknownTool},
		{"known_tool", `{"n": "x"}`, tool.ErrTypeInvalidArguments},
		{"known_tool", `{"n": 1`, tool.ErrTypeInvalidJSON},
		{"known_tool", `{"z": 1}`, tool.ErrTypeInvalidArguments},
	} {
		r := b.call(t, c.name, c.args)
		if r.Status != tool.StatusError || r.Type != c.kind {
			t.Errorf("%s(%s): %s %s: %s", c.name, c.args, r.Status, r.Type, r.JSON)
		}
	}
	if lines := b.audit.lines(t); len(lines) != 4 {
		t.Errorf("%d audit lines for 4 calls", len(lines))
	}
}

// DSP-3, DSP-4: a blocked call runs nothing, and the observers learn of it.
func TestDispatch_BlockedCallNeverRuns(t *testing.T) {
	ran := false
	b := newBed(t, Config{}, simple("x", func(context.Context, *tool.Call) (any, error) { ran = true; return 1, nil }))
	told := make(chan hook.Done, 1)
	b.hooks.Add(hook.Hook{
		PreToolCall: func(context.Context, hook.Call) (hook.Verdict, error) {
			return hook.Verdict{Action: hook.Block, Message: "not today"}, nil
		},
		PostToolCall: func(_ context.Context, d hook.Done) error { told <- d; return nil },
	})
	r := b.call(t, "x", `{}`)
	if ran || r.JSON != `{"error":"not today"}` || r.Status != tool.StatusBlocked || r.Type != tool.ErrTypePluginBlock {
		t.Errorf("ran %v, got %s (%s)", ran, r.JSON, r.Status)
	}
	if d := <-told; d.Status != "blocked" || d.DurationMS != 0 || d.ErrorMessage != "not today" {
		t.Errorf("the observer was told %+v", d)
	}
}

// DSP-3, HK-2: arguments that a hook changed are validated again, and the failure is the hook's.
func TestDispatch_ChangedArgumentsAreValidatedAgain(t *testing.T) {
	var got string
	b := newBed(t, Config{}, simple("x", func(_ context.Context, c *tool.Call) (any, error) { got = string(c.Args); return 1, nil }))
	next := json.RawMessage(`{"n":5}`)
	b.hooks.Add(hook.Hook{Name: "changer", PreToolCall: func(context.Context, hook.Call) (hook.Verdict, error) {
		return hook.Verdict{Args: next}, nil
	}})
	if r := b.call(t, "x", `{"n":1}`); r.Status != tool.StatusOK || got != `{"n":5}` {
		t.Errorf("the handler saw %s, answer %s", got, r.JSON)
	}
	next, got = json.RawMessage(`{"n":"many"}`), ""
	if r := b.call(t, "x", `{"n":1}`); r.Type != tool.ErrTypeInvalidArguments || !strings.Contains(r.JSON, "changer") || got != "" {
		t.Errorf("the handler saw %q, answer %s", got, r.JSON)
	}
}

// RED-1: known secrets leave neither with the result nor to hooks, files or the audit.
func TestDispatch_SecretsReachNoSink(t *testing.T) {
	const value = "open-sesame-1234"
	b := newBed(t, Config{}, simple("leak", func(context.Context, *tool.Call) (any, error) {
		return map[string]string{"output": value + strings.Repeat(" filler", 30_000) + value}, nil
	}), failing("fail", errors.New("can't log in with "+value)))
	told := make(chan hook.Done, 2)
	b.hooks.Add(hook.Hook{
		PostToolCall: func(_ context.Context, d hook.Done) error { told <- d; return nil },
		TransformToolResult: func(_ context.Context, d hook.Done) (string, bool, error) {
			return "hook says " + value, d.ToolName == "fail", nil
		},
	})
	for _, name := range []string{"leak", "fail"} {
		r := b.call(t, name, `{"text":"`+value+`"}`)
		d := <-told
		for where, text := range map[string]string{"result": r.JSON, "hook": d.Result + d.ErrorMessage, "audit": b.audit.String()} {
			if strings.Contains(text, value) {
				t.Errorf("%s: the secret reached the %s", name, where)
			}
			if !strings.Contains(text, "MY_KEY") {
				t.Errorf("%s: the %s has no mark", name, where)
			}
		}
	}
	for path, text := range b.spill.files {
		if strings.Contains(text, value) {
			t.Errorf("the secret reached %s", path)
		}
	}
	if len(b.spill.files) == 0 {
		t.Error("nothing was spilled")
	}
}

// DSP-8: a handler that ignores cancellation costs the grace and no more; what it says later is dropped and counted.
func TestDispatch_StragglerIsLeftBehind(t *testing.T) {
	release := make(chan struct{})
	started := make(chan struct{})
	b := newBed(t, Config{InterruptGrace: time.Millisecond}, simple("stuck", func(context.Context, *tool.Call) (any, error) {
		close(started)
		<-release
		return "late", nil
	}))
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() { <-started; cancel(tool.NewMessage) }()
	r := b.door.Call(ctx, b.session(), tool.Request{Name: "stuck"})
	if r.Status != tool.StatusCancelled || r.Type != tool.ErrTypeInterrupted || !strings.Contains(r.JSON, `"status":"cancelled"`) ||
		!strings.Contains(r.JSON, "new message") || b.door.Abandoned() != 1 {
		t.Errorf("got %s (%s), %d abandoned", r.JSON, r.Status, b.door.Abandoned())
	}
	close(release)
}

// What was approved in one directory doesn't run in another that a call beside it has gone to meanwhile.
func TestApprove_ConsentHoldsForTheDirectoryThatWasShown(t *testing.T) {
	for _, tc := range []struct {
		dir  string // of the action
		runs bool
	}{{"", false}, {"sub", false}, {"/abs", true}} {
		ran := false
		run := simple("risky", func(context.Context, *tool.Call) (any, error) { ran = true; return 1, nil })
		b := newBed(t, Config{}, riskyTool{run.(*tool.Function), tool.Action{Kind: tool.ActionCommand, Text: "rm -rf x", Dir: tc.dir}})
		dir := "/data"
		b.door.approver = approverFunc(func(approval.Request) approval.Decision {
			dir = "/" // while the person reads the question
			return approval.Decision{Outcome: approval.Approved}
		})
		s := b.session()
		s.Facts = func() Facts { return Facts{Dir: dir} }
		r := b.door.Call(context.Background(), s, tool.Request{Name: "risky"})
		if ran != tc.runs || !tc.runs && (r.Status != tool.StatusBlocked || !strings.Contains(r.JSON, "/data")) {
			t.Errorf("%q: ran %v, %s", tc.dir, ran, r.JSON)
		}
	}
}

type riskyTool struct {
	*tool.Function
	action tool.Action
}

func (r riskyTool) Risks(context.Context, *tool.Call) ([]tool.Action, error) {
	return []tool.Action{r.action}, nil
}

type approverFunc func(approval.Request) approval.Decision

func (f approverFunc) Check(_ context.Context, r approval.Request) approval.Decision { return f(r) }

// OBS-6, HK-1: a call that was given up is told to observers and audit with all that was known of it.
func TestDispatch_StragglersCallIsToldWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Config{}, simple("deaf", func(context.Context, *tool.Call) (any, error) { time.Sleep(time.Minute); return 1, nil }))
		told := make(chan hook.Done, 1)
		b.hooks.Add(hook.Hook{Name: "h", PreToolCall: func(context.Context, hook.Call) (hook.Verdict, error) {
			return hook.Verdict{Args: json.RawMessage(`{"n":7}`)}, nil
		}, PostToolCall: func(_ context.Context, d hook.Done) error { told <- d; return nil }})
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		r := b.door.Call(ctx, b.session(), tool.Request{ID: "c", Name: "Deaf", Arguments: json.RawMessage(`{"n":"5"}`)})
		if d := <-told; d.Status != string(tool.StatusTimeout) || !strings.Contains(string(d.Args), "7") {
			t.Errorf("the observer was told %+v", d)
		}
		line := b.audit.lines(t)[0]
		if line["asked"] != "Deaf" || line["tool"] != "deaf" || line["hooks"] == nil || line["repairs"] == nil || !strings.Contains(line["args"].(string), "7") {
			t.Errorf("audit %v", line)
		}
		if len(r.Repairs) == 0 {
			t.Error("the repairs are lost")
		}
		time.Sleep(2 * time.Minute)
	})
}

// DSP-9: a timeout names its limit, and waiting for a person doesn't count.
func TestDispatch_TimeoutNamesItsLimit(t *testing.T) {
	b := newBed(t, Config{}, simple("slow", func(ctx context.Context, _ *tool.Call) (any, error) { <-ctx.Done(); return nil, ctx.Err() }))
	r := b.door.Call(context.Background(), b.session(), tool.Request{Name: "slow", Timeout: 5 * time.Millisecond})
	if r.Status != tool.StatusTimeout || r.Type != tool.ErrTypeTimeout || !strings.Contains(r.JSON, "TimeoutError") || !strings.Contains(r.JSON, "5ms") {
		t.Errorf("got %s (%s, %s)", r.JSON, r.Status, r.Type)
	}
}

// SIZ-2 to SIZ-4: the member that holds the excess is replaced, the rest stays, the file holds the decoded text.
func TestFit_LongMemberMovesToAFile(t *testing.T) {
	text := strings.Repeat("a line of \"text\" with ü\n", 10_000)
	b := newBed(t, Config{}, giving("big", map[string]any{"output": text, "exit_code": 3, "status": "x"}))
	r := b.call(t, "big", `{}`)
	var got struct {
		Output   string      `json:"output"`
		ExitCode int         `json:"exit_code"`
		Spilled  *tool.Spill `json:"spilled"`
	}
	if err := json.Unmarshal([]byte(r.JSON), &got); err != nil {
		t.Fatal(err)
	}
	if got.ExitCode != 3 || got.Spilled == nil || got.Spilled.Field != "output" || got.Spilled.Chars != 240_000 || got.Spilled.Lines != 10_000 {
		t.Errorf("got %+v", got)
	}
	if b.spill.files[got.Spilled.Path] != text {
		t.Error("the file does not hold the decoded text")
	}
	if len(got.Output) > 2200 || !strings.Contains(got.Output, got.Spilled.Path) || !strings.HasPrefix(got.Output, "a line of") {
		t.Errorf("what stays is %d long: %.80s", len(got.Output), got.Output)
	}
}

// SIZ-5: where no file can be written the note says so.
func TestFit_WithoutFileTheNoteSaysWhy(t *testing.T) {
	b := newBed(t, Config{}, giving("big", strings.Repeat("x", 200_000)))
	b.spill.err = errors.New("disk full")
	r := b.call(t, "big", `{}`)
	if !strings.Contains(r.JSON, "disk full") || len(r.JSON) > 5000 {
		t.Errorf("%d long: %.200s", len(r.JSON), r.JSON)
	}
}

// SIZ-5: a place that doesn't take the file in time costs the file only.
func TestFit_SlowPlaceDoesNotHoldTheResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Config{}, giving("long", strings.Repeat("x", 200_000)))
		s := b.session()
		s.Spill = slowSpill{}
		start := time.Now()
		r := b.door.Call(context.Background(), s, tool.Request{Name: "long"})
		if took := time.Since(start); took > 15*time.Second || r.Status != tool.StatusOK || !strings.Contains(r.JSON, "could not be kept") {
			t.Errorf("after %v: %s %.200s", took, r.Status, r.JSON)
		}
	})
}

type slowSpill struct{}

func (slowSpill) SpillText(ctx context.Context, _, _ string) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

func (slowSpill) Open(context.Context, string) (tool.SpillFile, error) { return nil, errNoSpill }

// ERR-2: what goes wrong outside the handler has its own form, and the next call works.
func TestDispatch_OwnFailuresHaveTheirForm(t *testing.T) {
	b := newBed(t, Config{}, giving("bad", func() {}), giving("good", 1))
	r := b.call(t, "bad", `{}`)
	var got map[string]string
	if err := json.Unmarshal([]byte(r.JSON), &got); err != nil || len(got) != 1 || !strings.HasPrefix(got["error"], "Error executing bad: ") || r.Type != tool.ErrTypeInternal {
		t.Errorf("%s (%s)", r.JSON, r.Type)
	}
	if r := b.call(t, "good", `{}`); r.Status != tool.StatusOK {
		t.Errorf("the next call: %s", r.JSON)
	}
}

// SIZ-1: within the budget nothing changes, to the character.
func TestFit_AtTheBudgetNothingIsCut(t *testing.T) {
	for n, spilled := range map[int]bool{100_000 - len(`{"result":""}`): false, 100_001 - len(`{"result":""}`): true} {
		b := newBed(t, Config{}, giving("v", strings.Repeat("ü", n)))
		if r := b.call(t, "v", `{}`); (r.Spill != nil) != spilled {
			t.Errorf("%d characters: spill %v", n, r.Spill)
		}
	}
}

// SIZ-6: the largest results of a batch go first, until all fit.
func TestFit_BatchSpillsTheLargestFirst(t *testing.T) {
	b := newBed(t, Config{TurnResultChars: 30_000}, giving("a", strings.Repeat("a", 25_000)), giving("b", strings.Repeat("b", 10_000)), giving("c", "c"))
	rs := b.door.CallBatch(context.Background(), b.session(), tool.Batch{Calls: []tool.Request{{Name: "b"}, {Name: "a"}, {Name: "c"}}})
	if rs[0].Spill != nil || rs[1].Spill == nil || rs[2].Spill != nil {
		t.Errorf("spilled: %v %v %v", rs[0].Spill, rs[1].Spill, rs[2].Spill)
	}
}

// SIZ-6: what a tool keeps a file of is shortened too, and the file stays as it is.
func TestFit_BatchKeepsTheFilesOfTools(t *testing.T) {
	b := newBed(t, Config{TurnResultChars: 12_000}, simple("own", func(ctx context.Context, c *tool.Call) (any, error) {
		f, err := c.Host.Spill(ctx)
		if err != nil {
			return nil, err
		}
		_, _ = f.Write([]byte(strings.Repeat("the whole\n", 5000)))
		return map[string]any{"exit_code": 3, "output": strings.Repeat("part\n", 1600),
			"spilled": tool.Spill{Path: f.Path(), Chars: 50_000, Lines: 5000, Field: "output"}}, f.Close()
	}))
	b.spill.opens = true
	rs := b.door.CallBatch(context.Background(), b.session(), tool.Batch{Calls: []tool.Request{{ID: "1", Name: "own"}, {ID: "2", Name: "own", Arguments: json.RawMessage(`{"n":2}`)}}})
	if total := len(rs[0].JSON) + len(rs[1].JSON); total > 12_000 {
		t.Errorf("%d characters", total)
	}
	r := rs[0]
	if r.Spill == nil || r.Spill.Path != "/spill/1" || r.Spill.Chars != 50_000 || !strings.Contains(r.JSON, `"exit_code":3`) || strings.Count(r.JSON, `"spilled"`) != 1 ||
		!strings.Contains(r.JSON, "of 50000 characters in 5000 lines") || !strings.Contains(r.JSON, "/spill/1: read on") {
		t.Errorf("%+v: %s", r.Spill, r.JSON)
	}
	if got := b.spill.files["/spill/1"]; len(got) != 50_000 {
		t.Errorf("the file of the tool holds %d bytes", len(got))
	}
	if line := b.audit.lines(t)[0]; line["spill"] == nil {
		t.Errorf("the audit doesn't tell of the file: %v", line)
	}
}

// ASY-1, ASY-2: an async handler is waited for; without progress it ends with the limit named.
func TestAsync_WaitedForAndBounded(t *testing.T) {
	spec := tool.Spec{Name: "later", Toolset: "test", Async: true}
	wait := make(chan string, 1)
	x := tool.Func(spec, func(context.Context, *tool.Call, struct{}) (any, error) { return waiter(wait), nil })
	wait <- "done"
	if r := newBed(t, Config{}, x).call(t, "later", `{}`); r.JSON != `{"result":"done"}` {
		t.Errorf("got %s", r.JSON)
	}
	b := newBed(t, Config{AsyncIdle: 20 * time.Millisecond}, x)
	if r := b.call(t, "later", `{}`); r.Status != tool.StatusTimeout || !strings.Contains(r.JSON, "async_idle_timeout") {
		t.Errorf("got %s (%s)", r.JSON, r.Status)
	}
}

type waiter chan string

func (w waiter) Wait(ctx context.Context) (any, error) {
	select {
	case s := <-w:
		return s, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// ASY-3: done never falls, and a panicking sink disturbs nothing.
func TestProgress_NeverFallsAndSinkMayPanic(t *testing.T) {
	b := newBed(t, Config{}, simple("p", func(_ context.Context, c *tool.Call) (any, error) {
		c.Host.Progress(5, 10, "five")
		c.Host.Progress(3, 10, "three")
		return 1, nil
	}))
	s := b.session()
	var seen []float64
	s.Progress = func(p Progress) { seen = append(seen, p.Done); panic("sink") }
	r := b.door.Call(context.Background(), s, tool.Request{Name: "p"})
	if r.Status != tool.StatusOK || len(seen) == 0 || seen[0] != 5 {
		t.Errorf("got %s, progress %v", r.JSON, seen)
	}
}

// OBS-7: with audit.required nothing runs once the audit can't be written.
func TestAudit_RequiredMeansNothingRunsUnrecorded(t *testing.T) {
	b := newBed(t, Config{AuditRequired: true}, giving("x", 1))
	b.door.audit = brokenAudit{}
	_ = b.call(t, "x", `{}`) // finds out
	if r := b.call(t, "x", `{}`); r.Status != tool.StatusBlocked || !strings.Contains(r.JSON, "audit") {
		t.Errorf("got %s", r.JSON)
	}
}

// OBS-7: an audit that can tell is asked first, so that not even one call runs unrecorded; it may recover.
func TestAudit_RequiredRefusesTheFirstCallToo(t *testing.T) {
	ran := 0
	b := newBed(t, Config{AuditRequired: true}, simple("x", func(context.Context, *tool.Call) (any, error) { ran++; return 1, nil }))
	b.door.audit = unreadyAudit{}
	if r := b.call(t, "x", `{}`); r.Status != tool.StatusBlocked || !strings.Contains(r.JSON, "audit") || ran != 0 {
		t.Errorf("got %s, %d ran", r.JSON, ran)
	}
	b.door.audit = b.audit
	_ = b.call(t, "x", `{}`) // a line is written again
	if r := b.call(t, "x", `{}`); r.Status != tool.StatusOK {
		t.Errorf("got %s", r.JSON)
	}
}

// OBS-6, RED-1: names that a model made up are bounded and lose secrets, and so does what a hook's failure says.
func TestAudit_InventionsAreBoundedAndRedacted(t *testing.T) {
	b := newBed(t, Config{}, giving("x", 1))
	b.hooks.Add(hook.Hook{OnError: hook.Open, PreToolCall: func(context.Context, hook.Call) (hook.Verdict, error) {
		return hook.Verdict{}, errors.New("no access with open-sesame-1234")
	}})
	long := strings.Repeat("n", 1<<20)
	for _, r := range []tool.Request{{ID: long, Name: "open-sesame-1234" + long}, {ID: "2", Name: "x"}} {
		b.door.Call(context.Background(), b.session(), r)
	}
	for _, line := range strings.SplitAfter(b.audit.String(), "\n") {
		if len(line) > 4000 || strings.Contains(line, "open-sesame") {
			t.Errorf("%d bytes: %.300s", len(line), line)
		}
	}
}

// ERR-5: a panic of what observes calls changes nothing for them.
func TestDispatch_PanicOfAnObserverStaysThere(t *testing.T) {
	for _, at := range []string{"begin", "end", "metrics"} {
		b := newBed(t, Config{}, giving("x", 1))
		b.door.tracer, b.door.metrics = panics(at), func(*Record) {
			if at == "metrics" {
				panic(at)
			}
		}
		rs := b.door.CallBatch(context.Background(), b.session(), tool.Batch{Calls: []tool.Request{{ID: "1", Name: "x"}, {ID: "2", Name: "y"}}})
		if len(rs) != 2 || rs[0].Status != tool.StatusOK || rs[0].Name != "x" || rs[1].Type != tool.ErrTypeUnknownTool {
			t.Errorf("%s: %+v", at, rs)
		}
	}
}

// panics is a tracer that panics at one point.
type panics string

func (p panics) Begin(ctx context.Context, _, _, _ string) (context.Context, Span) {
	if p == "begin" {
		panic(p)
	}
	return ctx, p
}

func (p panics) TraceID() string { return "t" }

func (p panics) End(*Record) {
	if p == "end" {
		panic(p)
	}
}

type unreadyAudit struct{ brokenAudit }

func (unreadyAudit) Ready() error { return errors.New("read-only") }

type brokenAudit struct{}

func (brokenAudit) Write([]byte) (int, error) { return 0, errors.New("read-only") }

func BenchmarkCall(b *testing.B) {
	bed := newBed(b, Config{}, giving("x", map[string]any{"a": "b", "n": 7}))
	bed.door.audit = nopAudit{}
	s := bed.session()
	ctx := context.Background()
	req := tool.Request{Name: "x", Arguments: json.RawMessage(`{"text":"a few words of text","n":7}`)}
	for _, hooks := range []bool{false, true} {
		if hooks {
			bed.hooks.Add(hook.Hook{PreToolCall: func(context.Context, hook.Call) (hook.Verdict, error) { return hook.Verdict{}, nil }})
		}
		b.Run(fmt.Sprintf("hooks=%v", hooks), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if r := bed.door.Call(ctx, s, req); r.Status != tool.StatusOK {
					b.Fatal(r.JSON)
				}
			}
		})
	}
	b.Run("parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				bed.door.Call(ctx, s, req)
			}
		})
	})
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			var v map[string]any
			_ = json.Unmarshal(req.Arguments, &v)
			_, _ = json.Marshal(v)
		}
	})
}

type nopAudit struct{}

func (nopAudit) Write(p []byte) (int, error) { return len(p), nil }

// OBS-6: a line is JSON whatever stands in it, and says what happened.
func TestRecord_LineIsJSON(t *testing.T) {
	at := time.Date(2031, 2, 3, 4, 5, 6, 7_008_009, time.UTC)
	r := Record{
		Time: at, Session: "s\n\"", Call: "c", Args: `{"a":"\u0000"}`, Repairs: []string{"x"}, Status: "ok",
		Hooks: []hook.Note{{Hook: "a\"b"}, {Hook: "c", Action: "block", Changed: true, Error: "no\n"}},
	}
	var got map[string]any
	if err := json.Unmarshal(r.line(nil), &got); err != nil {
		t.Fatal(err)
	}
	hooks := fmt.Sprint(got["hooks"])
	if got["time"] != at.Truncate(time.Microsecond).Format("2006-01-02T15:04:05.000000Z") || got["session"] != "s\n\"" ||
		hooks != "[map[hook:a\"b] map[action:block changed:true error:no\n hook:c]]" {
		t.Errorf("got %v, hooks %s", got, hooks)
	}
}

// A decoded member is what the standard decoder makes of it.
func FuzzUnquote(f *testing.F) {
	for _, s := range []string{`"plain"`, `"a\n\t\"\\\/"`, `"\u00fc\ud83d\ude00x"`, `"\ud83d alone \u0041"`, `""`, `"\\"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want string
		if !utf8.ValidString(s) || len(s) == 0 || s[0] != '"' || json.Unmarshal([]byte(s), &want) != nil || s[len(s)-1] != '"' {
			return
		}
		if got, ok := unquote(s); !ok || got != want {
			t.Errorf("%s gave %q, %v; want %q", s, got, ok, want)
		}
	})
}
