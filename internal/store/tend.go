package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	tendAfter = 10 * time.Second // from the opening: what runs a moment is not held up
	tendCheck = time.Hour        // how often a process looks whether it is time
	tendEvery = 24 * time.Hour   // for all processes together

	// A step of maintenance stays below 50 ms, and between two there is as much time for whoever waits to write, this much at most (STO-5).
	tendPause   = 20 * time.Millisecond
	deleteStep  = 50         // messages, and
	deleteChars = 128 * 1024 // of them together, if it is more than one
	mergeStep   = 16         // pages of the index
	vacuumStep  = 64         // pages

	tendClaim = ".maintenance" // that one process at a time does it
)

// tending is the goroutine that maintains a store.
type tending struct {
	cancel context.CancelFunc
	once   sync.Once
	wait   sync.WaitGroup
}

func (t *tending) begin(do func(ctx context.Context)) {
	t.once.Do(func() {
		var ctx context.Context
		ctx, t.cancel = context.WithCancel(context.Background())
		t.wait.Go(func() { do(ctx) })
	})
}

// end waits for the step that is under way.
func (t *tending) end() {
	t.once.Do(func() {}) // none begins any more
	if t.cancel != nil {
		t.cancel()
	}
	t.wait.Wait()
}

// tend maintains the store as long as it is open.
func (l *Lasting) tend(ctx context.Context) {
	for wait := l.options.tendAfter; ; wait = tendCheck {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		l.mu.Lock()
		d := l.disk
		l.mu.Unlock()
		if d != nil {
			_ = d.Tend(ctx) // what fails here is done another time, and whoever writes is told what is wrong
		}
	}
}

// Tend does what keeps the file small and quick, if it hasn't been done within a day: conversations that are older than they are kept go,
// and what they have left; the index is merged, the log brought into the file. It works in short steps and may be ended at any.
func (d *Database) Tend(ctx context.Context) error {
	if d.refuses != nil || d.options.File == "" {
		return nil
	}
	release, err := d.claims.take(ctx, tendClaim)
	if err != nil {
		return err
	}
	defer release()
	due, err := d.due(ctx)
	if !due || err != nil {
		return err
	}
	d.claims.sweep()
	if d.options.Keep > 0 {
		if _, err := d.Prune(ctx, time.Now().Add(-d.options.Keep)); err != nil {
			return err
		}
	}
	for _, chore := range []struct {
		sql  string
		ends func(before, after work) bool
	}{
		{fmt.Sprintf("INSERT INTO messages_fts(messages_fts, rank) VALUES ('merge', %d)", mergeStep), func(a, b work) bool { return b.changes-a.changes < 2 }},
		{fmt.Sprintf("PRAGMA incremental_vacuum(%d)", vacuumStep), func(a, b work) bool { return a.free == b.free }},
		{"PRAGMA analysis_limit=400; PRAGMA optimize", func(work, work) bool { return true }},
	} {
		if err := d.chore(ctx, chore.sql, chore.ends); err != nil {
			return err
		}
	}
	var busy, pages, done int // a reader's: whoever writes goes on meanwhile
	if err := d.reader.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &pages, &done); err != nil {
		return fmt.Errorf("bring the log into the store: %w", err)
	}
	return d.write(ctx, "note that the store is maintained", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO meta VALUES ('tended_at', ?1) ON CONFLICT (key) DO UPDATE SET value = ?1", fmt.Sprint(micros(time.Now())))
		return err
	})
}

// due tells whether it has been a day.
func (d *Database) due(ctx context.Context) (bool, error) {
	var last int64
	err := d.reader.QueryRowContext(ctx, "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'tended_at'").Scan(&last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, fmt.Errorf("maintain the store: %w", err)
	}
	return time.Since(time.UnixMicro(last)) >= tendEvery, nil
}

// work is what there is to see of a chore's progress.
type work struct{ changes, free int64 }

// chore does something again and again until it ends.
func (d *Database) chore(ctx context.Context, sql string, ends func(before, after work) bool) error {
	for {
		began := time.Now()
		before, after, err := d.bit(ctx, sql)
		if err != nil {
			return fmt.Errorf("maintain the store: %w", err)
		}
		if ends(before, after) {
			return nil
		}
		if err := pause(ctx, began); err != nil {
			return err
		}
	}
}

// bit does one step, on the connection that writes: only there it can be seen what it did.
func (d *Database) bit(ctx context.Context, do string) (before, after work, err error) {
	const look = "SELECT total_changes(), (SELECT freelist_count FROM pragma_freelist_count)"
	c, err := d.writer.Conn(ctx)
	if err != nil {
		return before, after, err
	}
	defer c.Close()
	err = retry(ctx, func() error {
		if err := c.QueryRowContext(ctx, look).Scan(&before.changes, &before.free); err != nil {
			return err
		}
		if _, err := c.ExecContext(ctx, do); err != nil {
			return err
		}
		return c.QueryRowContext(ctx, look).Scan(&after.changes, &after.free)
	})
	return before, after, err
}

func pause(ctx context.Context, began time.Time) error {
	select {
	case <-time.After(min(time.Since(began), tendPause)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Prune deletes the sessions in which nothing has happened since a time, but those that are in use or archived.
func (d *Database) Prune(ctx context.Context, since time.Time) (deleted []string, err error) {
	ids, err := d.idle(ctx, since)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		began := time.Now()
		release, err := d.claims.take(ctx, id)
		if errors.Is(err, ErrInUse) {
			continue
		}
		if err != nil {
			return deleted, err
		}
		err = d.Delete(ctx, id)
		release()
		if err != nil && !errors.Is(err, ErrUnknown) {
			return deleted, err
		}
		deleted = append(deleted, id)
		if err := pause(ctx, began); err != nil {
			return deleted, err
		}
	}
	return deleted, nil
}

func (d *Database) idle(ctx context.Context, since time.Time) (ids []string, err error) {
	rows, err := d.reader.QueryContext(ctx, "SELECT id FROM sessions WHERE active_at < ? AND archived = 0 ORDER BY active_at", micros(since))
	if err != nil {
		return nil, fmt.Errorf("find old sessions: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("find old sessions: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}
