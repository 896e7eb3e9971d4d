package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Todos implements Store.
func (d *Database) Todos(ctx context.Context, session string) ([]Todo, error) {
	rows, err := d.reader.QueryContext(ctx, "SELECT id, content, status FROM todos WHERE session_id = ? ORDER BY pos", session)
	if err != nil {
		return nil, fmt.Errorf("read the plan of session %s: %w", session, err)
	}
	defer rows.Close()
	var out []Todo
	for rows.Next() {
		var t Todo
		if err := rows.Scan(&t.ID, &t.Content, &t.Status); err != nil {
			return nil, fmt.Errorf("read the plan of session %s: %w", session, err)
		}
		out = append(out, t)
	}
	return out, rows.Err()
}

// SetTodos implements Store.
func (d *Database) SetTodos(ctx context.Context, session string, todos []Todo) error {
	return d.write(ctx, "keep the plan of session "+session, func(tx *sql.Tx) error {
		if err := exists(ctx, tx, session); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM todos WHERE session_id = ?", session); err != nil {
			return err
		}
		for i, t := range todos {
			if _, err := tx.ExecContext(ctx, "INSERT INTO todos VALUES (?, ?, ?, ?, ?)", session, i, d.keep(t.ID), d.keep(t.Content), t.Status); err != nil {
				return err
			}
		}
		return nil
	})
}

func exists(ctx context.Context, q queryer, session string) error {
	var one int
	err := q.QueryRowContext(ctx, "SELECT 1 FROM sessions WHERE id = ?", session).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return &NotFound{Kind: ErrUnknown, Ref: session}
	}
	return err
}

// Post implements Store.
func (d *Database) Post(ctx context.Context, session, kind string, data json.RawMessage) error {
	_, err := d.post(ctx, session, kind, data)
	return err
}

func (d *Database) post(ctx context.Context, session, kind string, data json.RawMessage) (id int64, err error) {
	err = d.write(ctx, "leave an event for session "+session, func(tx *sql.Tx) error {
		if err := exists(ctx, tx, session); err != nil {
			return err
		}
		id, err = added(ctx, tx, "events ("+eventRow+")", []any{session, kind, d.keep(string(data)), micros(time.Now())})
		return err
	})
	return id, err
}

// Waiting implements Store.
func (d *Database) Waiting(ctx context.Context, session string) ([]Event, error) {
	rows, err := d.reader.QueryContext(ctx, "SELECT id, kind, data, timestamp FROM events WHERE session_id = ? ORDER BY id", session)
	if err != nil {
		return nil, fmt.Errorf("read the events of session %s: %w", session, err)
	}
	defer rows.Close()
	var out []Event
	for rows.Next() {
		var e Event
		var data string
		if err := rows.Scan(&e.ID, &e.Kind, &data, instant{&e.Time}); err != nil {
			return nil, fmt.Errorf("read the events of session %s: %w", session, err)
		}
		e.Data = json.RawMessage(data)
		out = append(out, e)
	}
	return out, rows.Err()
}

// Delivered implements Store.
func (d *Database) Delivered(ctx context.Context, session string, ids ...int64) error {
	return d.write(ctx, "take events of session "+session, func(tx *sql.Tx) error {
		for _, id := range ids {
			if _, err := tx.ExecContext(ctx, "DELETE FROM events WHERE session_id = ? AND id = ?", session, id); err != nil {
				return err
			}
		}
		return nil
	})
}
