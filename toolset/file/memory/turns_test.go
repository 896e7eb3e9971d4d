package memory_test

import (
	"context"
	"errors"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/tool"
	"github.com/hermes-runtime/hermes/toolset/file/memory"
)

func TestTake_OneEditOfAPathAtATime(t *testing.T) { // WRI-5
	m := &tool.Memory{}
	one, other := memory.Open(m, &tool.Call{Task: "one"}, environment.Info{ID: "x"}), memory.Open(m, &tool.Call{Task: "other"}, environment.Info{ID: "x"})
	ctx := context.Background()
	held, err := one.Take(ctx, "/b", "/a", "/b")
	if err != nil {
		t.Fatal(err)
	}
	free, err := other.Take(ctx, "/c")
	if err != nil {
		t.Fatal("another path has to wait:", err)
	}
	free.Release()
	ended, cancel := context.WithCancelCause(ctx)
	reason := errors.New("nobody waits any more")
	cancel(reason)
	if _, err := other.Take(ended, "/0", "/a"); !errors.Is(err, reason) {
		t.Errorf("a path that another task edits: %v", err)
	}
	next := make(chan error)
	go func() {
		turns, err := other.Take(ctx, "/0", "/a", "/b") // 0 was given back when the wait for a ended
		turns.Release()
		next <- err
	}()
	held.Release()
	held.Release()
	if err := <-next; err != nil {
		t.Error(err)
	}
}

func TestTake_WithoutMemoryNobodyWaits(t *testing.T) {
	turns, err := (*memory.Book)(nil).Take(context.Background(), "/a")
	if err != nil {
		t.Fatal(err)
	}
	turns.Release()
}
