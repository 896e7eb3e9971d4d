package vercel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
	"github.com/hermes-runtime/hermes/internal/engine/contact"
)

// place is a sandbox as an environment.
type place struct {
	a      *access
	c      *Config
	o      environment.OpenOptions
	owner  string
	ledger *cloud.Ledger
	log    *slog.Logger

	name string // of the sandbox
	want create // what it is to be made like
	base environment.Info

	use   *cloud.Use
	pulse *cloud.Pulse
	anew  bool  // the sandbox was made for this place
	doubt doubt // what is to be done about it where the start fails

	mu      sync.Mutex
	session string    // that runs
	ends    time.Time // when Vercel ends it, by the clock here and at the earliest
}

// runs notes which session runs, and until when.
func (p *place) runs(s *sandbox, ends time.Time) {
	if s == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.session, p.ends = s.Session, ends
}

func (p *place) current() string { p.mu.Lock(); defer p.mu.Unlock(); return p.session }

// extend has the sandbox run until it was idle for as long as it may be from now on.
func (p *place) extend(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	by := min(now.Add(idle).Sub(p.ends), idle)
	if by < idle/3 { // enough for what comes until the next time
		return nil
	}
	if err := p.a.extend(ctx, p.session, by); err != nil {
		return err
	}
	p.ends = now.Add(idle)
	return nil
}

// inUse says that a command runs, until done is called.
func (p *place) inUse(ctx context.Context) (done func()) {
	done = p.pulse.Use()
	if err := p.extend(ctx); err != nil && ctx.Err() == nil {
		p.log.Warn("the sandbox can't be kept awake for longer; Vercel may stop it", "sandbox", p.name, "error", err)
	}
	return done
}

// failed gives an error of the API its kind, and says what can be done about it.
func (p *place) failed(op string, err error) error {
	var known *environment.Error
	switch status := cloud.Status(err); {
	case errors.As(err, &known):
		return err
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		err = fmt.Errorf("%w; the credentials (%s) are refused", err, wanted)
	case status == http.StatusPaymentRequired:
		err = fmt.Errorf("%w; the team's plan allows no more", err)
	}
	return &environment.Error{Kind: environment.ErrUnavailable, Op: op, Err: err}
}

// dial makes contact. A sandbox that was stopped is started again, unless somebody only looks.
func (p *place) dial(ctx context.Context, d contact.Dialing) (contact.Link, bool, error) {
	again := false
	if d.Number > 0 {
		s, _, err := p.a.get(ctx, p.name, false)
		switch {
		case err != nil:
			return nil, false, p.failed("reach sandbox "+p.name, err)
		case states[s.Status] == ready:
			again = s.Session != p.current()
		case d.Look:
			return nil, false, contact.ErrAsleep
		case !p.c.Kept:
			return nil, false, goneError(p.name) // its files ended with it
		default:
			if s, _, err = p.a.up(ctx, p.name, wakeTime); err != nil {
				return nil, false, p.failed("start sandbox "+p.name, err)
			}
			again = true
		}
		if again {
			p.runs(s, time.Time{})
		}
	}
	l, err := p.plainly(ctx)
	if err != nil {
		return nil, false, p.failed("use sandbox "+p.name, err)
	}
	return l, again, nil
}

// release lets go of the sandbox: the last of its users stops or deletes it.
func (p *place) release(ctx context.Context) error {
	defer p.a.api.Client.CloseIdleConnections()
	p.pulse.Stop()
	return p.use.Leave(ctx, p.endRecorded)
}

// destroy deletes the sandbox, whether it is to be kept or not.
func (p *place) destroy(ctx context.Context) error {
	defer p.a.api.Client.CloseIdleConnections()
	p.pulse.Stop()
	return p.use.Throw(ctx, p.removeRecorded)
}
