package dispatch

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/hook"
	"github.com/hermes-runtime/hermes/internal/registry/arguments"
	"github.com/hermes-runtime/hermes/internal/registry/schema"
	"github.com/hermes-runtime/hermes/tool"
)

// resolveName finds the tool that a name means, among those that this session may call.
func resolveName(_ context.Context, f *flight) {
	scope := f.session.scope(f.door.registry)
	name := f.request.Name
	if scope.Has(name) {
		if e, ok := f.door.registry.Lookup(name); ok {
			f.entry = e
			return
		}
	}
	r := f.door.registry.Repair(name, scope)
	switch {
	case r.Entry != nil:
		f.entry = r.Entry
		f.call.Name = r.Name
		f.record.Asked = name
		f.record.Repairs = append(f.record.Repairs, r.Repair)
	case r.Hidden != "":
		f.refuse(tool.StatusBlocked, tool.ErrTypeScope, r.Message(), nil)
	default:
		f.refuse(tool.StatusError, tool.ErrTypeUnknownTool, r.Message(), nil)
	}
}

// readArguments decodes, mends and validates the arguments against the tool's own schema.
func readArguments(_ context.Context, f *flight) {
	text := arguments.Text{Raw: f.call.Raw, Aliases: f.entry.Spec.Aliases, Limits: arguments.Limits{Cut: f.request.Cut}}
	if d := f.session.Dialect; d != "" { // the model may know parameters by other names
		text.Definition, _ = f.entry.Schema.Definition(d, schema.Lenient) // an error means that it was never shown
	}
	p, err := arguments.PrepareText(f.entry.Schema, text)
	if err != nil {
		f.invalid(err, "")
		return
	}
	f.call.Args, f.call.Object = p.JSON, p.Object
	f.record.Repairs = append(f.record.Repairs, p.Repairs...)
}

func (f *flight) invalid(err error, prefix string) {
	kind := tool.ErrTypeInvalidArguments
	if i, ok := errors.AsType[*arguments.Invalid](err); ok {
		kind = tool.ErrorType(i.Kind)
	}
	f.refuse(tool.StatusError, kind, prefix+err.Error(), nil)
}

// askHooks lets hooks block the call, ask about it, or change its arguments.
func askHooks(ctx context.Context, f *flight) {
	if f.door.hooks.Empty() {
		return
	}
	f.note(func() { f.hooked = true })
	d := f.door.hooks.PreToolCall(ctx, f.hookCall(), &f.watch)
	f.note(func() { f.record.Hooks = d.Notes })
	if d.Action == hook.Block {
		f.refuse(tool.StatusBlocked, tool.ErrTypePluginBlock, d.Message, nil)
		return
	}
	if d.Args != nil {
		p, err := arguments.Prepare(f.entry.Schema, nil, d.Args)
		if err != nil {
			f.invalid(err, "the arguments as hook \""+d.Changed+"\" changed them: ")
			return
		}
		f.note(func() { f.call.Args, f.call.Object = p.JSON, p.Object })
		if f.alone != nil {
			f.alone()
		}
	}
	if d.Action == hook.Ask {
		f.askAbout(ctx, d)
	}
}

func (f *flight) hookCall() hook.Call {
	return hook.Call{
		ToolName: f.call.Name, Args: f.call.Args, TaskID: f.call.Task, SessionID: f.call.Session,
		ToolCallID: f.call.ID, TurnID: f.call.Turn, Version: hook.SchemaVersion,
	}
}

// approve asks about what the tool says is risky in this call. Nothing is made before the answer.
func approve(ctx context.Context, f *flight) {
	if f.entry.Risky == nil {
		return
	}
	actions, err := f.risks(ctx)
	if err != nil {
		if r, ok := errors.AsType[*tool.Refusal](err); ok {
			f.refuseWith(r)
			return
		}
		f.fail(ctx, err)
		return
	}
	for _, a := range actions {
		from := f.session.facts().Dir
		v := f.judge(ctx, a)
		if f.decide(v); f.done {
			return
		}
		if now := f.session.facts().Dir; from != "" && now != from && !path.IsAbs(a.Dir) && !v.Decision.Asked {
			f.refuse(tool.StatusBlocked, tool.ErrTypeGuardrailBlock, "the working directory was "+from+" when this was judged and is "+now+
				" now, because another call changed it meanwhile: look whether it is still what you mean, and send it again", nil)
			return
		}
		f.judged = append(f.judged, judged{a, v.Decision})
	}
	f.recheck(ctx)
}

// risks asks the tool; whatever it does wrong is a failure of the tool, and nothing runs.
func (f *flight) risks(ctx context.Context) (actions []tool.Action, err error) {
	defer recoverAs(&err, f)
	return f.entry.Risky.Risks(ctx, &f.call)
}

func (f *flight) refuseWith(r *tool.Refusal) {
	text, err := encode(r.Result)
	if err != nil {
		f.internal(message(err))
		return
	}
	kind := r.Type
	if kind == "" {
		kind = tool.ErrTypeTool
	}
	says, _ := saysError(text)
	f.result.Err = errors.New(says)
	f.answer(text, tool.StatusError, kind)
}

// reserveAudit refuses the call where a line must be written and none can be.
func reserveAudit(_ context.Context, f *flight) {
	if f.door.config.AuditRequired && !f.door.auditable() {
		f.refuse(tool.StatusBlocked, tool.ErrTypeInternal, "the audit of calls can't be written, and audit.required is set: nothing runs until it can", nil)
	}
}

// touches tells what a call may touch, for the calls beside it. What isn't known is everything.
func (d *Door) touches(ctx context.Context, f *flight) (tool.Effects, []access) {
	if f.done {
		return tool.ReadOnly, nil
	}
	if d.registry.Exclusive(f.entry) {
		return tool.Exclusive, nil
	}
	switch f.entry.Spec.Effects {
	case tool.ReadOnly:
		if f.entry.Scoper == nil {
			return tool.ReadOnly, nil
		}
	case tool.PathScoped:
		if f.entry.Scoper == nil {
			return tool.Exclusive, nil
		}
	default:
		return tool.Exclusive, nil
	}
	named, err := f.scope(ctx)
	if err != nil {
		return tool.Exclusive, nil
	}
	place, err := f.host.Place(ctx)
	if err != nil {
		return tool.Exclusive, nil
	}
	out := make([]access, 0, len(named))
	for _, a := range named {
		p, err := place.Files().Resolve(ctx, a.Path, startDir(place))
		if err != nil {
			return tool.Exclusive, nil
		}
		out = append(out, access{fold(string(p)), a.Write})
		f.touched = append(f.touched, string(p))
	}
	return f.entry.Spec.Effects, out
}

func (f *flight) scope(ctx context.Context) (named []tool.Access, err error) {
	defer recoverAs(&err, f)
	return f.entry.Scoper.Scope(ctx, &f.call)
}

func startDir(p environment.Place) environment.Path {
	if p.State != nil {
		if dir := p.State.Dir(); dir != "" {
			return dir
		}
	}
	return p.Info().Home
}

// fold makes two spellings of a path equal where file systems usually take them for one.
func fold(p string) string {
	p = filepath.ToSlash(p)
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return strings.ToLower(p)
	}
	return p
}
