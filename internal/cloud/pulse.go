package cloud

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Pulse keeps a place awake while something runs there, and only then: every third of the time after which the cloud would stop it.
type Pulse struct {
	o    PulseOptions
	uses atomic.Int64
	stop context.CancelFunc
	work sync.WaitGroup

	signing chan struct{} // holds one while a sign is given, or looked after
	signed  time.Time     // when the last sign was given, or failed; at first the start, which is one
}

// signTime bounds the sign of use that comes before a command.
const signTime = 5 * time.Second

// PulseOptions says what keeps a place awake.
type PulseOptions struct {
	Idle time.Duration               // without a sign of use, after which the cloud stops it
	Beat func(context.Context) error // a sign of use
	Jobs func(context.Context) bool  // whether something runs there beside the commands that Use counts; nil = nothing does
	Log  *slog.Logger                // nil = nothing is logged
}

// StartPulse begins to keep a place awake that has just been started or told of its use, until Stop.
func StartPulse(o PulseOptions) *Pulse {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &Pulse{o: o, stop: cancel, signing: make(chan struct{}, 1), signed: time.Now()}
	p.work.Go(func() { p.beat(ctx) })
	return p
}

// Use says that a command runs there until done is called. After a pause the sign is given before that: a place whose end is near would
// stop under the command.
func (p *Pulse) Use(ctx context.Context) (done func()) {
	p.uses.Add(1)
	p.sign(ctx, signTime, p.every())
	return sync.OnceFunc(func() { p.uses.Add(-1) })
}

// sign gives a sign of use within limit, unless one was given for less time ago than that.
func (p *Pulse) sign(ctx context.Context, limit, ago time.Duration) {
	one, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case p.signing <- struct{}{}:
	case <-one.Done(): // another one is being given all the while
		return
	}
	defer func() { <-p.signing }()
	if time.Since(p.signed) < ago {
		return
	}
	p.signed = time.Now()
	if err := p.o.Beat(one); err != nil && ctx.Err() == nil {
		p.o.Log.Warn("the cloud can't be told that a sandbox is in use; it may stop it", "error", err)
	}
}

func (p *Pulse) every() time.Duration { return max(p.o.Idle/3, time.Millisecond) }

// Stop ends it.
func (p *Pulse) Stop() {
	p.stop()
	p.work.Wait()
}

func (p *Pulse) beat(ctx context.Context) {
	every := p.every()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		one, cancel := context.WithTimeout(ctx, every)
		busy := p.uses.Load() > 0 || p.o.Jobs != nil && p.o.Jobs(one)
		cancel()
		if busy {
			p.sign(ctx, every, 0)
		}
	}
}
