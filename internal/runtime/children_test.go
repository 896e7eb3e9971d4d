//go:build unix

package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	_ "github.com/hermes-runtime/hermes/backend/local"
	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/agent"
	"github.com/hermes-runtime/hermes/internal/hook"
	"github.com/hermes-runtime/hermes/provider"
	_ "github.com/hermes-runtime/hermes/provider/all"
	"github.com/hermes-runtime/hermes/tool"
	_ "github.com/hermes-runtime/hermes/toolset/clarify"
	_ "github.com/hermes-runtime/hermes/toolset/delegate"
	_ "github.com/hermes-runtime/hermes/toolset/file"
	_ "github.com/hermes-runtime/hermes/toolset/terminal"
)

// actors plays a conversation and its children: of each, by its first message, one step for each request. Each costs 10 tokens.
type actors struct {
	mu    sync.Mutex
	steps map[string][]string // a text, or NAME ARGUMENTS
	heard []provider.Request
}

func (a *actors) Info() provider.Info { return provider.Info{Provider: "stage", Model: "actors"} }

func (a *actors) Stream(_ context.Context, r provider.Request) iter.Seq2[provider.Event, error] {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.heard = append(a.heard, r)
	who := r.Messages[0].Text
	step := "nothing more"
	if left := a.steps[who]; len(left) > 0 {
		step, a.steps[who] = left[0], left[1:]
	}
	return func(yield func(provider.Event, error) bool) {
		ev := provider.Event{Kind: provider.KindText, Text: step}
		if name, args, ok := strings.Cut(step, " {"); ok {
			ev = provider.Event{Kind: provider.KindCall, Call: &provider.Call{ID: "c", Name: name, Arguments: "{" + args}}
		}
		_ = yield(ev, nil) && yield(provider.Event{Kind: provider.KindUsage, Usage: &provider.Usage{Input: 8, Output: 2}}, nil) &&
			yield(provider.Event{Kind: provider.KindEnd, End: provider.EndStop}, nil)
	}
}

// token is a service of an embedder's.
type token struct{ name string }

// probe is a tool that notes, by session, where it runs and what it is given.
type probe struct {
	mu     sync.Mutex
	places map[string]environment.Environment
	dirs   map[string]string
	tokens map[string]string
}

func (p *probe) tool() tool.Tool {
	return tool.Func(tool.Spec{Name: "probe", Toolset: "probe", Description: "looks around"}, func(ctx context.Context, c *tool.Call, _ struct{}) (any, error) {
		place, err := c.Host.Place(ctx)
		if err != nil {
			return nil, err
		}
		held, _ := tool.Service[*token](c)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.places[c.Session], p.dirs[c.Session] = place.Environment, string(place.State.Dir())
		if held != nil {
			p.tokens[c.Session] = held.name
		}
		return map[string]any{"ok": true}, nil
	})
}

// DEL-3, DEL-9, BUD-4: a child works in its parent's own place and directory, with the services that its session was given; it is told what
// is left of the budget; hooks hear of its beginning and its end; what it changed of the files that the parent had read is named.
func TestChild_SharesPlaceServicesAndBudget(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(home, "config.yaml"), []byte("agent: {max_tokens_total: 1000, max_cost: 1}\nmodel: {prices: {actors: {input: 1000, output: 1000}}}"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o600))
	var mu sync.Mutex
	var told []hook.Subagent
	note := func(_ context.Context, a hook.Subagent) error {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, a)
		return nil
	}
	p := &probe{places: map[string]environment.Environment{}, dirs: map[string]string{}, tokens: map[string]string{}}
	r, err := Open(t.Context(), Options{
		Home: home, Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, Embedded: []tool.Tool{p.tool()}, Hooks: []hook.Hook{{SubagentStart: note, SubagentStop: note}},
	})
	must(t, err)
	m := &actors{steps: map[string][]string{
		"begin": {"probe {}", `read_file {"path":"a.txt"}`, `delegate_task {"goal":"change it"}`, "done"},
		"change it": {
			"probe {}", `write_file {"path":"a.txt","content":"two\n"}`, `write_file {"path":"b.txt","content":"new\n"}`, "changed",
		},
	}}
	c, err := r.Converse(t.Context(), ConversationOptions{Use: m, Session: SessionOptions{Services: []any{&token{"of the embedder"}}}})
	must(t, err)
	must(t, c.Override(map[string]string{"env_type": "local", "cwd": dir}))
	out := c.Turn(t.Context(), "begin")
	if out.Status != agent.Completed || out.Answer != "done" {
		t.Fatalf("%+v", out)
	}
	must(t, c.Close(t.Context()))
	must(t, r.Close(context.Background())) // the hooks have heard it all

	if len(told) != 2 || told[0].Status != "" || told[1].Status != "completed" || told[1].Summary != "changed" || told[0].ChildID != told[1].ChildID || told[1].ParentID != c.ID() ||
		told[0].Role != "leaf" || told[0].Goal != "change it" || told[0].Version != hook.SchemaVersion {
		t.Fatalf("the hooks were told %+v", told)
	}
	child := told[0].ChildID
	if p.places[child] == nil || p.places[child] != p.places[c.ID()] || p.dirs[child] != dir || p.tokens[child] != "of the embedder" {
		t.Errorf("the child works in %v at %q with %q, its parent in %v", p.places[child], p.dirs[child], p.tokens[child], p.places[c.ID()])
	}
	var report struct {
		Results []struct {
			Changed []string `json:"files_changed"`
			Again   []string `json:"read_again"`
		}
	}
	last := m.heard[len(m.heard)-1].Messages
	if err := json.Unmarshal([]byte(last[len(last)-1].Text), &report); err != nil || len(report.Results) != 1 {
		t.Fatalf("%v: %s", err, last[len(last)-1].Text)
	}
	a, b := filepath.Join(dir, "a.txt"), filepath.Join(dir, "b.txt")
	if got := report.Results[0]; strings.Join(got.Changed, " ") != a+" "+b || strings.Join(got.Again, " ") != a {
		t.Errorf("%+v", got)
	}
	for _, q := range m.heard {
		if q.Session == child && !(strings.Contains(q.System, "970 tokens, 0.97 (cost)") && strings.Contains(q.System, "Working directory: "+dir)) {
			t.Errorf("the child was told %s", q.System)
		}
	}
}

// DEL-5, CHAT-8: what a child wants approved is asked of its root's person, with what it works at, and told among the root's events with the
// answer; so is a free question.
func TestChild_AsksAtItsRoot(t *testing.T) {
	var asked []channel.Question // one at a time
	person := channel.AskerFunc(func(_ context.Context, q channel.Question) (channel.Answer, error) {
		asked = append(asked, q)
		return channel.Answer{Choice: channel.Deny, Text: "blue"}, nil
	})
	home := t.TempDir()
	r := configured(t, "delegation: {max_spawn_depth: 2}", Options{Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, Asker: person, Dir: home})
	m := &actors{steps: map[string][]string{
		"begin":      {`clarify {"question":"Which colour?"}`, `delegate_task {"goal":"tidy up","role":"orchestrator"}`, "done"},
		"tidy up":    {`delegate_task {"goal":"delete  it"}`, "tidied"},
		"delete  it": {`terminal {"command":"rm -rf build"}`, "refused"},
	}}
	var told []string
	c, err := r.Converse(t.Context(), ConversationOptions{Use: m, Listen: func(e agent.Event) {
		if e.Type == agent.EventApproval || e.Type == agent.EventClarify {
			told = append(told, strings.TrimSpace(fmt.Sprint(e.Type, " ", e.Tool, " ", e.Text, " ", e.Status)))
		}
	}})
	must(t, err)
	defer func() { must(t, c.Close(context.Background())) }()
	if out := c.Turn(t.Context(), "begin"); out.Answer != "done" {
		t.Fatalf("%+v", out)
	}
	want := []string{"clarify clarify Which colour?", "approval terminal rm -rf build", "approval terminal rm -rf build deny"}
	if strings.Join(told, "; ") != strings.Join(want, "; ") {
		t.Errorf("told %q, want %q", told, want)
	}
	if len(asked) != 2 || asked[1].Session == c.ID() || !slices.Contains(asked[1].Notes, "a child agent asks, which works at: tidy up › delete it") || len(asked[0].Notes) != 0 {
		t.Errorf("asked %+v", asked)
	}
}

// DEL-4: while it is paused no child is begun.
func TestDelegation_Paused(t *testing.T) {
	r := configured(t, "delegation: {paused: true}", Options{})
	m := &actors{steps: map[string][]string{"begin": {`delegate_task {"goal":"work"}`, "one"}, "work": {"worked"}}}
	c, err := r.Converse(t.Context(), ConversationOptions{Use: m})
	must(t, err)
	defer func() { must(t, c.Close(context.Background())) }()
	for _, want := range []string{"delegation.paused is true", `"summary":"worked"`, "delegation.paused is true"} {
		m.steps["begin"] = []string{`delegate_task {"goal":"work"}`, "one"}
		m.steps["work"] = []string{"worked"}
		c.Turn(t.Context(), "begin")
		last := m.heard[len(m.heard)-1].Messages
		if got := last[len(last)-1].Text; !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
		if r.paused.Load() {
			r.ResumeDelegation()
		} else {
			r.PauseDelegation()
		}
	}
}

// BUD-3: what a conversation that is resumed and its children have used before counts.
func TestBudget_OfAResumedConversation(t *testing.T) {
	r := configured(t, "agent: {max_tokens_total: 45}", Options{})
	m := &actors{steps: map[string][]string{"begin": {`delegate_task {"goal":"work"}`, "one"}, "work": {"worked"}}}
	c, err := r.Converse(t.Context(), ConversationOptions{Use: m})
	must(t, err)
	if out := c.Turn(t.Context(), "begin"); out.Status != agent.Completed {
		t.Fatalf("%+v", out)
	}
	must(t, c.Close(t.Context()))
	var left *int
	c, err = r.Converse(t.Context(), ConversationOptions{Use: m, Resume: c.ID(), Listen: func(e agent.Event) {
		if e.Left != nil {
			left = e.Left.Tokens
		}
	}})
	must(t, err)
	defer func() { must(t, c.Close(context.Background())) }()
	if out := c.Turn(t.Context(), "go on"); out.Status != agent.Completed || left == nil || *left != 5 {
		t.Errorf("%+v, left %v", out, left)
	}
	if out := c.Turn(t.Context(), "go on"); out.Status != agent.Completed {
		t.Errorf("%+v", out)
	}
	if out := c.Turn(t.Context(), "go on"); out.ExitReason != agent.ExitBudget {
		t.Errorf("%+v", out)
	}
}

// RED-1: a key that a model repeats stands in no event, of a call that runs or of one that can't.
func TestConverse_EventsTellNoSecret(t *testing.T) {
	const key = "sk-proj-0123456789abcdefghijklmnop"
	var told []string
	r := configured(t, "", Options{Environ: []string{"HOME=/home/ann", "OPENAI_API_KEY=" + key}})
	c, err := r.Converse(t.Context(), ConversationOptions{Use: &actors{steps: map[string][]string{"begin": {`nothing_like_it {"x": "` + key + `"}`}}}, Listen: func(e agent.Event) {
		told = append(told, string(e.Args))
	}})
	must(t, err)
	c.Turn(t.Context(), "begin")
	must(t, c.Close(t.Context()))
	all := strings.Join(told, "")
	if strings.Contains(all, key) || !strings.Contains(all, `{"x":`) {
		t.Errorf("told: %s", all)
	}
}

// BUD-3: costs that can't be reckoned are refused where they are bounded, of each model that is used; tapes cost nothing.
func TestBudget_CostNeedsPrices(t *testing.T) {
	tape := filepath.Join(t.TempDir(), "tape.jsonl")
	must(t, os.WriteFile(tape, []byte(`{"text":"hello"}`), 0o600))
	const local = "model: {base_url: 'http://127.0.0.1:1', default: m, prices: {known: {input: 1, output: 2}}}\n"
	for _, c := range []struct{ text, model, fault string }{
		{local + "agent: {max_cost: 1}", "", "model.prices has no price of custom/m"},
		{local + "agent: {max_cost: 1}", "known", ""},
		{local + "agent: {max_cost: 1}", "replay:" + tape, ""},
		{local, "", ""},
		{local + "agent: {max_cost: 1}\ncompression: {model: other}", "known", "compression.model: agent.max_cost is set"},
	} {
		r := configured(t, c.text, Options{})
		k, err := r.Converse(t.Context(), ConversationOptions{Model: c.model})
		if err == nil {
			must(t, k.Close(t.Context()))
		}
		if (err != nil) != (c.fault != "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s with %q: %v, want %q", c.text, c.model, err, c.fault)
		}
	}
}

// The model of children: their parent's, another one, or one at another address.
func TestChildModel_AsConfigured(t *testing.T) {
	const main = "model: {base_url: 'http://127.0.0.1:1', default: main}\n"
	for delegation, want := range map[string]string{
		"":                                    "custom/main",
		"{model: small}":                      "custom/small",
		"{model: small, provider: anthropic}": "anthropic/small",
		"{base_url: 'http://127.0.0.1:2'}":    "custom/main",
		"{base_url: 'http://127.0.0.1:2', model: maker/small}":                     "custom/maker/small",
		"{base_url: 'http://127.0.0.1:2', model: small, provider: openai}":         "openai/small",
		"{base_url: 'http://127.0.0.1:2', model: small, provider: nobody}":         "delegation.base_url: nobody/small: setup: there is no provider of this name",
		"{model: small, provider: openrouter}":                                     "delegation.model: openrouter/small: setup: OPENROUTER_API_KEY is not set",
		"{model: small, provider: custom, base_url: 'ftp://elsewhere.example/v1'}": "delegation.base_url: custom/small: setup: ",
	} {
		r := configured(t, main+"delegation: "+delegation, Options{Environ: []string{"ANTHROPIC_API_KEY=sk-12345678", "OPENAI_API_KEY=sk-12345678"}})
		c, err := r.Converse(t.Context(), ConversationOptions{})
		must(t, err)
		m, err := c.childModel()
		got := fmt.Sprint(err)
		if err == nil {
			got = nameOf(m)
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", delegation, got, want)
		}
		must(t, c.Close(t.Context()))
	}
}

// CHAT-6: what was had with a tape goes on with the configured model, and says so; without one it says what to do.
func TestResume_OfATape(t *testing.T) {
	tape := filepath.Join(t.TempDir(), "tape.jsonl")
	must(t, os.WriteFile(tape, []byte(`{"text":"hello"}`), 0o600))
	for config, want := range map[string]string{"model: {base_url: 'http://127.0.0.1:1', default: m}": "custom/m", "": "name another model with -m"} {
		r := configured(t, config, Options{})
		c, err := r.Converse(t.Context(), ConversationOptions{Model: "replay:" + tape})
		must(t, err)
		c.Turn(t.Context(), "hi")
		must(t, c.Close(t.Context()))
		again, err := r.Converse(t.Context(), ConversationOptions{Resume: c.ID()})
		got := fmt.Sprint(err)
		if err == nil {
			got = strings.Join(again.Notices, " ")
			must(t, again.Close(t.Context()))
		}
		if !strings.Contains(got, want) || !strings.Contains(got, "replay/tape") {
			t.Errorf("%q: %s", config, got)
		}
	}
}
