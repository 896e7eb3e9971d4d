//go:build modal

package modaltest

import (
	"path/filepath"
	"syscall"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"

	"github.com/hermes-runtime/hermes/internal/cloud/cloudtest"
)

// box is a sandbox. Its fields are guarded by the server.
type box struct {
	ID, Name, Image string
	Tags            map[string]string
	Definition      *pb.Sandbox

	looks      int // before it has a task
	made, used time.Time
	task       string
	jwt        string
	expires    time.Time
	result     *pb.GenericResult
	over       chan struct{}
	machine    *cloudtest.Machine
	execs      map[string]*process
}

// Sandbox is what a test sees of one.
type Sandbox struct {
	ID, Name, Image string
	Tags            map[string]string
	Definition      *pb.Sandbox
	Running         bool
}

func result(s pb.GenericResult_GenericStatus, code int32) *pb.GenericResult {
	return pb.GenericResult_builder{Status: s, Exitcode: code}.Build()
}

// The ends of a sandbox: «sandbox.go», getReturnCode.
var (
	terminated = result(pb.GenericResult_GENERIC_STATUS_TERMINATED, 137)
	timedOut   = result(pb.GenericResult_GENERIC_STATUS_TIMEOUT, 124)
)

// end has a sandbox end.
func (b *box) end(how *pb.GenericResult) {
	if b.result == nil {
		b.result = how
		close(b.over)
		b.stop()
	}
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

// age ends a sandbox whose time is over, or in which nothing has run for its idle time: «Sandboxes», timeouts.
func (b *box) age(now time.Time) {
	idle := time.Duration(b.Definition.GetIdleTimeoutSecs()) * time.Second
	if b.busy() {
		b.used = now
	}
	if now.Sub(b.made) >= time.Duration(b.Definition.GetTimeoutSecs())*time.Second || idle > 0 && now.Sub(b.used) >= idle {
		b.end(timedOut)
	}
}

func (b *box) busy() bool {
	for _, p := range b.execs {
		select {
		case <-p.done:
		default:
			return true
		}
	}
	return false
}

// Sandboxes are all that run, or ever ran.
func (s *Server) Sandboxes() []Sandbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Sandbox
	for _, b := range s.boxes {
		all = append(all, Sandbox{b.ID, b.Name, b.Image, b.Tags, b.Definition, b.result == nil})
	}
	return all
}

// Made counts the sandboxes that ever were.
func (s *Server) Made() int { return len(s.Sandboxes()) }

// End ends a sandbox behind its user's back, with a status of Modal's.
func (s *Server) End(id string, how pb.GenericResult_GenericStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, err := s.find(id); err == nil {
		b.end(result(how, 1))
	}
}

// Add makes a sandbox that somebody else asked for.
func (s *Server) Add(name string, tags map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, _ := cloudtest.NewMachine(s.fresh("sb-" + name))
	s.boxes = append(s.boxes, &box{ID: "sb-" + name + "-" + random(8), Name: name, Tags: tags, Definition: &pb.Sandbox{}, made: s.now(), used: s.now(), machine: m, over: make(chan struct{})})
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

// Snapshots are the images that were made of files.
func (s *Server) Snapshots() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for id, files := range s.images {
		if files != "" {
			all = append(all, id)
		}
	}
	return all
}

// Lose deletes an image behind its user's back.
func (s *Server) Lose(image string) { s.mu.Lock(); defer s.mu.Unlock(); delete(s.images, image) }

// Starts counts the programs that were started in a sandbox.
func (s *Server) Starts(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.find(id)
	if err != nil {
		return 0
	}
	return len(b.execs)
}
