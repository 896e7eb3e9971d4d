package approval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/hermes-runtime/hermes/channel"
)

// Entry is one line of the audit: a decision about findings.
type Entry struct {
	Time      time.Time      `json:"time"`
	RequestID string         `json:"request_id"`
	Session   string         `json:"session"`
	Task      string         `json:"task,omitempty"`
	CallID    string         `json:"call_id,omitempty"`
	Tool      string         `json:"tool,omitempty"`
	Caller    string         `json:"caller,omitempty"`
	Surface   string         `json:"surface,omitempty"`
	EnvID     string         `json:"environment,omitempty"`
	Dir       string         `json:"cwd,omitempty"` // secrets taken out, as everywhere
	Command   string         `json:"command"`       // secrets taken out
	Hash      string         `json:"command_sha256"`
	Findings  []EntryFinding `json:"findings"`
	More      int            `json:"more_findings,omitempty"` // beyond those listed
	Outcome   Outcome        `json:"decision"`
	How       How            `json:"how"`
	Who       string         `json:"who,omitempty"`
	Scope     channel.Choice `json:"scope,omitempty"`
	Entry     string         `json:"allowed_by,omitempty"` // entry of the permanent list
	Objection string         `json:"objection,omitempty"`  // of a reviewer
	Root      string         `json:"root_session,omitempty"`
	WaitedMS  int64          `json:"waited_ms"`
	TookMS    int64          `json:"took_ms"` // from the request to the decision
}

// EntryFinding is one finding in an audit line.
type EntryFinding struct {
	ID     string `json:"id"`
	Key    string `json:"key"`
	Span   [2]int `json:"span"`
	Reason string `json:"reason"`
	Floor  bool   `json:"floor,omitempty"`
}

// maxRecorded is how many findings of one decision are written down, the gravest first.
const maxRecorded = 100

// record writes the decision down. Consent that can't be recorded is none.
func (c *check) record(ctx context.Context) {
	auditor := c.gate.config.Audit
	if auditor == nil {
		return
	}
	d, req, redact := c.decision, c.req, c.gate.config.Redact
	text := c.shownText()
	sum := sha256.Sum256([]byte(text))
	e := Entry{Time: c.started, RequestID: req.ID, Session: req.Session, Task: req.Task, CallID: req.CallID, Tool: req.Tool, Caller: req.Caller,
		Surface: req.Surface, EnvID: req.EnvID, Dir: redact(req.Dir), Command: redact(text), Hash: hex.EncodeToString(sum[:]),
		Outcome: d.Outcome, How: d.How, Who: d.Who, Scope: d.Scope, WaitedMS: d.Waited.Milliseconds(), Entry: redact(d.Entry),
		Objection: redact(d.Objection), Root: req.Root, TookMS: time.Since(c.started).Milliseconds()}
	for i, f := range d.Findings {
		if i == maxRecorded {
			e.More = len(d.Findings) - i
			break
		}
		e.Findings = append(e.Findings, EntryFinding{f.Row.ID, f.Row.Key, [2]int{f.Span.Start, f.Span.End}, redact(f.Reason), f.Floor})
	}
	if err := auditor.Record(context.WithoutCancel(ctx), e); err != nil {
		c.gate.config.Log.Error("an approval decision was not recorded", "request", req.ID, "error", err)
		if d.Runs() {
			c.end(Policy, ByRule)
		}
	}
}
