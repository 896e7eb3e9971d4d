package dispatch

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/hook"
	"github.com/hermes-runtime/hermes/internal/script"
	"github.com/hermes-runtime/hermes/tool"
)

// Facts is what approval has to know of the place where a call would work. Nothing is made to find it out.
type Facts struct {
	Dir         string
	Home        string
	User        string
	Workspace   string
	Environment string
	Hermes      string              // HERMES_HOME, where the place has it
	HostLike    bool                // harm reaches the host
	Mounts      []environment.Mount // what else is reached of the host
	HostHome    string
	Disk        approval.Disk     // looks at the place's files; nil = nothing is known of them
	Vars        map[string]string // exported variables that the session carries, and PATH where it is known
	Functions   map[string]string // exported functions that it carries
	Surface     string
	Setting     approval.Setting
	Root        string // the session that began this one's ancestors; "" = it is no child
	Child       string // what the child works at, which asks
}

// verdict is a decision in the terms of a tool.
type verdict struct {
	approval.Decision
	Approval tool.Approval
	Refused  bool
}

// judge has one act decided about. Without an approver nothing risky runs.
func (f *flight) judge(ctx context.Context, a tool.Action) verdict {
	return f.ruling(ctx, f.act(a))
}

// act puts an action into the words of the gate.
func (f *flight) act(a tool.Action) approval.Request {
	r := f.question()
	if a.Dir != "" {
		r.Dir = a.Dir
		if !path.IsAbs(a.Dir) && a.Dir[0] != '~' {
			r.Dir = path.Join(f.session.facts().Dir, a.Dir)
		}
	}
	switch a.Kind {
	case tool.ActionCode:
		r.Kind, r.Command = approval.KindCode, a.Text
	case tool.ActionWrite:
		r.Kind, r.Paths = approval.KindPath, []approval.PathAct{{Path: a.Text}}
	case tool.ActionPersist:
		r.Kind, r.Command, r.Asks = approval.KindHook, a.Text, []approval.AskFor{{ID: approval.AskPersist, Reason: a.Description}}
	default:
		r.Kind, r.Command = approval.KindCommand, a.Text
	}
	return r
}

// question is a request with everything but the act.
func (f *flight) question() approval.Request {
	facts := f.session.facts()
	return approval.Request{
		Notes:   append(f.origin(), facts.who()...),
		Session: f.call.Session, Root: facts.Root, Task: f.call.Task, Turn: f.call.Turn, CallID: f.call.ID, Parent: f.call.Parent,
		Tool: f.call.Name, Caller: string(f.call.Caller),
		Surface: facts.Surface, Setting: facts.Setting, Dir: facts.Dir, Home: facts.Home, User: facts.User,
		Workspace: facts.Workspace, EnvID: facts.Environment, Hermes: facts.Hermes, HostLike: facts.HostLike, Mounts: facts.Mounts,
		HostHome: facts.HostHome, Disk: facts.Disk, Vars: facts.Vars, Functions: facts.Functions, Asker: f.session.Asker,
	}
}

// who says which child of an agent asks.
func (f *Facts) who() []string {
	if f.Child == "" {
		return nil
	}
	return []string{"a child agent asks, which works at: " + f.Child}
}

// origin says where in a script a nested call comes from.
func (f *flight) origin() []string {
	if f.call.Parent == "" {
		return nil
	}
	from, ok := tool.Lookup[interface {
		Origin(callID string) (script.Origin, bool)
	}](&f.host)
	if !ok {
		return nil
	}
	o, ok := from.Origin(f.call.ID)
	if !ok {
		return nil
	}
	note := fmt.Sprintf("from a script, its call number %d", o.Number)
	if o.Line > 0 {
		note += fmt.Sprintf(", line %d: %s", o.Line, strings.TrimSpace(o.Text))
	}
	return []string{note}
}

func (f *flight) ruling(ctx context.Context, r approval.Request) verdict {
	if f.door.approver == nil {
		return verdict{Refused: true, Approval: tool.Approval{Outcome: string(approval.Policy), Text: "nothing here can approve what this call does"}}
	}
	defer f.pause()()
	d := f.door.approver.Check(ctx, r)
	f.note(func() { f.record.Analysis += d.Analysis })
	return verdict{
		Decision: d, Refused: !d.Runs(),
		Approval: tool.Approval{
			RequestID: d.RequestID, Outcome: string(d.Outcome), Who: d.Who, Keys: d.Keys, IDs: d.IDs, Text: d.Text,
			Asked: d.Asked || d.How == approval.ByModel || d.How == approval.ByProgram, Waited: d.Waited,
		},
	}
}

// decide takes over a verdict: it refuses the call, or leaves a note for its result.
func (f *flight) decide(v verdict) {
	if f.recordVerdict(v) {
		f.call.Approval = &v.Approval
	}
	if !v.Refused {
		return
	}
	f.refuse(tool.StatusDenied, tool.ErrTypeApprovalDenied, v.Approval.Text, map[string]any{
		"status": "blocked", "approval": &v.Approval,
	})
}

// recordVerdict has the audit tell of a verdict, and reports whether there was anything to decide.
func (f *flight) recordVerdict(v verdict) bool {
	if len(v.Findings) == 0 && !v.Refused {
		return false
	}
	f.note(func() {
		f.record.Decision, f.record.Who = v.Approval.Outcome, v.Approval.Who
		f.record.Rulings = append(f.record.Rulings, Ruling{
			Time: time.Now(), Outcome: v.Approval.Outcome, Mode: string(v.Mode), Rules: v.Approval.IDs, Waited: v.Approval.Waited, Asked: v.Approval.Asked,
		})
		for _, id := range v.Approval.IDs {
			if !slices.Contains(f.record.Rules, id) {
				f.record.Rules = append(slices.Clip(f.record.Rules), id)
			}
		}
	})
	return true
}

// askAbout has a person asked because a hook wants it.
func (f *flight) askAbout(ctx context.Context, d hook.Decision) {
	r := f.question()
	r.Kind = approval.KindHook
	r.Command = f.call.Name + " " + string(f.call.Args)
	r.Asks = []approval.AskFor{{Key: d.Hook, Reason: d.Message}}
	f.decide(f.ruling(ctx, r))
}

func (s *Session) facts() Facts {
	if s.Facts == nil {
		return Facts{HostLike: true}
	}
	return s.Facts()
}

// hookDone is what the hooks behind a call are told.
func (f *flight) hookDone() hook.Done {
	d := hook.Done{
		Call: f.hookCall(), Result: f.result.JSON, DurationMS: f.result.Duration.Milliseconds(),
		Status: string(f.result.Status), ErrorType: string(f.result.Type),
	}
	if f.result.Err != nil {
		d.ErrorMessage = message(f.result.Err)
		if f.door.redactor != nil {
			d.ErrorMessage = f.door.redactor.All(d.ErrorMessage)
		}
	}
	return d
}

// shapeWith adds the tool's own members to those that the door gives.
func (f *flight) shapeWith(s tool.Status, more map[string]any) map[string]any {
	if f.entry == nil || f.entry.Shaper == nil {
		return more
	}
	shape := f.entry.Shaper.Shape(&f.call, s)
	if shape == nil {
		return more
	}
	maps.Copy(shape, more)
	return shape
}
