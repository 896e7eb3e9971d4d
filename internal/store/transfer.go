package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// The columns of a session's rows that a transfer carries, behind an id that messages may get anew where they land.
const (
	sessionRow = `id, root_id, parent_session_id, source, user_id, model, cwd, title, enabled, disabled, started_at, ended_at, end_reason,
		active_at, message_count, call_count, input_tokens, output_tokens, archived`
	messageRow = `session_id, pos, role, content, calls, tool_call_id, tool_calls, tool_name, failed, status, timestamp, token_count,
		finish_reason, reasoning, provider_data, active`
	todoRow  = "session_id, pos, id, content, status"
	eventRow = "session_id, kind, data, timestamp"
)

// row is one with its columns.
type row struct {
	id     int64
	values []any
}

// copied is a session as its rows.
type copied struct{ session, messages, todos, events []row }

// names maps ids in one database to those in another: of messages, and of events that were posted in memory.
type names map[int64]int64

// copyTo copies a session into a database that doesn't know it. Its messages and events keep their ids.
func (d *Database) copyTo(ctx context.Context, to *Database, session string) error {
	c, err := d.copyOut(ctx, session)
	if err == nil {
		_, err = to.copyIn(ctx, session, c, func(r row) any { return r.id })
	}
	return err
}

// moveTo copies a session into a database that doesn't know it. Its messages and events get ids there, which are returned.
func (d *Database) moveTo(ctx context.Context, to *Database, session string) (names, error) {
	c, err := d.copyOut(ctx, session)
	if err != nil {
		return nil, err
	}
	return to.copyIn(ctx, session, c, func(row) any { return nil })
}

// copyOut reads a session with all that belongs to it.
func (d *Database) copyOut(ctx context.Context, session string) (c copied, err error) {
	for _, part := range []struct {
		into  *[]row
		query string
	}{
		{&c.session, "SELECT 0, " + sessionRow + " FROM sessions WHERE id = ?"},
		{&c.messages, "SELECT id, " + messageRow + " FROM messages WHERE session_id = ? ORDER BY id"},
		{&c.todos, "SELECT 0, " + todoRow + " FROM todos WHERE session_id = ?"},
		{&c.events, "SELECT id, " + eventRow + " FROM events WHERE session_id = ? ORDER BY id"},
	} {
		if *part.into, err = d.rows(ctx, part.query, session); err != nil {
			return c, err
		}
		if len(c.session) == 0 {
			return c, &NotFound{Kind: ErrUnknown, Ref: session}
		}
	}
	return c, nil
}

// rows reads rows whose first column is an id.
func (d *Database) rows(ctx context.Context, query, session string) (out []row, err error) {
	rows, err := d.reader.QueryContext(ctx, query, session)
	if err != nil {
		return nil, fmt.Errorf("copy session %s: %w", session, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		r := row{values: make([]any, len(columns)-1)}
		into := []any{&r.id}
		for i := range r.values {
			into = append(into, &r.values[i])
		}
		if err := rows.Scan(into...); err != nil {
			return nil, fmt.Errorf("copy session %s: %w", session, err)
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// titleAt is where the title stands in sessionRow.
const titleAt = 7

// copyIn writes a session that isn't there, in one transaction, and gives the ids of its messages and events; id chooses them, nil =
// the database does. A title that another session has got meanwhile is left to it.
func (d *Database) copyIn(ctx context.Context, session string, c copied, id func(row) any) (names, error) {
	learned := names{}
	err := d.write(ctx, "keep session "+session, func(tx *sql.Tx) error {
		clear(learned)
		head := c.session[0].values
		var taken bool
		if err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM sessions WHERE title = ?)", head[titleAt]).Scan(&taken); err != nil {
			return err
		}
		if taken {
			head[titleAt] = ""
		}
		if _, err := added(ctx, tx, "sessions ("+sessionRow+")", head); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, lineageSQL, session); err != nil {
			return err
		}
		for _, m := range c.messages {
			n, err := added(ctx, tx, "messages (id, "+messageRow+")", append([]any{id(m)}, m.values...))
			if err != nil {
				return err
			}
			learned[m.id] = n
		}
		for _, t := range c.todos {
			if _, err := added(ctx, tx, "todos ("+todoRow+")", t.values); err != nil {
				return err
			}
		}
		for _, e := range c.events {
			n, err := added(ctx, tx, "events (id, "+eventRow+")", append([]any{id(e)}, e.values...))
			if err != nil {
				return err
			}
			if e.id > memoryIDs {
				learned[e.id] = n
			}
		}
		return nil
	})
	return learned, err
}

func added(ctx context.Context, tx *sql.Tx, table string, values []any) (int64, error) {
	r, err := tx.ExecContext(ctx, "INSERT INTO "+table+" VALUES ("+strings.TrimSuffix(strings.Repeat("?,", len(values)), ",")+")", values...)
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}
