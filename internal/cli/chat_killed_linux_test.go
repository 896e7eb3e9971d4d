package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/provider/providertest"
)

// killTape is a conversation whose every command leaves a line when it begins; some are slow, some come together.
func killTape() string {
	var b strings.Builder
	call := func(id, then string) string {
		return fmt.Sprintf(`{"id":%q,"name":"terminal","arguments":{"command":"echo %s >> done.log%s"}}`, id, id, then)
	}
	for n := range 4 {
		a, c, d := fmt.Sprintf("quick%d", n), fmt.Sprintf("slow%d", n), fmt.Sprintf("pair%d", n)
		fmt.Fprintf(&b, `{"delay_ms":10,"text":"Step %d. ","calls":[%s]}`+"\n", n, call(a, ""))
		fmt.Fprintf(&b, `{"delay_ms":5,"calls":[%s,%s]}`+"\n", call(c, "; sleep 0.05"), call(d, ""))
	}
	return b.String() + `{"delay_ms":10,"text":"All is done.","chunks":3}` + "\n"
}

// LOOP-4: killed at any point, a conversation can be resumed at once: the request is one that a strict API takes, a call without a result
// has one that says so, nothing is run again, no process is left.
func TestChat_KilledAtAnyPointGoesOn(t *testing.T) {
	kills := 100
	if testing.Short() {
		kills = 10
	}
	program := filepath.Join(t.TempDir(), "hermes") // without the detector of races, under which a process takes seconds to begin
	if text, err := exec.Command("go", "build", "-o", program, "github.com/hermes-runtime/hermes/cmd/hermes").CombinedOutput(); err != nil {
		t.Fatalf("build hermes: %v\n%s", err, text)
	}
	whole := newKilled(t, program)
	begun := time.Now()
	whole.kill(t, time.Hour)
	span := time.Since(begun)
	if states := whole.resume(t); states["done"] != 12 {
		t.Fatalf("undisturbed: %v", states)
	}
	total := make(chan map[string]int, kills)
	t.Run("points", func(t *testing.T) {
		for n := range kills {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				k := newKilled(t, program)
				k.kill(t, time.Duration((float64(n)+rand.Float64())/float64(kills)*float64(span)))
				total <- k.resume(t)
			})
		}
	})
	close(total)
	sum := map[string]int{}
	for states := range total {
		for s, n := range states {
			sum[s] += n
		}
	}
	t.Logf("%d kills within %v; calls: %v", kills, span, sum)
}

// killed is a conversation that is killed, and goes on with another model.
type killed struct {
	*talker
	server *providertest.Server
	tape   string
}

func newKilled(t *testing.T, program string) *killed {
	k := &killed{tape: filepath.Join(t.TempDir(), "tape.jsonl")}
	k.server = providertest.OpenAI(t, providertest.Script(t, providertest.Reply{Text: "It goes on."}))
	k.talker = newTalker(t, fmt.Sprintf("model:\n  provider: custom\n  default: test-model\n  base_url: %s\n  api_key_env: SERVER_KEY\n", k.server.URL()))
	k.program = program
	write(t, k.tape, killTape())
	return k
}

// kill begins the conversation and kills it after a while, if it hasn't ended by then. What it leaves behind has to end by itself.
func (k *killed) kill(t *testing.T, after time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), after)
	defer cancel()
	c := exec.CommandContext(ctx, k.program, "chat", "-m", "replay:"+k.tape, "-q", "begin")
	c.Dir, c.Env = k.dir, k.env
	var errs bytes.Buffer
	c.Stderr = &errs
	c.WaitDelay = 10 * time.Second
	if err := c.Run(); err != nil && ctx.Err() == nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	deadline := time.Now().Add(time.Minute)
	for left := k.processes(); len(left) > 0; left = k.processes() {
		if time.Now().After(deadline) {
			t.Fatalf("processes are left: %q", left)
		}
		time.Sleep(5 * time.Millisecond) // the kernel tells nobody but their parent
	}
}

// processes are those that work in the conversation's directory.
func (k *killed) processes() (left []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range all {
		if dir, err := os.Readlink(link); err == nil && strings.HasPrefix(dir, k.dir) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
			left = append(left, link+" "+string(line))
		}
	}
	return left
}

// resume goes on and counts the calls by what became of them.
func (k *killed) resume(t *testing.T) map[string]int {
	t.Helper()
	before := k.lines(t)
	out, errs, code := k.run(t, "", "chat", "--resume", "last", "-m", "custom/test-model", "-q", "go on")
	if code == 1 && strings.Contains(errs, "no such session") && len(before) == 0 {
		return map[string]int{"killed before anything was said": 1}
	}
	if code != 0 || out != "It goes on.\n" || strings.Contains(errs, "damaged") {
		t.Fatalf("exit %d: %q %s", code, out, errs)
	}
	states, asked := map[string]int{}, map[string]bool{}
	messages := k.server.Requests()[0].Messages
	for _, m := range messages {
		for _, c := range m.Calls {
			asked[c.ID] = true
		}
		if m.Role != provider.Tool {
			continue
		}
		lost := strings.Contains(m.Text, "Whether the call had an effect is unknown")
		switch n := before[m.CallID]; {
		case n == 1 && !lost:
			states["done"]++
		case lost && n == 1:
			states["done, outcome unknown"]++
		case lost && n == 0:
			states["not begun, outcome unknown"]++
		default:
			t.Errorf("%s was run %d times: %s", m.CallID, n, m.Text)
		}
	}
	for id, n := range k.lines(t) {
		if !asked[id] || n != 1 || before[id] != 1 {
			t.Errorf("%s was run %d times, before it went on %d times, known: %v", id, n, before[id], asked[id])
		}
	}
	if len(messages) == 1 && messages[0].Text == "go on" && len(before) == 0 { // between the session and its first message
		return map[string]int{"killed before anything was said": 1}
	}
	if first, last := messages[0].Text, messages[len(messages)-1].Text; !strings.HasPrefix(first, "begin") || !strings.HasSuffix(last, "go on") {
		t.Errorf("from %q to %q", first, last)
	}
	k.whole(t)
	return states
}

// lines counts what commands have left, by call.
func (k *killed) lines(t *testing.T) map[string]int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(k.dir, "done.log"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	out := map[string]int{}
	for line := range strings.FieldsSeq(string(data)) {
		out[line]++
	}
	return out
}

// whole checks the file and that nobody uses the session.
func (k *killed) whole(t *testing.T) {
	t.Helper()
	d, err := store.Open(t.Context(), store.Options{File: filepath.Join(k.home(), "sessions.db"), Warn: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	s, err := d.Find(t.Context(), "last")
	if err != nil {
		t.Fatal(err)
	}
	release, err := d.Claim(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	release()
}
