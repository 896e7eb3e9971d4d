package match_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/toolset/file/match"
	"github.com/hermes-runtime/hermes/toolset/file/text"
)

// BenchmarkFind_EqualLines is all nine strategies failing on n equal lines, against the exact search for the same: at most 50 ×, and
// growing no faster than n log n.
func BenchmarkFind_EqualLines(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		file := strings.Repeat("    the same line again and again\n", n)
		old := strings.Repeat("the same line again and again\n", 20) + "another line\n" + strings.Repeat("the same line again and again\n", 20)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var exact time.Duration
			for b.Loop() {
				b.StopTimer()
				start := time.Now()
				if strings.Contains(file, old) {
					b.Fatal("found")
				}
				exact += time.Since(start)
				b.StartTimer()
				if _, err := match.Find(text.Parse([]byte(file)), match.Request{Old: old, New: "x"}); err == nil {
					b.Fatal("found")
				}
			}
			b.ReportMetric(float64(b.Elapsed())/float64(exact), "×exact")
		})
	}
}

// source is about size bytes of lines that differ.
func source(size int) string {
	var s strings.Builder
	for i := 0; s.Len() < size; i++ {
		fmt.Fprintf(&s, "func handler%d(request *Request, limit int) error {\n\tif request.Size > %d {\n\t\treturn errLimit\n\t}\n\treturn process%d(request)\n}\n\n", i, i*7, i%13)
	}
	return s.String()
}

func BenchmarkFind_OneMegabyte(b *testing.B) {
	file := source(1 << 20)
	const block = "func handler4000(request *Request, limit int) error {\n\tif request.Size > 28000 {\n\t\treturn errLimit\n\t}\n"
	for _, c := range []struct{ name, old string }{
		{"exact", block},
		{"trimmed", strings.ReplaceAll(block, "\t", "  ")},
		{"anchored", strings.Replace(block, "Size > 28000", "Length > 28000", 1)},
		{"missing", "func nowhere(at all) {\n\tpanic(1)\n\treturn errLimit\n}\n"},
	} {
		b.Run(c.name, func(b *testing.B) {
			d := text.Parse([]byte(file))
			for b.Loop() {
				_, err := match.Find(d, match.Request{Old: c.old, New: "x"})
				if (err == nil) == (c.name == "missing") {
					b.Fatal(err)
				}
			}
		})
	}
}
