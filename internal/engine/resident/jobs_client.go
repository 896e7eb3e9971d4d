package resident

import (
	"context"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/resident/wire"
)

var (
	_ environment.Starter = (*Place)(nil)
	_ environment.Keeper  = (*Place)(nil)
)

// askOver sends a request over a connection.
func askOver(ctx context.Context, conn *wire.Conn, r jobRequest) (jobAnswer, error) {
	head, request, err := withRequest(opJob, r)
	if err != nil {
		return jobAnswer{}, err
	}
	st, err := conn.Open(head)
	if err != nil {
		return jobAnswer{}, err
	}
	defer leave(ctx, st)()
	t := newTalk(st)
	if request != nil {
		if err := t.say(request); err != nil {
			return jobAnswer{}, cause(ctx, err)
		}
	}
	var a jobAnswer
	if err := t.hear(&a); err != nil {
		return a, cause(ctx, err)
	}
	return a, nil
}

// ask sends a request about jobs to the engine there.
func (p *Place) ask(ctx context.Context, r jobRequest) (jobAnswer, error) {
	a, err := askOver(ctx, p.conn, r)
	if err != nil && ctx.Err() == nil {
		err = p.failed(string(r.Op)+" a job", environment.ErrLost, err)
	}
	return a, err
}

// Start starts a job there.
func (p *Place) Start(ctx context.Context, j environment.Job) (environment.Process, error) {
	return startAt(ctx, p, startRequest{Job: j, Grace: p.grace})
}

// Jobs lists the jobs there.
func (p *Place) Jobs(ctx context.Context) ([]environment.JobInfo, error) {
	return jobsAt(ctx, p, listPreview)
}

// Attach finds a job there.
func (p *Place) Attach(ctx context.Context, id string) (environment.Process, error) {
	return attachAt(ctx, p, id)
}

// Adopt gives what a command there left running an entry.
func (p *Place) Adopt(ctx context.Context, l environment.Leftover) (environment.Process, error) {
	return adoptAt(ctx, p, l)
}

// Forget removes a job there that has ended.
func (p *Place) Forget(ctx context.Context, id string) error { return forgetAt(ctx, p, id) }

// Events gives what jobs there have to tell.
func (p *Place) Events(ctx context.Context, labels map[string]string) ([]environment.JobEvent, error) {
	return eventsAt(ctx, p, labels)
}

// Taken says that an event was told.
func (p *Place) Taken(ctx context.Context, eventID string) error { return takenAt(ctx, p, eventID) }
