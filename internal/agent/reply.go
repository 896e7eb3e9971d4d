package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hermes-runtime/hermes/internal/registry/schema"
	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
)

// reply is what came of one request.
type reply struct {
	begun           string // the text that it continues
	again           string // of an earlier attempt at it: people have seen that; "" = it says something else
	text, reasoning string
	calls           []provider.Call
	end             provider.End
	usage           provider.Usage
	opaque          *provider.Opaque
	cut             bool // it was broken off

	textBuilder, reasoningBuilder strings.Builder // what text and reasoning lie in; for take alone
}

// mostReply is Limits.ReplyBytes where nothing else is said: about four times what the longest replies of models have. One that goes round
// in circles would never end, and finding and storing grow with it, also when all is to end at once.
const mostReply = 2 << 20

// endless is why a reply is broken off.
type endless int

func (e endless) Error() string {
	return fmt.Sprintf("the reply is cut off: it is longer than %d bytes, which no model has reason to say at once", int(e))
}

// request says in what one request differs from the usual.
type request struct {
	toolless  bool
	maxTokens int    // 0 = the model's own
	again     string // what an earlier attempt said
}

// reply asks for the next reply, and again where it is empty or was cut off at the limit of tokens.
func (t *turn) reply(ctx context.Context) (reply, error) {
	r, err := t.ask(ctx, request{})
	for n := 1; err == nil && n <= enlargements && r.cutCall(); n++ {
		seen := r.text
		if strings.HasPrefix(r.again, seen) {
			seen = r.again
		}
		r, err = t.ask(ctx, request{maxTokens: min(t.options.Limits.ReplyTokens*(n+1), mostTokens), again: seen})
	}
	if err == nil && r.cutCall() {
		return r, fmt.Errorf("a call of %s was cut off at the limit of tokens, also at %d", r.calls[len(r.calls)-1].Name, mostTokens)
	}
	for n := 0; err == nil && n < continuations && r.end == provider.EndLength && len(r.calls) == 0 && r.text != ""; n++ {
		begun := r.begun + r.text
		t.keepReply(ctx, r)
		t.keep(ctx, provider.Message{Role: provider.User, Text: goOn}, store.Message{})
		r, err = t.ask(ctx, request{})
		r.begun = begun
	}
	if err == nil && r.end != provider.EndRefused && len(r.calls) == 0 && strings.TrimSpace(r.text) == "" && !t.asked {
		t.asked = true
		return t.reply(ctx)
	}
	return r, err
}

// cutCall tells whether the last call was cut off.
func (r reply) cutCall() bool {
	return r.end == provider.EndLength && len(r.calls) > 0 && !json.Valid([]byte(r.calls[len(r.calls)-1].Arguments))
}

// ask makes one request, and again after a compaction where the history is too long for the model.
func (t *turn) ask(ctx context.Context, q request) (reply, error) {
	t.compactIfDue(ctx)
	for n := 0; ; n++ {
		r, err := t.once(ctx, q)
		e, typed := errors.AsType[*provider.Error](err)
		if !typed || e.Kind != provider.ErrContext || n == mostCompactions || r.text != "" {
			return r, err
		}
		if t.compact(ctx, e.Limit) != nil {
			return r, err
		}
	}
}

// once makes one request and collects what streams back.
func (t *turn) once(ctx context.Context, q request) (r reply, err error) {
	if err := ctx.Err(); err != nil {
		return r, err
	}
	r.again = q.again
	c := t.Conversation
	info := c.options.Model.Info()
	req := provider.Request{Session: c.ID(), System: c.options.System, MaxTokens: q.maxTokens}
	if !q.toolless {
		if err := firstSpent(t.bounds()); err != nil {
			return r, err
		}
		defs, err := c.options.Tools.Definitions(ctx, schema.Dialect(info.Dialect))
		if err != nil {
			return r, fmt.Errorf("put the tools on offer together: %w", err)
		}
		if len(defs.List) > 0 {
			req.Tools = defs.Body
		}
	}
	c.mu.Lock()
	req.Messages = Mend(bare(c.history))
	size := len(c.history)
	c.mu.Unlock()
	t.out.APICalls++
	for ev, failure := range c.options.Model.Stream(ctx, req) {
		if failure != nil {
			err = failure
			break
		}
		if t.take(&r, ev); len(r.text)+len(r.reasoning) > c.options.Limits.ReplyBytes {
			err = endless(c.options.Limits.ReplyBytes)
			break
		}
	}
	t.account(ctx, r, size)
	return r, err
}

// take adds one event to the reply.
func (t *turn) take(r *reply, ev provider.Event) {
	switch ev.Kind {
	case provider.KindText:
		r.textBuilder.WriteString(ev.Text)
		r.text = r.textBuilder.String()
		if piece := t.unseen(r, len(r.text)-len(ev.Text)); piece != "" {
			t.text.WriteString(piece)
			t.events.send(Event{Type: EventText, Text: piece})
		}
	case provider.KindReasoning:
		r.reasoningBuilder.WriteString(ev.Text)
		r.reasoning = r.reasoningBuilder.String()
		t.events.send(Event{Type: EventReasoning, Text: ev.Text})
	case provider.KindCall:
		r.calls = append(r.calls, *ev.Call)
	case provider.KindUsage:
		r.usage = *ev.Usage
	case provider.KindNotice:
		t.events.send(Event{Type: EventNotice, Text: ev.Text})
	case provider.KindEnd:
		r.end, r.opaque = ev.End, ev.Opaque
	}
}

// unseen is what people haven't seen of a reply, of whose text the first bytes were looked at before. Replies of one turn are paragraphs.
func (t *turn) unseen(r *reply, before int) string {
	switch {
	case r.again == "":
	case strings.HasPrefix(r.again, r.text):
		return ""
	case strings.HasPrefix(r.text, r.again):
		return r.text[max(before, len(r.again)):]
	default: // it says something else
		r.again, before = "", 0
	}
	if before == 0 && t.text.Len() > 0 && !t.continued() {
		return "\n\n" + r.text
	}
	return r.text[before:]
}

// continued tells whether the reply goes on with a text that was cut off.
func (t *turn) continued() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.history[len(t.history)-1]
	return last.Role == provider.User && last.Text == goOn
}

// account adds up what a request has cost.
func (t *turn) account(ctx context.Context, r reply, size int) {
	u := r.usage
	t.options.Tree.spend(u, t.options.Price)
	for _, sum := range []*provider.Usage{&t.out.Tokens, &t.usage} {
		t.mu.Lock()
		sum.Input += u.Input
		sum.Output += u.Output
		sum.Cached += u.Cached
		sum.Estimated = sum.Estimated || u.Estimated
		t.mu.Unlock()
	}
	if u.Input > 0 {
		t.mu.Lock()
		t.last = lastRequest{u.Input + u.Output, size + 1}
		t.mu.Unlock()
	}
	if u != (provider.Usage{}) {
		t.stored(t.options.Store.Count(context.WithoutCancel(ctx), t.ID(), u, 0))
	}
	used := t.Usage()
	t.events.send(Event{Type: EventUsage, Usage: &used, Left: leftOf(t.bounds())})
}

// keepReply stores what the model said. A reply that says nothing leaves nothing.
func (t *turn) keepReply(ctx context.Context, r reply) {
	if strings.TrimSpace(r.text) == "" && len(r.calls) == 0 {
		return
	}
	m := provider.Message{Role: provider.Assistant, Text: r.text, Calls: r.calls, Reasoning: r.reasoning, Opaque: r.opaque}
	more := store.Message{Finish: string(r.end), Tokens: r.usage.Output}
	if r.cut {
		more.Status = cutStatus
		m.Opaque = nil
	}
	t.keep(ctx, m, more)
}

// cutStatus marks a reply that was interrupted, in the store.
const cutStatus = "cut"
