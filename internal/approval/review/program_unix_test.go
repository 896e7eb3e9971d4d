//go:build unix

package review_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/approval/review"
)

func program(t *testing.T, script string, timeout time.Duration) *review.Program {
	t.Helper()
	p, err := review.NewProgram(review.Approver{Command: []string{"sh", "-c", script}, Timeout: timeout, Redact: redact})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A81: the user's own program answers once, or leaves it to a person.
func TestProgram_Verdicts(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   approval.Verdict
	}{
		"approve":          {`echo '{"verdict":"approve"}'`, approval.ReviewApproved},
		"deny":             {`echo '{"verdict":"deny","reason":"no"}'`, approval.ReviewDenied},
		"escalate":         {`echo '{"verdict":"escalate"}'`, approval.Escalate},
		"fails":            {`echo '{"verdict":"approve"}'; exit 1`, approval.Escalate},
		"says nothing":     {`:`, approval.Escalate},
		"chatters":         {`echo ok; echo '{"verdict":"approve"}'`, approval.Escalate},
		"writes on stderr": {`echo ok >&2; echo '{"verdict":"approve"}'`, approval.ReviewApproved},
		"floods":           {`echo '{"verdict":"approve"}'; head -c 200000 /dev/zero`, approval.Escalate},
		"floods blanks":    {`echo '{"verdict":"approve"}'; head -c 200000 /dev/zero | tr '\0' ' '`, approval.Escalate},
		"leaves a child":   {`sleep 1 >/dev/null 2>&1 & echo '{"verdict":"approve"}'`, approval.ReviewApproved},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if v, _ := program(t, c.script, 0).Review(t.Context(), request(t, "rm -rf node_modules")); v != c.want {
				t.Errorf("%s, want %s", v, c.want)
			}
		})
	}
	missing, err := review.NewProgram(review.Approver{Command: []string{"/nowhere/at/all"}, Redact: redact})
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := missing.Review(t.Context(), request(t, "rm -rf x")); v != approval.Escalate {
		t.Errorf("a program that isn't there: %s", v)
	}
}

func TestProgram_GetsTheRequestAndNoSecrets(t *testing.T) {
	t.Setenv("SOME_API_KEY", "leaked")
	file := filepath.Join(t.TempDir(), "got")
	p := program(t, `cat >`+file+`; env >`+file+`.env; echo '{"verdict":"escalate"}'`, 0)
	p.Review(t.Context(), request(t, "rm -rf hunter2/node_modules"))
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got review.Petition
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if got.RequestID != "r1" || got.Command != "rm -rf [hidden]/node_modules" || len(got.Commands) != 1 || got.Findings[0].ID != "delete.recursive" || got.Preview != "12 files" {
		t.Errorf("%s", b)
	}
	if strings.Contains(string(b), "hunter2") {
		t.Errorf("a secret came out: %s", b)
	}
	if env, err := os.ReadFile(file + ".env"); err != nil || strings.Contains(string(env), "leaked") || !strings.Contains(string(env), "PATH=") {
		t.Errorf("%v, %s", err, env)
	}
}

func TestProgram_IsEndedWithAllItStarted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	up := filepath.Join(t.TempDir(), "up")
	ended := make(chan approval.Verdict, 1)
	go func() {
		v, _ := program(t, `sleep 300 & echo $! >`+up+`.new; mv `+up+`.new `+up+`; wait`, time.Minute).Review(ctx, request(t, "rm -rf x"))
		ended <- v
	}()
	var pid string
	for end := time.Now().Add(time.Minute); pid == ""; time.Sleep(2 * time.Millisecond) {
		if b, err := os.ReadFile(up); err == nil {
			pid = strings.TrimSpace(string(b))
		} else if time.Now().After(end) {
			t.Fatal("it doesn't start")
		}
	}
	cancel()
	if v := <-ended; v != approval.Escalate {
		t.Errorf("%s", v)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			break
		}
		if time.Now().After(end) {
			t.Fatal("its child lives on")
		}
	}
}

func TestProgram_AtAnAddress(t *testing.T) {
	e := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"verdict":"deny","reason":"policy"}` + "\n"))
	})
	p, err := review.NewProgram(review.Approver{URL: e.URL, Redact: redact})
	if err != nil {
		t.Fatal(err)
	}
	if v, reason := p.Review(t.Context(), request(t, "rm -rf x")); v != approval.ReviewDenied || reason != "policy" {
		t.Errorf("%s, %q", v, reason)
	}
	if len(e.sent()) != 1 || e.auth != "" || !strings.Contains(e.sent()[0], `"command":"rm -rf x"`) {
		t.Errorf("%q, %q", e.auth, e.sent())
	}
	e.Close()
	if v, _ := p.Review(t.Context(), request(t, "rm -rf x")); v != approval.Escalate {
		t.Errorf("nobody there: %s", v)
	}
}

func TestNewProgram_RefusesWhatCantWork(t *testing.T) {
	for name, a := range map[string]review.Approver{
		"nothing": {Redact: redact}, "both": {Command: []string{"x"}, URL: "http://h", Redact: redact}, "no redact": {URL: "http://h"},
		"no program": {Command: []string{""}, Redact: redact}, "no scheme": {URL: "h/x", Redact: redact},
	} {
		if _, err := review.NewProgram(a); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
