package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/hermes-runtime/hermes/internal/atomicfile"
)

const (
	busyTimeout   = 5 * time.Second // that SQLite itself waits for a lock (STO-1)
	maxTries      = 15              // of a write, with a pause between them (STO-3)
	minPause      = 20 * time.Millisecond
	maxPause      = 150 * time.Millisecond
	migrationWait = 30 * time.Second // for another process that brings the schema up to date (STO-4)
	readers       = 4                // connections that read beside the one that writes
)

// Options says where and how conversations are kept.
type Options struct {
	File   string              // "" = in memory only
	Redact func(string) string // takes secrets out of what is kept; nil = nothing
	Warn   func(error)         // told, once each, what doesn't fail and should be known; nil = nobody
	Keep   time.Duration       // how long a conversation is kept in which nothing happens; 0 = for ever

	tendAfter time.Duration // when maintenance begins
	landWait  time.Duration // bounds a try to bring a session back to disk, or all of them at the end
	suspect   bool          // the file has turned out to be damaged: it is looked at as a whole
}

// Database is a Store in one SQLite database, on disk or in memory.
type Database struct {
	options Options
	writer  *sql.DB // one connection; each transaction takes the lock of the database at its beginning
	reader  *sql.DB // the writer, where the database is in memory
	refuses error   // why nothing can be written; nil = it can
	claims  claims
}

// Open opens the database, makes it if it isn't there, and brings its schema up to date. A file that is damaged is set aside.
func Open(ctx context.Context, o Options) (*Database, error) {
	if o.Redact == nil {
		o.Redact = func(s string) string { return s }
	}
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	if o.File == "" {
		return openMemory(ctx, o)
	}
	dir := filepath.Dir(o.File)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the store: %w", err)
	}
	d, err := openFile(ctx, o)
	if err != nil && !damaged(err) && !busy(err) && ctx.Err() == nil {
		return openRead(ctx, o, err)
	}
	if !damaged(err) {
		return d, err
	}
	if err := setAside(ctx, o, err); err != nil {
		return nil, err
	}
	o.suspect = false
	return openFile(ctx, o)
}

func openMemory(ctx context.Context, o Options) (*Database, error) {
	db, err := connect(":memory:", nil)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // another connection would be another database
	d := &Database{options: o, writer: db, reader: db}
	return d.prepare(ctx, migrations)
}

func openFile(ctx context.Context, o Options) (*Database, error) {
	f, err := os.OpenFile(o.File, os.O_RDWR|os.O_CREATE, 0o600) // SQLite gives its other files the mode of this one
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	if err := errors.Join(isDatabase(f), f.Close()); err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	d := &Database{options: o, claims: claims{dir: claimsBeside(o.File)}}
	if d.writer, err = connect(o.File, url.Values{"_txlock": {"immediate"}}); err != nil {
		return nil, err
	}
	d.writer.SetMaxOpenConns(1)
	if d.reader, err = connect(o.File, url.Values{"_pragma": {"query_only(1)"}}); err != nil {
		return nil, errors.Join(err, d.writer.Close())
	}
	d.reader.SetMaxOpenConns(readers)
	d.reader.SetMaxIdleConns(readers)
	return d.prepare(ctx, migrations)
}

// isDatabase tells of a file that is neither empty nor begins as a database does: SQLite would write over one that is very short.
func isDatabase(f *os.File) error {
	const begins = "SQLite format 3\x00"
	head := make([]byte, len(begins))
	n, err := f.Read(head)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if n > 0 && string(head[:n]) != begins {
		return fmt.Errorf("%w: it is no database", errDamaged)
	}
	return nil
}

// connect makes a pool; nothing is opened yet.
func connect(file string, more url.Values) (*sql.DB, error) {
	q := url.Values{"_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "foreign_keys(1)", "synchronous(NORMAL)", "temp_store(MEMORY)",
	}}
	for k, v := range more {
		q[k] = append(q[k], v...)
	}
	name := file
	if file != ":memory:" {
		name = (&url.URL{Scheme: "file", Path: filepath.ToSlash(file), OmitHost: true}).String()
	}
	db, err := sql.Open("sqlite", name+"?"+q.Encode())
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	return db, nil
}

// prepare brings the database into the state that the rest relies on.
func (d *Database) prepare(ctx context.Context, steps []migration) (*Database, error) {
	if err := d.setUp(ctx, steps); err != nil {
		return nil, errors.Join(fmt.Errorf("open the store: %w", d.options.plainly(err)), d.Close())
	}
	return d, nil
}

func (d *Database) setUp(ctx context.Context, steps []migration) error {
	if d.options.suspect {
		var verdict string
		if err := d.writer.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
			return err
		} else if verdict != "ok" {
			return fmt.Errorf("%w: %s", errDamaged, verdict)
		}
	}
	if d.options.File != "" {
		if err := d.begin(ctx); err != nil {
			return err
		}
		if err := d.journal(ctx); err != nil {
			return err
		}
	}
	return d.migrate(ctx, steps)
}

// begin settles of a new file that its free pages can be given back: later it can't be settled any more.
func (d *Database) begin(ctx context.Context) error {
	var pages int
	if err := retry(ctx, func() error { return d.writer.QueryRowContext(ctx, "PRAGMA page_count").Scan(&pages) }); err != nil || pages > 0 {
		return err
	}
	_, err := d.writer.ExecContext(ctx, "PRAGMA auto_vacuum=INCREMENTAL")
	return err
}

// journal chooses the write-ahead log, and where there can't be one says so.
func (d *Database) journal(ctx context.Context) error {
	var mode string
	err := retry(ctx, func() error { return d.writer.QueryRowContext(ctx, "PRAGMA journal_mode=WAL").Scan(&mode) })
	if err == nil && mode == "wal" { // it may say so where no memory can be shared, and fail at the first write
		if err = d.once(ctx, func(*sql.Tx) error { return nil }); err == nil || busy(err) {
			return nil
		}
	}
	if damaged(err) || busy(err) || ctx.Err() != nil {
		return err
	}
	if err := d.leaveLog(ctx); err != nil {
		return err
	}
	d.options.Warn(fmt.Errorf("the file system of %s can't hold a write-ahead log: conversations are kept with a rollback journal, and reading may wait for writing", d.options.File))
	return nil
}

// leaveLog goes back to a rollback journal. Only a connection that has the file for itself can do so without shared memory.
func (d *Database) leaveLog(ctx context.Context) error {
	alone, err := connect(d.options.File, url.Values{"_pragma": {"locking_mode(EXCLUSIVE)"}})
	if err != nil {
		return err
	}
	defer alone.Close()
	alone.SetMaxOpenConns(1)
	d.writer.SetMaxIdleConns(0) // what it has open knows the log
	d.writer.SetMaxIdleConns(1)
	var mode string
	return alone.QueryRowContext(ctx, "PRAGMA journal_mode=DELETE").Scan(&mode)
}

// migrate takes the steps of the schema that are missing, one transaction each.
func (d *Database) migrate(ctx context.Context, steps []migration) error {
	version, err := d.version(ctx, d.writer)
	if err != nil {
		return err
	}
	if version > len(steps) {
		d.refuses = ErrReadOnly
		d.options.Warn(fmt.Errorf("%s: %w (schema %d, this one knows %d): conversations can be read, new ones are not kept; use the newer version, or another HERMES_HOME", d.options.File, ErrReadOnly, version, len(steps)))
		return nil
	}
	if version == len(steps) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, migrationWait)
	defer cancel()
	for n := range steps {
		if err := d.step(ctx, n, steps[n]); err != nil {
			return fmt.Errorf("bring the schema to version %d: %w", n+1, err)
		}
	}
	return nil
}

type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func (d *Database) version(ctx context.Context, q queryer) (n int, err error) {
	err = retry(ctx, func() error { return q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&n) })
	return n, err
}

// step takes the n-th step, unless another process was quicker.
func (d *Database) step(ctx context.Context, n int, m migration) error {
	if m.destructive {
		if err := d.copyBefore(ctx, n); err != nil {
			return err
		}
	}
	return retry(ctx, func() error {
		return d.once(ctx, func(tx *sql.Tx) error {
			version, err := d.version(ctx, tx)
			if err != nil || version > n {
				return err
			}
			if _, err := tx.ExecContext(ctx, m.sql); err != nil {
				return err
			}
			_, err = tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version=%d", n+1))
			return err
		})
	})
}

// copyBefore keeps the file as it was before the n-th step, beside it. A copy that is there already stays.
func (d *Database) copyBefore(ctx context.Context, n int) error {
	version, err := d.version(ctx, d.writer)
	if err != nil || version > n || d.options.File == "" {
		return err
	}
	name := fmt.Sprintf("%s.schema%d", d.options.File, n)
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	held, err := atomicfile.Lock(ctx, d.options.File+".lock")
	if err != nil {
		return err
	}
	defer func() { _ = held.UnlockAndRemove() }()
	part := name + ".part"
	_ = os.Remove(part) // what a crash has left
	if _, err := d.writer.ExecContext(ctx, "VACUUM INTO ?", part); err != nil {
		return fmt.Errorf("copy the file before: %w", err)
	}
	if err := os.Chmod(part, 0o600); err != nil {
		return err
	}
	return os.Rename(part, name)
}

// write makes changes in one transaction that has the database for itself.
func (d *Database) write(ctx context.Context, what string, do func(tx *sql.Tx) error) error {
	err := d.refuses
	if err == nil {
		err = retry(ctx, func() error { return d.once(ctx, do) })
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, d.options.plainly(err))
	}
	return nil
}

func (d *Database) once(ctx context.Context, do func(tx *sql.Tx) error) error {
	tx, err := d.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, rolledBack(tx.Rollback()))
	}
	return tx.Commit()
}

// rolledBack leaves out that there was nothing to roll back any more.
func rolledBack(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// retry does it again while the database is held by others.
func retry(ctx context.Context, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		if !busy(err) || try == maxTries {
			return err
		}
		select {
		case <-time.After(minPause + rand.N(maxPause-minPause)):
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// setAside gives a damaged file, and what SQLite has beside it, another name.
func setAside(ctx context.Context, o Options, why error) error {
	held, err := atomicfile.Lock(ctx, o.File+".lock")
	if err != nil {
		return err
	}
	defer func() { _ = held.UnlockAndRemove() }()
	if d, err := openFile(ctx, Options{File: o.File, Warn: func(error) {}, suspect: o.suspect}); !damaged(err) { // another process was quicker
		if err == nil {
			err = d.Close()
		}
		return err
	}
	to := fmt.Sprintf("%s.damaged-%s", o.File, time.Now().UTC().Format("20060102T150405.000000"))
	for _, suffix := range []string{"-wal", "-shm", "-journal", ""} {
		if err := os.Rename(o.File+suffix, to+suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("set the damaged store aside: %w", err)
		}
	}
	o.Warn(fmt.Errorf("the store is damaged (%w): it is set aside as %s, and a new one begun; `hermes sessions recover %[2]s` brings back what can be read of it", why, to))
	return nil
}

// Close ends the database. What was written is on disk.
func (d *Database) Close() error {
	d.claims.close()
	var errs []error
	if d.options.File != "" && d.refuses == nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, _ = d.writer.ExecContext(ctx, "PRAGMA analysis_limit=400; PRAGMA optimize") // what fails here is done another time
	}
	if d.reader != d.writer && d.reader != nil {
		errs = append(errs, d.reader.Close())
	}
	return errors.Join(append(errs, d.writer.Close())...)
}
