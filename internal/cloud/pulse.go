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
}

// PulseOptions says what keeps a place awake.
type PulseOptions struct {
	Idle time.Duration               // without a sign of use, after which the cloud stops it
	Beat func(context.Context) error // a sign of use
	Jobs func(context.Context) bool  // whether something runs there beside the commands that Use counts; nil = nothing does
	Log  *slog.Logger                // nil = nothing is logged
}

// StartPulse begins to keep a place awake, until Stop.
func StartPulse(o PulseOptions) *Pulse {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &Pulse{o: o, stop: cancel}
	p.work.Go(func() { p.beat(ctx) })
	return p
}

// Use says that a command runs there until done is called.
func (p *Pulse) Use() (done func()) {
	p.uses.Add(1)
	return sync.OnceFunc(func() { p.uses.Add(-1) })
}

// Stop ends it.
func (p *Pulse) Stop() {
	p.stop()
	p.work.Wait()
}

func (p *Pulse) beat(ctx context.Context) {
	every := max(p.o.Idle/3, time.Millisecond)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		one, cancel := context.WithTimeout(ctx, every)
		if p.uses.Load() > 0 || p.o.Jobs != nil && p.o.Jobs(one) {
			if err := p.o.Beat(one); err != nil && ctx.Err() == nil {
				p.o.Log.Warn("the cloud can't be told that a sandbox is in use; it may stop it", "error", err)
			}
		}
		cancel()
	}
}
