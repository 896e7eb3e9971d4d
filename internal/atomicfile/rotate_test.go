package atomicfile_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-runtime/hermes/internal/atomicfile"
)

const linesEach = 300

// appendLines is what each of the processes of the test below does.
func appendLines(path, id string) {
	log := atomicfile.Rotating{Path: path, MaxBytes: 2 << 10, Keep: 1000}
	defer log.Close()
	for i := range linesEach {
		if _, err := fmt.Fprintf(&log, "%s %d %s", id, i, strings.Repeat(id, 40+i%60)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func TestRotating_LinesOfManyProcessesNeverMixAndNoneIsLost(t *testing.T) { // OBS-6
	dir := t.TempDir()
	path := filepath.Join(dir, "calls.jsonl")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{"a", "b", "c", "d"}
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), self)
			cmd.Env = append(os.Environ(), "ATOMICFILE_TEST_LOG="+path, "ATOMICFILE_TEST_ID="+id)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %s: %v: %s", id, err, out)
			}
		})
	}
	wg.Wait()
	files, _ := filepath.Glob(path + "*")
	whole := regexp.MustCompile(`^([a-d]) (\d+) (a+|b+|c+|d+)$`)
	seen := map[string]bool{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			m := whole.FindSubmatch(bytes.TrimSuffix(line, []byte("\n")))
			if m == nil || !bytes.HasPrefix(m[3], m[1]) {
				t.Fatalf("a mixed line in %s: %q", f, line)
			}
			seen[string(m[1])+" "+string(m[2])] = true
		}
	}
	if len(seen) != len(ids)*linesEach {
		t.Errorf("%d lines found, want %d", len(seen), len(ids)*linesEach)
	}
	if len(files) < 5 {
		t.Errorf("files %v: too few rotations to prove anything", files)
	}
}

func TestRotating_KeepsSoManyFilesOfThatSize(t *testing.T) { // OBS-6
	dir := t.TempDir()
	log := atomicfile.Rotating{Path: filepath.Join(dir, "logs", "calls.jsonl"), MaxBytes: 100, Keep: 3}
	for i := range 40 {
		if _, err := fmt.Fprintf(&log, "line %02d of the log\n", i); err != nil { // 19 bytes, 5 to a file
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"calls.jsonl", "calls.jsonl.1", "calls.jsonl.2"} {
		path := filepath.Join(dir, "logs", name)
		first := 35 - 5*i
		var want strings.Builder
		for n := first; n < first+5; n++ {
			fmt.Fprintf(&want, "line %02d of the log\n", n)
		}
		wantFile(t, path, want.String(), 0o600)
	}
	if _, err := os.Stat(log.Path + ".3"); err == nil {
		t.Error("more files than Keep")
	}
}

func TestRotating_KeepOneBeginsAnew(t *testing.T) {
	log := atomicfile.Rotating{Path: filepath.Join(t.TempDir(), "l"), MaxBytes: 10, Keep: 1, Perm: 0o640}
	for _, line := range []string{"12345678", "abcdefgh"} {
		if _, err := log.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	log.Close()
	wantFile(t, log.Path, "abcdefgh\n", 0o640)
}

func TestRotating_LineAfterATornOneBeginsOnItsOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	writeFile(t, path, "whole\nto", 0o600)
	log := atomicfile.Rotating{Path: path}
	for _, line := range []string{"next", "last\n", ""} {
		if n, err := log.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatalf("Write(%q) = %d, %v", line, n, err)
		}
	}
	log.Close()
	wantFile(t, path, "whole\nto\nnext\nlast\n\n", 0o600)
}

func TestRotating_UnusablePathIsToldByName(t *testing.T) { // OBS-7
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "f"), "", 0o600)
	log := atomicfile.Rotating{Path: filepath.Join(dir, "f", "log")}
	if _, err := log.Write([]byte("x")); err == nil || !strings.Contains(err.Error(), log.Path) {
		t.Errorf("error %v, want one that names the path", err)
	}
}

func BenchmarkRotating(b *testing.B) {
	log := atomicfile.Rotating{Path: filepath.Join(b.TempDir(), "l")}
	defer log.Close()
	line := []byte(strings.Repeat("x", 299) + "\n")
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, err := log.Write(line); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPlainAppend(b *testing.B) { // what Rotating is measured against
	f, err := os.OpenFile(filepath.Join(b.TempDir(), "l"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	line := []byte(strings.Repeat("x", 299) + "\n")
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		f.Write(line)
	}
}

// OBS-7: whether a line can be written is known before there is one.
func TestRotating_ReadyTellsBeforehand(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "audit"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	bad := &atomicfile.Rotating{Path: filepath.Join(dir, "audit", "calls.jsonl")}
	if err := bad.Ready(); err == nil || !strings.Contains(err.Error(), "calls.jsonl") {
		t.Errorf("below a file: %v", err)
	}
	good := &atomicfile.Rotating{Path: filepath.Join(dir, "log", "calls.jsonl")}
	if err := good.Ready(); err != nil {
		t.Error(err)
	}
	if err := good.Close(); err != nil {
		t.Error(err)
	}
}
