package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
)

// filled is a store of 100 000 messages in 500 sessions, of some 60 words each.
func filled(b *testing.B) store.Store {
	b.Helper()
	ctx := context.Background()
	d, err := store.Open(ctx, store.Options{File: filepath.Join(b.TempDir(), "sessions.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = d.Close() })
	r := rand.New(rand.NewPCG(1, 2))
	vocabulary := make([]string, 4000)
	for i := range vocabulary {
		w := make([]byte, 3+r.IntN(7))
		for k := range w {
			w[k] = "etaoinshrdlucmfwypvbgk"[r.IntN(22)]
		}
		vocabulary[i] = string(w)
	}
	for s := range 500 {
		id := fmt.Sprintf("s%04d", s)
		if err := d.Begin(ctx, store.Session{ID: id, Source: "cli"}); err != nil {
			b.Fatal(err)
		}
		var batch []store.Message
		for m := range 200 {
			var text strings.Builder
			text.WriteString("common ")
			for range 60 {
				text.WriteString(vocabulary[r.IntN(len(vocabulary))] + " ")
			}
			if s == 250 && m == 100 {
				text.WriteString("zyxxyqj 검색 q!")
			}
			batch = append(batch, store.Message{Message: provider.Message{Role: []provider.Role{provider.User, provider.Assistant}[m%2], Text: text.String()}})
		}
		if _, err := d.Append(ctx, id, batch...); err != nil {
			b.Fatal(err)
		}
	}
	return d
}

// SRCH-5.
func BenchmarkSearch(b *testing.B) {
	d := filled(b)
	for _, q := range []string{"zyxxyqj", "common", "com", "검색", "검", "q!", "zz", "common zyxxyqj", "a e"} {
		for _, sort := range []store.Sort{store.ByRelevance, store.Newest, store.Oldest} {
			b.Run(q+"/"+string(sort), func(b *testing.B) {
				for b.Loop() {
					f, err := d.Search(context.Background(), store.Query{Text: q, Sort: sort})
					if err != nil || len(f.Hits) == 0 && q != "zz" {
						b.Fatal(f, err)
					}
				}
			})
		}
	}
}
