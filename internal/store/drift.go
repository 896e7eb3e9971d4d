package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"
)

// stay is where a session is. The one that holds the turn changes it, and what others read it changes under the lock of the store.
type stay struct {
	turn   chan struct{}
	on     *Database // the disk that it was on when it was last changed
	undone []deed    // what was done in memory and isn't done on disk, in order

	begun  bool  // it was begun here, so that the disk knows it from then on only
	adrift bool  // it is in memory
	ids    names // where messages were given other ids: those by which callers may know them; replaced, never changed
}

// change does something to a session, and gives the ids of what it adds. ids has the ids of what its caller knows by others.
type change func(ctx context.Context, d *Database, ids names) ([]int64, error)

// deed is a change that was made in memory, and what it gave there.
type deed struct {
	do    change
	given []int64
}

// landWait is Options.landWait where nothing else is said. What has been done by then is done.
const landWait = 5 * time.Second

// drift has a session go on in memory, with what can be read of it. Of one that can't be read at all it holds what comes from now on.
func (l *Lasting) drift(ctx context.Context, session string, s *stay, d *Database) error {
	if s.adrift {
		return nil
	}
	m, err := l.remember(ctx)
	if err != nil {
		return err
	}
	if d != nil || s.on != nil {
		err := errDamaged
		if d != nil {
			err = d.copyTo(ctx, m, session)
		}
		if err != nil && !errors.Is(err, ErrUnknown) {
			err = m.Begin(ctx, Session{ID: session})
			if err != nil {
				return err
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s.adrift = true
	return nil
}

// reach gives the disk, with a session on it.
func (l *Lasting) reach(ctx context.Context, session string, s *stay) (*Database, error) {
	d, err := l.open(ctx)
	if err != nil || !s.adrift && (s.on == nil || s.on == d) {
		return d, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.options.landWait)
	defer cancel()
	err = exists(ctx, d.reader, session)
	there := err == nil
	if !there && !errors.Is(err, ErrUnknown) {
		return d, fmt.Errorf("find session %s: %w", session, err)
	}
	if s.adrift {
		return d, l.land(ctx, landing{session, s, d, there})
	}
	if !there { // the file that it was in has been set aside
		err = d.Begin(ctx, Session{ID: session})
	}
	return d, err
}

// landing is a session on its way back to disk.
type landing struct {
	session string
	stay    *stay
	disk    *Database
	there   bool // the disk knows it
}

// land does on disk what was done in memory. Where the disk doesn't know the session it gets all that is in memory of it.
func (l *Lasting) land(ctx context.Context, to landing) error {
	s := to.stay
	if !to.there {
		learned, err := l.memory.moveTo(ctx, to.disk, to.session)
		if err != nil && !errors.Is(err, ErrUnknown) { // unknown = nothing came of it
			return err
		}
		l.rename(s, learned)
		s.undone = nil
	}
	for len(s.undone) > 0 {
		u := s.undone[0]
		given, err := u.do(ctx, to.disk, s.ids)
		if failing(err) || ctx.Err() != nil {
			return err
		}
		if err != nil {
			l.options.Warn(fmt.Errorf("session %s was changed elsewhere while it was in memory, and one change is lost: %w", to.session, err))
		}
		learned := names{}
		for i := range given {
			learned[u.given[i]] = given[i]
		}
		l.rename(s, learned)
		s.undone = s.undone[1:]
	}
	s.undone = nil
	if err := l.memory.Delete(ctx, to.session); err != nil && !errors.Is(err, ErrUnknown) {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s.adrift, s.on, l.warned = false, to.disk, false
	for _, other := range l.stays {
		l.warned = l.warned || other.adrift
	}
	return nil
}

// rename takes note of ids that messages have got.
func (l *Lasting) rename(s *stay, learned names) {
	if len(learned) == 0 {
		return
	}
	ids := maps.Clone(learned)
	for known, id := range s.ids {
		ids[known] = learned.now(id)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s.ids = ids
}

// now is the id that a message has now.
func (n names) now(id int64) int64 {
	if now, moved := n[id]; moved {
		return now
	}
	return id
}

// event is now for an event. Those from disk keep their ids, which messages may have, too.
func (n names) event(id int64) int64 {
	if id > memoryIDs {
		return n.now(id)
	}
	return id
}
