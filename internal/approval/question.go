package approval

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/rules"
)

// question makes what the person is shown.
func (c *check) question(open []rules.Finding, waiting int) channel.Question {
	now, timeout := time.Now(), c.gate.config.Timeout
	if _, many := c.asker().(channel.Crowd); many {
		timeout = c.gate.config.GatewayTimeout
	}
	q := channel.Question{
		ID: c.req.ID, Kind: channel.KindApproval, Session: c.req.Session, Task: c.req.Task, Call: c.req.CallID, Tool: c.req.Tool,
		Title: "May this run?", Command: c.shownText(), Dir: c.req.Dir, Environment: c.req.EnvID, Choices: c.choices(open),
		Notes: slices.Clone(c.req.Notes), Waiting: waiting, Created: now, Expires: now.Add(timeout), Surface: c.req.Surface, Turn: c.req.Turn, Objection: c.decision.Objection,
	}
	q.Notes = append(q.Notes, c.storing(open, q.Choices)...)
	if slices.Contains(q.Choices, channel.Under) {
		q.Under = common(open, c.req.Home)
	}
	for _, f := range open {
		shown := channel.Finding{ID: f.Row.ID, Key: f.Row.Key, Span: [2]int{f.Span.Start, f.Span.End}, Text: f.Text, Reason: f.Reason,
			Floor: f.Floor, Unstorable: f.Row.Remember == rules.RememberNever}
		for _, t := range f.Targets {
			shown.Targets = append(shown.Targets, analysis.Show(t.Path))
		}
		q.Findings = append(q.Findings, shown)
		if c.reading != nil && f.Command >= 0 && f.Command < len(c.reading.Commands) {
			cmd := &c.reading.Commands[f.Command]
			q.Elevated = q.Elevated || cmd.Elevated
			q.Findings[len(q.Findings)-1].Origin = origin(cmd)
		}
		if note := unstorable(f); note != "" && !slices.Contains(q.Notes, note) {
			q.Notes = append(q.Notes, note)
		}
	}
	return q
}

// shownText is the act in one text: the command or script, or what a tool does to files.
func (c *check) shownText() string {
	if c.req.Command != "" || len(c.req.Paths) == 0 {
		return c.req.Command
	}
	parts := []string{c.req.Tool}
	for _, p := range c.req.Paths {
		if p.Delete {
			parts = append(parts, "delete")
		}
		parts = append(parts, p.Path)
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

// storing says what the answers that are kept will keep, where that isn't the key itself, and why one of them is missing.
func (c *check) storing(open []rules.Finding, choices []channel.Choice) (notes []string) {
	if !slices.Contains(choices, channel.Session) {
		return nil
	}
	if !slices.Contains(choices, channel.Always) {
		return []string{"no answer is stored for good: approvals.permanent is off"}
	}
	for _, f := range open {
		if f.Row.Remember == rules.RememberExact && !f.Floor {
			return []string{fmt.Sprintf("\"always\" stores %q with the command %s", f.Row.Key, c.storedText())}
		}
	}
	return nil
}

// origin names what carries a command, outermost first.
func origin(cmd *analysis.Command) string {
	var names []string
	for o := cmd.Origin; o != nil; o = o.Parent {
		names = append(names, o.Name)
	}
	slices.Reverse(names)
	return strings.Join(names, " › ")
}

// askRows are the rows of findings that are about no command.
var askRows = []rules.Row{
	{ID: AskHook, Key: "a hook asks", Family: "hook", Matches: "a hook that wants a person asked", Remember: rules.RememberNever, Leaves: true},
	{ID: AskPrivate, Key: "private address", Family: "net", Matches: "a connection to an address that isn't of the public network",
		Remember: rules.RememberExact, Leaves: true},
	{ID: AskPersist, Key: "process that outlives its session", Family: "job", Matches: "a background process that goes on behind its session",
		Remember: rules.RememberNever, Leaves: true},
}

// askRow finds such a row by its id or key.
func askRow(name string) *rules.Row {
	for i := range askRows {
		if askRows[i].ID == name || askRows[i].Key == name {
			return &askRows[i]
		}
	}
	return nil
}

func hookFindings(req *Request) []rules.Finding {
	var out []rules.Finding
	for _, a := range req.Asks {
		row := askRow(a.ID)
		if row == nil {
			row = &askRows[0]
		}
		if a.Key != "" && a.Key != row.Key {
			own := *row
			own.Key, row = a.Key, &own
		}
		out = append(out, rules.Finding{Row: row, Text: req.Command, Reason: a.Reason, Command: -1})
	}
	return out
}

// pathFindings judges files that a tool changes by the places that commands are judged by, and where links in them lead.
func (g *Gate) pathFindings(req *Request) []rules.Finding {
	in := req.input()
	in.Files = g.files(req)
	reading := analysis.Paths(in)
	at := &analysis.Command{Dirs: []string{req.Dir}}
	var out []rules.Finding
	for _, p := range req.Paths {
		path := p.Path
		if rest, ok := strings.CutPrefix(path, "~/"); ok && req.Home != "" {
			path = req.Home + "/" + rest
		}
		for _, target := range reading.Targets(at, analysis.Word{Text: path}) {
			row, reason, floor := rules.ForPath(target, rules.PathUse{Delete: p.Delete, Recursive: p.Recursive})
			if row != nil {
				out = append(out, rules.Finding{Row: row, Text: p.Path, Reason: reason, Targets: []analysis.Target{target}, Floor: floor, Command: -1})
			}
		}
	}
	return out
}
