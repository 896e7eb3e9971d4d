// Package approval stands in front of every act of a tool: it names what is dangerous in it, decides by policy, mode and memory, asks a
// person where that is needed, and records each decision before the act runs. It stops mistakes and clumsy injection; it is no sandbox.
package approval

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/ask"
	"github.com/hermes-runtime/hermes/internal/approval/rules"
)

// DefaultTimeout is how long a person has to answer.
const DefaultTimeout = 300 * time.Second

// Rememberer stores an answer of "always" for good. The runtime's writes the configuration.
type Rememberer interface {
	// Remember adds grants to the permanent list. It returns when they are on disk.
	Remember(ctx context.Context, grants []Grant) error
}

// Auditor records decisions. Record returns when the line is written; it is called before the act runs.
type Auditor interface {
	Record(ctx context.Context, e Entry) error
}

// Observer is told of each decision about findings, also of those that nobody is asked for. It must return at once; what it does
// changes nothing.
type Observer interface {
	// Requested comes in front of the decision; q is what a person would be shown.
	Requested(q channel.Question)
	// Responded comes behind it.
	Responded(q channel.Question, d Decision)
}

// Config builds a Gate. The zero value asks nobody: what is found is refused.
type Config struct {
	Mode            Mode
	Yolo            bool          // as Off, for sessions that are no other session's children
	UnattendedMode  string        // approve (or off, allow, yes) lets findings through where nobody can be asked, smart what the reviewer approves; anything else refuses
	SingleQueryMode string        // the same for SingleQuery sessions; default UnattendedMode
	CronMode        string        // the same for Scheduled sessions; default UnattendedMode
	Sandboxed       Sandboxed     // default SandboxReach
	FloorConfirm    bool          // a person at an interactive terminal may type the device of a floor act to let it run once
	SubagentsShare  bool          // child sessions use what was answered for the session they descend from
	Timeout         time.Duration // for an answer; default DefaultTimeout
	GatewayTimeout  time.Duration // the same where the asker is a channel.Crowd; default DefaultTimeout
	Rows            *UserRows     // the user's own
	Allowlist       *Allowlist
	Current         func() *Allowlist // the permanent list as it is now, in place of Allowlist; called only when something was found
	Asker           channel.Asker
	Approver        Reviewer   // the user's own program: asked before a model and a person
	Reviewer        Reviewer   // the reviewing model; asked in mode Smart
	Remember        Rememberer // nil: "always" isn't offered
	Audit           Auditor    // nil: decisions aren't recorded
	Observer        Observer
	// Preview tells, within a fraction of a second, what would be lost: one value, then the channel is closed; nil = nothing to tell.
	// It stops when ctx ends.
	Preview func(ctx context.Context, r *Request, findings []rules.Finding) <-chan string
	Redact  func(string) string // takes secrets out of what is recorded
	Log     *slog.Logger
	Desk    *ask.Desk // where questions wait for their turn; nil = one of the gate's own
}

// Gate decides about requests. It is safe for use by many goroutines.
type Gate struct {
	config Config
	memory memory
}

// New builds a gate. It does no input or output.
func New(c Config) *Gate {
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.GatewayTimeout <= 0 {
		c.GatewayTimeout = DefaultTimeout
	}
	if c.Log == nil {
		c.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if c.Redact == nil {
		c.Redact = func(s string) string { return s }
	}
	if c.Desk == nil {
		c.Desk = &ask.Desk{}
	}
	c.Sandboxed = cmp.Or(c.Sandboxed, SandboxReach)
	c.SingleQueryMode = cmp.Or(c.SingleQueryMode, c.UnattendedMode)
	c.CronMode = cmp.Or(c.CronMode, c.UnattendedMode)
	return &Gate{config: c, memory: memory{list: c.Allowlist, current: c.Current}}
}

// Mode is the mode that was configured, and whether the process's sessions ask nothing all the same.
func (g *Gate) Mode() (m Mode, yolo bool) {
	if g.config.Mode == "" {
		return Manual, g.config.Yolo
	}
	return g.config.Mode, g.config.Yolo
}

// Check decides whether a request may run. It returns at the latest when ctx ends or the time for an answer is over. A caller runs
// the act only if the decision's Runs is true.
func (g *Gate) Check(ctx context.Context, req Request) Decision {
	start := time.Now()
	findings, reading := g.findings(&req)
	took := time.Since(start)
	mode, _ := g.Mode()
	if len(findings) == 0 {
		g.note(&req, reading)
		return Decision{Outcome: Allowed, RequestID: req.ID, Analysis: took, Mode: mode}
	}
	if req.ID == "" {
		req.ID = newID()
	}
	c := g.check(&req, findings, reading)
	c.decision.Analysis, c.decision.Mode = took, mode
	var q channel.Question
	if g.config.Observer != nil {
		q = c.question(findings, 0)
		g.config.Observer.Requested(q)
	}
	c.decide(ctx)
	c.record(ctx)
	if g.config.Observer != nil {
		g.config.Observer.Responded(q, *c.decision)
	}
	if c.decision.Runs() {
		g.note(&req, reading)
	}
	return *c.decision
}

// check is one request on its way to a decision.
type check struct {
	gate     *Gate
	req      *Request
	reading  *analysis.Reading
	all      []rules.Finding
	decision *Decision
	started  time.Time
	trial    bool       // nothing is asked and no session counts
	list     *Allowlist // the permanent list, once it was needed; looked up anew for each round of uncovered
}

func (g *Gate) check(req *Request, findings []rules.Finding, reading *analysis.Reading) *check {
	d := &Decision{RequestID: req.ID, Findings: findings, Binding: bind(req, reading), hostLike: req.HostLike, mounts: len(req.Mounts)}
	for _, f := range findings {
		if !slices.Contains(d.IDs, f.Row.ID) || f.Row.Family == familyOwn && !slices.Contains(d.Keys, f.Row.Key) {
			d.IDs, d.Keys = append(d.IDs, f.Row.ID), append(d.Keys, f.Row.Key)
		}
	}
	return &check{gate: g, req: req, reading: reading, all: findings, decision: d, started: time.Now()}
}

func (g *Gate) findings(req *Request) ([]rules.Finding, *analysis.Reading) {
	switch req.Kind {
	case KindPath:
		return g.pathFindings(req), nil
	case KindHook:
		return hookFindings(req), nil
	case KindCode:
		return g.codeFindings(req)
	}
	script := req.Script
	if script == nil || script.Text() != req.Command {
		script, _ = analysis.Parse(req.Command)
	}
	in := req.input()
	in.Files = g.files(req)
	report := AnalyzeScript(script, in)
	return g.config.Rows.apply(report.Findings, report.Reading), report.Reading
}

// decide goes by the order of policy: floor and denials, the environment, memory, mode, a person.
func (c *check) decide(ctx context.Context) {
	o, confirm := c.forbidden()
	if o != "" && (confirm == "" || !c.confirms()) {
		c.end(o, ByRule)
		return
	}
	open, how := c.uncovered()
	if confirm != "" {
		c.put(ctx, open, confirm)
		return
	}
	if len(open) > 0 && c.unasked() {
		open, how = slices.DeleteFunc(open, func(f rules.Finding) bool { return !alwaysAsked(f.Row) }), ByMode
	}
	if len(open) == 0 {
		c.end(Approved, how)
		return
	}
	c.ask(ctx, open)
}

// unasked tells whether questions are turned off for this session.
func (c *check) unasked() bool {
	g := c.gate
	return g.config.Mode == Off || g.config.Yolo && c.req.Root == "" || !c.trial && g.memory.yolo(c.req.Session)
}

func (c *check) end(o Outcome, how How) {
	c.decision.Outcome, c.decision.How = o, how
	if !c.decision.Runs() {
		c.decision.Text = refusal(c)
	}
}

// uncovered lists the findings that nothing opens: each is decided for itself.
func (c *check) uncovered() (open []rules.Finding, how How) {
	c.list = nil
	for i := range c.all {
		f := &c.all[i]
		if h, ok := c.waived(f); ok {
			how = cmp.Or(how, h)
			continue
		}
		h, entry := c.gate.memory.covers(c, f)
		if h == "" {
			open = append(open, *f)
			continue
		}
		if how = h; entry != nil {
			c.decision.Entry = entry.Name
		}
	}
	return open, how
}

func (c *check) program(f *rules.Finding) string {
	if c.reading == nil || f.Command < 0 || f.Command >= len(c.reading.Commands) {
		return ""
	}
	return c.reading.Commands[f.Command].Program
}

// asker reaches the session's person; nil = nobody does.
func (c *check) asker() channel.Asker {
	if c.req.Setting != Attended {
		return nil
	}
	if c.req.Asker != nil {
		return c.req.Asker
	}
	return c.gate.config.Asker
}

// confirms tells whether a person sits at an interactive terminal.
func (c *check) confirms() bool {
	k, ok := c.asker().(channel.Confirmer)
	return ok && k.Confirms()
}

func (c *check) ask(ctx context.Context, open []rules.Finding) {
	start := time.Now()
	smart, attended := c.gate.config.Mode == Smart, c.asker() != nil
	if !attended {
		switch stance := c.stance(); {
		case slices.ContainsFunc(open, func(f rules.Finding) bool { return alwaysAsked(f.Row) }):
			c.end(Unattended, ByRule)
			return
		case stance == stanceApprove:
			c.end(Approved, ByMode)
			return
		default:
			smart = stance == stanceSmart
		}
	}
	done, objection := c.reviewed(ctx, open, smart)
	c.decision.Waited = time.Since(start)
	c.decision.Objection = objection
	switch {
	case done:
	case attended:
		c.put(ctx, open, "")
	case objection != "":
		c.end(Denied, c.decision.How)
	default:
		c.end(Unattended, ByRule)
	}
}

// put asks the person. With confirm set, one text has to be typed, and consent is for this once.
func (c *check) put(ctx context.Context, open []rules.Finding, confirm string) {
	asker, start := c.asker(), time.Now()
	var shown channel.Question
	ctx, done := context.WithCancel(ctx)
	defer done()
	answer, asked, err := c.gate.config.Desk.Ask(ctx, asker, func(waiting int) (channel.Question, bool) {
		var how How
		if open, how = c.uncovered(); len(open) == 0 { // an answer to the question before this one
			c.end(Approved, how)
			return channel.Question{}, false
		}
		shown = c.question(open, waiting)
		if confirm != "" {
			shown.Confirm, shown.Choices = confirm, []channel.Choice{channel.Once, channel.Deny}
		}
		c.decision.targets = identities(c.req.Disk, c.all)
		if c.gate.config.Preview != nil {
			shown.Preview = c.gate.config.Preview(ctx, c.req, open)
		}
		return shown, true
	})
	c.decision.Waited, c.decision.Asked = c.decision.Waited+time.Since(start), asked
	if err == nil && !asked {
		return
	}
	c.decision.Who = answer.Who
	switch {
	case err == nil:
		c.answered(ctx, answer, asking{open, shown})
	case errors.Is(err, channel.ErrTimeout):
		c.end(TimedOut, ByRule)
	case errors.Is(err, ask.ErrUndeliverable):
		c.gate.config.Log.Warn("an approval question reached nobody", "request", c.req.ID, "error", err)
		c.end(Undeliverable, ByRule)
	default:
		c.end(Cancelled, ByRule)
	}
}

func (c *check) stance() stance {
	switch c.req.Setting {
	case SingleQuery:
		return stanceOf(c.gate.config.SingleQueryMode)
	case Scheduled:
		return stanceOf(c.gate.config.CronMode)
	}
	return stanceOf(c.gate.config.UnattendedMode)
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
