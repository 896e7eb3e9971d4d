//go:build unix

package hermes_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	hermes "github.com/hermes-runtime/hermes"
	"github.com/hermes-runtime/hermes/tool"
)

// PRF-7: a result of 10 MB goes to a file. "×write" is the ratio to writing the same bytes, in the same run.
func BenchmarkSpill(b *testing.B) {
	text := strings.Repeat("a line of a long output, as programs print it\n", 10<<20/46)
	long := tool.Func(tool.Spec{Name: "long", Toolset: "mine", Description: "Long."}, func(context.Context, *tool.Call, struct{}) (any, error) {
		return map[string]string{"output": text}, nil
	})
	rt, dir := open(b, hermes.Options{Tools: []tool.Tool{long}})
	plain := filepath.Join(dir, "plain")
	var writing, spilling time.Duration
	n := 0
	for b.Loop() {
		start := time.Now()
		if err := os.WriteFile(plain, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
		writing += time.Since(start)
		start = time.Now()
		r := rt.Call(context.Background(), tool.Request{Name: "long"})
		spilling += time.Since(start)
		if r.Spill == nil || r.Spill.Chars != len(text) {
			b.Fatalf("%s: %.200s", r.Status, r.JSON)
		}
		if err := os.Remove(r.Spill.Path); err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64(spilling.Milliseconds())/float64(n), "ms/spill")
	b.ReportMetric(float64(spilling)/float64(writing), "×write")
}
