package process

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/hermes-runtime/hermes/environment"
)

// The labels of a job.
const (
	LabelOwner   = "owner"       // whose end ends it: a session's id, or ownerUser
	LabelSession = "session_key" // the session that started it; absent = the user did, with no session
	LabelRoot    = "root"        // the session that began that one's ancestors
	LabelTask    = "task_id"
	LabelKind    = "kind"
)

// The kinds of jobs that no call asked for as such.
const (
	KindForeground = "foreground" // a command whose call waited for it
	KindLeftover   = "leftover"   // what a command in the foreground left running
)

// ownerUser is the owner of jobs that no session's end ends. No session has this id: it holds a blank.
const ownerUser = "the user"

// Caller is who asks. A session's tools find their own as a service.
type Caller struct {
	Session string
	Root    string // the session that began this one's ancestors; "" = it is no child
	User    bool   // there is no conversation: the user themself, who sees all jobs
}

// sees reports whether a job with these labels is the caller's: started by it or by a child of it.
func (c Caller) sees(labels map[string]string) bool {
	switch {
	case c.User:
		return true
	case c.Session == "":
		return false
	}
	return labels[LabelSession] == c.Session || labels[LabelRoot] == c.Session
}

// Origin is where the news of a job goes: the message that set it off. A gateway offers one as a service of its sessions.
type Origin struct {
	Platform  string `json:"platform,omitempty"`
	ChatID    string `json:"chat_id,omitempty"`
	ThreadID  string `json:"thread_id,omitempty"`
	UserID    string `json:"user_id,omitempty"`
	UserName  string `json:"user_name,omitempty"`
	MessageID string `json:"message_id,omitempty"`
}

func (o *Origin) fields() map[string]*string {
	return map[string]*string{
		"platform": &o.Platform, "chat_id": &o.ChatID, "thread_id": &o.ThreadID, "user_id": &o.UserID, "user_name": &o.UserName,
		"message_id": &o.MessageID,
	}
}

func originOf(labels map[string]string) Origin {
	var o Origin
	for name, v := range o.fields() {
		*v = labels[name]
	}
	return o
}

// Start is a job with whose it is.
type Start struct {
	Job     environment.Job // its labels are filled in
	By      Caller
	Task    string
	Persist bool // it belongs to the user: no session's end ends it
	Origin  Origin
	Kind    string // what it is besides a job, where that is worth saying
}

func (s *Start) labels() map[string]string {
	m := map[string]string{}
	maps.Copy(m, s.Job.Labels)
	for name, v := range s.Origin.fields() {
		m[name] = *v
	}
	m[LabelOwner], m[LabelTask], m[LabelKind] = s.By.Session, s.Task, s.Kind
	if s.Persist || s.By.User {
		m[LabelOwner] = ownerUser
	}
	if !s.By.User {
		m[LabelSession], m[LabelRoot] = s.By.Session, s.By.Root
	}
	maps.DeleteFunc(m, func(_, v string) bool { return v == "" })
	return m
}

// SourceSession is the termination source of jobs that ended with their session.
const SourceSession = "session.end"

// atOnce bounds how many jobs are ended side by side.
const atOnce = 16

// EndSession ends all jobs that belong to a session, those whose command has ended and left others running too, and tells which. Every
// one is tried; a second call finds none.
func (t *Table) EndSession(ctx context.Context, session string) ([]Listed, error) {
	if session == "" {
		return nil, nil
	}
	homes, failed := t.homes(ctx)
	var ended []Listed
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for _, h := range homes {
		list, err := h.Keep.Jobs(ctx)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("list the processes of environment %s: %w", h.Key, err))
			continue
		}
		for i := range list {
			j := list[i]
			runs := running(j) == 1 || len(j.StillRunning) > 0
			if j.Labels[LabelOwner] != session || !runs && !t.o.ForgetWithSession {
				continue
			}
			wg.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				var err error
				if runs {
					err = kill(ctx, h.Keep, j.ID)
				}
				if err == nil && t.o.ForgetWithSession {
					err = h.Keep.Forget(ctx, j.ID)
				}
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					failed = errors.Join(failed, fmt.Errorf("end process %s: %w", j.ID, err))
					return
				}
				if runs {
					ended = append(ended, t.listed(j))
				}
			})
		}
	}
	wg.Wait()
	return ended, failed
}

func kill(ctx context.Context, k environment.Keeper, id string) error {
	p, err := k.Attach(ctx, id)
	if err != nil {
		return err
	}
	left, err := p.Kill(ctx, SourceSession)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("%d of its processes could not be ended", len(left))
	}
	return err
}
