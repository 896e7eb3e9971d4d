package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
)

// endTime bounds the end of a sandbox that was made in vain.
const endTime = 20 * time.Second

// orderOf decides what the sandbox is called. One that is kept has a name by which the same task finds it again, as long as it would be
// made of the same; others have one that nobody has had.
func orderOf(o Options) Order {
	use := cloud.Token()
	if o.Kept {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %s", o.Owner, o.Open.Key, o.MadeOf))
		use = hex.EncodeToString(sum[:6])
	}
	task := plainName(o.Open.Key)
	return Order{Name: "hermes-" + task + "-" + use, Task: task, Owner: o.Owner, Use: use}
}

// plainName is what of a key may stand in a name.
func plainName(key string) string {
	key = strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, key), "-")
	if key == "" {
		key = "unknown"
	}
	return strings.TrimRight(key[:min(len(key), 30)], "-")
}

// obtain finds or makes the sandbox and has it run. It is in the ledger before anything is asked for; what was made in vain is deleted.
func (p *place) obtain(ctx context.Context) error {
	if p.Kept {
		release, err := p.ledger.Alone(ctx, p.order.Name)
		if err != nil {
			return err
		}
		defer release()
	}
	use, err := p.ledger.Enter(ctx, cloud.Record{
		Backend: p.Backend, Name: p.order.Name, At: p.At, Account: p.Account, Task: p.Open.Key,
		Idle: int(p.Idle.Seconds()), Lifetime: int(p.Lifetime.Seconds()), Kept: p.Kept,
	}, p.Max)
	if err != nil {
		return err
	}
	p.use = use
	err = p.wake(ctx)
	if errors.Is(err, ErrSpoiled) {
		err = p.spoiled(ctx, err)
	}
	if errors.Is(err, environment.ErrGone) {
		err = p.makeNew(ctx)
	}
	if err == nil {
		err = use.Made(ctx, p.box.ID)
	}
	if err != nil {
		p.undo(ctx)
	}
	return err
}

// wake has a sandbox run that was kept. Without one it is ErrGone.
func (p *place) wake(ctx context.Context) error {
	if !p.Kept {
		return &environment.Error{Kind: environment.ErrGone, Op: "find sandbox " + p.order.Name, Err: errors.New("it is to be a new one")}
	}
	b, err := p.Cloud.Find(ctx, cloud.Record{Name: p.order.Name})
	if err != nil {
		return err
	}
	if b.Use != p.order.Use {
		p.doubt = keep
		return Taken(p.order.Name)
	}
	p.doubt = stop
	limit := wakeTime
	if b.State == Coming { // it may still be being made
		limit = p.Start
	}
	p.box, _, err = p.Cloud.Up(ctx, b, limit)
	return err
}

// spoiled drops a sandbox that can't be started any more, so that another one is made in its place.
func (p *place) spoiled(ctx context.Context, why error) error {
	if err := p.Cloud.Remove(ctx, cloud.Record{Name: p.order.Name}); err != nil && !errors.Is(err, environment.ErrGone) {
		return errors.Join(why, err)
	}
	p.base.Notes = append(p.base.Notes[:len(p.base.Notes):len(p.base.Notes)],
		fmt.Sprintf("the files of the former sandbox %s are lost, and it was made anew: %v", p.order.Name, why))
	return &environment.Error{Kind: environment.ErrGone, Op: "start sandbox " + p.order.Name, Err: why}
}

// Taken is the error for a name that a sandbox of somebody else has.
func Taken(name string) error {
	return fmt.Errorf("the name %s is taken by a sandbox that is not of this HERMES_HOME", name)
}

// makeNew makes the sandbox.
func (p *place) makeNew(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.Start, fmt.Errorf("the sandbox did not run within %v", p.Start))
	defer cancel()
	b, begun, err := p.Cloud.Make(ctx, p.order)
	p.doubt = keep
	if begun {
		p.doubt = remove
	}
	if err != nil {
		return err
	}
	p.anew = true
	if err := p.use.Made(ctx, b.ID); err != nil {
		return err
	}
	notes := b.Notes
	p.box, _, err = p.Cloud.Up(ctx, b, p.Start)
	p.box.Notes = notes
	return err
}

// doubt is what is to be done about a sandbox whose start failed.
type doubt int

const (
	keep   doubt = iota // there is none, or it is somebody else's
	stop                // it was there before
	remove              // it was made, or may have been
)

// undo ends what a failed start leaves. What can't be ended stays in the ledger.
func (p *place) undo(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	var err error
	switch p.doubt {
	case keep:
		err = p.use.Gone(ctx)
	case stop:
		err = p.use.LeaveAlone(ctx, p.Cloud.End)
	case remove:
		err = p.use.Throw(ctx, p.Cloud.Remove)
	}
	if err != nil {
		p.log.Warn("a sandbox whose start failed can't be ended; the next start tries again", "sandbox", p.order.Name, "error", err)
	}
}

// giveUp lets go of a sandbox that is of no use.
func (p *place) giveUp(ctx context.Context) {
	if !p.anew {
		p.doubt = stop
	}
	if p.Kept {
		if release, err := p.ledger.Alone(ctx, p.order.Name); err == nil {
			defer release()
		}
	}
	p.undo(ctx)
}
