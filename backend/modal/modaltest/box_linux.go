//go:build modal

package modaltest

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"

	"github.com/hermes-runtime/hermes/internal/cloud/cloudtest"
)

// box is a sandbox. Its fields are guarded by the server.
type box struct {
	ID, Name, App, Image string
	former               bool // of the first version
	Tags                 map[string]string
	Definition           *pb.Sandbox
	env                  []string

	looks      int // before it has a task
	made, used time.Time
	task       string
	result     *pb.GenericResult
	over       chan struct{}
	machine    *cloudtest.Machine
	up         bool
	life       *time.Timer
	execs      map[string]*process
}

// Sandbox is what a test sees of one.
type Sandbox struct {
	ID, Name, App, Image string
	Tags                 map[string]string
	Definition           *pb.Sandbox
	Running              bool
	Result               *pb.GenericResult // how it ended
}

func result(s pb.GenericResult_GenericStatus, code int32) *pb.GenericResult {
	return pb.GenericResult_builder{Status: s, Exitcode: code}.Build()
}

// The ends of a sandbox: «sandbox.go», getReturnCode, and «proto», GenericStatus.
var (
	terminated = result(pb.GenericResult_GENERIC_STATUS_TERMINATED, 137)
	timedOut   = result(pb.GenericResult_GENERIC_STATUS_TIMEOUT, 124)
	idle       = result(pb.GenericResult_GENERIC_STATUS_IDLE_TIMEOUT, 0)
)

// defaultTime is how long a sandbox may live of which nothing is said, longestTime what may be said: «Sandboxes», timeouts.
const (
	defaultTime = 5 * time.Minute
	longestTime = 24 * time.Hour
)

// start has a sandbox run its program, with whose end it ends too. The server is locked.
func (s *Server) start(b *box) error {
	if err := b.machine.Start(); err != nil {
		return err
	}
	b.up, b.life = true, time.AfterFunc(b.time(), func() { s.Later(0) })
	args := b.Definition.GetEntrypointArgs()
	if len(args) == 0 {
		return nil // it sleeps: «Sandboxes»
	}
	cmd := b.machine.Command(args[0], args[1:]...)
	cmd.Env = append(cmd.Env, b.env...)
	if err := cmd.Start(); err != nil {
		return err
	}
	s.work.Go(func() { s.bury(b, cmd) })
	return nil
}

func (s *Server) bury(b *box, cmd *exec.Cmd) {
	_ = cmd.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if code := cmd.ProcessState.ExitCode(); code == 0 {
		b.end(result(pb.GenericResult_GENERIC_STATUS_SUCCESS, 0))
	} else {
		b.end(result(pb.GenericResult_GENERIC_STATUS_FAILURE, int32(code)))
	}
}

// end has a sandbox end.
func (b *box) end(how *pb.GenericResult) {
	if b.result != nil {
		return
	}
	b.result = how
	close(b.over)
	if b.life != nil {
		b.life.Stop()
	}
	b.stop()
}

// stop ends all that runs there. A program that was told to stop lets its parent, which is outside, stop too; that has to see it end.
func (b *box) stop() {
	done := make(chan struct{})
	go func() {
		b.machine.Stop()
		close(done)
	}()
	for {
		select {
		case <-done:
			return
		case <-time.After(20 * time.Millisecond):
		}
		for _, p := range b.execs {
			_ = p.cmd.Process.Signal(syscall.SIGCONT) // it may have ended
		}
	}
}

func (b *box) time() time.Duration {
	if t := b.Definition.GetTimeoutSecs(); t > 0 {
		return time.Duration(t) * time.Second
	}
	return defaultTime
}

// age ends a sandbox whose time is over, or in which nothing has run for its idle time, whatever comes first: «Sandboxes», idle
// timeouts. A program that runs, and one that is given something to read, are use.
func (b *box) age(s *Server) {
	now := s.now()
	for _, p := range b.execs {
		if p.running() {
			b.used = now
			p.age(s)
		}
	}
	over, how := b.made.Add(b.time()), timedOut
	if d := time.Duration(b.Definition.GetIdleTimeoutSecs()) * time.Second; d > 0 && b.used.Add(d).Before(over) {
		over, how = b.used.Add(d), idle
	}
	if !now.Before(over) {
		b.end(how)
	}
}

// Later puts the clock forward that sandboxes, programs and images live by.
func (s *Server) Later(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.later += d
	for _, b := range s.boxes {
		if b.result == nil {
			b.age(s)
		}
	}
}

func (s *Server) now() time.Time { return time.Now().Add(s.later) }

// Sandboxes are all that run, or ever ran.
func (s *Server) Sandboxes() []Sandbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Sandbox
	for _, b := range s.boxes {
		all = append(all, Sandbox{b.ID, b.Name, b.App, b.Image, b.Tags, b.Definition, b.result == nil, b.result})
	}
	return all
}

// Made counts the sandboxes that ever were.
func (s *Server) Made() int { return len(s.Sandboxes()) }

// End ends a sandbox behind its user's back, with a status of Modal's, or one that nobody knows.
func (s *Server) End(id string, how pb.GenericResult_GenericStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, err := s.find(id); err == nil {
		b.end(result(how, 1))
	}
}

// Add makes a sandbox that somebody else asked for. Nothing runs in it.
func (s *Server) Add(name string, tags map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := "sb-" + name + "-" + random(8)
	m, _ := cloudtest.NewMachine(s.fresh(id))
	s.boxes = append(s.boxes, &box{
		ID: id, Name: name, Tags: tags, Definition: &pb.Sandbox{}, made: s.tick(), used: s.now(), machine: m, over: make(chan struct{}),
	})
}

// tick gives a time at which no other sandbox was made, as pages of lists end by it. It is one that a request can name.
func (s *Server) tick() time.Time {
	now := s.now().Truncate(time.Microsecond)
	if !now.After(s.made) {
		now = s.made.Add(time.Millisecond)
	}
	s.made = now
	return now
}

// Home is where a sandbox has its /root.
func (s *Server) Home(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.find(id)
	if err != nil {
		return ""
	}
	return filepath.Join(b.machine.Dir(), "root")
}
