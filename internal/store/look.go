package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/hermes-runtime/hermes/provider"
)

// Look implements Store.
func (d *Database) Look(ctx context.Context, session string, v View) (Excerpt, error) {
	x, err := d.look(ctx, session, v)
	if err != nil {
		return Excerpt{}, fmt.Errorf("look into session %s: %w", session, err)
	}
	return x, nil
}

// stretch is part of a look: positions that it lies between, both excluded, and roles.
type stretch struct {
	session  string
	roles    []provider.Role
	from, to int64
}

func (s stretch) where() (string, []any) {
	where, args := "WHERE m.session_id = ? AND m.pos > ? AND m.pos < ?", []any{s.session, s.from, s.to}
	if s.roles != nil {
		in, more := among(s.roles)
		where += " AND m.role IN (" + in + ")"
		args = append(args, more...)
	}
	return where, args
}

const endless = 1<<63 - 1

func (d *Database) look(ctx context.Context, session string, v View) (x Excerpt, err error) {
	if err := exists(ctx, d.reader, session); err != nil {
		return x, err
	}
	all := stretch{session, v.Roles, 0, endless}
	if x.Total, err = d.count(ctx, all); err != nil {
		return x, err
	}
	before, after := all, all
	if v.Anchor != 0 {
		if before, after, err = d.around(ctx, &x, v, all); err != nil {
			return x, err
		}
	}
	if x.Start, _, err = d.take(ctx, before, v.First); err != nil {
		return x, err
	}
	if v.Anchor == 0 {
		v.Last = min(v.Last, x.Total-len(x.Start))
	}
	x.End, _, err = d.take(ctx, after, -v.Last)
	return x, err
}

// around fills in what lies around the anchor, and gives what lies before and after it.
func (d *Database) around(ctx context.Context, x *Excerpt, v View, all stretch) (before, after stretch, err error) {
	var pos int64
	anchor, err := scanMessage(d.reader.QueryRowContext(ctx, "SELECT "+messageColumns+", m.pos FROM messages m WHERE m.session_id = ? AND m.id = ?", all.session, v.Anchor), &pos)
	if errors.Is(err, sql.ErrNoRows) {
		return all, all, d.nearMessages(ctx, all.session, v.Anchor)
	}
	if err != nil {
		return all, all, err
	}
	before, after = all, all
	before.to, after.from = pos, pos
	left, start, err := d.take(ctx, before, -v.Sides)
	if err != nil {
		return before, after, err
	}
	right, end, err := d.take(ctx, after, v.Sides)
	if err != nil {
		return before, after, err
	}
	x.Around = append(append(left, anchor), right...)
	if len(left) > 0 {
		before.to = start
	}
	if len(right) > 0 {
		after.from = end
	}
	if x.Before, err = d.count(ctx, before); err != nil {
		return before, after, err
	}
	x.After, err = d.count(ctx, after)
	return before, after, err
}

// take gives the first n messages of a stretch, or its last -n, in order; and the position of the one that lies furthest in.
func (d *Database) take(ctx context.Context, s stretch, n int) (out []Message, inner int64, err error) {
	if n == 0 {
		return nil, 0, nil
	}
	where, args := s.where()
	order := "ASC"
	if n < 0 {
		n, order = -n, "DESC"
	}
	rows, err := d.reader.QueryContext(ctx, "SELECT "+messageColumns+", m.pos FROM messages m "+where+" ORDER BY m.pos "+order+" LIMIT ?", append(args, n)...)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		m, err := scanMessage(rows, &inner)
		if err != nil {
			return nil, 0, err
		}
		out = append(out, m)
	}
	if order == "DESC" {
		slices.Reverse(out)
	}
	return out, inner, rows.Err()
}

func (d *Database) count(ctx context.Context, s stretch) (n int, err error) {
	where, args := s.where()
	err = d.reader.QueryRowContext(ctx, "SELECT count(*) FROM messages m "+where, args...).Scan(&n)
	return n, err
}

// nearMessages is the error for an anchor that isn't there.
func (d *Database) nearMessages(ctx context.Context, session string, anchor int64) error {
	rows, err := d.reader.QueryContext(ctx, "SELECT id FROM messages WHERE session_id = ? ORDER BY abs(id - ?), id LIMIT ?", session, anchor, nearCount)
	if err != nil {
		return err
	}
	defer rows.Close()
	e := &NotFound{Kind: ErrNoMessage, Ref: strconv.FormatInt(anchor, 10)}
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		e.Near = append(e.Near, strconv.FormatInt(id, 10))
	}
	return errors.Join(e, rows.Err())
}
