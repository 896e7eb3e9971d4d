package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/search"
	"github.com/hermes-runtime/hermes/tool"
)

const (
	reader   = "read_file"
	writer   = "write_file"
	patcher  = "patch"
	searcher = "search_files"
)

func filePaths() []path {
	return []path{
		{"read_file of a small file", "ms", 1, false, readSmall},
		{"read_file, 500 lines of 1 MB", "×", 3, false, readPage},
		{"write_file of 1 MB, to write, fsync, rename", "×", 2, false, writeBig},
		{"patch in 1 MB, exact, to read and write", "×", 2, false, patching("line 9000 of the file\n", "line nine of the file\n")},
		{"patch in 1 MB, fuzzy", "×", 10, false, patching("  line 9000 of   the file\n  line 9001 of   the file\n", "changed\n")},
		{"patch in 1 MB, no match", "×", 10, false, patching("nothing like it\nis in the file\nat all, anywhere\n", "changed\n")},
		{"search_files over 20 000 files, to ripgrep", "×", 1.2, false, searchTree},
		{"the built-in search of them, to ripgrep", "×", 2, false, searchBuiltin},
		{"1 000 read_file calls from one script, each", "ms", 1, false, thousandReads},
	}
}

// do makes a call that has to end well, or at least not to break.
func (b *Bench) do(ctx context.Context, name string, args map[string]any) (tool.Result, error) {
	text, err := json.Marshal(args)
	if err != nil {
		return tool.Result{}, err
	}
	return b.call(ctx, name, text)
}

// call is do for arguments that are encoded already, as they come from a model.
func (b *Bench) call(ctx context.Context, name string, args json.RawMessage) (tool.Result, error) {
	r := b.session.Call(ctx, tool.Request{Name: name, Arguments: args})
	if r.Type == tool.ErrTypeUnknownTool || r.Type == tool.ErrTypeInvalidArguments || r.Type == tool.ErrTypeInternal {
		return r, fmt.Errorf("%s: %s", name, r.JSON)
	}
	return r, nil
}

// lines is a file of about 1 MB, numbered.
func lines() []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < 1_000_000; i++ {
		fmt.Fprintf(&b, "line %d of the file\n", i)
	}
	return b.Bytes()
}

func (b *Bench) file(name string, content []byte) (string, error) {
	p := filepath.Join(b.dir, name)
	return p, os.WriteFile(p, content, 0o600)
}

func readSmall(ctx context.Context, b *Bench) (float64, string, error) {
	p, err := b.file("small.txt", []byte("a few\nlines of\ntext\n"))
	if err != nil {
		return 0, "", err
	}
	var failed error
	n := 0
	d := perCall(50, func() {
		n++
		if _, err := b.do(ctx, reader, map[string]any{"path": p}); err != nil {
			failed = err
		}
	})
	return float64(d.Microseconds()) / 1000, "whole call", failed
}

func readPage(ctx context.Context, b *Bench) (float64, string, error) {
	p, err := b.file("page.txt", lines())
	if err != nil {
		return 0, "", err
	}
	return ratio(40, func() error {
		_, err := b.do(ctx, reader, map[string]any{"path": p, "offset": 1000, "limit": 500})
		return err
	}, func() error { _, err := os.ReadFile(p); return err })
}

// replace is a bare write of a whole file: temporary name, sync, rename, sync of the directory.
func replace(p string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(p), ".bare-*")
	if err != nil {
		return err
	}
	if _, err = f.Write(content); err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), p)
}

func writeBig(ctx context.Context, b *Bench) (float64, string, error) {
	content := lines()
	ours, bare := filepath.Join(b.dir, "ours.txt"), filepath.Join(b.dir, "bare.txt")
	var calls [2]json.RawMessage // other content each time: an equal one is not written
	for i := range calls {
		var err error
		if calls[i], err = json.Marshal(map[string]any{"path": ours, "content": fmt.Sprint(i, "\n") + string(content)}); err != nil {
			return 0, "", err
		}
	}
	n := 0
	return ratio(20, func() error {
		n++
		_, err := b.call(ctx, writer, calls[n%2])
		return err
	}, func() error { return replace(bare, content) })
}

func patching(old, new string) func(context.Context, *Bench) (float64, string, error) {
	return func(ctx context.Context, b *Bench) (float64, string, error) {
		content := lines()
		p, err := b.file("patched.txt", content)
		if err != nil {
			return 0, "", err
		}
		bare := filepath.Join(b.dir, "bare.txt")
		if err := os.WriteFile(bare, content, 0o600); err != nil {
			return 0, "", err
		}
		var ours []time.Duration
		var other []time.Duration
		for range 15 {
			if err := os.WriteFile(p, content, 0o600); err != nil {
				return 0, "", err
			}
			start := time.Now()
			if _, err := b.do(ctx, patcher, map[string]any{"path": p, "old_string": old, "new_string": new}); err != nil {
				return 0, "", err
			}
			ours = append(ours, time.Since(start))
			start = time.Now()
			text, err := os.ReadFile(bare)
			if err == nil {
				err = replace(bare, text)
			}
			if err != nil {
				return 0, "", err
			}
			other = append(other, time.Since(start))
		}
		a, c := median(ours), median(other)
		return float64(a) / float64(c), fmt.Sprintf("%v against %v", a.Round(time.Microsecond), c.Round(time.Microsecond)), nil
	}
}

// tree is 20 000 files of 40 lines in 200 directories.
func (b *Bench) tree() (string, error) {
	root := filepath.Join(b.dir, "tree")
	if _, err := os.Stat(root); err == nil {
		return root, nil
	}
	for d := range 200 {
		dir := filepath.Join(root, fmt.Sprintf("d%03d", d))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", err
		}
		for f := range 100 {
			var text strings.Builder
			for l := range 40 {
				fmt.Fprintf(&text, "func line_%d_%d_%d(argument string) error { return nil }\n", d, f, l)
			}
			if f%50 == 0 {
				text.WriteString("the needle in the hay\n")
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%03d.go", f)), []byte(text.String()), 0o600); err != nil {
				return "", err
			}
		}
	}
	return root, nil
}

func searchTree(ctx context.Context, b *Bench) (float64, string, error) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		return 0, "", fmt.Errorf("the bare equivalent is ripgrep: %w", err)
	}
	root, err := b.tree()
	if err != nil {
		return 0, "", err
	}
	n := 0
	return ratio(10, func() error {
		n++ // the same search is refused when it is repeated without end
		_, err := b.do(ctx, searcher, map[string]any{"pattern": "needle in the (hay|stack)", "path": root, "limit": 400 + n})
		return err
	}, func() error {
		return exec.CommandContext(ctx, rg, "--line-number", "needle in the (hay|stack)", root).Run()
	})
}

// searchBuiltin measures the engine that searches where there is no ripgrep.
func searchBuiltin(ctx context.Context, b *Bench) (float64, string, error) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		return 0, "", fmt.Errorf("the bare equivalent is ripgrep: %w", err)
	}
	root, err := b.tree()
	if err != nil {
		return 0, "", err
	}
	engine := search.New(search.Options{Engine: search.Builtin})
	q := environment.Query{Pattern: "needle in the (hay|stack)", Root: environment.Path(root), Limit: 500}
	return ratio(10, func() error { _, err := engine.Search(ctx, q); return err },
		func() error { return exec.CommandContext(ctx, rg, "--line-number", q.Pattern, root).Run() })
}

func thousandReads(ctx context.Context, b *Bench) (float64, string, error) {
	p, err := b.file("read.txt", []byte("one\ntwo\nthree\n"))
	if err != nil {
		return 0, "", err
	}
	v, err := b.figure(ctx, fmt.Sprintf(`
import time
from hermes_tools import read_file
t = time.perf_counter()
for i in range(1000):
    assert "error" not in read_file(%q)
print((time.perf_counter() - t) / 1000 * 1000)
`, p))
	return v, "measured in the script", err
}
