package files_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/files"
)

// breaking is content that fails after some of it was read.
type breaking struct {
	text string
	err  error
	read func()
}

func (b *breaking) Read(p []byte) (int, error) {
	if b.text == "" {
		if b.read != nil {
			b.read()
		}
		return 0, b.err
	}
	n := copy(p, b.text)
	b.text = b.text[n:]
	return n, nil
}

func TestReplace_KeepsModeAndLeavesNothingBehind(t *testing.T) { // WRI-1
	p := newPlace(t)
	for _, mode := range []fs.FileMode{0o644, 0o600, 0o755, 0o640, 0o711, 0o444 | 0o200, 0o755 | fs.ModeSetgid} {
		at := p.put("f", "old")
		if err := os.Chmod(string(at), mode); err != nil {
			t.Fatal(err)
		}
		var out environment.ReplaceOutcome
		info, err := p.replace(at, "new", environment.ReplaceOptions{Result: &out})
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode != mode || info.Size != 3 || out != (environment.ReplaceOutcome{}) {
			t.Errorf("mode %v became %v; %+v", mode, info.Mode, out)
		}
		p.holds("f", "new")
		if err := os.Remove(string(at)); err != nil {
			t.Fatal(err)
		}
	}
	p.clean()
}

func TestReplace_FailingContentLeavesTheOldFile(t *testing.T) { // WRI-1, WRI-9
	p := newPlace(t)
	at := p.put("f", "old")
	linked := p.put("l", "old")
	if err := os.Link(string(linked), string(p.path("l2"))); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the connection was cut")
	for _, target := range []environment.Path{at, linked, p.path("n1/n2/new")} {
		o := environment.ReplaceOptions{Parents: true}
		_, err := p.Replace(context.Background(), target, &breaking{text: "half of it", err: broken}, o)
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), string(target)) {
			t.Errorf("%s: %v", target, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		_, err = p.Replace(ctx, target, &breaking{text: "half of it", read: cancel}, o)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	}
	p.holds("f", "old")
	p.holds("l", "old")
	if _, err := os.Stat(string(p.path("n1"))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("directories of a failed write are left: %v", err)
	}
	p.clean()
}

func TestReplace_FollowsLinksAndKeepsThem(t *testing.T) { // WRI-2
	p := newPlace(t)
	p.put("dir/real", "old")
	for name, target := range map[string]string{"link": "dir/real", "chain": "link", "dangling": "dir/made"} {
		if err := os.Symlink(target, string(p.path(name))); err != nil {
			t.Skip(err)
		}
	}
	for _, c := range []struct{ name, file string }{{"link", "dir/real"}, {"chain", "dir/real"}, {"dangling", "dir/made"}} {
		info, err := p.replace(p.path(c.name), "new "+c.name, environment.ReplaceOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if info.Path != p.path(c.file) {
			t.Errorf("%s wrote %s", c.name, info.Path)
		}
		p.holds(c.file, "new "+c.name)
		if _, err := os.Readlink(string(p.path(c.name))); err != nil {
			t.Errorf("%s is no link any more: %v", c.name, err)
		}
	}
}

func TestReplace_HardLinksAreWrittenInPlace(t *testing.T) { // WRI-3
	p := newPlace(t)
	at := p.put("a", "old content")
	if err := os.Link(string(at), string(p.path("b"))); err != nil {
		t.Skip(err)
	}
	for _, text := range []string{"short", strings.Repeat("longer ", 1000), ""} {
		var out environment.ReplaceOutcome
		info, err := p.replace(at, text, environment.ReplaceOptions{Result: &out})
		if err != nil || !out.InPlace || info.Links != 2 {
			t.Errorf("%v, %+v, %d links", err, out, info.Links)
		}
		p.holds("a", text)
		p.holds("b", text)
	}
	p.clean()
}

func TestReplace_NewFilesGetTheirMode(t *testing.T) { // WRI-4
	p := newPlace(t)
	plain, err := os.Create(filepath.Join(p.root, "plain"))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	want, err := plain.Stat()
	if err != nil {
		t.Fatal(err)
	}
	var out environment.ReplaceOutcome
	info, err := p.replace(p.path("x/y/script"), "#!/bin/sh\n", environment.ReplaceOptions{Parents: true, Result: &out})
	if err != nil || info.Mode != want.Mode() || !out.Created || !out.DirsCreated || out.InPlace {
		t.Errorf("%v, mode %v, want %v; %+v", err, info.Mode, want.Mode(), out)
	}
	info, err = p.replace(p.path("own"), "x", environment.ReplaceOptions{Mode: 0o640})
	if err != nil || info.Mode != 0o640 {
		t.Errorf("%v, mode %v", err, info.Mode)
	}
	if _, err := p.replace(p.path("none/x"), "x", environment.ReplaceOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without Parents: %v", err)
	}
}

func TestReplace_ExclusiveNeverReplaces(t *testing.T) {
	p := newPlace(t)
	at := p.put("f", "old")
	if _, err := p.replace(at, "new", environment.ReplaceOptions{Exclusive: true}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file: %v", err)
	}
	p.holds("f", "old")
	var made sync.WaitGroup
	results := make([]error, 8)
	for i := range results {
		made.Go(func() {
			_, results[i] = p.replace(p.path("once"), fmt.Sprint(i), environment.ReplaceOptions{Exclusive: true})
		})
	}
	made.Wait()
	winners := 0
	for i, err := range results {
		if err == nil {
			winners++
			p.holds("once", fmt.Sprint(i))
		} else if !errors.Is(err, fs.ErrExist) {
			t.Error(err)
		}
	}
	if winners != 1 {
		t.Errorf("%d of 8 made the file", winners)
	}
	// A file that appears while the content is being written is left alone, too.
	late := p.path("late")
	content := &breaking{text: "mine", err: io.EOF, read: func() { p.put("late", "theirs") }}
	if _, err := p.Replace(context.Background(), late, content, environment.ReplaceOptions{Exclusive: true}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file that appeared: %v", err)
	}
	p.holds("late", "theirs")
	p.clean()
}

func TestReplace_AChangedFileIsNotWritten(t *testing.T) { // WRI-6
	p := newPlace(t)
	ctx := context.Background()
	at := p.put("f", "as read")
	seen, err := p.Stat(ctx, at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.replace(at, "as read", environment.ReplaceOptions{Unchanged: &seen}); err != nil {
		t.Fatalf("an unchanged file: %v", err)
	}
	changes := map[string]func(){
		"another identity": func() {},
		"another time": func() {
			seen, _ = p.Stat(ctx, at)
			if err := os.Chtimes(string(at), time.Now(), time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		},
		"another size": func() { seen, _ = p.Stat(ctx, at); p.put("f", "longer than read") },
		"gone":         func() { seen, _ = p.Stat(ctx, at); os.Remove(string(at)) },
	}
	for _, name := range []string{"another identity", "another time", "another size", "gone"} {
		changes[name]()
		if _, err := p.replace(at, "new", environment.ReplaceOptions{Unchanged: &seen, Parents: true}); !errors.Is(err, environment.ErrChanged) {
			t.Errorf("%s: %v", name, err)
		}
		if b, err := os.ReadFile(string(at)); string(b) == "new" {
			t.Errorf("%s: it was written (%v)", name, err)
		}
	}
	p.clean()
}

func TestReplace_AFileSwappedMeanwhileIsNotReplaced(t *testing.T) { // GRD-2, WRI-6
	p := newPlace(t)
	for _, links := range []int{1, 2} {
		name := fmt.Sprint("f", links)
		at := p.put(name, "judged")
		if links == 2 {
			if err := os.Link(string(at), string(p.path(name+"link"))); err != nil {
				t.Skip(err)
			}
		}
		content := &breaking{text: "new", err: io.EOF, read: func() {
			if err := os.Rename(string(p.put("other", "swapped in")), string(at)); err != nil {
				t.Error(err)
			}
		}}
		if _, err := p.Replace(context.Background(), at, content, environment.ReplaceOptions{}); !errors.Is(err, environment.ErrChanged) {
			t.Errorf("%d links: %v", links, err)
		}
		p.holds(name, "swapped in")
	}
	p.clean()
}

func TestReplace_WritersOfOnePathGoOneAfterTheOther(t *testing.T) { // WRI-5
	p := newPlace(t)
	other := files.New(p.options()) // as another process would have: sharing nothing but the lock directory
	at := p.put("counter", "0")
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			var f environment.FS = p.FS
			if i%2 == 0 {
				f = other
			}
			text := strings.Repeat(fmt.Sprintln("writer", i), 2000)
			if _, err := f.Replace(context.Background(), at, strings.NewReader(text), environment.ReplaceOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	b, err := os.ReadFile(string(at))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := bytes.Cut(b, []byte{'\n'})
	if string(b) != strings.Repeat(string(first)+"\n", 2000) {
		t.Error("writers were mixed")
	}
	p.clean()
}

func TestReplace_AWriterWaitsOnlyAsLongAsItShould(t *testing.T) { // WRI-5
	p := newPlace(t)
	at := p.put("f", "old")
	o := p.options()
	o.LockWait = time.Millisecond
	impatient := files.New(o)
	content := &breaking{text: "first", err: io.EOF, read: func() {
		_, err := impatient.Replace(context.Background(), at, strings.NewReader("second"), environment.ReplaceOptions{})
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "another writer") {
			t.Errorf("the second writer: %v", err)
		}
		if _, err := impatient.Replace(context.Background(), p.path("else"), strings.NewReader("x"), environment.ReplaceOptions{}); err != nil {
			t.Errorf("another path: %v", err)
		}
	}}
	if _, err := p.Replace(context.Background(), at, content, environment.ReplaceOptions{}); err != nil {
		t.Fatal(err)
	}
	p.holds("f", "first")
}

func TestSweep_ClearsUpAfterACrash(t *testing.T) { // WRI-1, WRI-3
	p := newPlace(t)
	ctx := context.Background()
	crashed, linked := p.put("f", "old"), p.put("l", "old whole")
	if err := os.Link(string(linked), string(p.path("l2"))); err != nil {
		t.Skip(err)
	}
	// A copy of the records as they are in the middle of a write is what a crash leaves.
	kept := map[string][]byte{}
	snapshot := func() {
		records, _ := filepath.Glob(filepath.Join(p.root, "locks", "*.record"))
		for _, r := range records {
			if b, _ := os.ReadFile(r); len(b) > 0 {
				kept[r] = b
			}
		}
	}
	content := &breaking{text: "new", err: io.EOF, read: snapshot}
	if _, err := p.Replace(ctx, crashed, content, environment.ReplaceOptions{}); err != nil {
		t.Fatal(err)
	}
	if len(kept) != 1 {
		t.Fatalf("%d records during a write", len(kept))
	}
	for file, text := range kept {
		var temp string
		if _, err := fmt.Sscanf(string(text), `{"temp":%q}`, &temp); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if err := os.WriteFile(temp, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	info, err := p.Stat(ctx, linked)
	if err != nil {
		t.Fatal(err)
	}
	backup := filepath.Join(p.root, "tmp", ".hermes-"+strings.Repeat("a", 26)+".tmp")
	if err := os.WriteFile(backup, []byte("old whole"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.put("l", "ne")
	record := fmt.Sprintf(`{"restore":%q,"copy":%q,"device":%d,"inode":%d}`, linked, backup, info.Device, info.Inode)
	if err := os.WriteFile(filepath.Join(p.root, "locks", "p-000.record"), []byte(record), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := files.New(p.options()).Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	p.holds("f", "new")
	p.holds("l2", "old whole")
	p.clean()
	if err := p.Sweep(ctx); err != nil {
		t.Errorf("again: %v", err)
	}
}

func TestSweep_TouchesOnlyItsOwnNames(t *testing.T) {
	p := newPlace(t)
	at := p.put("precious", "x")
	if err := os.MkdirAll(filepath.Join(p.root, "locks"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i, record := range []string{fmt.Sprintf(`{"temp":%q}`, at), fmt.Sprintf(`{"restore":%q,"copy":"/etc/passwd"}`, at), `{"temp":"/`, "\x00"} {
		file := filepath.Join(p.root, "locks", fmt.Sprintf("p-00%d.record", i))
		if err := os.WriteFile(file, []byte(record), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Sweep(context.Background()); err != nil {
		t.Fatal(err)
	}
	p.holds("precious", "x")
}
