package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/provider"
)

const messageColumns = `m.id, m.role, m.content, m.tool_call_id, m.tool_calls, m.tool_name, m.failed, m.status, m.timestamp, m.token_count,
	m.finish_reason, m.reasoning, m.provider_data, m.active`

// scanMessage reads messageColumns, and what follows them.
func scanMessage(row scanner, more ...any) (Message, error) {
	var m Message
	var calls, opaque string
	err := row.Scan(append([]any{
		&m.ID, &m.Role, &m.Text, &m.CallID, &calls, &m.Name, &m.Failed, &m.Status, instant{&m.Time}, &m.Tokens,
		&m.Finish, &m.Reasoning, &opaque, &m.Active,
	}, more...)...)
	if err == nil && calls != "" {
		err = json.Unmarshal([]byte(calls), &m.Calls)
	}
	if err == nil && opaque != "" {
		var o sealed
		err = json.Unmarshal([]byte(opaque), &o)
		m.Opaque = &provider.Opaque{Provider: o.Provider, Model: o.Model, Data: json.RawMessage(o.Data)}
	}
	return m, err
}

// sealed is a provider.Opaque whose data are kept as text: as JSON they would be written anew.
type sealed struct{ Provider, Model, Data string }

// keep is a text as it is kept: without secrets, and such that SQLite searches all of it.
func (d *Database) keep(s string) string { return clean(d.options.Redact(s)) }

// clean makes a text that SQLite reads to its end.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "␀")
}

// Append implements Store.
func (d *Database) Append(ctx context.Context, session string, messages ...Message) (ids []int64, err error) {
	err = d.write(ctx, "keep messages of session "+session, func(tx *sql.Tx) error {
		if err := exists(ctx, tx, session); err != nil {
			return err
		}
		var last int64
		if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(pos), 0) FROM messages WHERE session_id = ?", session).Scan(&last); err != nil {
			return err
		}
		at := place{session, last}
		if len(messages) == 1 && messages[0].Role == provider.Tool {
			if at.after, err = reserved(ctx, tx, at, messages[0].CallID); err != nil {
				return err
			}
		}
		ids, err = d.insert(ctx, tx, at, messages)
		return err
	})
	return ids, err
}

// reserved is the place of the result of a call: results come in any order and stand in that of their calls. It is the end for one
// that answers no call of the last reply, or has an answer already.
func reserved(ctx context.Context, tx *sql.Tx, end place, call string) (after int64, err error) {
	var pos int64
	var text string
	err = tx.QueryRowContext(ctx, "SELECT pos, tool_calls FROM messages WHERE session_id = ? AND role = ? ORDER BY pos DESC LIMIT 1", end.session, string(provider.Assistant)).Scan(&pos, &text)
	if errors.Is(err, sql.ErrNoRows) || err == nil && text == "" {
		return end.after, nil
	}
	if err != nil {
		return 0, err
	}
	var calls []provider.Call
	if err := json.Unmarshal([]byte(text), &calls); err != nil {
		return 0, err
	}
	i := slices.IndexFunc(calls, func(c provider.Call) bool { return c.ID == call })
	if i < 0 {
		return end.after, nil
	}
	var taken bool
	err = tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM messages WHERE session_id = ? AND pos = ?)", end.session, pos+1+int64(i)).Scan(&taken)
	if err != nil || taken {
		return end.after, err
	}
	return pos + int64(i), nil
}

// Amend implements Store.
func (d *Database) Amend(ctx context.Context, session string, id int64, text string) error {
	return d.write(ctx, "change a message of session "+session, func(tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, "UPDATE messages SET content = ? WHERE session_id = ? AND id = ?", d.keep(text), session, id)
		if err != nil {
			return err
		}
		if n, err := r.RowsAffected(); n == 0 || err != nil {
			return errors.Join(&NotFound{Kind: ErrNoMessage, Ref: strconv.FormatInt(id, 10)}, err)
		}
		return nil
	})
}

var _, _ Store = (*Database)(nil), (*Lasting)(nil)

// place is behind a position in a session.
type place struct {
	session string
	after   int64
}

// insert adds messages at a place, where nothing may lie.
func (d *Database) insert(ctx context.Context, tx *sql.Tx, at place, messages []Message) ([]int64, error) {
	if len(messages) == 0 {
		return nil, nil
	}
	ids := make([]int64, len(messages))
	var active int64
	for i := range messages {
		m := &messages[i]
		when := m.Time
		if when.IsZero() {
			when = time.Now()
		}
		active = max(active, micros(when))
		calls, said := d.calls(m.Calls)
		r, err := tx.ExecContext(ctx, `INSERT INTO messages (session_id, pos, role, content, calls, tool_call_id, tool_calls, tool_name, failed, status,
			timestamp, token_count, finish_reason, reasoning, provider_data) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
			at.session, at.after+int64(i)+1, string(m.Role), d.keep(m.Text), said, m.CallID, calls, m.Name, m.Failed, m.Status,
			micros(when), m.Tokens, m.Finish, d.keep(m.Reasoning), d.opaque(m.Opaque))
		if err != nil {
			return nil, err
		}
		if ids[i], err = r.LastInsertId(); err != nil {
			return nil, err
		}
	}
	_, err := tx.ExecContext(ctx, `UPDATE sessions SET message_count = message_count + ?2, active_at = max(active_at, ?3), ended_at = 0, end_reason = ''
		WHERE id = ?1`, at.session, len(messages), active)
	return ids, err
}

// calls gives calls as they are kept, and what they say in words.
func (d *Database) calls(calls []provider.Call) (kept, said string) {
	if len(calls) == 0 {
		return "", ""
	}
	list := make([]provider.Call, len(calls))
	var words strings.Builder
	for i, c := range calls {
		c.Arguments = d.options.Redact(c.Arguments)
		list[i] = c
		if i > 0 {
			words.WriteByte('\n')
		}
		words.WriteString(c.Name)
		say(&words, c.Arguments)
	}
	text, _ := json.Marshal(list)
	return string(text), clean(words.String())
}

// say writes arguments as people would: without the escapes of JSON. What is no JSON is written as it is.
func say(b *strings.Builder, arguments string) {
	d := json.NewDecoder(strings.NewReader(arguments))
	d.UseNumber()
	var parts []string
	for {
		t, err := d.Token()
		if err != nil {
			if d.InputOffset() < int64(len(arguments)) || len(parts) == 0 {
				parts = []string{arguments}
			}
			break
		}
		switch t := t.(type) {
		case string:
			parts = append(parts, t)
		case json.Number:
			parts = append(parts, t.String())
		case bool:
			parts = append(parts, strconv.FormatBool(t))
		}
	}
	for _, p := range parts {
		b.WriteByte(' ')
		b.WriteString(p)
	}
}

// opaque is kept byte for byte, or not at all: signed text with a mark in it is refused by the API that signed it.
func (d *Database) opaque(o *provider.Opaque) string {
	if o == nil {
		return ""
	}
	data := string(o.Data)
	if d.options.Redact(data) != data {
		return ""
	}
	text, _ := json.Marshal(sealed{o.Provider, o.Model, data})
	return string(text)
}

// Messages implements Store.
func (d *Database) Messages(ctx context.Context, session string) ([]Message, error) {
	if err := exists(ctx, d.reader, session); err != nil {
		return nil, err
	}
	return d.messages(ctx, "WHERE m.session_id = ? AND m.active ORDER BY m.pos", session)
}

func (d *Database) messages(ctx context.Context, where string, args ...any) (out []Message, err error) {
	rows, err := d.reader.QueryContext(ctx, "SELECT "+messageColumns+" FROM messages m "+where, args...)
	if err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		m, err := scanMessage(rows)
		if err != nil {
			return nil, fmt.Errorf("read messages: %w", err)
		}
		out = append(out, m)
	}
	return out, rows.Err()
}

// Compact implements Store.
func (d *Database) Compact(ctx context.Context, session string, through int64, with []Message) error {
	_, err := d.compact(ctx, session, through, with)
	return err
}

func (d *Database) compact(ctx context.Context, session string, through int64, with []Message) (ids []int64, err error) {
	err = d.write(ctx, "compact session "+session, func(tx *sql.Tx) error {
		if err := exists(ctx, tx, session); err != nil {
			return err
		}
		at := place{session: session}
		var active bool
		err := tx.QueryRowContext(ctx, "SELECT pos, active FROM messages WHERE session_id = ? AND id = ?", session, through).Scan(&at.after, &active)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return &NotFound{Kind: ErrNoMessage, Ref: strconv.FormatInt(through, 10)}
		case err != nil:
			return err
		case !active:
			return ErrBusy
		}
		for _, change := range []string{
			"UPDATE messages SET active = 0 WHERE session_id = ?1 AND pos <= ?2 AND active",
			"UPDATE messages SET pos = pos + ?3 WHERE session_id = ?1 AND pos > ?2",
		} {
			if _, err := tx.ExecContext(ctx, change, session, at.after, len(with)); err != nil {
				return err
			}
		}
		ids, err = d.insert(ctx, tx, at, with)
		return err
	})
	return ids, err
}
