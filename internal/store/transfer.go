package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// The columns of a session's rows that a transfer carries; ids of messages and events are given anew where they land.
var (
	sessionRow = []string{
		"id", "root_id", "parent_session_id", "source", "user_id", "model", "cwd", "title", "enabled", "disabled", "started_at", "ended_at",
		"end_reason", "active_at", "message_count", "call_count", "input_tokens", "output_tokens", "archived",
	}
	messageRow = []string{
		"session_id", "pos", "role", "content", "calls", "tool_call_id", "tool_calls", "tool_name", "failed", "status", "timestamp",
		"token_count", "finish_reason", "reasoning", "provider_data", "active",
	}
)

// row is a message or an event with its columns.
type row struct {
	id     int64
	values []any
}

// copied is a session as its rows.
type copied struct {
	session          []any
	messages, events []row
	todos            []row
}

// names maps ids of messages in one database to those in another.
type names map[int64]int64

// copyOut reads a session with all that belongs to it.
func (d *Database) copyOut(ctx context.Context, session string) (c copied, err error) {
	heads, err := d.rows(ctx, "SELECT 0, "+strings.Join(sessionRow, ", ")+" FROM sessions WHERE id = ?", session)
	if err == nil && len(heads) == 0 {
		err = &NotFound{Kind: ErrUnknown, Ref: session}
	}
	if err != nil {
		return c, err
	}
	c.session = heads[0].values
	if c.messages, err = d.rows(ctx, "SELECT id, "+strings.Join(messageRow, ", ")+" FROM messages WHERE session_id = ? ORDER BY id", session); err != nil {
		return c, err
	}
	if c.todos, err = d.rows(ctx, "SELECT 0, * FROM todos WHERE session_id = ?", session); err != nil {
		return c, err
	}
	c.events, err = d.rows(ctx, "SELECT id, session_id, kind, data, timestamp FROM events WHERE session_id = ? ORDER BY id", session)
	return c, err
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

// copyIn writes a session over what there is of it, in one transaction, and gives the ids of all its messages. Those that known names are
// there: only what may have changed is written. Others get ids; where known is nil they keep theirs.
func (d *Database) copyIn(ctx context.Context, session string, c copied, known names) (names, error) {
	learned := names{}
	err := d.write(ctx, "keep session "+session, func(tx *sql.Tx) error {
		clear(learned)
		if err := upsert(ctx, tx, c.session); err != nil {
			return err
		}
		for _, m := range c.messages {
			id, there := known[m.id]
			var err error
			switch {
			case known == nil:
				id, err = added(ctx, tx, "messages (id, "+strings.Join(messageRow, ", ")+")", append([]any{m.id}, m.values...))
			case there:
				_, err = tx.ExecContext(ctx, "UPDATE messages SET pos = ?, content = ?, active = ? WHERE id = ?", m.values[1], m.values[3], m.values[len(m.values)-1], id)
			default:
				id, err = added(ctx, tx, "messages ("+strings.Join(messageRow, ", ")+")", m.values)
			}
			if err != nil {
				return err
			}
			learned[m.id] = id
		}
		for _, table := range []string{"todos", "events"} {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE session_id = ?", session); err != nil {
				return err
			}
		}
		for _, t := range c.todos {
			if _, err := added(ctx, tx, "todos", t.values); err != nil {
				return err
			}
		}
		for _, e := range c.events {
			if _, err := added(ctx, tx, "events (session_id, kind, data, timestamp)", e.values); err != nil {
				return err
			}
		}
		return nil
	})
	return learned, err
}

// upsert writes a session's own row. A title that another session has got meanwhile is left to it.
func upsert(ctx context.Context, tx *sql.Tx, values []any) error {
	var set []string
	for _, c := range sessionRow[1:] {
		set = append(set, c+" = excluded."+c)
	}
	columns := strings.Join(sessionRow, ", ")
	_, err := tx.ExecContext(ctx, "INSERT INTO sessions ("+columns+") SELECT "+
		strings.Replace(marks(len(values)), "?8", "CASE WHEN EXISTS (SELECT 1 FROM sessions WHERE title = ?8 AND id <> ?1) THEN '' ELSE ?8 END", 1)+
		" WHERE 1 ON CONFLICT (id) DO UPDATE SET "+strings.Join(set, ", "), values...)
	return err
}

func added(ctx context.Context, tx *sql.Tx, table string, values []any) (int64, error) {
	r, err := tx.ExecContext(ctx, "INSERT INTO "+table+" VALUES ("+marks(len(values))+")", values...)
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

// marks are n numbered parameters.
func marks(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("?%d", i+1)
	}
	return strings.Join(out, ", ")
}
