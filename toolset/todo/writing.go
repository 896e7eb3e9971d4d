package todo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/internal/textcap"
)

// The statuses of an item.
const (
	pending    = "pending"
	inProgress = "in_progress"
	completed  = "completed"
	cancelled  = "cancelled"
)

var statuses = []string{pending, inProgress, completed, cancelled}

// What stands in for what an item lacks.
const (
	noID      = "?"
	noContent = "(no description)"
)

// What bounds a list: it is put before the model again and again.
const (
	mostItems   = 256
	mostContent = 4000 // characters
	mostID      = 100
	mostNotes   = 20
	cutMark     = "… [cut]"
)

// writing is one change of a list, and what has to be said of it.
type writing struct {
	notes []string
	more  int // notes left out
}

func (w *writing) note(format string, args ...any) {
	if len(w.notes) < mostNotes {
		w.notes = append(w.notes, fmt.Sprintf(format, args...))
		return
	}
	w.more++
}

// replace makes a list of items: of those with one id the last counts, where it stands.
func (w *writing) replace(items []item) []store.Todo {
	last := map[string]int{}
	for i, it := range items {
		last[strings.TrimSpace(it.ID)] = i
	}
	out := make([]store.Todo, 0, len(items))
	for i, it := range items {
		if id := strings.TrimSpace(it.ID); id != "" && last[id] != i {
			w.note("item %d: a later item has the id %s too and counts", i+1, short(id))
			continue
		}
		out = append(out, w.fill(i, it))
	}
	return out
}

// merge changes what items say of ids that are there, and appends the others.
func (w *writing) merge(list []store.Todo, items []item) []store.Todo {
	out := slices.Clone(list)
	for i, it := range items {
		id := w.cut(i, "id", strings.TrimSpace(it.ID), mostID)
		if id == "" {
			w.note("item %d: skipped, it has no id", i+1)
			continue
		}
		at := slices.IndexFunc(out, func(t store.Todo) bool { return t.ID == id })
		if at < 0 {
			out = append(out, w.fill(i, it))
			continue
		}
		if text := strings.TrimSpace(it.Content); text != "" {
			out[at].Content = w.cut(i, "content", text, mostContent)
		}
		switch s, known := status(it.Status); {
		case known:
			out[at].Status = s
		case s != "":
			w.note("item %d: the status %s is none of %s and was left as it is", i+1, short(s), strings.Join(statuses, ", "))
		}
	}
	return out
}

// fill makes an item whole.
func (w *writing) fill(i int, it item) store.Todo {
	t := store.Todo{ID: w.cut(i, "id", strings.TrimSpace(it.ID), mostID), Content: w.cut(i, "content", strings.TrimSpace(it.Content), mostContent)}
	if t.ID == "" {
		t.ID = noID
		w.note("item %d: it had no id and got %s", i+1, noID)
	}
	if t.Content == "" {
		t.Content = noContent
		w.note("item %d: it had no content", i+1)
	}
	s, known := status(it.Status)
	if t.Status = s; known {
		return t
	}
	t.Status = pending
	if s == "" {
		w.note("item %d: it had no status and is %s", i+1, pending)
	} else {
		w.note("item %d: the status %s is none of %s; it is %s", i+1, short(s), strings.Join(statuses, ", "), pending)
	}
	return t
}

func status(s string) (string, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	return s, slices.Contains(statuses, s)
}

// bound keeps the list short enough, and ends the notes.
func (w *writing) bound(list []store.Todo) []store.Todo {
	if n := len(list) - mostItems; n > 0 {
		list = list[:mostItems]
		w.note("the list holds %d items at most: the last %d were left out", mostItems, n)
	}
	if w.more > 0 {
		w.notes = append(w.notes, fmt.Sprintf("and %d notes more", w.more))
	}
	return list
}

// cut shortens a text to most characters, its mark included.
func (w *writing) cut(i int, what, text string, most int) string {
	if textcap.Chars(text) <= most {
		return text
	}
	w.note("item %d: its %s was cut to %d characters", i+1, what, most)
	return textcap.Head(text, most-textcap.Chars(cutMark), cutMark)
}

// shown is how much of a text a note repeats, in characters.
const shown = 40

func short(s string) string { return strconv.Quote(textcap.Head(s, shown, "…")) }
