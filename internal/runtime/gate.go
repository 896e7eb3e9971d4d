package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/agent"
	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/atomicfile"
	"github.com/hermes-runtime/hermes/internal/config"
	"github.com/hermes-runtime/hermes/internal/hook"
)

type approvalSettings struct {
	Mode           string           `yaml:"mode" default:"manual" help:"manual asks about each finding, smart lets a reviewing model judge first, off asks about none (what nobody may approve is refused all the same)"`
	Unattended     string           `yaml:"unattended_mode" default:"deny" help:"where nobody can be asked: deny, smart (what the reviewing model approves) or approve"`
	SingleQuery    string           `yaml:"single_query_mode" help:"the same for one-shot queries"`
	Cron           string           `yaml:"cron_mode" help:"the same for scheduled jobs"`
	Timeout        time.Duration    `yaml:"timeout" default:"300" min:"1" help:"seconds that a person has to answer"`
	GatewayTimeout time.Duration    `yaml:"gateway_timeout" default:"300" min:"1" max:"86400" help:"the same where the question goes to a chat or console"`
	Permanent      bool             `yaml:"permanent" default:"true" help:"offer to approve for ever"`
	Floor          string           `yaml:"floor" default:"deny" enum:"deny|confirm" help:"confirm: a person at a terminal may let a raw write to a device, or its formatting, run once by typing the device"`
	Sandboxed      string           `yaml:"sandboxed" default:"reach" help:"in a sandbox: reach asks about what leaves it, ask as on this machine, skip about nothing"`
	Patterns       any              `yaml:"patterns" help:"patterns of your own: pairs [regex, description], or maps of regex, description, deny, examples, not_examples"`
	Deny           any              `yaml:"deny" help:"commands that nobody may run: globs, or maps of program, args, regex, reason"`
	Quiet          any              `yaml:"quiet" help:"ids of patterns that are recorded and not asked about"`
	Approver       approverSettings `yaml:"approver"`
}

// approverSettings is a program of the user's own that answers in their place.
type approverSettings struct {
	Command []string      `yaml:"command" help:"program and arguments: gets each question as JSON and answers approve, deny or escalate"`
	URL     string        `yaml:"url" help:"the same as an address"`
	Timeout time.Duration `yaml:"timeout" default:"10" min:"1" help:"seconds that it has"`
}

func (*approvalSettings) Section() string { return "approvals" }

// delegationSettings is the part of `delegation:` that approvals know.
type delegationSettings struct {
	SubagentAutoApprove bool `yaml:"subagent_auto_approve" default:"false" help:"sub-agents use what was approved for the session that they work for"`
}

func (*delegationSettings) Section() string { return "delegation" }

func init() {
	config.Register(func() config.Sectioned { return &approvalSettings{} }, func() config.Sectioned { return &delegationSettings{} })
}

// newGate builds the gate in front of every risky act.
func (r *Runtime) newGate() *approval.Gate {
	var c approvalSettings
	var d delegationSettings
	for _, part := range []config.Sectioned{&c, &d} {
		if err := r.doc.Decode(part.Section(), part); err != nil {
			for _, e := range unjoin(err) {
				r.problem(e)
			}
		}
	}
	mode, ok := approval.ParseMode(c.Mode)
	if !ok {
		r.misread("approvals.mode", fmt.Sprintf("%q is not manual, smart or off; manual holds", c.Mode))
	}
	sandboxed, ok := approval.ParseSandboxed(c.Sandboxed)
	if !ok {
		r.misread("approvals.sandboxed", fmt.Sprintf("%q is not reach, ask or skip; reach holds", c.Sandboxed))
	}
	for key, word := range map[string]string{"unattended_mode": c.Unattended, "single_query_mode": c.SingleQuery, "cron_mode": c.Cron} {
		if !approval.ParseStance(word) {
			r.misread("approvals."+key, fmt.Sprintf("%q is not deny, smart or approve; deny holds", word))
		}
	}
	rows := r.ownRows()
	r.list = &permanentList{r: r, rows: rows}
	r.list.read(r.doc)
	r.told(allowlistKey, r.list.now.Faults)
	conf := approval.Config{
		Mode: mode, Yolo: set(r.environ["HERMES_YOLO_MODE"]), UnattendedMode: c.Unattended, SingleQueryMode: c.SingleQuery, CronMode: c.Cron,
		Sandboxed: sandboxed, FloorConfirm: c.Floor == "confirm", SubagentsShare: d.SubagentAutoApprove,
		Timeout: c.Timeout, GatewayTimeout: c.GatewayTimeout, Rows: rows, Current: r.list.current, Asker: r.options.Asker,
		Preview: losses, Audit: auditor{r.decided}, Observer: observer{r.hooks, &r.awaited, r}, Redact: r.redactor.All, Log: r.log, Desk: &r.desk,
	}
	if c.Permanent {
		conf.Remember = r.list
	}
	r.reviewers(&conf, c.Approver)
	return approval.New(conf)
}

// set tells whether a variable that turns something on does.
func set(v string) bool {
	return !slices.Contains([]string{"", "0", "false", "no", "off"}, strings.ToLower(v))
}

func (r *Runtime) misread(key, text string) {
	r.problem(&config.Problem{File: r.doc.Path, Key: key, Text: text})
}

// told makes problems of what is wrong with items of a list.
func (r *Runtime) told(key string, faults []approval.Fault) {
	for _, f := range faults {
		r.problem(&config.Problem{File: r.doc.Path, Line: f.Line, Column: 1, Key: key, Text: f.Text})
	}
}

// ownRows reads the patterns, denials and quiet rows of the configuration. One that is wrong is told; the others work.
func (r *Runtime) ownRows() *approval.UserRows {
	rows := &approval.UserRows{}
	r.told("approvals.patterns", rows.ReadPatterns(listed(r.doc, "approvals.patterns")))
	r.told("approvals.deny", rows.ReadDeny(listed(r.doc, "approvals.deny")))
	r.told("approvals.quiet", rows.ReadQuiet(listed(r.doc, "approvals.quiet")))
	return rows
}

// permit applies what the caller approved in advance.
func (r *Runtime) permit(o SessionOptions) {
	if o.Yolo {
		r.gate.Yolo(o.ID)
	}
	if len(o.YesTo) > 0 {
		if err := r.gate.Preapprove(o.ID, o.YesTo...); err != nil {
			r.problem(err)
		}
	}
}

// auditor writes one line for each decision.
type auditor struct{ log *atomicfile.Rotating }

func (a auditor) Record(_ context.Context, e approval.Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode the audit entry of request %s: %w", e.RequestID, err)
	}
	_, err = a.log.Write(line)
	return err
}

// awaited counts, by environment, the acts that wait for a decision.
type awaited struct {
	mu sync.Mutex
	by map[string]int
}

func (a *awaited) add(key string, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.by == nil {
		a.by = map[string]int{}
	}
	if a.by[key] += n; a.by[key] == 0 {
		delete(a.by, key)
	}
}

func (a *awaited) any(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.by[key] > 0
}

// observer tells the hooks and who listens to the conversation of each question and its answer, and keeps the place of an act that waits for one.
type observer struct {
	hooks   *hook.Set
	awaited *awaited
	runtime *Runtime
}

func (o observer) Requested(q channel.Question) {
	o.runtime.tellOf(q, agent.Event{Type: agent.EventApproval, Text: o.runtime.hide(q.Command)})
	o.awaited.add(q.Environment, 1)
	o.hooks.Approval(describe(q))
}

func (o observer) Responded(q channel.Question, d approval.Decision) {
	o.awaited.add(q.Environment, -1)
	a := describe(q)
	a.PatternKeys, a.RequestID = d.Keys, d.RequestID
	a.Choice = string(channel.Deny)
	switch {
	case d.Runs() && d.Scope != "":
		a.Choice = string(d.Scope)
	case d.Runs():
		a.Choice = string(channel.Once)
	case d.Outcome == approval.TimedOut:
		a.Choice = "timeout"
	}
	o.hooks.Approval(a)
	o.runtime.tellOf(q, agent.Event{Type: agent.EventApproval, Text: o.runtime.hide(q.Command), Status: a.Choice})
}

// asked tells of a free question; approvals are told by the gate.
func (r *Runtime) asked(q channel.Question) {
	if q.Kind == channel.KindClarify {
		r.tellOf(q, agent.Event{Type: agent.EventClarify, Text: r.hide(q.Text)})
	}
}

// tellOf hands on what a question is about, where its person is: at the root of a child.
func (r *Runtime) tellOf(q channel.Question, e agent.Event) {
	e.Call, e.Tool = q.Call, q.Tool
	r.mu.Lock()
	var to []func(agent.Event)
	for s := range r.sessions {
		if s.inner.ID == q.Session && s.tell != nil {
			to = append(to, s.tell)
		}
	}
	r.mu.Unlock()
	for _, tell := range to {
		tell(e)
	}
}

func describe(q channel.Question) hook.Approval {
	a := hook.Approval{Command: q.Command, SessionKey: q.Session, Surface: q.Surface, TurnID: q.Turn, ToolCallID: q.Call, RequestID: q.ID}
	for _, f := range q.Findings {
		if !slices.Contains(a.PatternKeys, f.Key) {
			a.PatternKeys = append(a.PatternKeys, f.Key)
		}
	}
	if len(q.Findings) > 0 {
		a.PatternKey, a.Description = q.Findings[0].Key, q.Findings[0].Reason
	}
	return a
}

// project is the workspace of a task where that is a directory of this machine, else "".
func (r *Runtime) project(task string, workspace func() string) func() string {
	return func() string {
		if r.elsewhere(r.places.Backend(task)) {
			return ""
		}
		return workspace()
	}
}

// workspace finds the repository around the directory that a task starts in, once.
func (r *Runtime) workspace(task string) func() string {
	return sync.OnceValue(func() string { return around(r.places.Dir(task)) })
}
