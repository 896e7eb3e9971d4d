package search_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/search"
)

func TestSearch_EndsWithItsContext(t *testing.T) { // SRC-8
	root := corpus(t)
	engines(t, func(t *testing.T, s *search.Searcher) {
		stop := errors.New("the user stopped")
		ctx, cancel := context.WithCancelCause(context.Background())
		q := environment.Query{Pattern: "foo", Root: environment.Path(root)}
		q.Skip = func(environment.Path) bool { cancel(stop); return false }
		if _, err := s.Search(ctx, q); !errors.Is(err, stop) {
			t.Errorf("contents: %v", err)
		}
		q.Names = true
		if _, err := s.Search(ctx, q); !errors.Is(err, stop) {
			t.Errorf("names: %v", err)
		}
	})
}

func TestSearch_TimeLimitGivesWhatWasFound(t *testing.T) { // SRC-8
	root := t.TempDir()
	write(t, root, map[string]string{"a/x": "word\n", "b/x": "word\n", "c/x": "word\n"})
	s := search.New(search.Options{Engine: search.Builtin})
	q := environment.Query{Pattern: "word", Root: environment.Path(root), Timeout: 2 * time.Second} // enough for the first two, on any machine
	release := make(chan struct{})
	defer close(release)
	q.Skip = func(p environment.Path) bool {
		if strings.HasSuffix(string(p), "c/x") {
			<-release // as a disk that doesn't answer
		}
		return false
	}
	m := find(t, s, q)
	if !m.TimedOut || !m.TotalIsMin || m.Total != 2 || len(m.Matches) != 2 {
		t.Errorf("got %+v", m)
	}
}
