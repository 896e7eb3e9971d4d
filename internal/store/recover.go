package store

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// Recovered is what became of the sessions in a damaged file.
type Recovered struct {
	Whole int `json:"whole"`
	Part  int `json:"in_part"`      // what of them can be read
	There int `json:"there_before"` // they were left as they are
}

// Recover copies what can be read of a damaged file, which stays as it is. It may be given again.
func (d *Database) Recover(ctx context.Context, file string) (r Recovered, err error) {
	if _, err := os.Stat(file); err != nil {
		return r, fmt.Errorf("recover conversations: %w", err)
	}
	from, err := openRead(ctx, Options{File: file}, fmt.Errorf("%s can't be read as a store of conversations", file))
	if err != nil {
		return r, fmt.Errorf("recover conversations: %w", err)
	}
	defer from.Close()
	heads, failed := from.rows(ctx, "SELECT 0, id FROM sessions WHERE id > ? ORDER BY started_at", "")
	for _, h := range heads {
		id, _ := h.values[0].(string)
		err := exists(ctx, d.reader, id)
		if err == nil {
			r.There++
			continue
		}
		if !errors.Is(err, ErrUnknown) {
			return r, err
		}
		c, partly := from.copyOut(ctx, id)
		if partly != nil && len(c.session) > 0 { // its index may be what is damaged
			if all, err := from.rows(ctx, "SELECT id, "+messageRow+" FROM messages NOT INDEXED WHERE session_id = ? ORDER BY id", id); len(all) > len(c.messages) {
				c.messages, partly = all, err
			}
		}
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		if len(c.session) == 0 {
			failed = errors.Join(failed, partly)
			continue
		}
		if _, err := d.copyIn(ctx, id, c, func(row) any { return nil }); err != nil {
			return r, err
		}
		if partly != nil {
			r.Part++
		} else {
			r.Whole++
		}
	}
	if len(heads) == 0 && failed != nil {
		return r, fmt.Errorf("recover conversations: %w", failed)
	}
	return r, nil
}
