package files_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/files"
)

func benchFS(b *testing.B) (*files.FS, string) {
	b.Helper()
	root := b.TempDir()
	return files.New(files.Options{Home: root, Temp: root, LockDir: filepath.Join(root, "locks")}), root
}

// BenchmarkReplace1MB compares with the least that makes a write last: write, sync, rename.
func BenchmarkReplace1MB(b *testing.B) {
	f, root := benchFS(b)
	content := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16)
	at := filepath.Join(root, "file")
	var own, bare time.Duration
	for range b.N {
		start := time.Now()
		if _, err := f.Replace(context.Background(), environment.Path(at), bytes.NewReader(content), environment.ReplaceOptions{}); err != nil {
			b.Fatal(err)
		}
		own += time.Since(start)
		start = time.Now()
		t, err := os.Create(at + "2.tmp")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := t.Write(content); err != nil {
			b.Fatal(err)
		}
		if err := t.Sync(); err != nil {
			b.Fatal(err)
		}
		t.Close()
		if err := os.Rename(at+"2.tmp", at+"2"); err != nil {
			b.Fatal(err)
		}
		bare += time.Since(start)
	}
	b.ReportMetric(float64(own)/float64(bare), "ratio")
	b.ReportMetric(float64(bare.Microseconds())/float64(b.N), "bare-µs")
}

// BenchmarkRead compares with package os for a small file and one of 1 MB.
func BenchmarkRead(b *testing.B) {
	f, root := benchFS(b)
	for name, size := range map[string]int{"small": 2000, "1MB": 1 << 20} {
		at := filepath.Join(root, name)
		if err := os.WriteFile(at, bytes.Repeat([]byte{'x'}, size), 0o644); err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			buf := make([]byte, size+1)
			var own, bare time.Duration
			for range b.N {
				start := time.Now()
				r, err := f.Read(context.Background(), environment.Path(at), 0, -1)
				if err != nil {
					b.Fatal(err)
				}
				if n, err := io.ReadFull(r, buf); n != size {
					b.Fatal(n, err)
				}
				r.Close()
				own += time.Since(start)
				start = time.Now()
				t, err := os.Open(at)
				if err != nil {
					b.Fatal(err)
				}
				if n, err := io.ReadFull(t, buf); n != size {
					b.Fatal(n, err)
				}
				t.Close()
				bare += time.Since(start)
			}
			b.ReportMetric(float64(own)/float64(bare), "ratio")
		})
	}
}
