package ask_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/approval/ask"
	"github.com/hermes-runtime/hermes/internal/leaktest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(orphanDir); dir != "" {
		orphan(dir)
	}
	leaktest.Main(m)
}

func open(t *testing.T, c ask.Config) *ask.Queue {
	t.Helper()
	q, err := ask.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return q
}

func wanted(id, session string) channel.Question {
	return channel.Question{ID: id, Kind: channel.KindApproval, Session: session, Command: "rm -rf " + id,
		Findings: []channel.Finding{{ID: "delete.recursive", Key: "recursive delete"}},
		Choices:  []channel.Choice{channel.Once, channel.Session, channel.Always, channel.Deny}}
}

type answered struct {
	id     string
	answer channel.Answer
	err    error
}

// put asks in the background, as a call of a tool does.
func put(ctx context.Context, a channel.Asker, q channel.Question, out chan<- answered) {
	go func() {
		got, err := a.Ask(ctx, q)
		out <- answered{q.ID, got, err}
	}()
}

func yes(q *ask.Queue, t *testing.T) {
	t.Helper()
	t.Cleanup(q.Attach("test", ask.Deliver(func(context.Context, ask.Request) error { return nil })))
}

func waitPending(t *testing.T, q *ask.Queue, n int) []ask.Request {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if list := q.Pending(""); len(list) == n {
			return list
		}
	}
	t.Fatalf("%d requests are open, not %d", len(q.Pending("")), n)
	return nil
}

// A70, A74, A77: ten requests on three sessions are answered out of order, twice, late and after a restart; each is decided once, by the
// answer that names it.
func TestQueue_EachRequestIsDecidedOnceByItsOwnAnswer(t *testing.T) {
	dir := t.TempDir()
	q := open(t, ask.Config{Dir: dir})
	yes(q, t)
	results := make(chan answered, 10)
	for i := range 10 {
		put(t.Context(), q, wanted(fmt.Sprint("r", i), fmt.Sprint("session ", i%3)), results)
	}
	waitPending(t, q, 10)
	if n := len(q.Pending("session 0")); n != 4 {
		t.Errorf("%d requests of the first session are open", n)
	}

	say := map[string]channel.Choice{"r7": channel.Deny, "r2": channel.Once, "r9": channel.Always, "r0": channel.Session, "r5": channel.Once, "r1": channel.Deny}
	var wg sync.WaitGroup
	for id, choice := range say {
		for range 3 { // three people press the same button
			wg.Go(func() {
				o, err := q.Answer(t.Context(), id, ask.Reply{Choice: choice, By: ask.Person{ID: "ann"}})
				if err != nil || o.Choice != choice || o.ID != id || o.Who != "ann" {
					t.Errorf("%s: %+v, %v", id, o, err)
				}
			})
		}
	}
	wg.Wait()
	got := map[string]answered{}
	for range say {
		r := <-results
		got[r.id] = r
	}
	for id, choice := range say {
		if r := got[id]; r.err != nil || r.answer.Choice != choice || r.answer.Who != "ann" {
			t.Errorf("%s was answered %q, its caller got %+v, %v", id, choice, r.answer, r.err)
		}
	}
	o, err := q.Answer(t.Context(), "r7", ask.Reply{Choice: channel.Once})
	if !errors.Is(err, ask.ErrSettled) || o.Status != ask.Denied {
		t.Errorf("another answer to r7: %+v, %v", o, err)
	}
	if n := len(q.Pending("")); n != 4 {
		t.Errorf("%d are open, 4 weren't answered", n)
	}

	if err := q.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if r := <-results; !errors.Is(r.err, ask.ErrClosed) || r.answer.Choice != "" {
			t.Errorf("%s at the end: %+v, %v", r.id, r.answer, r.err)
		}
	}
	after := open(t, ask.Config{Dir: dir})
	for id, want := range map[string]ask.Status{"r7": ask.Denied, "r2": ask.Approved, "r3": ask.Cancelled} {
		if o, err := after.Answer(t.Context(), id, ask.Reply{Choice: channel.Session}); !errors.Is(err, ask.ErrSettled) || o.Status != want {
			t.Errorf("%s after the restart: %+v, %v", id, o, err)
		}
	}
	if o, err := after.Answer(t.Context(), "r2", ask.Reply{Choice: channel.Once}); err != nil || o.Status != ask.Approved {
		t.Errorf("the same answer after the restart: %+v, %v", o, err)
	}
	if _, err := after.Answer(t.Context(), "r99", ask.Reply{Choice: channel.Once}); !errors.Is(err, ask.ErrUnknown) {
		t.Errorf("an id that was never asked: %v", err)
	}
}

// A70: of many different answers at once one wins, and every other learns which.
func TestQueue_TheFirstAnswerWins(t *testing.T) {
	q := open(t, ask.Config{})
	yes(q, t)
	results := make(chan answered, 1)
	put(t.Context(), q, wanted("a", "s"), results)
	waitPending(t, q, 1)
	choices := []channel.Choice{channel.Once, channel.Session, channel.Always, channel.Deny}
	outcomes := make(chan ask.Outcome, 40)
	wins := make(chan channel.Choice, 40)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			o, err := q.Answer(t.Context(), "a", ask.Reply{Choice: choices[i%4]})
			outcomes <- o
			if err == nil {
				wins <- o.Choice
			} else if !errors.Is(err, ask.ErrSettled) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	close(outcomes)
	close(wins)
	r := <-results
	for o := range outcomes {
		if o.Choice != r.answer.Choice {
			t.Errorf("told %q, the caller got %q", o.Choice, r.answer.Choice)
		}
	}
	n := 0
	for c := range wins {
		n++
		if c != r.answer.Choice {
			t.Errorf("%q won beside %q", c, r.answer.Choice)
		}
	}
	if n != 10 {
		t.Errorf("%d answers counted as the one that won, of ten that were the same", n)
	}
}

func TestQueue_OnlyWhatIsOnOfferCounts(t *testing.T) {
	q := open(t, ask.Config{})
	yes(q, t)
	results := make(chan answered, 1)
	ask1 := wanted("a", "s")
	ask1.Choices = []channel.Choice{channel.Once}
	put(t.Context(), q, ask1, results)
	waitPending(t, q, 1)
	for _, c := range []channel.Choice{channel.Always, "", "yes", "ONCE"} {
		if o, err := q.Answer(t.Context(), "a", ask.Reply{Choice: c}); !errors.Is(err, ask.ErrNotOffered) || o.Status != ask.Pending {
			t.Errorf("%q: %+v, %v", c, o, err)
		}
	}
	if o, err := q.Answer(t.Context(), "a", ask.Reply{Choice: channel.Deny}); err != nil || o.Status != ask.Denied {
		t.Errorf("deny is always on offer: %+v, %v", o, err)
	}
	<-results
}

// A74: delivery is confirmed.
func TestQueue_UndeliverableWhenEveryChannelFails(t *testing.T) {
	broken := errors.New("no route")
	bad := ask.Deliver(func(context.Context, ask.Request) error { return broken })
	mad := ask.Deliver(func(context.Context, ask.Request) error { panic("bug") })
	good := ask.Deliver(func(context.Context, ask.Request) error { return nil })
	for name, c := range map[string]struct {
		channels []ask.Channel
		lost     bool
	}{
		"none": {nil, true}, "fails": {[]ask.Channel{bad}, true}, "panics": {[]ask.Channel{mad}, true}, "all fail": {[]ask.Channel{bad, mad, bad}, true},
		"one works": {[]ask.Channel{bad, good, mad}, false},
	} {
		t.Run(name, func(t *testing.T) {
			q := open(t, ask.Config{})
			for i, ch := range c.channels {
				defer q.Attach(fmt.Sprint(i), ch)()
			}
			results := make(chan answered, 1)
			put(t.Context(), q, wanted("a", "s"), results)
			if !c.lost {
				waitPending(t, q, 1)
				if _, err := q.Answer(t.Context(), "a", ask.Reply{Choice: channel.Once}); err != nil {
					t.Error(err)
				}
			}
			r := <-results
			if got := errors.Is(r.err, ask.ErrUndeliverable); got != c.lost {
				t.Errorf("undeliverable %v, want %v: %v", got, c.lost, r.err)
			}
			if o, err := q.Answer(t.Context(), "a", ask.Reply{Choice: channel.Once}); c.lost && (o.Status != ask.Undeliverable || !errors.Is(err, ask.ErrSettled)) {
				t.Errorf("late: %+v, %v", o, err)
			}
		})
	}
}

// A74: a client that comes later is shown what is open, and told when it ends.
func TestQueue_LaterClientsSeeWhatIsOpen(t *testing.T) {
	q := open(t, ask.Config{})
	yes(q, t)
	results := make(chan answered, 2)
	put(t.Context(), q, wanted("a", "s"), results)
	put(t.Context(), q, wanted("b", "s"), results)
	waitPending(t, q, 2)
	requests, detach := q.Subscribe("late")
	defer detach()
	seen := map[string]bool{}
	for range 2 {
		r := <-requests
		seen[r.ID] = r.Status == ask.Pending && r.Command == "rm -rf "+r.ID
	}
	if !seen["a"] || !seen["b"] {
		t.Errorf("shown: %v", seen)
	}
	for _, id := range []string{"b", "a"} {
		if _, err := q.Answer(t.Context(), id, ask.Reply{Choice: channel.Deny}); err != nil {
			t.Error(err)
		}
		if r := <-requests; r.ID != id || r.Status != ask.Denied {
			t.Errorf("told of %s %s", r.ID, r.Status)
		}
		<-results
	}
}

func TestQueue_ExpiresAfterItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, err := ask.Open(t.Context(), ask.Config{Timeout: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		q.Attach("deaf", ask.Deliver(func(ctx context.Context, _ ask.Request) error { return nil }))
		var d ask.Desk
		start := time.Now()
		question := wanted("a", "s")
		question.Expires = start.Add(5 * time.Minute) // of a terminal; people far away have longer
		_, asked, err := d.Ask(t.Context(), q, always(question))
		if !asked || !errors.Is(err, channel.ErrTimeout) || time.Since(start) != time.Hour {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if o, err := q.Answer(t.Context(), "a", ask.Reply{Choice: channel.Once}); !errors.Is(err, ask.ErrSettled) || o.Status != ask.Expired {
			t.Errorf("late: %+v, %v", o, err)
		}
		if err := q.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A channel that neither confirms nor returns is given up.
func TestQueue_NobodyWaitsForADeafChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, err := ask.Open(t.Context(), ask.Config{Timeout: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		release := make(chan struct{})
		q.Attach("deaf", ask.Deliver(func(context.Context, ask.Request) error { <-release; return nil }))
		start := time.Now()
		if _, err := q.Ask(t.Context(), wanted("a", "s")); !errors.Is(err, ask.ErrUndeliverable) || time.Since(start) > time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if err := q.Close(t.Context()); err != nil {
			t.Error(err)
		}
		close(release)
	})
}

func TestQueue_EndsWithItsCaller(t *testing.T) {
	q := open(t, ask.Config{})
	yes(q, t)
	ctx, cancel := context.WithCancelCause(t.Context())
	results := make(chan answered, 1)
	put(ctx, q, wanted("a", "s"), results)
	waitPending(t, q, 1)
	stopped := errors.New("stopped")
	cancel(stopped)
	if r := <-results; !errors.Is(r.err, stopped) {
		t.Errorf("%+v", r)
	}
	if o, err := q.Answer(t.Context(), "a", ask.Reply{Choice: channel.Once}); !errors.Is(err, ask.ErrSettled) || o.Status != ask.Cancelled {
		t.Errorf("late: %+v, %v", o, err)
	}
}

// A75: who may answer is asked for each answer; a refused one changes nothing and is told.
func TestQueue_OnlyThoseWhoMayAnswer(t *testing.T) {
	known := func(p ask.Person) bool { return p.ID == "ann" || p.ID == "bob" }
	ann, bob, eve, none := ask.Person{Channel: "chat", ID: "ann"}, ask.Person{Channel: "chat", ID: "bob"}, ask.Person{Channel: "chat", ID: "eve"}, ask.Person{Channel: "chat"}
	for name, c := range map[string]struct {
		rule      ask.Listed
		objection string
		by        ask.Person
		choice    channel.Choice
		may       bool
	}{
		"owner":                          {ask.Listed{}, "", ann, channel.Once, true},
		"owner of the same name":         {ask.Listed{}, "", ask.Person{Channel: "other", ID: "ann"}, channel.Once, false},
		"known, no list":                 {ask.Listed{Allowed: known}, "", bob, channel.Always, true},
		"member of a group":              {ask.Listed{Allowed: known}, "", eve, channel.Deny, false},
		"nobody":                         {ask.Listed{Allowed: func(ask.Person) bool { return true }}, "", none, channel.Once, false},
		"known, but a list":              {ask.Listed{Allowed: known, Approvers: []string{"chat:cat"}}, "", bob, channel.Once, false},
		"owner, with a list, once":       {ask.Listed{Approvers: []string{"chat:bob"}}, "", ann, channel.Once, true},
		"owner, with a list, always":     {ask.Listed{Approvers: []string{"chat:bob"}}, "", ann, channel.Always, false},
		"listed, always":                 {ask.Listed{Approvers: []string{"chat:bob"}}, "", bob, channel.Always, true},
		"owner over a reviewer":          {ask.Listed{Approvers: []string{"chat:bob"}}, "no", ann, channel.Once, false},
		"owner denies what was denied":   {ask.Listed{Approvers: []string{"chat:bob"}}, "no", ann, channel.Deny, true},
		"listed over a reviewer":         {ask.Listed{Approvers: []string{"chat:bob"}}, "no", bob, channel.Once, true},
		"owner over a reviewer, no list": {ask.Listed{}, "no", ann, channel.Once, true},
	} {
		t.Run(name, func(t *testing.T) {
			var refused []ask.Refusal
			q := open(t, ask.Config{Approvers: c.rule, Refused: func(r ask.Refusal) { refused = append(refused, r) }})
			yes(q, t)
			question := wanted("a", "s")
			question.Objection = c.objection
			results := make(chan answered, 1)
			put(t.Context(), q.For("chat:ann"), question, results)
			waitPending(t, q, 1)
			_, err := q.Answer(t.Context(), "a", ask.Reply{Choice: c.choice, By: c.by})
			if c.may {
				if r := <-results; err != nil || r.answer.Choice != c.choice || r.answer.Who != c.by.String() {
					t.Errorf("%v, %+v", err, r)
				}
				return
			}
			if !errors.Is(err, ask.ErrForbidden) || len(q.Pending("")) != 1 {
				t.Errorf("%v, open: %d", err, len(q.Pending("")))
			}
			if len(refused) != 1 || refused[0].By != c.by || refused[0].RequestID != "a" || refused[0].Reason == "" {
				t.Errorf("told: %+v", refused)
			}
		})
	}
}

// A77: a restart expires what was open; the channel that has its receipt is told, and late answers run nothing.
func TestQueue_RestartExpiresWhatWasOpen(t *testing.T) {
	dir := t.TempDir()
	crashed := filepath.Join(dir, "requests.jsonl")
	lines := []map[string]any{
		{"id": "dead", "owner": strings.Repeat("a", 32), "status": "pending", "session": "s", "command": "rm -rf x", "expires": time.Now().Add(time.Hour)},
		{"id": "dead", "receipts": map[string]string{"chat": "message 7"}},
		{"id": "odd", "owner": "../../etc/passwd", "status": "pending"},
		{"id": "over", "owner": strings.Repeat("a", 32), "status": "pending"},
		{"id": "over", "status": "approved", "choice": "once"},
	}
	var text []byte
	for _, l := range lines {
		b, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		text = append(append(text, b...), '\n')
	}
	if err := os.WriteFile(crashed, append(text, `{"id":"torn","sta`...), 0o644); err != nil {
		t.Fatal(err)
	}
	q := open(t, ask.Config{Dir: dir})
	if o := q.Orphans(); len(o) != 2 || o[0].ID != "dead" || o[0].Status != ask.Expired || o[0].Receipts["chat"] != "message 7" || o[1].ID != "odd" {
		t.Errorf("orphans: %+v", o)
	}
	told := make(chan ask.Request, 2)
	defer q.Attach("chat", cards(told))()
	if r := <-told; r.ID != "dead" || r.Receipts["chat"] != "message 7" || r.Status != ask.Expired {
		t.Errorf("told: %+v", r)
	}
	for id, want := range map[string]ask.Status{"dead": ask.Expired, "over": ask.Approved} {
		if o, err := q.Answer(t.Context(), id, ask.Reply{Choice: channel.Always}); !errors.Is(err, ask.ErrSettled) || o.Status != want {
			t.Errorf("%s: %+v, %v", id, o, err)
		}
	}
	results := make(chan answered, 1)
	put(t.Context(), q, wanted("new", "s"), results) // behind the torn line
	waitPending(t, q, 1)
	if info, err := os.Stat(crashed); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	second := open(t, ask.Config{Dir: dir})
	if len(second.Orphans()) != 0 {
		t.Errorf("a living process's request was expired: %+v", second.Orphans())
	}
	if o, err := second.Answer(t.Context(), "new", ask.Reply{Choice: channel.Once}); !errors.Is(err, ask.ErrElsewhere) || o.Status != ask.Pending {
		t.Errorf("an answer to the wrong process: %+v, %v", o, err)
	}
	if _, err := q.Answer(t.Context(), "new", ask.Reply{Choice: channel.Once}); err != nil {
		t.Error(err)
	}
	<-results
}

// cards is a channel that can edit its messages.
type cards chan ask.Request

func (cards) Deliver(_ context.Context, r ask.Request) (string, error) {
	return "message of " + r.ID, nil
}
func (c cards) Settled(_ context.Context, r ask.Request) { c <- r }

// A77: what can't be written down is not shown to anybody.
func TestQueue_WrittenBeforeDelivery(t *testing.T) {
	dir := t.TempDir()
	q := open(t, ask.Config{Dir: dir, Redact: func(s string) string { return strings.ReplaceAll(s, "secret", "***") }})
	path := filepath.Join(dir, "requests.jsonl")
	seen := make(chan string, 1)
	defer q.Attach("chat", ask.Deliver(func(context.Context, ask.Request) error {
		b, err := os.ReadFile(path)
		seen <- string(b)
		return err
	}))()
	question := wanted("a", "s")
	question.Command = "rm -rf secret"
	results := make(chan answered, 1)
	put(t.Context(), q, question, results)
	if text := <-seen; !strings.Contains(text, `"id":"a"`) || !strings.Contains(text, "rm -rf ***") {
		t.Errorf("the journal held %q when the question was shown", text)
	}
	if _, err := q.Answer(t.Context(), "a", ask.Reply{Choice: channel.Deny}); err != nil {
		t.Error(err)
	}
	<-results
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Ask(t.Context(), wanted("b", "s")); !errors.Is(err, ask.ErrUndeliverable) {
		t.Errorf("without a journal: %v", err)
	}
	if len(seen) != 0 {
		t.Error("it was shown all the same")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func TestQueue_JournalStaysBounded(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "requests.jsonl")
	var text strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&text, `{"id":"old %d","owner":"x","status":"pending","command":%q}`+"\n", i, strings.Repeat("x", 500))
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	q := open(t, ask.Config{Dir: dir})
	info, err := os.Stat(path)
	if err != nil || info.Size() > 1<<20 {
		t.Errorf("%d bytes, %v", info.Size(), err)
	}
	if o, err := q.Answer(t.Context(), "old 2499", ask.Reply{Choice: channel.Once}); !errors.Is(err, ask.ErrSettled) || o.Status != ask.Expired {
		t.Errorf("the newest: %+v, %v", o, err)
	}
	if _, err := q.Answer(t.Context(), "old 0", ask.Reply{Choice: channel.Once}); !errors.Is(err, ask.ErrUnknown) {
		t.Errorf("the oldest: %v", err)
	}
}

func TestQueue_AsksNoSecretsAndNoTypedWords(t *testing.T) {
	q := open(t, ask.Config{})
	yes(q, t)
	for _, question := range []channel.Question{{Kind: channel.KindSecret}, {Kind: channel.KindApproval, Confirm: "/dev/sda"}} {
		if _, err := q.Ask(t.Context(), question); !errors.Is(err, ask.ErrUndeliverable) {
			t.Errorf("%+v: %v", question, err)
		}
	}
}

// A86: a card waits a moment for the preview, and no longer.
func TestQueue_PreviewComesWithTheRequestIfItIsQuick(t *testing.T) {
	q := open(t, ask.Config{})
	requests, detach := q.Subscribe("test")
	defer detach()
	quick := make(chan string, 1)
	quick <- "12 files"
	for want, c := range map[string]<-chan string{"12 files": quick, "": make(chan string)} {
		question := wanted("preview "+want, "s")
		question.Preview = c
		results := make(chan answered, 1)
		put(t.Context(), q, question, results)
		r := <-requests
		if r.Preview != want || r.Question.Preview != nil {
			t.Errorf("got %q, want %q", r.Preview, want)
		}
		if _, err := q.Answer(t.Context(), r.ID, ask.Reply{Choice: channel.Deny}); err != nil {
			t.Error(err)
		}
		<-requests
		<-results
	}
}

// Two processes at one journal: here two queues, each with its own name in it.
func TestQueue_ManyShareAJournal(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for n := range 4 {
		q := open(t, ask.Config{Dir: dir})
		yes(q, t)
		wg.Go(func() {
			for i := range 10 {
				results := make(chan answered, 1)
				id := fmt.Sprintf("%d.%d", n, i)
				put(t.Context(), q, wanted(id, "s"), results)
				waitPending(t, q, 1)
				if _, err := q.Answer(t.Context(), id, ask.Reply{Choice: channel.Once}); err != nil {
					t.Error(err)
				}
				if r := <-results; r.err != nil {
					t.Error(r.err)
				}
			}
		})
	}
	wg.Wait()
	q := open(t, ask.Config{Dir: dir})
	for n := range 4 {
		for i := range 10 {
			if o, err := q.Answer(t.Context(), fmt.Sprintf("%d.%d", n, i), ask.Reply{Choice: channel.Once}); err != nil || o.Status != ask.Approved {
				t.Errorf("%d.%d: %+v, %v", n, i, o, err)
			}
		}
	}
}

// A subscriber that no longer reads holds up nobody for long.
func TestQueue_ClosesWithoutItsReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, err := ask.Open(t.Context(), ask.Config{})
		if err != nil {
			t.Fatal(err)
		}
		requests, _ := q.Subscribe("gone")
		results := make(chan answered, 1)
		put(t.Context(), q, wanted("a", "s"), results)
		<-requests
		start := time.Now()
		if err := q.Close(t.Context()); err != nil || time.Since(start) > 5*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if r := <-results; !errors.Is(r.err, ask.ErrClosed) {
			t.Errorf("%+v", r)
		}
	})
}
