package cloud

import (
	"context"
	"time"
)

// Rest waits, and gives the reason where ctx ends before that.
func Rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
