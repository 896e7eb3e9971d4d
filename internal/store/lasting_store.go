package store

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/hermes-runtime/hermes/provider"
)

// do is change for what adds nothing that has an id.
func (l *Lasting) do(ctx context.Context, session string, act func(ctx context.Context, d *Database, ids names) error) error {
	_, err := l.change(ctx, session, func(ctx context.Context, d *Database, ids names) ([]int64, error) { return nil, act(ctx, d, ids) })
	return err
}

// Begin implements Store.
func (l *Lasting) Begin(ctx context.Context, s Session) error {
	return l.do(ctx, s.ID, func(ctx context.Context, d *Database, _ names) error {
		err := d.Begin(ctx, s)
		if err == nil {
			l.mu.Lock()
			l.stays[s.ID].begun = true
			l.mu.Unlock()
		}
		return err
	})
}

// Append implements Store.
func (l *Lasting) Append(ctx context.Context, session string, m ...Message) ([]int64, error) {
	return l.change(ctx, session, func(ctx context.Context, d *Database, _ names) ([]int64, error) { return d.Append(ctx, session, m...) })
}

// Amend implements Store.
func (l *Lasting) Amend(ctx context.Context, session string, id int64, text string) error {
	return l.do(ctx, session, func(ctx context.Context, d *Database, ids names) error {
		return d.Amend(ctx, session, ids.now(id), text)
	})
}

// Count implements Store.
func (l *Lasting) Count(ctx context.Context, session string, u provider.Usage, calls int) error {
	return l.do(ctx, session, func(ctx context.Context, d *Database, _ names) error { return d.Count(ctx, session, u, calls) })
}

// Find implements Store. A session that goes on in memory is found there.
func (l *Lasting) Find(ctx context.Context, ref string) (s Session, err error) {
	err = l.read(ctx, "", func(d *Database, _ names) error {
		s, err = d.Find(ctx, ref)
		return err
	})
	l.mu.Lock()
	m, at := l.memory, l.stays[s.ID]
	adrift := at != nil && at.adrift
	l.mu.Unlock()
	if m == nil || !adrift && !errors.Is(err, ErrUnknown) {
		return s, err
	}
	if adrift {
		ref = s.ID
	}
	if in, missed := m.Find(ctx, ref); missed == nil {
		return in, nil
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
	_, err := l.change(ctx, session, func(ctx context.Context, d *Database, ids names) ([]int64, error) {
		return d.compact(ctx, session, ids.now(through), with)
	})
	return err
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
	return l.do(ctx, session, func(ctx context.Context, d *Database, _ names) error { return d.SetTodos(ctx, session, todos) })
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
	return l.do(ctx, session, func(ctx context.Context, d *Database, _ names) error { return d.Delete(ctx, session) })
}

// Post implements Store.
func (l *Lasting) Post(ctx context.Context, session, kind string, data json.RawMessage) error {
	_, err := l.change(ctx, session, func(ctx context.Context, d *Database, _ names) ([]int64, error) {
		id, err := d.post(ctx, session, kind, data)
		return []int64{id}, err
	})
	return err
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
func (l *Lasting) Delivered(ctx context.Context, session string, events ...int64) error {
	return l.do(ctx, session, func(ctx context.Context, d *Database, ids names) error {
		now := make([]int64, len(events))
		for i, e := range events {
			now[i] = ids.event(e)
		}
		return d.Delivered(ctx, session, now...)
	})
}

// Claim implements Store. Where the disk takes no locks it holds within this process.
func (l *Lasting) Claim(ctx context.Context, session string) (func(), error) {
	release, err := l.claims.take(ctx, session)
	if err != nil && !errors.Is(err, ErrInUse) && ctx.Err() == nil {
		return l.local.take(ctx, session)
	}
	return release, err
}
