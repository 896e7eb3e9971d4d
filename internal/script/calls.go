package script

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/internal/script/rpc"
	"github.com/hermes-runtime/hermes/internal/script/stub"
	"github.com/hermes-runtime/hermes/tool"
)

// The kinds of refusal that are a script's own.
const (
	typeCallLimit    = "call_limit"
	typeTerminalOnly = "terminal_only"
)

// gate judges every request of one run and passes the good ones through the one door.
type gate struct {
	runner  *Runner
	call    *tool.Call
	reasons map[string]string // by tool: "" = may be called
	max     int
	lines   []string // of the script

	mu     sync.Mutex
	made   int
	open   int
	denied map[[sha256.Size]byte]rpc.Answer
}

func newGate(r *Runner, c *tool.Call, reasons map[string]string, maxCalls int, code string) *gate {
	return &gate{
		runner: r, call: c, reasons: reasons, max: maxCalls, lines: strings.Split(code, "\n"),
		denied: map[[sha256.Size]byte]rpc.Answer{},
	}
}

// serve answers one request.
func (g *gate) serve(ctx context.Context, r rpc.Request) rpc.Answer {
	if a, refused := g.notAllowed(r); refused {
		return a
	}
	n, a, refused := g.take(r)
	if refused {
		return a
	}
	defer g.release()
	id := g.call.ID + "/" + strconv.Itoa(n)
	g.runner.setOrigin(id, Origin{Parent: g.call.ID, Number: n, Line: r.Line, Text: g.line(r.Line)})
	defer g.runner.dropOrigin(id)
	res := g.call.Host.Invoke(ctx, tool.Request{ID: id, Name: r.Tool, Arguments: r.Args, UserTask: g.call.UserTask, Unbounded: true})
	a = rpc.Answer{Result: res.JSON, Type: string(res.Type)}
	if a.Result == "" {
		return refuse(string(tool.ErrTypeInternal), "%s gave no readable result.", r.Tool)
	}
	if res.Status == tool.StatusDenied {
		a = markDenied(a)
		key := sameAct(r)
		g.mu.Lock()
		g.denied[key] = a
		g.mu.Unlock()
	}
	return a
}

// notAllowed refuses what this run may not call at all: the stub's import is a convenience, this is the guard (XA-1).
func (g *gate) notAllowed(r rpc.Request) (rpc.Answer, bool) {
	if _, known := stub.Lookup(r.Tool); !known {
		return refuse(string(tool.ErrTypeUnknownTool), "%q can't be called from a script. %s", clip(r.Tool, 64), g.canCall()), true
	}
	why, listed := g.reasons[r.Tool]
	if !listed || why != "" {
		if why == "" {
			why = "it is not enabled in this session"
		}
		return refuse(string(tool.ErrTypeScope), "%s is not available: %s. %s", r.Tool, why, g.canCall()), true
	}
	if r.Args == nil {
		return refuse(string(tool.ErrTypeInvalidArguments), "The arguments of %s must be a JSON object.", r.Tool), true
	}
	return rpc.Answer{}, false
}

func (g *gate) canCall() string {
	if names := available(g.reasons); len(names) > 0 {
		return "What can be called: " + strings.Join(names, ", ") + "."
	}
	return "This session offers no tool to scripts."
}

// take counts a call and gives its number, or refuses it; of calls that race for the last place exactly one gets it.
func (g *gate) take(r rpc.Request) (n int, a rpc.Answer, refused bool) {
	param := terminalOnly(r)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.made >= g.max {
		return 0, refuse(typeCallLimit, "The limit of %d tool calls for one script is reached (%s.max_tool_calls); %s was not called.",
			g.max, Section, r.Tool), true
	}
	if param != "" {
		return 0, refuse(typeTerminalOnly, "%s is not available in scripts: terminal is foreground only here. The command did not run; "+
			"call the terminal tool outside of the script for it.", param), true
	}
	if len(g.denied) > 0 {
		if a, ok := g.denied[sameAct(r)]; ok {
			return 0, a, true
		}
	}
	g.made++
	g.open++
	return g.made, rpc.Answer{}, false
}

func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open--
}

// counts returns the calls made and those that run.
func (g *gate) counts() (made, open int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.made, g.open
}

func (g *gate) line(n int) string {
	if n < 1 || n > len(g.lines) {
		return ""
	}
	return clip(strings.TrimSpace(g.lines[n-1]), 200)
}

// terminalOnly returns the first argument of a terminal call that scripts don't have, in any spelling that the door would mend.
func terminalOnly(r rpc.Request) string {
	if f, _ := stub.Lookup(r.Tool); !hasParam(f, "command") {
		return ""
	}
	var found string
	rpc.HasKey(r.Args, func(key string) bool {
		i := slices.IndexFunc(stub.TerminalOnly, func(p string) bool { return sameName(key, p) })
		if i >= 0 {
			found = stub.TerminalOnly[i]
		}
		return i >= 0
	})
	return found
}

func hasParam(f stub.Function, name string) bool {
	return slices.ContainsFunc(f.Params, func(p stub.Param) bool { return p.Name == name })
}

// sameName compares names of parameters as the door does when it mends them: without case and separators.
func sameName(a, b string) bool {
	i, j := 0, 0
	for {
		for i < len(a) && strings.IndexByte("_- ", a[i]) >= 0 {
			i++
		}
		for j < len(b) && b[j] == '_' {
			j++
		}
		if i == len(a) || j == len(b) {
			return i == len(a) && j == len(b)
		}
		if a[i]|0x20 != b[j] {
			return false
		}
		i, j = i+1, j+1
	}
}

// sameAct identifies what a request does: for a command where it runs, whatever time it is given.
func sameAct(r rpc.Request) [sha256.Size]byte {
	args := map[string]any{}
	if json.Unmarshal(r.Args, &args) != nil {
		return sha256.Sum256(append([]byte(r.Tool+"\x00"), r.Args...))
	}
	if _, command := args["command"]; command {
		delete(args, "timeout")
	}
	text, _ := json.Marshal(args) // what was decoded can be encoded; keys are sorted
	return sha256.Sum256(append([]byte(r.Tool+"\x00"), text...))
}

// markDenied adds denied to a result that says that nobody consented (XA-5).
func markDenied(a rpc.Answer) rpc.Answer {
	body, ok := strings.CutPrefix(strings.TrimSpace(a.Result), "{")
	var present struct {
		Denied *bool `json:"denied"`
	}
	if !ok || json.Unmarshal([]byte(a.Result), &present) != nil || present.Denied != nil && *present.Denied {
		return a
	}
	sep := ","
	if strings.HasPrefix(strings.TrimSpace(body), "}") {
		sep = ""
	}
	a.Result = `{"denied":true` + sep + body
	return a
}

func refuse(kind, format string, args ...any) rpc.Answer {
	text, _ := json.Marshal(map[string]string{"error": fmt.Sprintf(format, args...)}) // strings always marshal
	return rpc.Answer{Result: string(text), Type: kind}
}

func available(reasons map[string]string) []string {
	var out []string
	for _, f := range stub.Functions {
		if why, ok := reasons[f.Name]; ok && why == "" {
			out = append(out, f.Name)
		}
	}
	return out
}

// clip cuts s to n characters.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
