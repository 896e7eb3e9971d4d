package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/provider"
)

// Lasting is a Store on disk that is opened at its first use, and whose conversations go on in memory while the disk fails them: there is
// no place, no permission, the file is damaged or of a newer version. It warns once, keeps trying, and then keeps on disk what came meanwhile.
type Lasting struct {
	options Options
	claims  claims
	local   claims // where the disk takes no locks

	mu     sync.RWMutex // for writing: what is where
	disk   *Database    // nil = not open
	memory *Database    // nil = not needed yet
	adrift map[string]names
	landed map[string]names // ids that were given out in memory, by session
	again  time.Time        // when the disk is tried again
	warned bool
	closed bool
}

const (
	// tryEvery is how long a disk that failed is left alone.
	tryEvery = 3 * time.Second
	// memoryIDs is the least id of a message in memory, so that it is none on disk.
	memoryIDs = 1 << 40
)

var errClosed = errors.New("the store is closed")

// New makes a store. Nothing is opened.
func New(o Options) *Lasting {
	l := &Lasting{options: o, adrift: map[string]names{}, landed: map[string]names{}}
	if o.File != "" {
		l.claims.dir = filepath.Join(filepath.Dir(o.File), "run", "sessions")
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

// action does something in the database that holds a session. ids names messages by the ids that their callers may still know them by.
type action func(d *Database, ids names) error

// do has something done where a session is kept; "" is all of them. Where the disk fails it the session goes on in memory, and it is done
// there.
func (l *Lasting) do(ctx context.Context, session string, act action) error {
	for range 2 {
		done, err := l.try(ctx, session, act)
		if done {
			return err
		}
		if err := l.move(ctx, session, err); err != nil {
			return err
		}
	}
	_, err := l.try(ctx, session, act)
	return err
}

// read is do for what changes nothing: a file that isn't there is not made for it.
func (l *Lasting) read(ctx context.Context, session string, act action) error {
	empty, err := l.unmade(ctx)
	if err != nil {
		return err
	}
	if empty != nil {
		return act(empty, nil)
	}
	return l.do(ctx, session, act)
}

// try does it where the session is now. It isn't done if the session has to be moved first; err says why, nil = it may be time to go back
// to the disk.
func (l *Lasting) try(ctx context.Context, session string, act action) (done bool, err error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return true, errClosed
	}
	if _, drifting := l.adrift[session]; drifting {
		if time.Now().After(l.again) {
			return false, nil
		}
		return true, act(l.memory, l.landed[session])
	}
	if l.disk == nil {
		return false, nil
	}
	err = act(l.disk, l.landed[session])
	return ctx.Err() != nil || !failing(err), err
}

// move opens the disk, brings a session back to it, or into memory if the disk has failed.
func (l *Lasting) move(ctx context.Context, session string, failed error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errClosed
	}
	if failed == nil {
		failed = l.land(ctx, session)
	}
	if failed == nil || ctx.Err() != nil {
		return failed
	}
	return l.drift(ctx, session, failed)
}

// open opens the disk if it isn't.
func (l *Lasting) open(ctx context.Context) (err error) {
	if l.disk == nil {
		l.disk, err = Open(ctx, l.options)
	}
	return err
}

// land brings a session back to disk.
func (l *Lasting) land(ctx context.Context, session string) error {
	if err := l.open(ctx); err != nil {
		return err
	}
	l.options.suspect = false
	known, drifting := l.adrift[session]
	if !drifting {
		return nil
	}
	c, err := l.memory.copyOut(ctx, session)
	switch {
	case errors.Is(err, ErrUnknown): // nothing came of it
	case err != nil:
		return err
	default:
		learned, err := l.disk.copyIn(ctx, session, c, known)
		if err != nil {
			return err
		}
		if l.landed[session] == nil {
			l.landed[session] = names{}
		}
		maps.Copy(l.landed[session], learned)
		if err := l.memory.Delete(ctx, session); err != nil {
			return err
		}
	}
	delete(l.adrift, session)
	l.warned = len(l.adrift) > 0
	return nil
}

// drift has a session go on in memory, with what can be read of it.
func (l *Lasting) drift(ctx context.Context, session string, why error) error {
	l.again = time.Now().Add(tryEvery)
	if !l.warned && l.options.Warn != nil {
		l.options.Warn(fmt.Errorf("conversations go on in memory, until they can be kept again: %w", why))
	}
	l.warned = true
	if _, drifting := l.adrift[session]; drifting {
		return nil
	}
	if err := l.remember(ctx); err != nil {
		return err
	}
	known := names{}
	if l.disk != nil {
		if c, err := l.disk.copyOut(ctx, session); err == nil {
			if known, err = l.memory.copyIn(ctx, session, c, nil); err != nil {
				return err
			}
		}
		if damaged(why) {
			_ = l.disk.Close() // it is looked at, and set aside, when it is opened again
			l.disk, l.options.suspect = nil, true
		}
	}
	l.adrift[session] = known
	return nil
}

// remember makes the memory if there is none.
func (l *Lasting) remember(ctx context.Context) error {
	if l.memory != nil {
		return nil
	}
	o := l.options
	o.File = ""
	m, err := Open(ctx, o)
	if err != nil {
		return err
	}
	if _, err := m.writer.ExecContext(ctx, "INSERT INTO sqlite_sequence (name, seq) VALUES ('messages', ?)", memoryIDs); err != nil {
		return errors.Join(err, m.Close())
	}
	l.memory = m
	return nil
}

// unmade is the memory as long as there is no file.
func (l *Lasting) unmade(ctx context.Context) (*Database, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.disk != nil || l.closed || l.options.File == "" {
		return nil, nil
	}
	if _, err := os.Stat(l.options.File); !errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	err := l.remember(ctx)
	return l.memory, err
}

// Close implements Store. What is in memory alone is brought to disk, if that works now.
func (l *Lasting) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	var errs []error
	for session := range maps.Clone(l.adrift) {
		if err := l.land(ctx, session); err != nil {
			errs = append(errs, fmt.Errorf("session %s is lost: %w", session, err))
		}
	}
	for _, d := range []*Database{l.disk, l.memory} {
		if d != nil {
			errs = append(errs, d.Close())
		}
	}
	l.claims.close()
	l.local.close()
	return errors.Join(errs...)
}

// closeWait bounds the last try to bring conversations to disk.
const closeWait = 5 * time.Second

// Begin implements Store.
func (l *Lasting) Begin(ctx context.Context, s Session) error {
	return l.do(ctx, s.ID, func(d *Database, _ names) error { return d.Begin(ctx, s) })
}

// Append implements Store.
func (l *Lasting) Append(ctx context.Context, session string, m ...Message) (ids []int64, err error) {
	err = l.do(ctx, session, func(d *Database, _ names) error {
		ids, err = d.Append(ctx, session, m...)
		return err
	})
	return ids, err
}

// Amend implements Store.
func (l *Lasting) Amend(ctx context.Context, session string, id int64, text string) error {
	return l.do(ctx, session, func(d *Database, ids names) error { return d.Amend(ctx, session, ids.now(id), text) })
}

// Count implements Store.
func (l *Lasting) Count(ctx context.Context, session string, u provider.Usage, calls int) error {
	return l.do(ctx, session, func(d *Database, _ names) error { return d.Count(ctx, session, u, calls) })
}

// Find implements Store. A session that goes on in memory is found there.
func (l *Lasting) Find(ctx context.Context, ref string) (s Session, err error) {
	err = l.read(ctx, "", func(d *Database, _ names) error {
		s, err = d.Find(ctx, ref)
		return err
	})
	l.mu.RLock()
	defer l.mu.RUnlock()
	if _, drifting := l.adrift[s.ID]; l.memory != nil && (drifting || errors.Is(err, ErrUnknown)) {
		if err == nil {
			ref = s.ID
		}
		if m, missed := l.memory.Find(ctx, ref); missed == nil {
			return m, nil
		}
	}
	return s, err
}

// Messages implements Store.
func (l *Lasting) Messages(ctx context.Context, session string) (m []Message, err error) {
	err = l.read(ctx, session, func(d *Database, _ names) error {
		m, err = d.Messages(ctx, session)
		return err
	})
	return m, err
}

// Compact implements Store.
func (l *Lasting) Compact(ctx context.Context, session string, through int64, with []Message) error {
	return l.do(ctx, session, func(d *Database, ids names) error { return d.Compact(ctx, session, ids.now(through), with) })
}

// now is the id that a message has now.
func (n names) now(id int64) int64 {
	if now, moved := n[id]; moved {
		return now
	}
	return id
}

// Todos implements Store.
func (l *Lasting) Todos(ctx context.Context, session string) (todos []Todo, err error) {
	err = l.read(ctx, session, func(d *Database, _ names) error {
		todos, err = d.Todos(ctx, session)
		return err
	})
	return todos, err
}

// SetTodos implements Store.
func (l *Lasting) SetTodos(ctx context.Context, session string, todos []Todo) error {
	return l.do(ctx, session, func(d *Database, _ names) error { return d.SetTodos(ctx, session, todos) })
}

// List implements Store. Of sessions that go on in memory it shows what is on disk, as long as that can be read.
func (l *Lasting) List(ctx context.Context, f Filter) (entries []Entry, err error) {
	err = l.read(ctx, "", func(d *Database, _ names) error {
		entries, err = d.List(ctx, f)
		return err
	})
	return entries, err
}

// Search implements Store. Of sessions that go on in memory it searches what is on disk, as long as that can be read.
func (l *Lasting) Search(ctx context.Context, q Query) (f Found, err error) {
	err = l.read(ctx, "", func(d *Database, _ names) error {
		f, err = d.Search(ctx, q)
		return err
	})
	return f, err
}

// Look implements Store.
func (l *Lasting) Look(ctx context.Context, session string, v View) (x Excerpt, err error) {
	err = l.read(ctx, session, func(d *Database, ids names) error {
		v.Anchor = ids.now(v.Anchor)
		x, err = d.Look(ctx, session, v)
		return err
	})
	return x, err
}

// Delete implements Store.
func (l *Lasting) Delete(ctx context.Context, session string) error {
	return l.do(ctx, session, func(d *Database, _ names) error { return d.Delete(ctx, session) })
}

// Post implements Store.
func (l *Lasting) Post(ctx context.Context, session, kind string, data json.RawMessage) error {
	return l.do(ctx, session, func(d *Database, _ names) error { return d.Post(ctx, session, kind, data) })
}

// Waiting implements Store.
func (l *Lasting) Waiting(ctx context.Context, session string) (events []Event, err error) {
	err = l.read(ctx, session, func(d *Database, _ names) error {
		events, err = d.Waiting(ctx, session)
		return err
	})
	return events, err
}

// Delivered implements Store.
func (l *Lasting) Delivered(ctx context.Context, session string, ids ...int64) error {
	return l.do(ctx, session, func(d *Database, _ names) error { return d.Delivered(ctx, session, ids...) })
}

// Claim implements Store. Where the disk takes no locks it holds within this process.
func (l *Lasting) Claim(ctx context.Context, session string) (func(), error) {
	release, err := l.claims.take(ctx, session)
	if err != nil && !errors.Is(err, ErrInUse) && ctx.Err() == nil {
		return l.local.take(ctx, session)
	}
	return release, err
}
