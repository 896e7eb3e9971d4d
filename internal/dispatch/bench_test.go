package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/tool"
)

// PRF-2: calls from 64 goroutines. "×one" is the ratio to the rate of one goroutine in the same run.
func BenchmarkManyCallers(b *testing.B) {
	bed := newBed(b, Config{}, giving("x", map[string]any{"a": "b", "n": 7}))
	bed.door.audit = nopAudit{}
	s := bed.session()
	ctx := context.Background()
	req := tool.Request{Name: "x", Arguments: json.RawMessage(`{"text":"a few words of text","n":7}`)}
	const sample = 20_000
	begun := time.Now()
	for range sample {
		bed.door.Call(ctx, s, req)
	}
	one := sample / time.Since(begun).Seconds()
	var left atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	left.Store(int64(b.N))
	done := make(chan error, 64)
	for range cap(done) {
		go func() {
			for left.Add(-1) >= 0 {
				if r := bed.door.Call(ctx, s, req); r.Status != tool.StatusOK {
					done <- fmt.Errorf("got %s", r.JSON)
					return
				}
			}
			done <- nil
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	rate := float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate, "calls/s")
	b.ReportMetric(rate/one, "×one")
}

// PRF-6: a batch of 16 independent calls of 100 ms with 8 places. "×2sleeps" is the ratio to the 200 ms that can't be saved.
func BenchmarkBatch(b *testing.B) {
	bed := newBed(b, Config{MaxParallelCalls: 8}, simple("x", func(context.Context, *tool.Call) (any, error) {
		time.Sleep(100 * time.Millisecond)
		return 1, nil
	}))
	bed.door.audit = nopAudit{}
	calls := make([]tool.Request, 16)
	for i := range calls {
		calls[i] = tool.Request{ID: fmt.Sprint(i), Name: "x", Arguments: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))} // equal reads would run once
	}
	for b.Loop() {
		for _, r := range bed.door.CallBatch(context.Background(), bed.session(), tool.Batch{Calls: calls}) {
			if r.Status != tool.StatusOK {
				b.Fatal(r.JSON)
			}
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/0.2, "×2sleeps")
}
