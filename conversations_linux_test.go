package hermes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	hermes "github.com/hermes-runtime/hermes"
	_ "github.com/hermes-runtime/hermes/provider/all"
)

// What a conversation that waits for its user may hold. The bytes are with a history of some calls, the goroutines those that hand on
// reports of progress.
const (
	idleBytes      = 200 << 10
	idleGoroutines = 3
)

// talk is one of many conversations; all it does carries its mark.
type talk struct {
	mark string
	dir  string
	*hermes.Conversation

	mu     sync.Mutex
	events []hermes.Event
}

var marks = regexp.MustCompile(`mark\d{4}`)

// pure tells that text holds the conversation's own mark and no other's.
func (k *talk) pure(t *testing.T, what, text string) {
	found := marks.FindAllString(text, -1)
	if len(found) == 0 {
		t.Errorf("%s: %s doesn't hold its mark: %.300s", k.mark, what, text)
	}
	for _, f := range found {
		if f != k.mark {
			t.Errorf("%s: %s holds %s: %.300s", k.mark, what, f, text)
		}
	}
}

// tape is what the model says in three turns: variables, the directory, files and the plan of a turn are used by later ones.
func (k *talk) tape(t *testing.T) string {
	t.Helper()
	lines := []string{
		`{"calls":[{"name":"terminal","arguments":{"command":"export MINE=MARK; mkdir -p inner; cd inner; echo $MINE begins"}},{"name":"todo","arguments":{"todos":[{"id":"1","content":"plan of MARK","status":"pending"}]}}]}`,
		`{"text":"MARK has begun"}`,
		`{"calls":[{"name":"write_file","arguments":{"path":"note.txt","content":"note of MARK\n"}}]}`,
		`{"calls":[{"name":"terminal","arguments":{"command":"echo $MINE; pwd; cat note.txt"}}]}`,
		`{"text":"MARK goes on"}`,
		`{"calls":[{"name":"read_file","arguments":{"path":"note.txt"}},{"name":"todo","arguments":{}}]}`,
		`{"text":"MARK is done"}`,
	}
	file := filepath.Join(k.dir, "tape.jsonl")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(strings.Join(lines, "\n"), "MARK", k.mark)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// have has the three turns.
func (k *talk) have(ctx context.Context, t *testing.T) {
	for n, end := range []string{"has begun", "goes on", "is done"} {
		out := k.Turn(ctx, fmt.Sprintf("%s asks %d", k.mark, n))
		if out.Status != hermes.Completed || !strings.HasSuffix(out.Text, k.mark+" "+end) {
			t.Errorf("%s, turn %d: %s %q %v", k.mark, n, out.Status, out.Text, out.Err)
		}
	}
}

// check looks for what belongs to others, in events and in the history.
func (k *talk) check(t *testing.T) {
	k.mu.Lock()
	defer k.mu.Unlock()
	ended := 0
	for i, e := range k.events {
		if e.Session != k.ID() || e.Seq != i+1 {
			t.Errorf("%s: event %d is %d of %s", k.mark, i+1, e.Seq, e.Session)
		}
		if e.Type == hermes.EventToolEnd {
			ended++
			if e.Status != "ok" {
				t.Errorf("%s: %s is %s: %s", k.mark, e.Tool, e.Status, e.Result)
			}
		}
	}
	if ended != 6 {
		t.Errorf("%s: %d calls have ended", k.mark, ended)
	}
	history := k.History()
	if len(history) != 16 {
		t.Errorf("%s: %d messages", k.mark, len(history))
	}
	text, err := json.Marshal(history)
	if err != nil {
		t.Error(err)
	}
	k.pure(t, "the history", string(text))
	for _, want := range []string{"begins", `note of ` + k.mark, `plan of ` + k.mark, filepath.Join(k.dir, "inner")} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s: no %q in %s", k.mark, want, text)
		}
	}
}

// size is what the process holds.
type size struct {
	heap       uint64
	goroutines int // those left at the very end are looked for by TestMain
	files      int
	children   string
}

func footprint() size {
	var m runtime.MemStats
	for range 3 { // finalizers free in the second round, pools in the third
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	files, _ := os.ReadDir("/proc/self/fd")
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	children := ""
	for _, name := range tasks { // a thread may have ended meanwhile
		list, _ := os.ReadFile(name)
		children += string(list)
	}
	return size{m.HeapAlloc + m.StackInuse, runtime.NumGoroutine(), len(files), children}
}

// LOOP-11: many conversations of one process at once mix nothing and lose nothing: events, histories, what is stored, directories,
// variables, files, plans. One that waits for its user is small, and nothing is left of it when it is closed.
func TestConversations_ManyAtOnceMixNothing(t *testing.T) {
	before := footprint()
	t.Run("until they are closed", manyConversations)
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // what is on its way out goes
		after := footprint()
		if after.files <= before.files && after.children == before.children {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("before: %+v; left when all is closed: %+v", before, after)
		}
	}
}

func manyConversations(t *testing.T) {
	rt, root := open(t, hermes.Options{})
	ctx := t.Context()
	before := footprint()
	n := conversationsAtOnce
	if testing.Short() {
		n = min(n, 24)
	}
	all := make([]*talk, n)
	for i := range all {
		k := &talk{mark: fmt.Sprintf("mark%04d", i)}
		k.dir = filepath.Join(root, k.mark)
		if err := os.Mkdir(k.dir, 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		k.Conversation, err = rt.Converse(ctx, hermes.ConversationOptions{Model: "replay:" + k.tape(t), Dir: k.dir, Listen: func(e hermes.Event) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.events = append(k.events, e)
		}})
		if err != nil {
			t.Fatal(err)
		}
		all[i] = k
	}
	var wg sync.WaitGroup
	for _, k := range all {
		wg.Go(func() { k.have(ctx, t) })
	}
	wg.Wait()
	histories := make([]any, len(all))
	for i, k := range all {
		k.check(t)
		histories[i] = k.History()
		k.events = nil
	}
	after := footprint()
	bytes, goroutines := (int64(after.heap)-int64(before.heap))/int64(len(all)), (after.goroutines-before.goroutines)/len(all)
	t.Logf("an idle conversation holds %d KB and %d goroutines", bytes>>10, goroutines)
	if bytes > idleBytes || goroutines > idleGoroutines {
		t.Errorf("an idle conversation holds %d bytes and %d goroutines", bytes, goroutines)
	}
	for i, k := range all {
		if err := k.Close(ctx); err != nil {
			t.Error(err)
		}
		again, err := rt.Converse(ctx, hermes.ConversationOptions{Resume: k.ID(), Model: "replay:" + filepath.Join(k.dir, "tape.jsonl")})
		if err != nil {
			t.Fatal(err)
		}
		if got := again.History(); !reflect.DeepEqual(any(got), histories[i]) {
			t.Errorf("%s was stored as\n%v\nand was\n%v", k.mark, got, histories[i])
		}
		if err := again.Close(ctx); err != nil {
			t.Error(err)
		}
	}
}
