package dispatch

import (
	"context"
	"errors"
	"strings"

	"github.com/hermes-runtime/hermes/tool"
)

// followers are those who follow one call of a batch. The zero value is nobody.
type followers struct {
	index  int
	began  func(int, *tool.Call, []string)
	within func(int, *tool.Call, []string)
	ended  func(int, tool.Result)
	guard  tool.Guard
}

// follow has the call of a batch followed by who follows the batch.
func (f *flight) follow(i int, b tool.Batch) {
	f.call.Turn = b.Turn
	f.follows = followers{i, b.Began, b.Within, b.Ended, b.Guard}
}

// begin says that everything which could have stopped the call is behind it.
func begin(ctx context.Context, f *flight) {
	if tell := f.follows.began; tell != nil {
		f.door.observe("begun calls", func() { tell(f.follows.index, &f.call, f.touched) })
	}
	if f.session.outer == nil {
		return
	}
	made := f.session.outer // the call of the batch that it is made in
	for made.session.outer != nil {
		made = made.session.outer
	}
	if tell := made.follows.within; tell != nil {
		_, _ = f.door.touches(ctx, f)
		f.door.observe("begun calls", func() { tell(made.follows.index, &f.call, f.touched) })
	}
}

// tellEnd says how the call ended.
func (w followers) tellEnd(f *flight) {
	if w.ended != nil {
		f.door.observe("ended calls", func() { w.ended(w.index, f.result) })
	}
}

// guard refuses a call that goes round in circles.
func guard(_ context.Context, f *flight) {
	if f.follows.guard == nil {
		return
	}
	refusal := f.follows.guard.Before(&f.call)
	if refusal == nil {
		return
	}
	text, err := encode(refusal)
	if err != nil {
		f.internal(message(err))
		return
	}
	says, _ := saysError(text)
	f.result.Err = errors.New(says)
	f.circled = true
	f.answer(text, tool.StatusBlocked, tool.ErrTypeGuardrailBlock)
}

// remark adds what the guard says of a call that has run. The result stays one JSON object.
func (f *flight) remark() {
	if f.follows.guard == nil || f.entry == nil || f.circled {
		return
	}
	says := f.follows.guard.After(tool.Guarded{Call: &f.call, ReadOnly: f.entry.Spec.Effects == tool.ReadOnly, Result: f.result})
	if says == nil {
		return
	}
	text, err := marshal(says)
	if err != nil {
		f.door.log.Warn("what a guard says can't be written as JSON", "call", f.call.ID, "error", err)
		return
	}
	body := strings.TrimSpace(f.result.JSON)
	if !strings.HasPrefix(body, "{") { // an array
		body = `{"result":` + body + `}`
	}
	body = strings.TrimSpace(strings.TrimSuffix(body, "}"))
	if body != "{" {
		body += ","
	}
	f.result.JSON = body + `"guardrail":` + text + `}`
}
