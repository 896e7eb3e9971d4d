package store

import (
	"context"
	"fmt"
	"net/url"
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

// TryLater leaves a disk that failed alone for an hour.
func (l *Lasting) TryLater() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.again = time.Now().Add(time.Hour)
}

// Blind has reading the disk fail, until it is told again.
func (l *Lasting) Blind() (see func(), err error) {
	eyes := l.disk.reader
	if l.disk.reader, err = connect("/nonexistent/sessions.db", url.Values{"_pragma": {"query_only(1)"}}); err != nil {
		return nil, err
	}
	return func() {
		_ = l.disk.reader.Close()
		l.disk.reader = eyes
	}, nil
}

// Soon is Options under which maintenance begins at once.
func Soon(o Options) Options {
	o.tendAfter = time.Nanosecond
	return o
}

// Patient is Options under which a session on its way back to disk has a minute, so that a busy machine may take its time.
func Patient(o Options) Options {
	o.landWait = time.Minute
	return o
}

// Changing tells that a session is being changed.
func (l *Lasting) Changing(session string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.stays[session].turn) > 0
}

// Hold keeps everybody else from writing.
func (d *Database) Hold(ctx context.Context) (release func() error, err error) {
	tx, err := d.writer.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	return tx.Rollback, nil
}

// Free is how many pages of the file hold nothing.
func (d *Database) Free(ctx context.Context) (n int, err error) {
	err = d.writer.QueryRowContext(ctx, "PRAGMA freelist_count").Scan(&n)
	return n, err
}
