//go:build linux || darwin

package file_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/tool"
)

// beside measures do against a plain way to do the same in the same run, and reports their ratio.
func beside(b *testing.B, do, plain func()) {
	b.Helper()
	var base time.Duration
	for b.Loop() {
		b.StopTimer()
		start := time.Now()
		plain()
		base += time.Since(start)
		b.StartTimer()
		do()
	}
	b.ReportMetric(float64(b.Elapsed())/float64(base), "×plain")
}

func (h *host) prepared(b *testing.B, name string, args m) func() {
	raw, err := json.Marshal(args)
	if err != nil {
		b.Fatal(err)
	}
	c := &tool.Call{ID: "c", Session: "s", Task: h.task, Caller: h.caller, Name: name, Raw: raw, Args: raw, Host: h}
	x := registered(b, name)
	return func() {
		v, err := x.Run(context.Background(), c)
		if err != nil {
			b.Fatal(err)
		}
		if o, failed := v.(tool.Outcome); failed {
			b.Fatalf("%+v", o.Value)
		}
	}
}

func megabyte() string {
	var s strings.Builder
	for i := 0; s.Len() < 1<<20; i++ {
		fmt.Fprintf(&s, "func handler%d(request *Request) error {\n\treturn process(request, %d)\n}\n\n", i, i*7)
	}
	return s.String()
}

// BenchmarkRead: a small file within 1 ms; 500 lines of 1 MB within 3 × reading it.
func BenchmarkRead(b *testing.B) {
	h := here(b)
	h.caller = tool.CallerScript
	h.put("small.txt", numberedLines(20))
	p := h.put("big.txt", megabyte())
	b.Run("small", func(b *testing.B) {
		do := h.prepared(b, "read_file", m{"path": "small.txt"})
		for b.Loop() {
			do()
		}
	})
	for _, first := range []int{1, 30_000} {
		b.Run(fmt.Sprintf("500 of 1MB from %d", first), func(b *testing.B) {
			api := h.as("t", tool.CallerAPI)
			beside(b, api.prepared(b, "read_file", m{"path": "big.txt", "offset": first}), func() {
				if _, err := os.ReadFile(p); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

// writeAndRename is what a careful program does by hand.
func writeAndRename(b *testing.B, path, content string) {
	f, err := os.Create(path + ".new")
	if err == nil {
		_, err = io.WriteString(f, content)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkWrite1MB: within 2 × write, fsync, rename.
func BenchmarkWrite1MB(b *testing.B) {
	h := here(b)
	content := [2]string{megabyte(), megabyte() + "x\n"}
	n := 0
	calls := [2]func(){}
	for i := range calls {
		calls[i] = h.prepared(b, "write_file", m{"path": "big.txt", "content": content[i]})
	}
	h.put("big.txt", content[1])
	beside(b, func() { calls[n%2](); n++ }, func() { writeAndRename(b, h.path("plain.txt"), content[0]) })
}

// BenchmarkPatch1MB: exact within 2 × reading and writing it, the others within 10 ×.
func BenchmarkPatch1MB(b *testing.B) {
	h := here(b)
	content := megabyte()
	p := h.put("big.txt", content)
	plain := func() {
		raw, err := os.ReadFile(p)
		if err != nil {
			b.Fatal(err)
		}
		writeAndRename(b, h.path("plain.txt"), string(raw))
	}
	const head = "func handler9000(request *Request) error {\n"
	const body = "return process(request, %s)\n}\n"
	for _, c := range []struct{ name, from, to string }{
		{"exact", head + "\t" + body, head + "\t" + body},
		{"fuzzy", head + "    " + body, head + "    " + body},
	} {
		b.Run(c.name, func(b *testing.B) {
			h.put("big.txt", content)
			one := h.prepared(b, "patch", m{"path": "big.txt", "old_string": fmt.Sprintf(c.from, "63000"), "new_string": fmt.Sprintf(c.to, "63001")})
			two := h.prepared(b, "patch", m{"path": "big.txt", "old_string": fmt.Sprintf(c.from, "63001"), "new_string": fmt.Sprintf(c.to, "63000")})
			n := 0
			beside(b, func() {
				if n++; n%2 == 1 {
					one()
				} else {
					two()
				}
			}, plain)
		})
	}
	b.Run("missing", func(b *testing.B) {
		raw, _ := json.Marshal(m{"path": "big.txt", "old_string": "func nowhere(at all) {\n\tpanic(1)\n\treturn process(x)\n}\n", "new_string": "x"})
		c := &tool.Call{ID: "c", Task: "t", Caller: tool.CallerModel, Name: "patch", Raw: raw, Args: raw, Host: h}
		x := registered(b, "patch")
		beside(b, func() {
			if _, err := x.Run(context.Background(), c); err != nil {
				b.Fatal(err)
			}
		}, plain)
	})
}
