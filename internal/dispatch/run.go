package dispatch

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/internal/hook"
	"github.com/hermes-runtime/hermes/internal/registry"
	"github.com/hermes-runtime/hermes/tool"
)

// Dispatch runs the handler of an entry and wraps what goes wrong: an error or a panic becomes an error value, never a crash.
// Async handlers are waited for.
func Dispatch(ctx context.Context, e *registry.Entry, c *tool.Call) (value any, err error) {
	return handle(ctx, e.Tool.Run, c)
}

func handle(ctx context.Context, run func(context.Context, *tool.Call) (any, error), c *tool.Call) (value any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &panicError{value: r, stack: debug.Stack()}
		}
	}()
	value, err = run(ctx, c)
	if a, ok := value.(tool.Async); ok && err == nil {
		return a.Wait(ctx)
	}
	return value, err
}

// recoverAs turns a panic of a tool's own code into an error.
func recoverAs(err *error, f *flight) {
	if r := recover(); r != nil {
		p := &panicError{value: r, stack: debug.Stack()}
		f.door.log.Error("a tool panicked", "tool", f.call.Name, "call", f.call.ID, "panic", r, "stack", string(p.stack))
		*err = p
	}
}

// run gives the call to its handler, within its time limit.
func run(ctx context.Context, f *flight) {
	if ctx.Err() != nil {
		f.cutOff(ctx)
		return
	}
	f.startClock()
	defer f.clock.stop()
	if f.entry.Spec.Async {
		f.limits.watch(f.ticket.cancel, f.door.config)
		defer f.limits.stop()
	}
	defer f.host.report.end()
	start := time.Now()
	value, err := f.handle(ctx)
	f.result.Duration = time.Since(start)
	f.take(ctx, value, err)
}

// handle gives an agent-level tool to the agent's own handler where there is an agent, and everything else to Dispatch.
func (f *flight) handle(ctx context.Context) (any, error) {
	if f.entry.AgentLevel != nil && f.session.Agent {
		return handle(ctx, f.entry.AgentLevel.RunAgent, &f.call)
	}
	return Dispatch(ctx, f.entry, &f.call)
}

// startClock limits the time of the call, if it has a limit.
func (f *flight) startClock() {
	limit := f.entry.Spec.Timeout
	if t := f.request.Timeout; t > 0 && (limit == 0 || t < limit) {
		limit = t
	}
	if limit > 0 {
		f.clock = startClock(f.ticket.cancel, &limitError{errLate, limit, "timeout of " + f.call.Name})
	}
}

// await waits until the call is performed; after cancellation for the grace only.
func (f *flight) await(ctx context.Context, finished <-chan struct{}) bool {
	select {
	case <-finished:
		return true
	case <-ctx.Done():
	}
	grace := time.NewTimer(f.door.config.InterruptGrace)
	defer grace.Stop()
	select {
	case <-finished:
		return true
	case <-grace.C:
		return false
	}
}

// abandon counts a handler that doesn't heed its context. What it comes back with is dropped.
func (f *flight) abandon(finished <-chan struct{}) {
	d, name, id, since := f.door, f.entry.Spec.Name, f.request.ID, time.Now()
	f.host.report.end()
	d.log.Warn("a handler goes on after its call was given up", "tool", name, "call", id)
	d.left.add(finished, func() {
		d.log.Warn("a handler ended after its call was given up", "tool", name, "call", id, "after", time.Since(since))
	})
}

// stragglers counts handlers that outlived their calls. Each has a goroutine that waits for it.
type stragglers struct {
	mu    sync.Mutex
	n     int
	empty chan struct{} // closed when the last has ended; nil while nobody waits
}

func (s *stragglers) add(finished <-chan struct{}, ended func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	go func() {
		<-finished
		ended()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.n--; s.n == 0 && s.empty != nil {
			close(s.empty)
			s.empty = nil
		}
	}()
}

func (s *stragglers) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

// none gives a channel that is closed when no handler is left.
func (s *stragglers) none() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n == 0 {
		done := make(chan struct{})
		close(done)
		return done
	}
	if s.empty == nil {
		s.empty = make(chan struct{})
	}
	return s.empty
}

// cutOff answers a call whose context ended without an answer of the handler.
func (f *flight) cutOff(ctx context.Context) {
	cause := context.Cause(ctx)
	if h, ok := errors.AsType[*hookHangs](cause); ok {
		f.refuse(tool.StatusBlocked, tool.ErrTypePluginBlock, hook.Failed(h.name, h), nil)
		return
	}
	if errors.Is(cause, context.DeadlineExceeded) {
		f.failed(timeoutError(cause), tool.StatusTimeout, tool.ErrTypeTimeout)
		return
	}
	text := fmt.Sprintf("%s was stopped: %s; what it had done so far is not undone", f.call.Name, why(ctx))
	f.refuse(tool.StatusCancelled, tool.ErrTypeInterrupted, text, map[string]any{"status": "cancelled"})
}

func timeoutError(cause error) error {
	if l, ok := errors.AsType[*limitError](cause); ok {
		return l
	}
	return cause
}

// take turns what the handler came back with into the answer.
func (f *flight) take(ctx context.Context, value any, err error) {
	if err != nil {
		f.fail(ctx, err)
		return
	}
	var status tool.Status
	var kind tool.ErrorType
	if o, ok := value.(tool.Outcome); ok {
		value, status, kind = o.Value, o.Status, o.Type
	}
	text, err := encode(value)
	if err != nil {
		f.internal("its result can't be written as JSON: " + message(err))
		return
	}
	says, failed := saysError(text)
	if status == "" {
		if status = tool.StatusOK; failed {
			status = tool.StatusError
		}
	}
	if status != tool.StatusOK {
		if kind == "" {
			kind = kindOf[status]
		}
		if says == "" {
			says = string(status)
		}
		f.result.Err = errors.New(says)
	}
	f.answer(text, status, kind)
}

var kindOf = map[tool.Status]tool.ErrorType{
	tool.StatusError: tool.ErrTypeTool, tool.StatusTimeout: tool.ErrTypeTimeout, tool.StatusCancelled: tool.ErrTypeInterrupted,
	tool.StatusDenied: tool.ErrTypeApprovalDenied, tool.StatusBlocked: tool.ErrTypeGuardrailBlock,
}

// fail answers for an error of the handler.
func (f *flight) fail(ctx context.Context, err error) {
	if r, ok := errors.AsType[*tool.Refusal](err); ok {
		f.refuseWith(r)
		return
	}
	if p, ok := errors.AsType[*panicError](err); ok {
		f.door.log.Error("a tool panicked", "tool", f.call.Name, "call", f.call.ID, "panic", p.value, "stack", string(p.stack))
		f.failed(err, tool.StatusError, tool.ErrTypePanic)
		return
	}
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Cause(ctx))) {
		f.cutOff(ctx)
		return
	}
	f.failed(err, tool.StatusError, tool.ErrTypeTool)
}

// failed is the wrapped form of an error: what went wrong with its type, and nothing else.
func (f *flight) failed(err error, status tool.Status, kind tool.ErrorType) {
	f.result.Err = err
	f.answer(errorObject(wrapped(err), f.shapeWith(status, nil)), status, kind)
}

// tellHooks lets hooks see the answer, and the first that wants to, change it.
func (f *flight) tellHooks(ctx context.Context) {
	done := f.hookDone()
	f.door.hooks.PostToolCall(done)
	if text, changed := f.door.hooks.TransformToolResult(ctx, done); changed {
		if encoded, err := encode(text); err == nil {
			f.result.JSON = f.door.redactText(f, encoded)
		}
	}
}

// hookWatch ends a call in which a hook hangs.
type hookWatch struct {
	flight *flight
	timer  *time.Timer
}

// Began implements hook.Watch.
func (w *hookWatch) Began(name string) {
	cancel := w.flight.ticket.cancel
	w.timer = time.AfterFunc(hook.Timeout, func() { cancel(&hookHangs{name}) })
}

// Ended implements hook.Watch.
func (w *hookWatch) Ended() { w.timer.Stop() }

// hookHangs is the cause of a call's end when a hook gave no answer.
type hookHangs struct{ name string }

func (h *hookHangs) Error() string { return fmt.Sprintf("no answer within %v", hook.Timeout) }
