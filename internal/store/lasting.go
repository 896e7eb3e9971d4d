package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// Lasting is a Store on disk that is opened at its first use, and whose conversations go on in memory while the disk fails them: there is
// no place, no permission, the file is damaged or of a newer version. It warns once, keeps trying, and then does on disk what was done in
// memory meanwhile.
type Lasting struct {
	options Options
	claims  claims
	local   claims        // where the disk takes no locks
	opening chan struct{} // held by the one that makes a database
	tending tending

	mu     sync.Mutex // of what follows; nothing is read or written under it
	disk   *Database  // nil = not open
	memory *Database  // nil = not needed yet
	stays  map[string]*stay
	again  time.Time // when a disk that failed is tried again, and
	failed error     // why it couldn't be opened; nil = it could
	warned bool
	closed bool
}

const (
	// tryEvery is how long a disk that failed is left alone.
	tryEvery = 3 * time.Second
	// memoryIDs is below each id of a message in memory, and twice that below each of an event, so that they are none on disk.
	memoryIDs = 1 << 40
)

var errClosed = errors.New("the store is closed")

// New makes a store. Nothing is opened.
func New(o Options) *Lasting {
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	o.tendAfter, o.landWait = cmp.Or(o.tendAfter, tendAfter), cmp.Or(o.landWait, landWait)
	l := &Lasting{options: o, opening: make(chan struct{}, 1), stays: map[string]*stay{}}
	if o.File != "" {
		l.claims.dir = claimsBeside(o.File)
	}
	return l
}

// failing tells whether an error is the disk's, so that another try or another place may do.
func failing(err error) bool {
	switch primary(err) {
	case codePerm, codeBusy, codeLocked, codeReadOnly, codeIO, codeCorrupt, codeFull, codeCantOpen, codeNotDB:
		return true
	}
	_, path := errors.AsType[*fs.PathError](err)
	return path || errors.Is(err, ErrReadOnly) || errors.Is(err, errDamaged)
}

// passing tells whether a file that is open may get over an error, or will never.
func (d *Database) passing(err error) bool {
	if d.refuses != nil {
		return errors.Is(d.refuses, ErrReadOnly)
	}
	return busy(err) || primary(err) == codeFull || errors.Is(err, context.DeadlineExceeded)
}

// hold takes what one at a time may hold.
func hold(ctx context.Context, turn chan struct{}) error {
	select {
	case turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// change makes a change where the session is kept. Where the disk fails it the session goes on in memory, and it is made there.
func (l *Lasting) change(ctx context.Context, session string, do change) ([]int64, error) {
	s, err := l.stay(session)
	if err != nil {
		return nil, err
	}
	if err := hold(ctx, s.turn); err != nil {
		return nil, fmt.Errorf("change session %s: %w", session, err)
	}
	defer func() { <-s.turn }()
	if !l.waits(s) {
		d, err := l.reach(ctx, session, s)
		if err == nil {
			var given []int64
			if given, err = do(ctx, d, s.ids); err == nil || !failing(err) && l.is(d) {
				s.on = d
				return given, err
			}
		}
		if ctx.Err() != nil {
			return nil, err
		}
		if err := l.drift(ctx, session, s, d); err != nil {
			return nil, err
		}
		l.fault(d, err)
	}
	m, err := l.remember(ctx)
	if err != nil {
		return nil, err
	}
	given, err := do(ctx, m, s.ids)
	if err == nil {
		s.undone = append(s.undone, deed{do, given})
	}
	return given, err
}

// read reads where a session is kept; "" is all of them. A file that isn't there is not made for it, and one that can't be opened holds
// nothing.
func (l *Lasting) read(ctx context.Context, session string, look func(d *Database, ids names) error) error {
	for try := 1; ; try++ {
		d, ids, err := l.where(ctx, session)
		if err != nil {
			return err
		}
		err = look(d, ids)
		if err == nil || ctx.Err() != nil || !failing(err) && l.holds(d) {
			return err
		}
		if l.fault(d, err); try == 2 {
			return err
		}
	}
}

// where is the database to read a session from.
func (l *Lasting) where(ctx context.Context, session string) (*Database, names, error) {
	l.mu.Lock()
	s, d, closed := l.stays[session], l.disk, l.closed
	var ids names
	adrift := false
	if s != nil {
		ids, adrift = s.ids, s.adrift
	}
	l.mu.Unlock()
	if closed {
		return nil, nil, errClosed
	}
	if d != nil && !adrift {
		return d, ids, nil
	}
	if !adrift && l.made() {
		d, err := l.open(ctx)
		if err == nil || ctx.Err() != nil {
			return d, ids, err
		}
		l.fault(nil, err)
	}
	m, err := l.remember(ctx)
	return m, ids, err
}

// made tells that there is a file, or that it can't be told.
func (l *Lasting) made() bool {
	_, err := os.Stat(l.options.File)
	return l.options.File == "" || !errors.Is(err, fs.ErrNotExist)
}

// Disk gives the file, for who looks after what is kept and hasn't a conversation: where it can't be opened that is an error. As long as
// there is none it holds nothing.
func (l *Lasting) Disk(ctx context.Context) (*Database, error) {
	if !l.made() {
		return l.remember(ctx)
	}
	return l.open(ctx)
}

func (l *Lasting) stay(session string) (*stay, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClosed
	}
	s := l.stays[session]
	if s == nil {
		s = &stay{turn: make(chan struct{}, 1)}
		l.stays[session] = s
	}
	return s, nil
}

// waits tells of a session in memory that isn't to be brought back to disk yet.
func (l *Lasting) waits(s *stay) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return s.adrift && time.Now().Before(l.again)
}

// is tells that a database is the disk: what one says that was closed meanwhile doesn't count.
func (l *Lasting) is(d *Database) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return d == l.disk
}

// holds tells that a database is in use.
func (l *Lasting) holds(d *Database) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return d == l.disk || d == l.memory
}

// open gives the disk, which it opens if it isn't and didn't fail just now.
func (l *Lasting) open(ctx context.Context) (*Database, error) {
	if err := hold(ctx, l.opening); err != nil {
		return nil, err
	}
	defer func() { <-l.opening }()
	l.mu.Lock()
	d, o, err := l.disk, l.options, l.failed
	tried := err != nil && time.Now().Before(l.again)
	l.mu.Unlock()
	if d != nil {
		return d, nil
	}
	if tried {
		return nil, err
	}
	d, err = Open(ctx, o)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed = err; err == nil {
		l.disk, l.options.suspect = d, false
		l.tending.begin(l.tend)
	}
	return d, err
}

// fault takes note of an error of the disk. It is told once. An open file that won't get over it is closed, to be opened anew.
func (l *Lasting) fault(d *Database, why error) {
	l.mu.Lock()
	told, closes := l.warned, d != nil && d == l.disk && !d.passing(why)
	l.warned = true
	if closes {
		l.disk, l.options.suspect = nil, l.options.suspect || damaged(why)
	}
	if l.again = time.Now().Add(tryEvery); closes && damaged(why) {
		l.again = time.Time{} // what is damaged is set aside at once
	}
	l.mu.Unlock()
	if !told {
		l.options.Warn(fmt.Errorf("conversations go on in memory, until they can be kept again: %w", why))
	}
	if closes {
		_ = d.Close() // that it fails is known
	}
}

// remember gives the memory, which it makes if there is none.
func (l *Lasting) remember(ctx context.Context) (*Database, error) {
	if err := hold(ctx, l.opening); err != nil {
		return nil, err
	}
	defer func() { <-l.opening }()
	l.mu.Lock()
	m, o := l.memory, l.options
	l.mu.Unlock()
	if m != nil {
		return m, nil
	}
	o.File, o.suspect = "", false
	m, err := Open(ctx, o)
	if err != nil {
		return nil, err
	}
	if _, err := m.writer.ExecContext(ctx, "INSERT INTO sqlite_sequence (name, seq) VALUES ('messages', ?), ('events', ?)", memoryIDs, 2*memoryIDs); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.memory = m
	return m, nil
}

// Close implements Store. What is in memory alone is brought to disk, if that works now.
func (l *Lasting) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.again = time.Time{}
	l.mu.Unlock()
	l.tending.end()
	ctx, cancel := context.WithTimeout(context.Background(), l.options.landWait)
	defer cancel()
	var errs []error
	for session, s := range l.stays { // nobody adds to them any more
		err, whole := hold(ctx, s.turn), false
		if err == nil && s.adrift {
			whole = s.on == nil && s.begun
			_, err = l.reach(ctx, session, s)
		}
		if err != nil {
			errs = append(errs, &Lost{session, whole, err})
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range []*Database{l.disk, l.memory} {
		if d != nil {
			errs = append(errs, d.Close())
		}
	}
	l.claims.close()
	l.local.close()
	return errors.Join(errs...)
}
