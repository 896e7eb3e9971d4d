package agent

import (
	"encoding/json"
	"testing"

	"github.com/hermes-runtime/hermes/tool"
)

// LGD-1, LGD-2, LGD-3: what is counted, what resets it, and what is said or done.
func TestGuard_CountsWithinATurn(t *testing.T) {
	type step struct {
		name, args string
		readOnly   bool
		json       string
		status     tool.Status
		code       string // of the remark or the refusal; "" = none
		refused    bool
	}
	bad := func(args, code string) step {
		return step{name: "x", args: args, json: `{"error":"no"}`, status: tool.StatusError, code: code}
	}
	good := step{name: "x", args: `{}`, json: `{"n":1}`, status: tool.StatusOK}
	look := func(json, code string) step {
		return step{name: "look", args: `{"a":1,"b":2}`, readOnly: true, json: json, status: tool.StatusOK, code: code}
	}
	for name, tc := range map[string]struct {
		stop  bool
		steps []step
	}{
		"the same failure":       {steps: []step{bad(`{"a":1,"b":2}`, ""), bad(`{"b":2,"a":1}`, "repeated_exact_failure_warning")}},
		"failures of a tool":     {steps: []step{bad(`{"a":1}`, ""), bad(`{"a":2}`, ""), bad(`{"a":3}`, "same_tool_failure_warning")}},
		"a success resets":       {steps: []step{bad(`{"a":1}`, ""), bad(`{"a":2}`, ""), good, bad(`{"a":3}`, "")}},
		"no progress":            {steps: []step{look(`{"n":1}`, ""), look(`{"n":1}`, "idempotent_no_progress_warning")}},
		"progress":               {steps: []step{look(`{"n":1}`, ""), look(`{"n":2}`, "")}},
		"an effect between":      {steps: []step{look(`{"n":1}`, ""), good, look(`{"n":1}`, "")}},
		"a command's exit code":  {steps: []step{{name: "terminal", json: `{"exit_code":1}`, status: tool.StatusOK}, {name: "terminal", json: `{"exit_code":1}`, status: tool.StatusOK, code: "repeated_exact_failure_warning"}}},
		"words mean nothing":     {steps: []step{{name: "terminal", json: `{"output":"error: failed","exit_code":0}`, status: tool.StatusOK}, {name: "terminal", json: `{"output":"error: failed","exit_code":0}`, status: tool.StatusOK}}},
		"cancelled ones aren't":  {steps: []step{{name: "x", json: `{"error":"stopped"}`, status: tool.StatusCancelled}, {name: "x", json: `{"error":"stopped"}`, status: tool.StatusCancelled}}},
		"stopped after the same": {stop: true, steps: []step{bad(`{}`, ""), bad(`{}`, "repeated_exact_failure_warning"), bad(`{}`, "repeated_exact_failure_warning"), bad(`{}`, "repeated_exact_failure_warning"), bad(`{}`, "repeated_exact_failure_warning"), {name: "x", args: `{}`, code: "repeated_exact_failure_block", refused: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuard(GuardConfig{Warn: true, Stop: tc.stop})
			for i, s := range tc.steps {
				c := &tool.Call{Name: s.name, Args: json.RawMessage(s.args)}
				if refusal := g.Before(c); s.refused {
					if r, _ := refusal["guardrail"].(remark); r.Code != s.code || r.Action != "block" || refusal["error"] == "" {
						t.Fatalf("step %d: refused with %v", i, refusal)
					}
					continue
				} else if refusal != nil {
					t.Fatalf("step %d: refused: %v", i, refusal)
				}
				said, _ := g.After(tool.Guarded{Call: c, ReadOnly: s.readOnly, Result: tool.Result{JSON: s.json, Status: s.status}}).(remark)
				if said.Code != s.code || said.Code != "" && (said.Tool != s.name || said.Count < 2 || said.Action != "warn") {
					t.Errorf("step %d: remarked %+v", i, said)
				}
			}
		})
	}
}
