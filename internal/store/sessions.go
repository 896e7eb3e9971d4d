package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/provider"
)

const sessionColumns = `s.id, s.source, s.user_id, s.model, s.cwd, s.title, s.parent_session_id, s.enabled, s.disabled,
	s.started_at, s.ended_at, s.end_reason, s.active_at, s.message_count, s.call_count, s.input_tokens, s.output_tokens, s.archived`

// scanner is a row.
type scanner interface{ Scan(into ...any) error }

// scanSession reads sessionColumns, and what follows them.
func scanSession(row scanner, more ...any) (Session, error) {
	var s Session
	err := row.Scan(append([]any{
		&s.ID, &s.Source, &s.User, &s.Model, &s.Dir, &s.Title, &s.Parent, list{&s.Enabled}, list{&s.Disabled},
		instant{&s.Started}, instant{&s.Ended}, &s.EndReason, instant{&s.Active}, &s.Messages, &s.Calls, &s.Input, &s.Output, &s.Archived,
	}, more...)...)
	return s, err
}

// instant reads a time.
type instant struct{ t *time.Time }

// Scan implements sql.Scanner.
func (i instant) Scan(v any) error {
	n, ok := v.(int64)
	if !ok {
		return fmt.Errorf("a time is %T", v)
	}
	*i.t = time.Time{}
	if n != 0 {
		*i.t = time.UnixMicro(n).UTC()
	}
	return nil
}

// micros is how a time is kept.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// list reads a list of texts; nil is kept as "".
type list struct{ l *[]string }

// Scan implements sql.Scanner.
func (l list) Scan(v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("a list is %T", v)
	}
	*l.l = nil
	if text == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), l.l)
}

func listed(l []string) string {
	if l == nil {
		return ""
	}
	text, _ := json.Marshal(l)
	return string(text)
}

// Begin implements Store.
func (d *Database) Begin(ctx context.Context, s Session) error {
	if s.ID == "" {
		return errors.New("begin a session: it has no id")
	}
	if s.Started.IsZero() {
		s.Started = time.Now()
	}
	err := d.write(ctx, "begin session "+s.ID, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, beginSQL,
			s.ID, s.Source, s.User, s.Model, d.keep(s.Dir), d.keep(s.Title), s.Parent, listed(s.Enabled), listed(s.Disabled),
			micros(s.Started), micros(s.Ended), d.keep(s.EndReason), s.Archived); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, lineageSQL, s.ID)
		return err
	})
	if code(err) == codeUnique {
		return fmt.Errorf("begin session %s: %q: %w", s.ID, s.Title, ErrTitle)
	}
	return err
}

const beginSQL = `
INSERT INTO sessions (id, root_id, source, user_id, model, cwd, title, parent_session_id, enabled, disabled, started_at, ended_at, end_reason, active_at, archived)
VALUES (?1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?10, ?13)
ON CONFLICT (id) DO UPDATE SET
	source = coalesce(nullif(excluded.source, ''), source),
	user_id = coalesce(nullif(excluded.user_id, ''), user_id),
	model = coalesce(nullif(excluded.model, ''), model),
	cwd = coalesce(nullif(excluded.cwd, ''), cwd),
	title = coalesce(nullif(excluded.title, ''), title),
	parent_session_id = coalesce(nullif(excluded.parent_session_id, ''), parent_session_id),
	enabled = coalesce(nullif(excluded.enabled, ''), enabled),
	disabled = coalesce(nullif(excluded.disabled, ''), disabled),
	ended_at = coalesce(nullif(excluded.ended_at, 0), ended_at),
	end_reason = coalesce(nullif(excluded.end_reason, ''), end_reason),
	archived = max(excluded.archived, archived)`

// lineageSQL gives a session, and those that it began, the root of its parent.
const lineageSQL = `
UPDATE sessions SET root_id = (
	SELECT coalesce((SELECT p.root_id FROM sessions p WHERE p.id = s.parent_session_id), s.id) FROM sessions s WHERE s.id = ?1)
WHERE id IN (
	WITH RECURSIVE below(id) AS (
		VALUES (?1) UNION SELECT s.id FROM sessions s JOIN below ON s.parent_session_id = below.id)
	SELECT id FROM below)`

// Count implements Store.
func (d *Database) Count(ctx context.Context, session string, u provider.Usage, calls int) error {
	return d.write(ctx, "count the use of session "+session, func(tx *sql.Tx) error {
		return changed(tx.ExecContext(ctx, `UPDATE sessions SET input_tokens = input_tokens + ?2, output_tokens = output_tokens + ?3,
			call_count = call_count + ?4 WHERE id = ?1`, session, u.Input, u.Output, calls))(session)
	})
}

// changed makes an error of a change that found no session.
func changed(r sql.Result, err error) func(session string) error {
	return func(session string) error {
		if err != nil {
			return err
		}
		if n, err := r.RowsAffected(); n == 0 || err != nil {
			return errors.Join(&NotFound{Kind: ErrUnknown, Ref: session}, err)
		}
		return nil
	}
}

const (
	// Last is the reference to the session that was active last.
	Last = "last"

	nearCount = 5
)

// begunByOthers are sources of sessions that no person began.
var begunByOthers = []string{"subagent", "tool"}

// Find implements Store.
func (d *Database) Find(ctx context.Context, ref string) (Session, error) {
	const from = "SELECT " + sessionColumns + " FROM sessions s "
	s, err := scanSession(d.reader.QueryRowContext(ctx, from+"WHERE s.id = ?1 OR s.title = ?1 AND ?1 <> '' ORDER BY s.id <> ?1", ref))
	if err == nil || !errors.Is(err, sql.ErrNoRows) {
		return s, d.finding(ref, err)
	}
	if ref == Last {
		in, args := among(begunByOthers)
		s, err = scanSession(d.reader.QueryRowContext(ctx, from+"WHERE s.archived = 0 AND s.source NOT IN ("+in+") ORDER BY s.active_at DESC, s.id DESC", args...))
		if errors.Is(err, sql.ErrNoRows) {
			err = &NotFound{Kind: ErrUnknown, Ref: ref}
		}
		return s, d.finding(ref, err)
	}
	var found []Session
	if ref != "" {
		found, err = d.sessions(ctx, from+"WHERE substr(s.id, 1, length(?1)) = ?1 ORDER BY s.active_at DESC LIMIT 6", ref)
		if err != nil {
			return Session{}, d.finding(ref, err)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		near, err := d.near(ctx, ref)
		if err != nil {
			return Session{}, d.finding(ref, err)
		}
		return Session{}, &NotFound{Kind: ErrUnknown, Ref: ref, Near: near}
	}
	e := &NotFound{Kind: ErrAmbiguous, Ref: ref}
	for i := range found[:min(len(found), nearCount)] {
		e.Near = append(e.Near, found[i].ID)
	}
	return Session{}, e
}

func (d *Database) finding(ref string, err error) error {
	if _, known := errors.AsType[*NotFound](err); err == nil || known {
		return err
	}
	return fmt.Errorf("find session %q: %w", ref, err)
}

func (d *Database) sessions(ctx context.Context, query string, args ...any) (out []Session, err error) {
	rows, err := d.reader.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		s, err := scanSession(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

// near are the ids that share the longest beginning with ref, or hold it, or the title does; else the sessions that were active last.
func (d *Database) near(ctx context.Context, ref string) ([]string, error) {
	all, err := d.sessions(ctx, "SELECT "+sessionColumns+" FROM sessions s ORDER BY s.active_at DESC LIMIT 1000")
	if err != nil {
		return nil, err
	}
	closeness := func(s *Session) int {
		n := 0
		for n < len(s.ID) && n < len(ref) && s.ID[n] == ref[n] {
			n++
		}
		if ref != "" && (strings.Contains(s.ID, ref) || strings.Contains(strings.ToLower(s.Title), strings.ToLower(ref))) {
			n += len(ref)
		}
		return n
	}
	slices.SortStableFunc(all, func(a, b Session) int { return closeness(&b) - closeness(&a) })
	var out []string
	for i := range all[:min(len(all), nearCount)] {
		out = append(out, all[i].ID)
	}
	return out, nil
}

// among is the inside of an IN (…) and its arguments.
func among[S ~string](values []S) (string, []any) {
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = string(v)
	}
	return strings.TrimSuffix(strings.Repeat("?,", len(values)), ","), args
}

// previewLength is in characters.
const previewLength = 80

// List implements Store.
func (d *Database) List(ctx context.Context, f Filter) ([]Entry, error) {
	where, args := visible(f.Hidden, f.Without)
	if !f.Archived {
		where += " AND s.archived = 0"
	}
	rank := "1"
	if f.Lineages {
		rank = "row_number() OVER (PARTITION BY s.root_id ORDER BY s.active_at DESC, s.id DESC)"
	}
	limit := f.Limit
	if limit <= 0 {
		limit = -1
	}
	rows, err := d.reader.QueryContext(ctx, "SELECT "+sessionColumns+`, coalesce((
		SELECT substr(m.content, 1, 400) FROM messages m WHERE m.session_id = s.id AND m.role = 'user' ORDER BY m.pos LIMIT 1), '')
		FROM (SELECT s.*, `+rank+` AS place FROM sessions s WHERE `+where+`) s
		WHERE s.place = 1 ORDER BY s.active_at DESC, s.id DESC LIMIT ?`, append(args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	defer rows.Close()
	out := []Entry{}
	for rows.Next() {
		var e Entry
		if e.Session, err = scanSession(rows, &e.Preview); err != nil {
			return nil, fmt.Errorf("list sessions: %w", err)
		}
		e.Preview = cut(strings.Join(strings.Fields(e.Preview), " "), previewLength)
		out = append(out, e)
	}
	return out, rows.Err()
}

// visible is the condition under which a session s is shown.
func visible(hidden []string, without string) (string, []any) {
	in, args := among(hidden)
	where := "s.source NOT IN (" + in + ")"
	if without != "" {
		where += " AND s.root_id <> coalesce((SELECT w.root_id FROM sessions w WHERE w.id = ?), '')"
		args = append(args, without)
	}
	return where, args
}

// cut shortens text to n characters.
func cut(text string, n int) string {
	at := 0
	for i := range text {
		if at == n {
			return strings.TrimRight(text[:i], " ") + "…"
		}
		at++
	}
	return text
}

// Delete implements Store.
func (d *Database) Delete(ctx context.Context, session string) error {
	for more := true; more; {
		if err := d.write(ctx, "delete session "+session, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, deleteSQL, session, deleteStep, deleteChars); err != nil {
				return err
			}
			if err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM messages WHERE session_id = ?)", session).Scan(&more); err != nil || more {
				return err
			}
			return changed(tx.ExecContext(ctx, "DELETE FROM sessions WHERE id = ?", session))(session)
		}); err != nil {
			return err
		}
	}
	return nil
}

// deleteSQL deletes as many of a session's messages as a step may, and one at least.
const deleteSQL = `
DELETE FROM messages WHERE id IN (
	SELECT id FROM (
		SELECT id, row_number() OVER some AS n, sum(size) OVER some AS total FROM (
			SELECT id, length(content) + length(calls) AS size FROM messages WHERE session_id = ?1 LIMIT ?2)
		WINDOW some AS (ORDER BY id))
	WHERE n = 1 OR total <= ?3)`
