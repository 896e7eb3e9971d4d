package ask_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/approval/ask"
)

// A74: the gate keeps ten questions of three sessions open at once; each command is decided by the answer to its own question, and a
// wider answer opens nothing of another session.
func TestQueue_BehindTheGate(t *testing.T) {
	q := open(t, ask.Config{Dir: t.TempDir()})
	yes(q, t)
	g := approval.New(approval.Config{Asker: q, GatewayTimeout: time.Minute})
	type decided struct {
		n int
		d approval.Decision
	}
	results := make(chan decided, 10)
	request := func(n int) approval.Request {
		return approval.Request{Session: fmt.Sprint("s", n%3), Command: fmt.Sprintf("rm -rf /data/app/dir%d", n), Dir: "/data/app", Home: "/home/ann",
			Workspace: "/data/app", HostLike: true}
	}
	for n := range 10 {
		go func() { results <- decided{n, g.Check(t.Context(), request(n))} }()
	}
	byCommand := map[string]ask.Request{}
	for _, r := range waitPending(t, q, 10) {
		byCommand[r.Command] = r
		if len(r.ID) != 32 || r.Findings[0].Key != "recursive delete" || r.Status != ask.Pending {
			t.Errorf("%+v", r)
		}
	}
	order := []int{7, 3, 9, 0, 5, 1, 8, 2, 6, 4}
	for _, n := range order {
		choice := channel.Deny
		if n%2 == 0 {
			choice = channel.Once
		}
		id := byCommand[fmt.Sprintf("rm -rf /data/app/dir%d", n)].ID
		if _, err := q.Answer(t.Context(), id, ask.Reply{Choice: choice, By: ask.Person{Channel: "chat", ID: "ann"}}); err != nil {
			t.Error(err)
		}
		r := <-results
		if r.n != n || r.d.Runs() != (n%2 == 0) || r.d.RequestID != id || r.d.Who != "chat:ann" {
			t.Errorf("%d was answered %s; %d ended as %s by %q", n, choice, r.n, r.d.Outcome, r.d.Who)
		}
	}
	go func() { results <- decided{10, g.Check(t.Context(), request(0))} }() // once was once
	r := waitPending(t, q, 1)[0]
	if _, err := q.Answer(t.Context(), r.ID, ask.Reply{Choice: channel.Session}); err != nil {
		t.Error(err)
	}
	if r := <-results; r.d.Outcome != approval.Approved {
		t.Errorf("%+v", r.d)
	}
	if d := g.Check(t.Context(), request(3)); !d.Runs() || d.Asked { // of the same session
		t.Errorf("%+v", d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { results <- decided{11, g.Check(ctx, request(1))} }() // of another
	waitPending(t, q, 1)
	cancel()
	if r := <-results; r.d.Outcome != approval.Cancelled {
		t.Errorf("%+v", r.d)
	}
}

// A74: what nobody can be shown is refused at once.
func TestQueue_BehindTheGateWithoutAChannel(t *testing.T) {
	g := approval.New(approval.Config{Asker: open(t, ask.Config{}), GatewayTimeout: time.Hour})
	d := g.Check(t.Context(), approval.Request{Session: "s", Command: "rm -rf x", Dir: "/data", Home: "/home/ann", HostLike: true})
	if d.Outcome != approval.Undeliverable {
		t.Errorf("%+v", d)
	}
}
