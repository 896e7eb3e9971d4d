package atomicfile_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/hermes-runtime/hermes/internal/atomicfile"
	"github.com/hermes-runtime/hermes/internal/leaktest"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("ATOMICFILE_TEST_LOG"); path != "" {
		appendLines(path, os.Getenv("ATOMICFILE_TEST_ID"))
		return
	}
	leaktest.Main(m)
}

func TestWrite_NewFileHasTheModeAndNothingElseIsLeft(t *testing.T) { // WRI-1
	dir := t.TempDir()
	for _, perm := range []fs.FileMode{0, 0o644, 0o755} {
		path := filepath.Join(dir, fmt.Sprintf("f%o", perm))
		if err := atomicfile.Write(path, []byte("text"), perm); err != nil {
			t.Fatal(err)
		}
		want := perm
		if perm == 0 {
			want = atomicfile.DefaultPerm
		}
		wantFile(t, path, "text", want)
	}
	wantEntries(t, dir, 3)
}

func TestWrite_ExistingFileKeepsItsMode(t *testing.T) { // WRI-1
	path := filepath.Join(t.TempDir(), "f")
	writeFile(t, path, "old", 0o640)
	if err := atomicfile.Write(path, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, "new", 0o640)
	err := atomicfile.Replace(path, strings.NewReader("newer"), atomicfile.Options{Perm: 0o600, ForcePerm: true})
	if err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, "newer", 0o600)
}

func TestWriteFrom_FailingReaderLeavesTheOldFile(t *testing.T) { // WRI-1
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	writeFile(t, path, "old", 0o644)
	cause := errors.New("the source broke")
	r := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(cause))
	err := atomicfile.WriteFrom(path, r, 0)
	if !errors.Is(err, cause) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one that names the path and the cause", err)
	}
	wantFile(t, path, "old", 0o644)
	wantEntries(t, dir, 1)
}

func TestWrite_SymbolicLinkStays(t *testing.T) { // A68
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	link, target := filepath.Join(dir, "link"), filepath.Join(dir, "sub", "target")
	if err := os.Symlink(filepath.Join("sub", "target"), link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	for _, text := range []string{"created through the link", "replaced through it"} {
		if err := atomicfile.Write(link, []byte(text), 0); err != nil {
			t.Fatal(err)
		}
		wantFile(t, target, text, atomicfile.DefaultPerm)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v %v", info, err)
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(loop, nil, 0); err == nil {
		t.Error("a loop of links was written")
	}
}

func TestWrite_OnlyRegularFilesAreReplaced(t *testing.T) {
	dir := t.TempDir()
	if err := atomicfile.Write(dir, []byte("x"), 0); err == nil || !strings.Contains(err.Error(), "regular") {
		t.Errorf("writing over a directory: %v", err)
	}
	if err := atomicfile.Write(filepath.Join(dir, "no", "f"), nil, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("writing into a directory that isn't there: %v", err)
	}
	wantEntries(t, dir, 0)
}

func TestWrite_LongNameStillFits(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{strings.Repeat("n", 250), strings.Repeat("ü", 120)} {
		if err := atomicfile.Write(filepath.Join(dir, name), []byte("x"), 0); err != nil {
			t.Error(err)
		}
	}
}

func TestSweep_RemovesOldTemporariesOnly(t *testing.T) { // WRI-1
	dir := t.TempDir()
	old, young := filepath.Join(dir, ".a.X.hermes-tmp"), filepath.Join(dir, ".b.Y.hermes-tmp")
	for _, p := range []string{old, young, filepath.Join(dir, "c.hermes-tmp"), filepath.Join(dir, "d")} {
		writeFile(t, p, "", 0o600)
	}
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	removed, err := atomicfile.Sweep(dir, time.Minute)
	if err != nil || len(removed) != 1 || removed[0] != old {
		t.Errorf("removed %v, %v; want %s only", removed, err, old)
	}
	wantEntries(t, dir, 3)
}

func TestLock_ExcludesUntilUnlockedAndIsBounded(t *testing.T) { // MEM-3
	path := filepath.Join(t.TempDir(), "lock")
	first, err := atomicfile.Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = atomicfile.Lock(ctx, path)
	if !errors.Is(err, atomicfile.ErrLocked) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), path) {
		t.Errorf("a lock that is held gave %v", err)
	}
	if err := first.Unlock(); err != nil {
		t.Fatal(err)
	}
	second, err := atomicfile.Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Unlock(); err != nil {
		t.Error(err)
	}
	if _, err := atomicfile.Lock(t.Context(), filepath.Join(path, "no", "lock")); err == nil || errors.Is(err, atomicfile.ErrLocked) {
		t.Errorf("a lock that can't be made gave %v", err)
	}
}

func TestUpdate_ConcurrentChangesLoseNothing(t *testing.T) { // MEM-3
	path := filepath.Join(t.TempDir(), "f")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			err := atomicfile.Update(t.Context(), path, 0o644, func(old []byte) ([]byte, error) {
				return append(old, 'x'), nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	wantFile(t, path, strings.Repeat("x", 20), 0o644)
}

func TestUpdate_RefusedOrEmptyChangeWritesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	writeFile(t, path, "old", 0o600)
	before, _ := os.Stat(path)
	cause := errors.New("no")
	err := atomicfile.Update(t.Context(), path, 0, func(old []byte) ([]byte, error) {
		old[0] = 'X' // must not matter
		return nil, cause
	})
	if !errors.Is(err, cause) {
		t.Errorf("error %v, want the one of edit", err)
	}
	err = atomicfile.Update(t.Context(), path, 0, func(old []byte) ([]byte, error) { return old, nil })
	if err != nil {
		t.Error(err)
	}
	if after, _ := os.Stat(path); !os.SameFile(before, after) {
		t.Error("the file was replaced by itself")
	}
	wantFile(t, path, "old", 0o600)
}

func writeFile(t *testing.T, path, text string, perm fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), perm); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, perm); err != nil {
		t.Fatal(err)
	}
}

func wantFile(t *testing.T, path, text string, perm fs.FileMode) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != text {
		t.Errorf("%s: %q, %v; want %q", path, got, err, text)
	}
	if info, err := os.Stat(path); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != perm) {
		t.Errorf("%s: %v %v, want mode %o", path, info.Mode(), err, perm)
	}
}

func wantEntries(t *testing.T, dir string, n int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != n {
		t.Errorf("%s holds %v, %v; want %d entries", dir, entries, err, n)
	}
}

func BenchmarkWrite(b *testing.B) {
	path := filepath.Join(b.TempDir(), "f")
	data := []byte(strings.Repeat("x", 4096))
	for b.Loop() {
		if err := atomicfile.Write(path, data, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func TestTryLock_WaitsForNobody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	held, ok, err := atomicfile.TryLock(path)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	if _, ok, err := atomicfile.TryLock(path); ok || err != nil {
		t.Errorf("taken twice: %v, %v", ok, err)
	}
	if err := held.Unlock(); err != nil {
		t.Error(err)
	}
	again, ok, err := atomicfile.TryLock(path)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	_ = again.Unlock()
	if _, ok, err := atomicfile.TryLock(filepath.Join(path, "below")); ok || err == nil {
		t.Errorf("a place that can't be: %v, %v", ok, err)
	}
}

// A lock whose holders remove its file is held by one at a time all the same, and nothing is left of it.
func TestLock_RemovedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	var all sync.WaitGroup
	var held, done atomic.Int32
	for range 8 {
		all.Go(func() {
			for range 10 {
				h, err := atomicfile.Lock(t.Context(), path)
				if err != nil {
					t.Error(err)
					return
				}
				if held.Add(1) != 1 {
					t.Error("two hold it")
				}
				held.Add(-1)
				done.Add(1)
				if err := h.UnlockAndRemove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if _, err := os.Stat(path); done.Load() != 80 || runtime.GOOS != "windows" && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("held %d times, left: %v", done.Load(), err)
	}
}
