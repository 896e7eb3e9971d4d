package store

import (
	"context"
	"fmt"
	"time"
)

// Step is a step of a schema that a test makes up, on top of the real ones.
type Step struct {
	SQL         string
	Destructive bool
}

// OpenNewer opens a database as a version would that knows more steps.
func OpenNewer(ctx context.Context, o Options, more ...Step) (*Database, error) {
	steps := append([]migration{}, migrations...)
	for _, s := range more {
		steps = append(steps, migration{s.SQL, s.Destructive})
	}
	real := migrations
	migrations = steps
	defer func() { migrations = real }()
	return Open(ctx, o)
}

// Version is the schema of the file.
func (d *Database) Version(ctx context.Context) (int, error) { return d.version(ctx, d.writer) }

// Check has SQLite look at the whole file, and at the index.
func (d *Database) Check(ctx context.Context) error {
	var verdict string
	if err := d.writer.QueryRowContext(ctx, "PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		return fmt.Errorf("integrity: %s %w", verdict, err)
	}
	_, err := d.writer.ExecContext(ctx, "INSERT INTO messages_fts(messages_fts, rank) VALUES ('integrity-check', 1)")
	return err
}

// Room bounds how large the file may grow, in pages from where it is; a negative number lifts the bound.
func (l *Lasting) Room(ctx context.Context, pages int) error {
	var size int
	if err := l.disk.writer.QueryRowContext(ctx, "PRAGMA page_count").Scan(&size); err != nil {
		return err
	}
	if pages < 0 {
		size, pages = 1<<30, 0
	}
	return l.disk.writer.QueryRowContext(ctx, fmt.Sprintf("PRAGMA max_page_count=%d", size+pages)).Scan(&size)
}

// TryNow ends the time for which a disk that failed is left alone.
func (l *Lasting) TryNow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.again = time.Time{}
}
