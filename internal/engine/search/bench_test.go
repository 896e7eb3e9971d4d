package search_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/search"
)

// bigTree has 20,000 files with 800,000 lines.
func bigTree(b *testing.B) string {
	b.Helper()
	root := b.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("package import func return error string int value index buffer context reader writer table query result")
	tree := map[string]string{}
	for i := range 20_000 {
		var text strings.Builder
		for line := range 40 {
			for range 6 {
				text.WriteString(words[r.IntN(len(words))])
				text.WriteByte(' ')
			}
			if i%100 == 0 && line == 20 {
				text.WriteString("needleInHay(42)")
			}
			text.WriteByte('\n')
		}
		tree[fmt.Sprintf("d%02d/e%02d/file%05d.go", i%40, i/40%20, i)] = text.String()
	}
	tree[".gitignore"] = "*.log\n/build/\nnode_modules\n"
	write(b, root, tree)
	return root
}

// benchmarkRatio runs the search between runs of the bare program, and reports how many times as long it takes.
func benchmarkRatio(b *testing.B, engine string, q environment.Query, bare ...string) {
	needRipgrep(b)
	q.Root = environment.Path(bigTree(b))
	s := search.New(search.Options{Engine: engine})
	var own, other time.Duration
	if _, err := s.Search(context.Background(), q); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for range b.N {
		start := time.Now()
		m, err := s.Search(context.Background(), q)
		own += time.Since(start)
		if err != nil || m.Total == 0 {
			b.Fatal(m.Total, err)
		}
		start = time.Now()
		c := exec.Command("rg", bare...)
		c.Dir = string(q.Root)
		out, err := c.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Start(); err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, out); err != nil {
			b.Fatal(err)
		}
		if err := c.Wait(); err != nil {
			b.Fatal(err)
		}
		other += time.Since(start)
	}
	b.ReportMetric(float64(own)/float64(other), "ratio")
	b.ReportMetric(float64(other.Milliseconds())/float64(b.N), "rg-ms")
}

// contentQueries are searches as people make them: rare and frequent words, and expressions with and without a literal.
var contentQueries = []struct{ name, pattern string }{
	{"literal", "needleInHay"},
	{"expression", `needle\w+\(\d+\)`},
	{"anycase", "(?i)NEEDLEinhay"},
	{"noliteral", `\w+\(\d+\)`},
	{"frequent", "context"},
}

func BenchmarkSearch(b *testing.B) {
	for _, engine := range []string{search.Ripgrep, search.Builtin} {
		for _, q := range contentQueries {
			b.Run(engine+"/"+q.name, func(b *testing.B) {
				benchmarkRatio(b, engine, environment.Query{Pattern: q.pattern, Limit: 50}, "--no-config", "-n", q.pattern, "./")
			})
		}
	}
}

func BenchmarkNames(b *testing.B) {
	benchmarkRatio(b, "", environment.Query{Names: true, Pattern: "*.go", Limit: 50}, "--no-config", "--files", "./")
}
