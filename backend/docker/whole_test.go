//go:build linux

package docker_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/environment/envtest"
)

// hermes runs the real program with containers as its place.
func (l *lab) hermes(t *testing.T, vars []string, tool, args string) map[string]any {
	t.Helper()
	cmd := exec.Command(l.config.ResidentPath, "tools", "call", tool, args)
	cmd.Dir = l.o.HermesHome
	cmd.Env = append([]string{
		"PATH=/usr/bin:/bin", "HOME=" + l.o.HermesHome, "HERMES_HOME=" + l.o.HermesHome, "DOCKER_HOST=" + l.d.Host, "TERMINAL_ENV=docker",
		"TERMINAL_DOCKER_IMAGE=" + l.config.Image, "HERMES_YOLO_MODE=1",
	}, vars...)
	out, err := cmd.CombinedOutput()
	var v map[string]any
	if jerr := json.Unmarshal(out, &v); jerr != nil {
		t.Fatalf("%s %s: %v, %v: %s", tool, args, err, jerr, out)
	}
	return v
}

func TestWhole_ToolsWorkInTheContainer(t *testing.T) { // CON-7, MGR-8: the program, its tools, the engine
	l := newLab(t)
	for _, row := range []struct{ tool, args, want string }{
		{"terminal", `{"command":"pwd; hostname | wc -c; echo hi; exit 3"}`, `"cwd":"/root"`},
		{"terminal", `{"command":"mkdir -p d && cd d && printf 'one\ntwo needle\n' >f"}`, `"exit_code":0`},
		{"read_file", `{"path":"/root/d/f"}`, "two needle"},
		{"write_file", `{"path":"/root/d/g","content":"first\n"}`, "/root/d/g"},
		{"patch", `{"path":"/root/d/g","old_string":"first","new_string":"second"}`, "second"},
		{"search_files", `{"pattern":"need.e","path":"/root/d"}`, "/root/d/f"},
		{"terminal", `{"command":"cat /root/d/g"}`, `second`},
	} {
		b, err := json.Marshal(l.hermes(t, nil, row.tool, row.args))
		if err != nil || !strings.Contains(string(b), row.want) {
			t.Errorf("%s %s: %s, want %s", row.tool, row.args, b, row.want)
		}
	}
	if n := len(l.containers(t)); n != 1 {
		t.Errorf("%d containers", n)
	}
	if _, err := filepath.Glob(filepath.Join(l.o.HermesHome, "d")); err != nil {
		t.Error(err)
	}
	vars := []string{"TERMINAL_DOCKER_MOUNT_CWD_TO_WORKSPACE=true", `TERMINAL_DOCKER_ENV={"A":"1"}`, `TERMINAL_DOCKER_FORWARD_ENV=["B"]`, "B=2"}
	got := l.hermes(t, vars, "terminal", `{"command":"pwd; echo $A$B"}`)
	if got["output"] != "/workspace\n12" {
		t.Errorf("%v", got)
	}
}

func TestWhole_BackgroundProcessesGoOnBetweenCalls(t *testing.T) { // RMT-1, JOB-1, PTY-1, CLI-1: each call is a process of its own
	l := newLab(t)
	got := l.hermes(t, nil, "terminal", `{"command":"cat","background":true,"pty":true}`)
	id, _ := got["session_id"].(string)
	if id == "" || got["pty_note"] != nil {
		t.Fatalf("%v", got)
	}
	call := func(args string) map[string]any {
		t.Helper()
		return l.hermes(t, nil, "process", strings.ReplaceAll(args, "ID", id))
	}
	if got = call(`{"action":"submit","session_id":"ID","data":"typed"}`); got["status"] != "ok" {
		t.Errorf("%v", got)
	}
	envtest.Eventually(t, func() string {
		if got = call(`{"action":"poll","session_id":"ID"}`); strings.Count(fmt.Sprint(got["screen"]), "typed") == 2 && got["status"] == "running" {
			return ""
		}
		return fmt.Sprint(got)
	})
	if got = call(`{"action":"list"}`); !strings.Contains(fmt.Sprint(got["processes"]), id) {
		t.Errorf("%v", got)
	}
	if got = call(`{"action":"kill","session_id":"ID"}`); got["status"] != "killed" {
		t.Errorf("%v", got)
	}
	if got = call(`{"action":"poll","session_id":"ID"}`); got["status"] != "exited" || got["completion_reason"] != "killed" {
		t.Errorf("%v", got)
	}
	got = l.hermes(t, nil, "terminal", `{"command":"echo one; read x; echo $x; exit 5","background":true,"keep_stdin":true}`)
	id = got["session_id"].(string)
	call(`{"action":"submit","session_id":"ID","data":"two"}`)
	if got = call(`{"action":"wait","session_id":"ID"}`); got["exit_code"] != 5.0 || got["output"] != "one\ntwo\n" {
		t.Errorf("%v", got)
	}
	got = l.hermes(t, []string{"TERMINAL_RESIDENT=off"}, "terminal", `{"command":"sleep 9","background":true}`)
	if text := fmt.Sprint(got["error"]); !strings.Contains(text, "terminal.resident is off") {
		t.Errorf("without hermes there: %v", got)
	}
}
