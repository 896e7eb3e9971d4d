package dispatch

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/tool"
)

func hazard(t tool.Tool, a tool.Action) tool.Tool { return riskyTool{t.(*tool.Function), a} }

// shifting is a disk on which the target of a deletion becomes another file a number of times.
type shifting struct {
	mu    sync.Mutex
	inode uint64
	left  int
}

func (s *shifting) Identify(string) (approval.Identity, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return approval.Identity{Exists: true, Inode: s.inode}, true
}

func (s *shifting) shift() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left > 0 {
		s.left--
		s.inode++
	}
}

func (*shifting) Resolve(p string) string         { return p }
func (*shifting) Text(string, int) (string, bool) { return "", false }

// A56: what changed while a person thought about it is asked about again, and at some point refused.
func TestApprove_WhatChangedMeanwhileIsAskedAgain(t *testing.T) {
	for _, c := range []struct {
		shifts, asked int
		runs          bool
	}{{0, 1, true}, {1, 2, true}, {2, 3, true}, {99, 4, false}} {
		ran, asked := 0, 0
		b := newBed(t, Config{}, hazard(simple("rm", func(context.Context, *tool.Call) (any, error) { ran++; return 1, nil }),
			tool.Action{Kind: tool.ActionCommand, Text: "rm -rf build"}))
		disk := &shifting{left: c.shifts}
		b.door.approver = approval.New(approval.Config{})
		s := b.session()
		s.Asker = channel.AskerFunc(func(context.Context, channel.Question) (channel.Answer, error) {
			asked++
			disk.shift()
			return channel.Answer{Choice: channel.Once}, nil
		})
		s.Facts = func() Facts { return Facts{Dir: "/data/app", HostLike: true, Disk: disk} }
		r := b.door.Call(t.Context(), s, tool.Request{Name: "rm"})
		if asked != c.asked || (ran == 1) != c.runs || c.runs != (r.Status == tool.StatusOK) {
			t.Errorf("%d changes: asked %d, ran %d: %s; want %d questions, runs %v", c.shifts, asked, ran, r.JSON, c.asked, c.runs)
		}
	}
}

// A56: another directory is another command.
func TestApprove_AnotherDirectoryIsAskedAgain(t *testing.T) {
	var shown []string
	b := newBed(t, Config{}, hazard(simple("rm", func(context.Context, *tool.Call) (any, error) { return 1, nil }),
		tool.Action{Kind: tool.ActionCommand, Text: "rm -rf build"}))
	b.door.approver = approval.New(approval.Config{})
	s, dir := b.session(), "/data/app"
	s.Asker = channel.AskerFunc(func(_ context.Context, q channel.Question) (channel.Answer, error) {
		shown = append(shown, q.Dir)
		dir = "/data/other"
		return channel.Answer{Choice: channel.Once}, nil
	})
	s.Facts = func() Facts { return Facts{Dir: dir, HostLike: true} }
	r := b.door.Call(t.Context(), s, tool.Request{Name: "rm"})
	if r.Status != tool.StatusOK || strings.Join(shown, " ") != "/data/app /data/other" {
		t.Errorf("%s, shown in %v", r.JSON, shown)
	}
}

// A55: a place that reaches more of the host than its configuration said is asked about before the run.
func TestPlace_ThatReachesMoreIsAskedAbout(t *testing.T) {
	for choice, want := range map[channel.Choice]bool{channel.Once: true, channel.Deny: false} {
		asked, open, placed := 0, false, false
		b := newBed(t, Config{}, hazard(simple("rm", func(ctx context.Context, c *tool.Call) (any, error) {
			for range 2 { // a second try changes nothing
				if _, err := c.Host.Place(ctx); err != nil {
					placed = false
					continue
				}
				placed = true
			}
			return 1, nil
		}), tool.Action{Kind: tool.ActionCommand, Text: "rm -rf /srv/build"}))
		b.door.approver = approval.New(approval.Config{})
		s := b.session()
		s.Asker = channel.AskerFunc(func(context.Context, channel.Question) (channel.Answer, error) {
			asked++
			return channel.Answer{Choice: choice}, nil
		})
		s.Place = func(context.Context) (environment.Place, error) { open = true; return environment.Place{}, nil }
		s.Facts = func() Facts { return Facts{Dir: "/srv", HostLike: open} }
		b.door.Call(t.Context(), s, tool.Request{Name: "rm"})
		if asked != 1 || placed != want {
			t.Errorf("%s: asked %d, has its place %v; want 1 and %v", choice, asked, placed, want)
		}
	}
}
