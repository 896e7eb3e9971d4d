// Package approval stands in front of every act of a tool: it names what is dangerous in it, decides by policy, mode and memory, asks a
// person where that is needed, and records each decision before the act runs. It stops mistakes and clumsy injection; it is no sandbox.
package approval

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/ask"
	"github.com/hermes-runtime/hermes/internal/approval/rules"
)

// DefaultTimeout is how long a person at a terminal has to answer.
const DefaultTimeout = 300 * time.Second

// Mode says when people are asked.
type Mode string

// The modes.
const (
	Manual Mode = "manual" // each finding that memory doesn't cover
	Smart  Mode = "smart"  // a reviewing model first; without one, as Manual
	Off    Mode = "off"    // never; floor and denying rules hold
)

// ParseMode reads a configured mode. Boolean words are read as YAML may give them; an unknown word is Manual, with ok false.
func ParseMode(s string) (m Mode, ok bool) {
	switch s {
	case "", "manual", "true":
		return Manual, true
	case "smart":
		return Smart, true
	case "off", "false":
		return Off, true
	}
	return Manual, false
}

// approves tells whether a mode for unattended sessions lets findings through. Anything but these words is deny.
func approves(mode string) bool {
	return slices.Contains([]string{"approve", "off", "allow", "yes"}, mode)
}

// Rememberer stores an answer of "always" for good. The config package's is one.
type Rememberer interface {
	// Remember adds keys to the permanent list. It returns when they are on disk.
	Remember(ctx context.Context, keys []string) error
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
	Responded(requestID string, d Decision)
}

// Config builds a Gate. The zero value asks nobody: what is found is refused.
type Config struct {
	Mode            Mode
	UnattendedMode  string        // approve (or off, allow, yes) lets findings through where nobody can be asked; anything else refuses
	SingleQueryMode string        // the same for SingleQuery sessions; default UnattendedMode
	CronMode        string        // the same for Scheduled sessions; default UnattendedMode
	Timeout         time.Duration // for an answer; default DefaultTimeout
	Allowlist       *Allowlist
	Asker           channel.Asker
	Remember        Rememberer // nil: "always" isn't offered
	Audit           Auditor    // nil: decisions aren't recorded
	Observer        Observer
	Redact          func(string) string // takes secrets out of what is recorded
	Log             *slog.Logger
}

// Gate decides about requests. It is safe for use by many goroutines.
type Gate struct {
	config Config
	memory memory
	desk   ask.Desk
}

// New builds a gate. It does no input or output.
func New(c Config) *Gate {
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Log == nil {
		c.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if c.Redact == nil {
		c.Redact = func(s string) string { return s }
	}
	if c.SingleQueryMode == "" {
		c.SingleQueryMode = c.UnattendedMode
	}
	if c.CronMode == "" {
		c.CronMode = c.UnattendedMode
	}
	return &Gate{config: c, memory: memory{list: c.Allowlist}}
}

// Check decides whether a request may run. It returns at the latest when ctx ends or the time for an answer is over. A caller runs
// the act only if the decision's Runs is true.
func (g *Gate) Check(ctx context.Context, req Request) Decision {
	findings, reading := g.findings(&req)
	if len(findings) == 0 {
		return Decision{Outcome: Allowed, RequestID: req.ID}
	}
	if req.ID == "" {
		req.ID = newID()
	}
	c := &check{gate: g, req: &req, reading: reading, all: findings, started: time.Now()}
	d := Decision{RequestID: req.ID, Findings: findings, Binding: bind(&req, reading)}
	for _, f := range findings {
		if !slices.Contains(d.IDs, f.Row.ID) {
			d.IDs, d.Keys = append(d.IDs, f.Row.ID), append(d.Keys, f.Row.Key)
		}
	}
	c.decision = &d
	if g.config.Observer != nil {
		g.config.Observer.Requested(c.question(findings, 0))
	}
	c.decide(ctx)
	c.record(ctx)
	if g.config.Observer != nil {
		g.config.Observer.Responded(req.ID, d)
	}
	return d
}

func (g *Gate) findings(req *Request) ([]rules.Finding, *analysis.Reading) {
	switch req.Kind {
	case KindPath:
		return pathFindings(req), nil
	case KindHook:
		return hookFindings(req), nil
	case KindCode:
		return nil, nil // each call that the script makes comes here by itself
	}
	script := req.Script
	if script == nil || script.Text() != req.Command {
		script, _ = analysis.Parse(req.Command)
	}
	report := AnalyzeScript(script, req.input())
	return report.Findings, report.Reading
}

// check is one request on its way to a decision.
type check struct {
	gate     *Gate
	req      *Request
	reading  *analysis.Reading
	all      []rules.Finding
	decision *Decision
	started  time.Time
}

// decide goes by the order of policy: floor, memory, mode, a person.
func (c *check) decide(ctx context.Context) {
	if c.req.HostLike && slices.ContainsFunc(c.all, func(f rules.Finding) bool { return f.Floor }) {
		c.end(Floor, ByRule)
		return
	}
	open, how := c.uncovered()
	switch {
	case len(open) == 0:
		c.end(Approved, how)
	case c.gate.config.Mode == Off || c.gate.memory.yolo(c.req.Session):
		c.end(Approved, ByMode)
	default:
		c.ask(ctx, open)
	}
}

func (c *check) end(o Outcome, how How) {
	c.decision.Outcome, c.decision.How = o, how
	if !c.decision.Runs() {
		c.decision.Text = refusal(o, c.all)
	}
}

// uncovered lists the findings that no memory opens: each is decided for itself.
func (c *check) uncovered() (open []rules.Finding, how How) {
	for i := range c.all {
		f := &c.all[i]
		h, ok := c.gate.memory.covers(c.req.Session, c.decision.Binding, c.program(f), f)
		if !ok {
			open = append(open, *f)
			continue
		}
		how = h
	}
	return open, how
}

func (c *check) program(f *rules.Finding) string {
	if c.reading == nil || f.Command < 0 || f.Command >= len(c.reading.Commands) {
		return ""
	}
	return c.reading.Commands[f.Command].Program
}

func (c *check) ask(ctx context.Context, open []rules.Finding) {
	asker := c.req.Asker
	if asker == nil {
		asker = c.gate.config.Asker
	}
	if asker == nil || c.req.Setting != Attended {
		c.unattended()
		return
	}
	start := time.Now()
	answer, asked, err := c.gate.desk.Ask(ctx, asker, func(waiting int) (channel.Question, bool) {
		var how How
		if open, how = c.uncovered(); len(open) == 0 { // an answer to the question before this one
			c.end(Approved, how)
			return channel.Question{}, false
		}
		return c.question(open, waiting), true
	})
	c.decision.Waited, c.decision.Asked = time.Since(start), asked
	if err == nil && !asked {
		return
	}
	c.decision.Who = answer.Who
	switch {
	case err == nil:
		c.answered(ctx, answer, open)
	case errors.Is(err, channel.ErrTimeout):
		c.end(TimedOut, ByRule)
	case errors.Is(err, ask.ErrUndeliverable):
		c.gate.config.Log.Warn("an approval question reached nobody", "request", c.req.ID, "error", err)
		c.end(Undeliverable, ByRule)
	default:
		c.end(Cancelled, ByRule)
	}
}

func (c *check) unattended() {
	mode := c.gate.config.UnattendedMode
	switch c.req.Setting {
	case SingleQuery:
		mode = c.gate.config.SingleQueryMode
	case Scheduled:
		mode = c.gate.config.CronMode
	}
	if approves(mode) {
		c.end(Approved, ByMode)
		return
	}
	c.end(Unattended, ByRule)
}

// answered applies what a person said. Anything that isn't a choice on offer is no consent.
func (c *check) answered(ctx context.Context, a channel.Answer, open []rules.Finding) {
	if !slices.Contains(c.choices(open), a.Choice) || a.Choice == channel.Deny {
		c.end(Denied, ByPerson)
		return
	}
	c.decision.Scope = a.Choice
	c.end(Approved, ByPerson)
	if a.Choice == channel.Once {
		return
	}
	c.gate.memory.store(c.req.Session, c.decision.Binding, open)
	if a.Choice != channel.Always {
		return
	}
	var keys []string
	for _, f := range open {
		if f.Row.Remember == rules.RememberAll && !slices.Contains(keys, f.Row.Key) {
			keys = append(keys, f.Row.Key)
		}
	}
	if err := c.gate.config.Remember.Remember(ctx, keys); err != nil {
		c.decision.Note = fmt.Sprintf("the answer holds for this session only: storing it failed: %v", err)
		c.gate.config.Log.Warn("an answer of always was not stored", "error", err)
		return
	}
	c.gate.memory.allow(keys)
}

// choices lists the answers on offer: what can't be stored isn't.
func (c *check) choices(open []rules.Finding) []channel.Choice {
	out := []channel.Choice{channel.Once}
	stored := func(want ...rules.Remember) bool {
		return slices.ContainsFunc(open, func(f rules.Finding) bool { return slices.Contains(want, f.Row.Remember) })
	}
	if stored(rules.RememberAll, rules.RememberExact) {
		out = append(out, channel.Session)
	}
	if stored(rules.RememberAll) && c.gate.config.Remember != nil {
		out = append(out, channel.Always)
	}
	return append(out, channel.Deny)
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// bind hashes what a decision is for.
func bind(req *Request, reading *analysis.Reading) string {
	h := sha256.New()
	part := func(s string) { fmt.Fprintf(h, "%d:%s", len(s), s) }
	part(req.EnvID)
	part(string(req.Kind))
	part(req.Dir)
	part(req.Command)
	for _, p := range req.Paths {
		part(p.Path)
	}
	if reading != nil {
		for i := range reading.Commands {
			for _, w := range reading.Commands[i].Words {
				part(w.Text)
			}
			for _, r := range reading.Commands[i].Redirects {
				part(r.Op + r.Target.Text)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
