package hermes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	hermes "github.com/hermes-runtime/hermes"
	"github.com/hermes-runtime/hermes/tool"
)

// keepersOf gives the keepers of a home that run.
func keepersOf(home string) []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is well formed
	for _, f := range files {
		dir := filepath.Dir(f)
		argv, _ := os.ReadFile(f)
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if bytes.HasSuffix(argv, []byte("\x00hermes-keeper\x00")) && bytes.Contains(append([]byte{0}, environ...), []byte("\x00HERMES_HOME="+home+"\x00")) {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			pids = append(pids, pid)
		}
	}
	return pids
}

// KPR-1, KPR-7, OWN-3: an embedder that calls Init is its own keeper: a job outlives the runtime that started it, and the next one on the
// same home finds it and can end it.
func TestInit_JobsOutliveTheRuntime(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	t.Cleanup(func() {
		for _, pid := range keepersOf(home) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	first, _ := open(t, hermes.Options{Home: home})
	s := first.NewSession(hermes.SessionOptions{ID: "s"})
	_, out := call(t, s, "terminal", map[string]any{"command": "exec sleep 600", "background": true})
	id, _ := out["session_id"].(string)
	if id == "" {
		t.Fatalf("%v", out)
	}
	if n := len(keepersOf(home)); n != 1 {
		t.Errorf("%d keepers", n)
	}
	if err := first.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	second, _ := open(t, hermes.Options{Home: home})
	s = second.NewSession(hermes.SessionOptions{ID: "s"})
	if _, out := call(t, s, "process", map[string]any{"action": "poll", "session_id": id}); out["status"] != "running" {
		t.Errorf("%v", out)
	}
	if _, out := call(t, s, "process", map[string]any{"action": "kill", "session_id": id}); out["status"] != "killed" {
		t.Errorf("%v", out)
	}
}

// BenchmarkPoll is a look at a job that runs, through the door.
func BenchmarkPoll(b *testing.B) {
	rt, _ := open(b, hermes.Options{})
	s := rt.NewSession(hermes.SessionOptions{ID: "s"})
	var job struct {
		ID string `json:"session_id"`
	}
	r := s.Call(b.Context(), tool.Request{Name: "terminal", Arguments: []byte(`{"command":"echo hello; exec sleep 600","background":true}`)})
	if err := json.Unmarshal([]byte(r.JSON), &job); err != nil || job.ID == "" {
		b.Fatal(r.JSON)
	}
	ask := func(action string) {
		r := s.Call(context.Background(), tool.Request{Name: "process", Arguments: fmt.Appendf(nil, `{"action":%q,"session_id":%q}`, action, job.ID)})
		if r.Status != tool.StatusOK {
			b.Fatal(r.JSON)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		ask("poll")
	}
	ask("kill")
}
