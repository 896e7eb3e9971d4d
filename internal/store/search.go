package store

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/hermes-runtime/hermes/provider"
)

const (
	defaultHits = 3

	// ranked is how many of the latest matches compete by relevance. Older ones follow by time, so that none is hidden: to weigh all
	// matches of a word that every message has would take seconds.
	ranked = 5000
)

// Search implements Store.
func (d *Database) Search(ctx context.Context, q Query) (Found, error) {
	f, err := d.search(ctx, q)
	if err != nil {
		return Found{}, fmt.Errorf("search sessions: %w", err)
	}
	return f, nil
}

func (d *Database) search(ctx context.Context, q Query) (f Found, err error) {
	f.Hits = []Hit{}
	where, args := visible(q.Hidden, q.Without)
	where = "s.archived = 0 AND " + where
	if err := d.reader.QueryRowContext(ctx, "SELECT count(*) FROM sessions s WHERE "+where, args...).Scan(&f.Sessions); err != nil {
		return f, err
	}
	words := terms(q.Text)
	if len(words) == 0 {
		return f, nil
	}
	s := selection{from: "messages m JOIN sessions s ON s.id = m.session_id", where: where, args: args, sort: q.Sort}
	roles := q.Roles
	if roles == nil {
		roles = []provider.Role{provider.User, provider.Assistant}
	}
	in, more := among(roles)
	s.and("m.role IN ("+in+")", more...)
	match, short := expression(words)
	if match != "" {
		s.from = "messages_fts f CROSS JOIN messages m ON m.id = f.rowid CROSS JOIN sessions s ON s.id = m.session_id"
		s.and("messages_fts MATCH ?", match)
		s.indexed = true
	}
	for _, t := range short {
		s.holds(t)
	}
	best, err := d.best(ctx, s, cmp.Or(max(q.Limit, 0), defaultHits))
	if err != nil {
		return f, err
	}
	for _, id := range best {
		h, err := d.hit(ctx, id, words)
		if err != nil {
			return f, err
		}
		f.Hits = append(f.Hits, h)
	}
	return f, nil
}

// selection is the query for the ids of messages that are found.
type selection struct {
	from, where string
	args        []any
	indexed     bool
	sort        Sort
}

func (s *selection) and(condition string, args ...any) {
	s.where += " AND " + condition
	s.args = append(s.args, args...)
}

// holds asks for messages that hold a text that is too short for the index.
func (s *selection) holds(term string) {
	var either []string
	var args []any
	for _, l := range likes(term) {
		either = append(either, `m.content LIKE ? ESCAPE '\'`, `m.calls LIKE ? ESCAPE '\'`)
		args = append(args, l, l)
	}
	s.and("("+strings.Join(either, " OR ")+")", args...)
}

// best gives the first message of each of the first n lineages.
func (d *Database) best(ctx context.Context, s selection, n int) ([]int64, error) {
	p := picked{n: n, lineages: map[string]bool{}}
	const pick = "SELECT m.id, s.root_id FROM "
	if s.sort == ByRelevance && s.indexed {
		err := d.pick(ctx, &p, "SELECT id, root_id FROM (SELECT m.id, s.root_id, bm25(messages_fts) AS score FROM "+s.from+" WHERE "+s.where+
			" ORDER BY f.rowid DESC LIMIT ?) ORDER BY score, id DESC", append(s.args[:len(s.args):len(s.args)], ranked)...)
		if err != nil {
			return nil, err
		}
	}
	order := "m.id"
	if s.indexed {
		order = "f.rowid"
	}
	if s.sort != Oldest {
		order += " DESC"
	}
	err := d.pick(ctx, &p, pick+s.from+" WHERE "+s.where+" ORDER BY "+order, s.args...)
	return p.ids, err
}

// picked are messages of n lineages.
type picked struct {
	n        int
	ids      []int64
	lineages map[string]bool
}

// pick goes through what a query gives until there are enough.
func (d *Database) pick(ctx context.Context, p *picked, query string, args ...any) error {
	if len(p.ids) == p.n {
		return nil
	}
	rows, err := d.reader.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for len(p.ids) < p.n && rows.Next() {
		var id int64
		var root string
		if err := rows.Scan(&id, &root); err != nil {
			return err
		}
		if !p.lineages[root] {
			p.lineages[root] = true
			p.ids = append(p.ids, id)
		}
	}
	return rows.Err()
}

// hit reads what was found.
func (d *Database) hit(ctx context.Context, id int64, words []string) (h Hit, err error) {
	var session, calls string
	h.Message, err = scanMessage(d.reader.QueryRowContext(ctx, "SELECT "+messageColumns+", m.session_id, m.calls FROM messages m WHERE m.id = ?", id), &session, &calls)
	if err != nil {
		return h, err
	}
	h.Session, err = scanSession(d.reader.QueryRowContext(ctx, "SELECT "+sessionColumns+" FROM sessions s WHERE s.id = ?", session))
	h.Snippet = snippet(words, h.Message.Text, calls)
	return h, err
}
