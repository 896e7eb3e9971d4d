package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/hook"
	"github.com/hermes-runtime/hermes/internal/registry"
	"github.com/hermes-runtime/hermes/tool"
)

// kind is a call that ends with one error type, and the members that its answer may have.
type kind struct {
	is      tool.ErrorType
	status  tool.Status
	members []string
	wrapped bool // the message says that something failed, in one of the two wrapped forms
	tool    tool.Tool
	args    string
	arrange func(b *bed, s *Session)
	cancel  bool
}

var kinds = []kind{
	{is: tool.ErrTypeTool, status: tool.StatusError, members: []string{"error"}, wrapped: true, tool: failing("x", errors.New("boom"))},
	{is: tool.ErrTypeUnknownTool, status: tool.StatusError, members: []string{"error"}, tool: giving("quite_another", 1)},
	{is: tool.ErrTypeScope, status: tool.StatusBlocked, members: []string{"error"}, tool: giving("x", 1), arrange: func(b *bed, s *Session) {
		none := b.door.registry.Scope(registry.Request{Enabled: []string{}, Quiet: true})
		s.Scope = func() *registry.Scope { return none }
	}},
	{is: tool.ErrTypeInvalidJSON, status: tool.StatusError, members: []string{"error"}, tool: giving("x", 1), args: `{"n": `},
	{is: tool.ErrTypeInvalidArguments, status: tool.StatusError, members: []string{"error"}, tool: giving("x", 1), args: `{"n":"many"}`},
	{is: tool.ErrTypePluginBlock, status: tool.StatusBlocked, members: []string{"error"}, tool: giving("x", 1), arrange: func(b *bed, _ *Session) {
		b.hooks.Add(hook.Hook{PreToolCall: func(context.Context, hook.Call) (hook.Verdict, error) {
			return hook.Verdict{Action: hook.Block, Message: "no"}, nil
		}})
	}},
	{is: tool.ErrTypeGuardrailBlock, status: tool.StatusBlocked, members: []string{"error"}, tool: risky(), arrange: func(b *bed, s *Session) {
		dir := "/data"
		b.door.approver = approverFunc(func(approval.Request) approval.Decision {
			dir = "/"
			return approval.Decision{Outcome: approval.Approved}
		})
		s.Facts = func() Facts { return Facts{Dir: dir} }
	}},
	{is: tool.ErrTypeApprovalDenied, status: tool.StatusDenied, members: []string{"approval", "error", "status"}, tool: risky(), arrange: func(b *bed, _ *Session) {
		b.door.approver = approverFunc(func(approval.Request) approval.Decision {
			return approval.Decision{Outcome: approval.Denied, Text: "denied"}
		})
	}},
	{is: tool.ErrTypeTimeout, status: tool.StatusTimeout, members: []string{"error"}, wrapped: true, tool: patient()},
	{is: tool.ErrTypeInterrupted, status: tool.StatusCancelled, members: []string{"error", "status"}, tool: patient(), cancel: true},
	{is: tool.ErrTypePanic, status: tool.StatusError, members: []string{"error"}, wrapped: true,
		tool: simple("x", func(context.Context, *tool.Call) (any, error) { panic("boom") })},
	{is: tool.ErrTypeInternal, status: tool.StatusError, members: []string{"error"}, wrapped: true, tool: giving("x", func() {})},
}

func risky() tool.Tool {
	return riskyTool{giving("x", 1).(*tool.Function), tool.Action{Kind: tool.ActionCommand, Text: "rm -rf x"}}
}

func patient() tool.Tool {
	return simple("x", func(ctx context.Context, _ *tool.Call) (any, error) { <-ctx.Done(); return nil, ctx.Err() })
}

// DSP-7, ERR-6: each error type is what some call ends with, and only failures take the wrapped forms; the other answers have no
// member that isn't documented for them.
func TestDispatch_EachErrorTypeIsReached(t *testing.T) {
	for _, k := range kinds {
		t.Run(string(k.is), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, Config{}, k.tool)
				s := b.session()
				if k.arrange != nil {
					k.arrange(b, s)
				}
				ctx, cancel := context.WithCancelCause(context.Background())
				defer cancel(nil)
				if k.cancel {
					time.AfterFunc(time.Second, func() { cancel(tool.Stop) })
				}
				q := tool.Request{Name: "x", Arguments: json.RawMessage(k.args)}
				if k.is == tool.ErrTypeTimeout {
					q.Timeout = time.Second
				}
				r := b.door.Call(ctx, s, q)
				if r.Type != k.is || r.Status != k.status || r.Err == nil {
					t.Fatalf("%s %s, %v: %s", r.Status, r.Type, r.Err, r.JSON)
				}
				var object map[string]any
				if err := json.Unmarshal([]byte(r.JSON), &object); err != nil {
					t.Fatal(err)
				}
				if got := slices.Sorted(maps.Keys(object)); !slices.Equal(got, k.members) {
					t.Errorf("members %v, want %v", got, k.members)
				}
				says := fmt.Sprint(object["error"])
				if wrapped := strings.HasPrefix(says, "Tool execution failed: ") || strings.HasPrefix(says, "Error executing x: "); wrapped != k.wrapped {
					t.Errorf("wrapped %v: %s", wrapped, says)
				}
				if line := b.audit.lines(t)[0]; line["error_type"] != string(k.is) {
					t.Errorf("the audit says %v", line["error_type"])
				}
			})
		})
	}
}

// ARG-11, NAM-8: what was mended in name and arguments is in the audit and with Go callers; the model reads the final name's answer
// and nothing of it.
func TestDispatch_RepairsAreRecordedNotTold(t *testing.T) {
	b := newBed(t, Config{}, simple("read_thing", func(_ context.Context, c *tool.Call) (any, error) {
		return map[string]any{"name": c.Name, "args": string(c.Args)}, nil
	}))
	r := b.call(t, "ReadThing", `{"n":"5"}`)
	if want := `{"args":"{\"n\":5}","name":"read_thing"}`; r.JSON != want || r.Name != "read_thing" {
		t.Errorf("the model got %s of %s, want %s", r.JSON, r.Name, want)
	}
	line := b.audit.lines(t)[0]
	recorded, _ := line["repairs"].([]any)
	if line["asked"] != "ReadThing" || line["tool"] != "read_thing" || len(recorded) != 2 || len(r.Repairs) != 2 {
		t.Errorf("audit %v, repairs %q; want the name's and the argument's", line, r.Repairs)
	}
	b.call(t, "read_thing", `{"n":5}`)
	if line := b.audit.lines(t)[1]; line["repairs"] != nil || line["asked"] != nil {
		t.Errorf("nothing was mended, and the audit says %v", line)
	}
}

// agentTool is a tool that needs the agent's own state.
type agentTool struct{ *tool.Function }

func (agentTool) RunAgent(_ context.Context, c *tool.Call) (any, error) {
	return map[string]string{"ran": "by the agent, with open-sesame-1234", "user": c.UserTask}, nil
}

// DSP-2: where there is an agent it runs its tools, and otherwise their stubs answer; either way the call passes hooks, redaction
// and the audit.
func TestDispatch_AgentLevelToolsPassTheDoor(t *testing.T) {
	notes := agentTool{failing("notes", errors.New("notes must be handled by the agent")).(*tool.Function)}
	b := newBed(t, Config{}, notes)
	block := false
	told := make(chan hook.Done, 3)
	b.hooks.Add(hook.Hook{PreToolCall: func(context.Context, hook.Call) (hook.Verdict, error) {
		if block {
			return hook.Verdict{Action: hook.Block, Message: "no"}, nil
		}
		return hook.Verdict{}, nil
	}, PostToolCall: func(_ context.Context, d hook.Done) error { told <- d; return nil }})
	for _, tc := range []struct {
		agent, block bool
		status       tool.Status
		says         string
	}{
		{false, false, tool.StatusError, "must be handled by the agent"},
		{true, false, tool.StatusOK, "by the agent, with"},
		{true, true, tool.StatusBlocked, `{"error":"no"}`},
	} {
		block = tc.block
		s := b.session()
		s.Agent = tc.agent
		r := b.door.Call(context.Background(), s, tool.Request{Name: "notes"})
		if r.Status != tc.status || !strings.Contains(r.JSON, tc.says) || strings.Contains(r.JSON, "open-sesame") {
			t.Errorf("agent %v: %s %s, want %s with %q", tc.agent, r.Status, r.JSON, tc.status, tc.says)
		}
		if d := <-told; d.Status != string(tc.status) || strings.Contains(d.Result, "open-sesame") {
			t.Errorf("agent %v: the observer was told %+v", tc.agent, d)
		}
	}
	if lines := b.audit.lines(t); len(lines) != 3 || lines[1]["status"] != "ok" || lines[1]["tool"] != "notes" {
		t.Errorf("audit %v", lines)
	}
	e, _ := b.door.registry.Lookup("notes")
	if _, err := Dispatch(context.Background(), e, &tool.Call{Name: "notes"}); err == nil {
		t.Error("Dispatch ran an agent-level tool")
	}
}

// DSP-10: the handler sees the user's task, and the ids, of its call; a call that it makes has the same task.
func TestDispatch_HandlerSeesTheUserTask(t *testing.T) {
	var seen []tool.Call
	note := func(c *tool.Call) { k := *c; k.Host = nil; seen = append(seen, k) }
	b := newBed(t, Config{}, simple("outer", func(ctx context.Context, c *tool.Call) (any, error) {
		note(c)
		return c.Host.Invoke(ctx, tool.Request{Name: "inner", UserTask: "made up by the script"}).JSON, nil
	}), simple("inner", func(_ context.Context, c *tool.Call) (any, error) { note(c); return 1, nil }))
	b.door.CallBatch(context.Background(), b.session(), tool.Batch{Turn: "u", Calls: []tool.Request{
		{ID: "c1", Name: "outer", UserTask: "tidy up", Arguments: json.RawMessage(`{"n":3}`)},
	}})
	if len(seen) != 2 {
		t.Fatalf("%d calls ran", len(seen))
	}
	if c := seen[0]; c.Name != "outer" || string(c.Args) != `{"n":3}` || c.Task != "t" || c.UserTask != "tidy up" || c.ID != "c1" || c.Session != "s" || c.Turn != "u" {
		t.Errorf("the handler saw %+v", c)
	}
	if c := seen[1]; c.UserTask != "tidy up" || c.Parent != "c1" || c.Task != "t" {
		t.Errorf("the nested handler saw %+v", c)
	}
	b.call(t, "inner", `{}`)
	if seen[2].UserTask != "" {
		t.Errorf("no request, and yet %q", seen[2].UserTask)
	}
}

// BAT-10: many more calls than places are all run, in turn.
func TestBatch_NoCallIsOneTooMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		b := newBed(t, Config{MaxParallelCalls: 2}, j.tool("look", tool.PathScoped, pathOf(false)), j.tool("shell", tool.Exclusive, nil))
		var calls []tool.Request
		for i := range 101 {
			name := "look"
			if i%20 == 19 {
				name = "shell"
			}
			calls = append(calls, request(fmt.Sprint(i), name, fmt.Sprint(i)))
		}
		rs := b.door.CallBatch(context.Background(), b.placed(), tool.Batch{Calls: calls})
		if len(rs) != len(calls) || j.runs != len(calls) {
			t.Fatalf("%d answers and %d runs for %d calls", len(rs), j.runs, len(calls))
		}
		for i, r := range rs {
			if r.Status != tool.StatusOK || r.ID != calls[i].ID {
				t.Errorf("call %s got %s: %s", calls[i].ID, r.ID, r.JSON)
			}
		}
	})
}
