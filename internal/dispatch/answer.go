package dispatch

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/internal/textcap"
	"github.com/hermes-runtime/hermes/tool"
)

// answer gives the call its result. Members of the tool's own shape that the text lacks are added where the door answers in the
// tool's place.
func (f *flight) answer(text string, status tool.Status, kind tool.ErrorType) {
	f.result.JSON, f.result.Status, f.result.Type = text, status, kind
	f.done = true
}

// refuse answers a call that doesn't run.
func (f *flight) refuse(status tool.Status, kind tool.ErrorType, text string, more map[string]any) {
	f.result.Err = errors.New(text)
	f.answer(errorObject(text, f.shapeWith(status, more)), status, kind)
}

// internal answers for a failure of ours.
func (f *flight) internal(text string) {
	f.refuse(tool.StatusError, tool.ErrTypeInternal, "Error executing "+f.call.Name+": "+text, nil)
}

func (f *flight) refused() bool { return f.done }

// neverStarted answers a call of a batch that was interrupted before its turn.
func (d *Door) neverStarted(ctx context.Context, f *flight) tool.Result {
	if !f.done {
		f.refuse(tool.StatusCancelled, tool.ErrTypeInterrupted, f.call.Name+" was not started: "+why(ctx), map[string]any{"status": "cancelled"})
	}
	return d.finish(ctx, f)
}

// shared answers an identical read of the same batch with the result of the first.
func (d *Door) shared(f *flight, first tool.Result) tool.Result {
	f.result = first
	f.result.ID = f.call.ID
	f.done = true
	f.account(nil)
	f.follows.tellEnd(f)
	return f.result
}

// causes says in words why work was stopped.
var causes = map[tool.Interruption]string{
	tool.NewMessage: "the user sent a new message",
	tool.Stop:       "the user stopped it",
	tool.SessionEnd: "the session ended",
	tool.ParentEnd:  "the call that it belongs to ended",
	tool.Budget:     "the budget is used up",
	tool.Shutdown:   "hermes is shutting down",
}

func why(ctx context.Context) string {
	cause := context.Cause(ctx)
	if i, ok := errors.AsType[tool.Interruption](cause); ok {
		if text := causes[i]; text != "" {
			return text
		}
	}
	if errors.Is(cause, context.DeadlineExceeded) {
		return "the time for it was up"
	}
	return "it was stopped"
}

// leave is what happens to every answer behind the handler: redaction, hooks, size. The order is fixed: nothing unredacted
// reaches a hook, a file or a log.
func (f *flight) leave(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	f.result.JSON = f.door.redactText(f, f.result.JSON)
	if f.hooked && !f.door.hooks.Empty() {
		f.tellHooks(ctx)
	}
	f.remark()
	if f.host.spills.Load() {
		f.result.Spill = ownSpill(f.result.JSON)
	}
	if f.request.Unbounded || f.entry == nil || f.entry.Spec.Unspilled {
		return
	}
	f.result.JSON, f.result.Spill = fitter{f.session, f.call.ID, f.result.Spill}.fit(ctx, f.result.JSON, f.budget())
}

func (f *flight) budget() int {
	if n := f.door.config.PerTool[f.call.Name]; n > 0 {
		return n
	}
	return f.entry.Spec.MaxResult
}

// redactText takes secrets out. Errors lose what looks like one too, whatever the tool.
func (d *Door) redactText(f *flight, text string) string {
	if d.redactor == nil {
		return text
	}
	all := f.entry == nil || f.entry.Spec.Redact == tool.LooksSecret || f.entry.Spec.Untrusted || f.result.Status != tool.StatusOK
	if all && !d.config.RedactKnownOnly {
		return d.redactor.All(text)
	}
	return d.redactor.Known(text)
}

// account writes the audit line, and tells tracer and metrics. The line is there before the result is.
func (f *flight) account(span Span) {
	d := f.door
	f.result.ID, f.result.Name, f.result.Repairs = f.call.ID, f.call.Name, f.record.Repairs
	r := &f.record
	r.Time, r.Session, r.Task, r.Call, r.Parent = time.Now(), f.call.Session, f.call.Task, f.call.ID, f.call.Parent
	r.Caller, r.Status, r.ErrorType = string(f.call.Caller), string(f.result.Status), string(f.result.Type)
	r.ResultChars, r.Duration = utf8.RuneCountInString(f.result.JSON), f.result.Duration
	if f.entry != nil {
		f.result.Untrusted = f.entry.Spec.Untrusted
		r.Name, r.Toolset, r.Origin = f.call.Name, f.entry.Spec.Toolset, string(f.entry.Origin)
	}
	if r.Asked == "" && f.entry == nil {
		r.Asked = f.request.Name
	}
	if d.redactor != nil {
		d.redactRecord(r)
	}
	if s := f.result.Spill; s != nil {
		r.Spilled, r.SpillPath = s.Chars, s.Path
	}
	if d.audit != nil || span != nil {
		r.Args = d.redactArgs(&f.call)
	}
	if d.audit != nil {
		d.writeAudit(r)
	}
	if d.metrics != nil {
		d.observe("metrics", func() { d.metrics(r) })
	}
	if span != nil {
		r.Result = f.result.JSON
		d.observe("trace", func() { span.End(r) })
	}
}

// redactRecord takes secrets out of what the model and hooks wrote.
func (d *Door) redactRecord(r *Record) {
	if r.Asked != "" {
		r.Asked = d.redactor.All(textcap.Head(r.Asked, maxAuditArgs, "…"))
	}
	for i := range r.Hooks {
		if n := &r.Hooks[i]; n.Error != "" {
			n.Error = d.redactor.All(textcap.Head(n.Error, maxAuditArgs, "…"))
		}
	}
}

func (d *Door) redactArgs(c *tool.Call) string {
	args := c.Args
	if args == nil {
		args = c.Raw
	}
	if most := utf8.UTFMax*maxAuditArgs + auditMargin; len(args) > most { // what is cut off anyway needs no look
		args = args[:most]
	}
	if d.redactor == nil {
		return string(args)
	}
	return d.redactor.All(string(args))
}

// auditable reports whether a line can be written now, as far as that can be told beforehand.
func (d *Door) auditable() bool {
	switch a := d.audit.(type) {
	case nil:
		return false
	case interface{ Ready() error }:
		err := a.Ready()
		d.auditState(err)
		return err == nil
	}
	return !d.auditFailed.Load()
}

// auditState tells of a failure once, until it is over.
func (d *Door) auditState(err error) {
	if err != nil && d.auditFailed.CompareAndSwap(false, true) {
		d.log.Error("the audit of calls can't be written: they are not recorded until it can", "error", err)
	} else if err == nil {
		d.auditFailed.Store(false)
	}
}

func (d *Door) writeAudit(r *Record) {
	buf := lines.Get().(*[]byte)
	*buf = r.line((*buf)[:0])
	_, err := d.audit.Write(*buf)
	lines.Put(buf)
	d.auditState(err)
}
