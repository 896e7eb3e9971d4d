package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
)

// The test binary is another process that uses a store: what it does and where stand in variables.
const (
	playName = "HERMES_TEST_STORE"
	fileName = "HERMES_TEST_STORE_FILE"
	nameName = "HERMES_TEST_STORE_NAME"
)

func TestMain(m *testing.M) {
	play := map[string]func(ctx context.Context, d *store.Database, name string) error{"write": write, "endless": endless, "claim": claim}[os.Getenv(playName)]
	if play == nil {
		os.Exit(m.Run())
	}
	ctx := context.Background()
	d, err := store.Open(ctx, store.Options{File: os.Getenv(fileName), Warn: func(err error) { fmt.Fprintln(os.Stderr, err) }})
	if err == nil {
		err = errors.Join(play(ctx, d, os.Getenv(nameName)), d.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// other is a process that does something with a store.
func other(t *testing.T, play, file, name string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self)
	c.Env = append(os.Environ(), playName+"="+play, fileName+"="+file, nameName+"="+name)
	c.Stderr = os.Stderr
	return c
}

func text(role provider.Role, text string) store.Message {
	return store.Message{Message: provider.Message{Role: role, Text: text}}
}

// shared is a session that all processes write to.
const shared = "shared"

func write(ctx context.Context, d *store.Database, name string) error {
	for _, id := range []string{name, shared} {
		if err := d.Begin(ctx, store.Session{ID: id}); err != nil {
			return err
		}
	}
	for i := range messagesEach {
		if _, err := d.Append(ctx, name, text(provider.User, strconv.Itoa(i))); err != nil {
			return err
		}
		if i%10 == 0 {
			if _, err := d.Append(ctx, shared, text(provider.User, name+" "+strconv.Itoa(i))); err != nil {
				return err
			}
		}
	}
	return nil
}

// STO-3, STO-4: processes that begin at once on a file that isn't there, and write at once, lose nothing, double nothing, keep the order
// of each session, and see no lock.
func TestStore_ManyProcessesLoseNothing(t *testing.T) {
	const processes = 8
	file := filepath.Join(t.TempDir(), "sessions.db")
	var all []*exec.Cmd
	for n := range processes {
		c := other(t, "write", file, fmt.Sprint("p", n))
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	for _, c := range all {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	d := opened(t, file)
	next := map[string]int{}
	for n := range processes {
		ms, err := d.Messages(t.Context(), fmt.Sprint("p", n))
		if err != nil || len(ms) != messagesEach {
			t.Fatalf("process %d: %d messages, %v", n, len(ms), err)
		}
		for i := range ms {
			if ms[i].Text != strconv.Itoa(i) {
				t.Fatalf("process %d: message %d is %s", n, i, ms[i].Text)
			}
		}
	}
	ms, err := d.Messages(t.Context(), shared)
	if err != nil || len(ms) != processes*messagesEach/10 {
		t.Fatalf("%d shared messages, %v", len(ms), err)
	}
	for i := range ms {
		name, number, _ := strings.Cut(ms[i].Text, " ")
		if number != strconv.Itoa(next[name]) {
			t.Fatalf("%s wrote %s where %d was due", name, number, next[name])
		}
		next[name] += 10
	}
	if err := d.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// endless appends numbers for ever and tells each that is kept; now and then it compacts.
func endless(ctx context.Context, d *store.Database, name string) error {
	if err := d.Begin(ctx, store.Session{ID: name}); err != nil {
		return err
	}
	var ids []int64
	for i := 0; ; i++ {
		id, err := d.Append(ctx, name, text(provider.User, strconv.Itoa(2*i)), text(provider.Assistant, strconv.Itoa(2*i+1)))
		if err != nil {
			return err
		}
		fmt.Println(2*i + 1)
		if ids = append(ids, id...); i%5 == 4 {
			if err := d.Compact(ctx, name, ids[2*i-3], []store.Message{text(provider.User, "up to "+strconv.Itoa(2*i-3))}); err != nil {
				return err
			}
		}
	}
}

// LOOP-4, STO-1: killed at any point, the file opens as it is, holds all that was told to be kept, whole writes only, in order.
func TestStore_SurvivesKill(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sessions.db")
	for n := range kills {
		name := fmt.Sprint("k", n)
		c := other(t, "endless", file, name)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		told := 0
		lines := bufio.NewScanner(out)
		for range 1 + rand.IntN(30) {
			if !lines.Scan() {
				t.Fatal("it ended by itself")
			}
			told, _ = strconv.Atoi(lines.Text())
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			told, _ = strconv.Atoi(lines.Text())
		}
		_ = c.Wait()
		inOrder(t, file, name, told)
	}
}

func inOrder(t *testing.T, file, name string, told int) {
	t.Helper()
	d, err := store.Open(t.Context(), store.Options{File: file, Warn: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ms, err := d.Messages(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	next := 0
	if summary, ok := strings.CutPrefix(ms[0].Text, "up to "); ok {
		n, _ := strconv.Atoi(summary)
		next, ms = n+1, ms[1:]
	}
	for i := range ms {
		if ms[i].Text != strconv.Itoa(next) {
			t.Fatalf("%s where %d was due", ms[i].Text, next)
		}
		next++
	}
	if next <= told || next%2 != 0 {
		t.Errorf("the last kept is %d, told was %d", next-1, told)
	}
	if err := d.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// claim holds a session until its input ends.
func claim(ctx context.Context, d *store.Database, name string) error {
	release, err := d.Claim(ctx, name)
	if err != nil {
		return err
	}
	defer release()
	fmt.Println("claimed")
	bufio.NewScanner(os.Stdin).Scan()
	return nil
}

// CHAT-6: a session that another process uses is in use, until that process ends, however it does.
func TestStore_ClaimsHoldBetweenProcesses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sessions.db")
	d := opened(t, file)
	c := other(t, "claim", file, "a/b")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if lines := bufio.NewScanner(out); !lines.Scan() {
		t.Fatal("it claimed nothing")
	}
	if _, err := d.Claim(t.Context(), "a/b"); !errors.Is(err, store.ErrInUse) {
		t.Errorf("a session that another process uses: %v", err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	release, err := d.Claim(t.Context(), "a/b")
	if err != nil {
		t.Fatal(err)
	}
	release()
	if names, err := filepath.Glob(filepath.Join(filepath.Dir(file), "run", "sessions", "*")); err != nil || len(names) > 0 {
		t.Errorf("it leaves %v %v", names, err)
	}
}
