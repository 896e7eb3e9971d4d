package hermes_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	hermes "github.com/hermes-runtime/hermes"
	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/provider/providertest"
	"github.com/hermes-runtime/hermes/tool"
)

// A halt is a way to stop a turn.
type halt struct {
	name   string
	stop   func(ctx context.Context, s *scene) error
	closes bool   // the conversation takes no further turn
	said   string // what a script is told of it
}

var halts = []halt{
	{name: "a new message", said: "[execution interrupted - user sent a new message]", stop: func(_ context.Context, s *scene) error { s.talk.Interrupt(tool.NewMessage); return nil }},
	{name: "stop", stop: func(_ context.Context, s *scene) error { s.talk.Interrupt(tool.Stop); return nil }},
	{name: "the end of its context", stop: func(_ context.Context, s *scene) error { s.cancel(); return nil }},
	{name: "the end of the conversation", stop: func(ctx context.Context, s *scene) error { return s.talk.Close(ctx) }, closes: true},
	{name: "shutdown", stop: func(ctx context.Context, s *scene) error { return s.runtime(s.api).Close(ctx) }, closes: true},
}

// hang bounds what must not take for ever. That it is soon is measured, and told by the test's log.
const hang = 90 * time.Second

// INT-1, INT-2, INT-4 to INT-7, DEL-6: wherever a turn is stopped, and however, it ends though nothing in it would for hours; all that it
// began is gone, each call has one result and was made once, what was said is kept, and the conversation goes on through either API.
func TestConversation_StoppedAnywhere(t *testing.T) {
	var slow slowest
	t.Run("at", func(t *testing.T) {
		for n, st := range stages() {
			for k, h := range halts {
				if api := apis[(n+k)%len(apis)]; everyHalt && !testing.Short() || k == n%len(halts) {
					t.Run(st.name+"/"+h.name+"/"+api, func(t *testing.T) {
						t.Parallel()
						newScene(t, st, h, api).play(t, &slow)
					})
				}
			}
		}
	})
	t.Logf("the slowest stop took %v: %s", slow.took, slow.name)
}

// slowest is the stop that took longest.
type slowest struct {
	mu   sync.Mutex
	name string
	took time.Duration
}

func (s *slowest) note(name string, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if took > s.took {
		s.name, s.took = name, took
	}
}

// scene is one stage, stopped in one way.
type scene struct {
	stage
	halt
	api    string
	t      *testing.T
	home   string
	dir    string
	pipe   string
	rts    map[string]*hermes.Runtime
	talk   *hermes.Conversation
	cancel func()

	reached chan struct{} // the turn is where it is to be stopped
	once    sync.Once
	gone    chan error    // nobody holds the pipe any more
	release chan struct{} // the test is over
	asking  sync.WaitGroup
	goes    bool // what holds the pipe goes on with the conversation

	mu     sync.Mutex
	plays  map[string]int // replies that were given, by who is spoken to
	heard  int            // requests that came
	events map[string]int // by type and call
}

// Who is spoken to stands behind opening in the first message, up to a semicolon.
const opening = "play: "

func newScene(t *testing.T, st stage, h halt, api string) *scene {
	s := &scene{
		stage: st, halt: h, api: api, t: t, home: filepath.Join(t.TempDir(), "home"), dir: t.TempDir(), rts: map[string]*hermes.Runtime{},
		reached: make(chan struct{}), gone: make(chan error, 1), release: make(chan struct{}), plays: map[string]int{}, events: map[string]int{},
	}
	s.pipe = filepath.Join(s.dir, "alive")
	if err := syscall.Mkfifo(s.pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // what outlives the runtime by design, where the test has failed
		for _, pid := range keepersOf(s.home) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	if st.arrange != nil {
		st.arrange(s)
	}
	if st.up > 0 {
		go s.watch()
		t.Cleanup(s.knock)
	}
	return s
}

// now says that the stage is reached.
func (s *scene) now() { s.once.Do(func() { close(s.reached) }) }

// watch waits until all that is to run has written to the pipe, and then until nobody holds it.
func (s *scene) watch() {
	f, err := os.Open(s.pipe)
	if err != nil {
		s.gone <- err
		return
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if n == s.up && s.at == nil {
			s.now()
		}
	}
	s.gone <- lines.Err()
}

// runtime is the one that speaks an API. All of a scene have one home.
func (s *scene) runtime(api string) *hermes.Runtime {
	if rt := s.rts[api]; rt != nil {
		return rt
	}
	file := filepath.Join(s.t.TempDir(), "config.yaml")
	text := fmt.Sprintf("model: {provider: custom, default: m, base_url: '%s', api_mode: %s}\ndelegation: {max_spawn_depth: 3}\n%s", serve(s.t, api, s.answer).URL(), api, s.config)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	rt, _ := open(s.t, hermes.Options{Home: s.home, ConfigFile: file, Tools: []tool.Tool{deaf(s)}})
	s.rts[api] = rt
	return rt
}

// answer gives each that speaks its next reply, and what was stopped "I am." when it is asked again.
func (s *scene) answer(r providertest.Seen) providertest.Reply {
	said, _, _ := strings.Cut(r.Last(provider.User), "\n\n<<<data") // news stand behind it
	if strings.HasSuffix(said, again) {
		return providertest.Reply{Text: "It goes on."}
	}
	_, who, _ := strings.Cut(r.Messages[0].Text, opening)
	who, _, _ = strings.Cut(who, ";")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.heard++; s.heard == s.request {
		s.now()
	}
	replies := s.replies
	if who != "main" {
		replies = families[who]
	}
	next := s.plays[who]
	s.plays[who]++
	if next >= len(replies) {
		return silent
	}
	reply := replies[next]
	reply.Calls = slices.Clone(reply.Calls)
	for i := range reply.Calls {
		reply.Calls[i].Arguments = strings.NewReplacer("PROCESS", processID.FindString(r.Last(provider.Tool)), ">> ran", ">> ran-"+who).Replace(reply.Calls[i].Arguments)
	}
	return reply
}

// Ask waits for an answer that never comes.
func (s *scene) Ask(ctx context.Context, q channel.Question) (channel.Answer, error) {
	s.asking.Add(1)
	defer s.asking.Done()
	if s.at == nil && s.request == 0 && s.up == 0 {
		s.now()
	} else {
		s.t.Errorf("it asks: %+v", q)
	}
	<-ctx.Done()
	return channel.Answer{}, channel.ErrInterrupted
}

func (s *scene) listen(e hermes.Event) {
	s.mu.Lock()
	s.events[string(e.Type)+" "+e.Call]++
	s.mu.Unlock()
	if s.at != nil && s.at(e) {
		s.now()
	}
}

// play has the turn, stops it, and goes on.
func (s *scene) play(t *testing.T, slow *slowest) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.cancel = cancel
	defer close(s.release)
	var err error
	if s.talk, err = s.runtime(s.api).Converse(ctx, hermes.ConversationOptions{Dir: s.dir, MaxTurns: s.turns, Session: hermes.SessionOptions{Asker: s}, Listen: s.listen}); err != nil {
		t.Fatal(err)
	}
	message := opening + "main; "
	for range s.before {
		if out := s.talk.Turn(ctx, message+again); out.Status != hermes.Completed {
			t.Fatalf("a turn before: %+v", out)
		}
	}
	end := make(chan hermes.Outcome, 1)
	go func() { end <- s.talk.Turn(ctx, message) }()
	await(t, "the stage is never reached", s.reached)
	begun := time.Now()
	halted := make(chan error, 1)
	go func() { halted <- s.halt.stop(context.WithoutCancel(ctx), s) }()
	out := await(t, "the turn goes on though it was stopped", end)
	if !s.deaf { // it has the grace besides
		slow.note(t.Name(), time.Since(begun))
	}
	if err := await(t, "stopping it hangs", halted); err != nil && !s.deaf {
		t.Errorf("stopping it: %v", err)
	}
	if out.Status != hermes.Interrupted || out.ExitReason != "interrupted" || out.Error == "" {
		t.Errorf("it ended %s, %s: %s", out.Status, out.ExitReason, out.Error)
	}
	s.stopped(t)
	s.goesOn(t)
}

// await receives, unless what is awaited never comes.
func await[T any](t *testing.T, says string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(hang):
		t.Fatal(says)
	}
	return v
}

// stopped looks at what a stopped turn has left.
func (s *scene) stopped(t *testing.T) {
	history := s.talk.History()
	results := strings.Join(answers(t, history), "\n")
	late := strings.Contains(results, "was stopped: ") // on a slow machine: its grace was over, and it was answered for
	if want := strings.ReplaceAll(s.want, "SAID", s.said); !late && !strings.Contains(results, want) {
		t.Errorf("no %q in the results: %s", want, results)
	}
	if s.keeps != "" && !strings.Contains(fmt.Sprint(history[1:]), s.keeps) {
		t.Errorf("what was said isn't kept: %v", history)
	}
	asked := make(chan struct{})
	go func() { s.asking.Wait(); close(asked) }()
	await(t, "what it asked is not withdrawn", asked)
	if s.goes = outlives.MatchString(results); !s.goes {
		s.vanished(t)
	}
}

// outlives are the results of calls whose work goes on until the conversation ends.
var outlives = regexp.MustCompile(`Started in the background|"dispatched"`)

// vanished waits until nobody holds the pipe.
func (s *scene) vanished(t *testing.T) {
	t.Helper()
	if s.up == 0 {
		return
	}
	s.knock()
	if err := await(t, "what it began lives on", s.gone); err != nil {
		t.Error(err)
	}
}

// knock has watch go on where nobody has opened the pipe.
func (s *scene) knock() {
	if f, err := os.OpenFile(s.pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
		_ = f.Close()
	}
}

// goesOn has the conversation go on: as it is, or else resumed, and with the other API. The servers refuse histories that the APIs would
// refuse.
func (s *scene) goesOn(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	on := func(c *hermes.Conversation) {
		t.Helper()
		if out := c.Turn(ctx, again); out.Status != hermes.Completed || out.Text != "It goes on." {
			t.Errorf("going on: %s, %q, %v", out.Status, out.Text, out.Err)
		}
		answers(t, c.History())
		if err := c.Close(ctx); err != nil {
			t.Error(err)
		}
	}
	next := []string{otherAPI(s.api)}
	if !s.closes {
		on(s.talk)
	} else if out := s.talk.Turn(ctx, again); out.Status != hermes.Failed {
		t.Errorf("a turn when all is over: %+v", out)
	}
	if s.closes {
		delete(s.rts, s.api) // it may be closed
		next = append(next, s.api)
	}
	for _, api := range next {
		c, err := s.runtime(api).Converse(ctx, hermes.ConversationOptions{Resume: s.talk.ID(), Model: "custom/m", Listen: s.listen})
		if err != nil {
			t.Fatal(err)
		}
		on(c)
	}
	if s.goes {
		s.vanished(t)
	}
	kept(ctx, t, filepath.Join(s.home, "sessions.db"), s.talk.ID())
	s.madeOnce(t)
}

func otherAPI(api string) string { return apis[1-slices.Index(apis, api)] }

// madeOnce holds the calls to what they may do: begin and end at most once, and none behind one that was stopped.
func (s *scene) madeOnce(t *testing.T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for what, n := range s.events {
		if strings.HasPrefix(what, "tool_start ") && n > 1 || strings.HasPrefix(what, "tool_end ") && n > 1 {
			t.Errorf("%s: %d times", what, n)
		}
	}
	ran, err := filepath.Glob(filepath.Join(s.dir, "ran-*"))
	if err != nil {
		t.Error(err)
	}
	for _, name := range ran {
		if did, _ := os.ReadFile(name); strings.Count(string(did), "first") != 1 || s.up > 0 && !s.goes && strings.Contains(string(did), "last") {
			t.Errorf("%s: %q", filepath.Base(name), did)
		}
	}
}
