package store_test

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/internal/store"
)

// SRCH-2, SRCH-3: no query is an error, and one that is a part of a text finds it.
func FuzzSearch(f *testing.F) {
	for _, seed := range []struct {
		text     string
		from, to uint
	}{
		{"the quick brown fox", 4, 9}, {"日本語のGoコード", 3, 6}, {`say "it" AND 'that' OR NOT NEAR(x*)`, 4, 20}, {"a\x00b\xff\"", 1, 5}, {"İstanbul ß ſ K", 0, 9}, {"%_\\", 0, 3}, {"\"", 0, 1},
	} {
		f.Add(seed.text, seed.from, seed.to)
	}
	d, err := store.Open(context.Background(), store.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = d.Close() })
	f.Fuzz(func(t *testing.T, said string, from, to uint) {
		if err := d.Begin(t.Context(), store.Session{ID: "a"}); err != nil {
			t.Fatal(err)
		}
		defer d.Delete(context.Background(), "a")
		add(t, d, "a", said)
		size := uint(len(said)) + 1
		from, to = from%size, to%size
		query := said[min(from, to):max(from, to)]
		for _, sort := range []store.Sort{store.ByRelevance, store.Newest} {
			found, err := d.Search(t.Context(), store.Query{Text: query, Sort: sort})
			if err != nil {
				t.Fatalf("%q: %v", query, err)
			}
			if utf8.ValidString(query) && strings.TrimSpace(query) != "" && len(found.Hits) != 1 {
				t.Errorf("%q doesn't find %q", query, said)
			}
		}
	})
}
