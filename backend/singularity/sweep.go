package singularity

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/internal/engine/hold"
)

// sweepOnce looks for instances that earlier runs left behind, beside the first use in this process.
func (p *place) sweepOnce() {
	if p.o.Find {
		return
	}
	if _, done := swept.LoadOrStore(p.o.HermesHome, true); done {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	p.stopSweep = cancel
	p.work.Go(func() { defer cancel(); sweep(ctx, p.client, p.holds, p.log) })
}

// sweep stops the instances of this HERMES_HOME that nobody holds and in which no jobs run. They are known by their locks, since an instance
// can't be labelled. What fails for one is logged and stops nothing.
func sweep(ctx context.Context, c *client, holds hold.Holds, log *slog.Logger) {
	all, err := c.list(ctx, "")
	if err != nil {
		if ctx.Err() == nil {
			log.Warn("instances that were left behind can't be looked for", "error", err)
		}
		return
	}
	for _, i := range all {
		if _, mine := holds.Used(i.Name); !mine || !strings.HasPrefix(i.Name, prefix) || ctx.Err() != nil {
			continue
		}
		if err := sweepOne(ctx, c, holds, i); err != nil && ctx.Err() == nil {
			log.Warn("an instance that was left behind can't be stopped", "instance", i.Name, "error", err)
		}
	}
}

func sweepOne(ctx context.Context, c *client, holds hold.Holds, i instance) error {
	done, ok := holds.Seize(i.Name)
	if !ok {
		return nil
	}
	defer done(false)
	if busy, err := i.busy(); busy || err != nil {
		return err
	}
	return c.stop(ctx, i.Name)
}
