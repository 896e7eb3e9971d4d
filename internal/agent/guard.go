package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/hermes-runtime/hermes/tool"
)

// GuardConfig is `tool_loop_guardrails:`. Zero counts mean the defaults named.
type GuardConfig struct {
	Warn, Stop bool
	WarnAt     Counts // 2, 3, 2
	StopAt     Counts // 5, 8, 5
}

// Counts are how often something happens within a turn.
type Counts struct {
	ExactFailure int // the same call failed the same way
	SameTool     int // any call of one tool failed
	NoProgress   int // a call that only reads gave the same result
}

// remark is what stands in a result as guardrail.
type remark struct {
	Action    string `json:"action"` // warn or block
	Code      string `json:"code"`
	Message   string `json:"message"`
	Tool      string `json:"tool_name"`
	Count     int    `json:"count"`
	Signature string `json:"signature,omitempty"`
}

// guard counts the failures and repetitions of one turn.
type guard struct {
	config GuardConfig
	mu     sync.Mutex
	exact  map[string]int // failures by signature
	tool   map[string]int // failures by tool
	same   map[string]same
}

// same is how often a call gave one result.
type same struct {
	result [sha256.Size]byte
	times  int
}

func newGuard(c GuardConfig) *guard {
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&c.WarnAt.ExactFailure, 2)
	def(&c.WarnAt.SameTool, 3)
	def(&c.WarnAt.NoProgress, 2)
	def(&c.StopAt.ExactFailure, 5)
	def(&c.StopAt.SameTool, 8)
	def(&c.StopAt.NoProgress, 5)
	return &guard{config: c, exact: map[string]int{}, tool: map[string]int{}, same: map[string]same{}}
}

// signature names a call: the tool and its arguments, whatever the order of their keys.
func signature(name string, args json.RawMessage) string {
	var v any
	if d := json.NewDecoder(bytes.NewReader(args)); args != nil {
		d.UseNumber()
		_ = d.Decode(&v)
	}
	sorted, _ := json.Marshal(v)
	sum := sha256.Sum256(append([]byte(name+"\x00"), sorted...))
	return hex.EncodeToString(sum[:8])
}

// Before implements tool.Guard.
func (g *guard) Before(c *tool.Call) map[string]any {
	if !g.config.Stop {
		return nil
	}
	sig := signature(c.Name, c.Args)
	g.mu.Lock()
	defer g.mu.Unlock()
	stop := g.config.StopAt
	var r remark
	switch {
	case g.exact[sig] >= stop.ExactFailure:
		r = remark{Code: "repeated_exact_failure_block", Count: g.exact[sig], Message: fmt.Sprintf("this very call has failed %d times in this turn: do something else", g.exact[sig])}
	case g.tool[c.Name] >= stop.SameTool:
		r = remark{Code: "same_tool_failure_halt", Count: g.tool[c.Name], Message: fmt.Sprintf("%s has failed %d times in this turn: go on without it, or say what is wrong", c.Name, g.tool[c.Name])}
	case g.same[sig].times >= stop.NoProgress:
		r = remark{Code: "idempotent_no_progress_block", Count: g.same[sig].times, Message: fmt.Sprintf("this call gave the same result %d times in this turn: use that", g.same[sig].times)}
	default:
		return nil
	}
	r.Action, r.Tool, r.Signature = "block", c.Name, sig
	return map[string]any{"error": r.Message, "guardrail": r}
}

// After implements tool.Guard.
func (g *guard) After(x tool.Guarded) any {
	name, sig := x.Call.Name, signature(x.Call.Name, x.Call.Args)
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.count(x, name, sig)
	if r.Code == "" || !g.config.Warn {
		return nil
	}
	r.Action, r.Tool, r.Signature = "warn", name, sig
	return r
}

// count notes how a call ended and says what is to be said of it.
func (g *guard) count(x tool.Guarded, name, sig string) (r remark) {
	warn := g.config.WarnAt
	if x.Result.Status == tool.StatusCancelled { // not the model's doing
		return r
	}
	if failed(name, x.Result) {
		g.exact[sig]++
		g.tool[name]++
		delete(g.same, sig)
		switch {
		case g.exact[sig] >= warn.ExactFailure:
			r = remark{Code: "repeated_exact_failure_warning", Count: g.exact[sig], Message: fmt.Sprintf("the same call has failed %d times: change something before the next try", g.exact[sig])}
		case g.tool[name] >= warn.SameTool:
			r = remark{Code: "same_tool_failure_warning", Count: g.tool[name], Message: fmt.Sprintf("%s has failed %d times in this turn: another way may be better", name, g.tool[name])}
		}
		return r
	}
	delete(g.exact, sig)
	delete(g.tool, name)
	if !x.ReadOnly {
		clear(g.same)
		return r
	}
	sum := sha256.Sum256([]byte(x.Result.JSON))
	s := g.same[sig]
	if s.result != sum {
		s = same{result: sum}
	}
	s.times++
	g.same[sig] = s
	if s.times >= warn.NoProgress {
		r = remark{Code: "idempotent_no_progress_warning", Count: s.times, Message: fmt.Sprintf("this call has given the same result %d times: nothing has changed", s.times)}
	}
	return r
}

// commandTool is the tool whose result holds the exit code of a command.
const commandTool = "terminal"

// failed tells whether a call failed: by its status, or by the exit code of the command that it ran.
func failed(name string, r tool.Result) bool {
	if r.Status != tool.StatusOK || name != commandTool {
		return r.Status != tool.StatusOK
	}
	var ran struct {
		ExitCode *int `json:"exit_code"`
	}
	return json.Unmarshal([]byte(r.JSON), &ran) == nil && ran.ExitCode != nil && *ran.ExitCode != 0
}
