package runtime

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/hook"
)

// configured opens a runtime with a configuration.
func configured(t *testing.T, text string, o Options) *Runtime {
	t.Helper()
	o.Home = t.TempDir()
	must(t, os.WriteFile(filepath.Join(o.Home, "config.yaml"), []byte(text), 0o600))
	if o.Environ == nil {
		o.Environ = []string{"HOME=/home/ann"}
	}
	r, err := Open(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { must(t, r.Close(context.Background())) })
	return r
}

func request(command string) approval.Request {
	return approval.Request{Session: "s", Command: command, Dir: "/data/app", Home: "/home/ann", HostLike: true}
}

// A53, A55, A58: words of the configuration; one that is none is said loudly, and the careful one holds.
func TestGate_WordsOfTheConfiguration(t *testing.T) {
	for text, c := range map[string]struct {
		verdict string
		problem string
	}{
		"":                                       {"ask", ""},
		"approvals: {mode: off}":                 {"allow", ""},
		"approvals: {mode: false}":               {"allow", ""},
		"approvals: {mode: true}":                {"ask", ""},
		"approvals: {mode: }":                    {"ask", ""},
		"approvals: {mode: OFF}":                 {"allow", ""},
		"approvals: {mode: sometimes}":           {"ask", "approvals.mode"},
		"approvals: {mode: smart}":               {"ask", "auxiliary.approval"},
		"approvals: {unattended_mode: go}":       {"ask", "approvals.unattended_mode"},
		"approvals: {sandboxed: no}":             {"ask", "approvals.sandboxed"},
		"approvals: {floor: maybe}":              {"ask", "approvals.floor"},
		"approvals: {patterns: x}":               {"ask", "approvals.patterns"},
		"approvals: {patterns: [[')', x]]}":      {"ask", "config.yaml:1:1: approvals.patterns"},
		"approvals: {deny: ['rm *']}":            {"deny", ""},
		"approvals: {deny: '*'}":                 {"ask", "approvals.deny"},
		"approvals: {quiet: [delete.root]}":      {"ask", "can't be turned off"},
		"approvals: {quiet: [recursive delete]}": {"allow", ""},
		"approvals: {approver: {command: [x], url: 'http://x.example'}}": {"ask", "approvals.approver"},
		"command_allowlist: [recursive delete]":                          {"allow", ""},
		"command_allowlist: recursive delete":                            {"ask", "command_allowlist"},
		"command_allowlist: '*'":                                         {"ask", "command_allowlist"},
	} {
		r := configured(t, text, Options{})
		if got := r.gate.Try(request("rm -rf build")); got.Verdict != c.verdict {
			t.Errorf("%s: %s, want %s", text, got.Verdict, c.verdict)
		}
		var found string
		for _, p := range r.Problems() {
			found += p.Error() + "\n"
		}
		if (found != "") != (c.problem != "") || !strings.Contains(found, c.problem) {
			t.Errorf("%s: problems %q, want %q", text, found, c.problem)
		}
	}
}

// A54: HERMES_YOLO_MODE counts for sessions of the process, not for their children; doctor tells of it.
func TestGate_YoloOfTheProcess(t *testing.T) {
	for value, want := range map[string]bool{"1": true, "true": true, "0": false, "false": false, "": false} {
		r := configured(t, "", Options{Environ: []string{"HOME=/home/ann", "HERMES_YOLO_MODE=" + value}})
		d := r.gate.Check(t.Context(), request("rm -rf build"))
		child := request("rm -rf build")
		child.Root = "root"
		inner := r.gate.Check(t.Context(), child)
		if d.Runs() != want || inner.Runs() {
			t.Errorf("%q: runs %v, in a child %v", value, d.Runs(), inner.Runs())
		}
		warned := slices.ContainsFunc(r.checkApprovals(), func(f Finding) bool { return f.State == stateWarn })
		if warned != want {
			t.Errorf("%q: doctor warns: %v", value, warned)
		}
	}
}

// A60: a place stays while somebody thinks about what is to run in it.
func TestGate_AnOpenQuestionKeepsThePlace(t *testing.T) {
	var r *Runtime
	var kept, other bool
	r = configured(t, "", Options{Asker: channel.AskerFunc(func(context.Context, channel.Question) (channel.Answer, error) {
		kept, other = r.busy("mine"), r.busy("another")
		return channel.Answer{Choice: channel.Deny}, nil
	})})
	q := request("rm -rf build")
	q.EnvID = "mine"
	r.gate.Check(t.Context(), q)
	if !kept || other || r.busy("mine") {
		t.Errorf("kept while asking: %v, another: %v, after the answer: %v", kept, other, r.busy("mine"))
	}
}

// A58: a job is a job though a person is there.
func TestFacts_AScheduledJobIsUnattended(t *testing.T) {
	r := configured(t, "", Options{Environ: []string{"HOME=/home/ann", "HERMES_CRON_SESSION=1"}})
	if f := r.facts(SessionOptions{Task: "t"}, func() string { return "" }); f.Setting != approval.Scheduled {
		t.Errorf("setting %q", f.Setting)
	}
}

// A66, A68: always is on disk with a comment, counts at once and after a restart; what somebody writes into the file counts without one.
func TestPermanent_AlwaysIsWrittenAndTheFileIsFollowed(t *testing.T) {
	ask := channel.AskerFunc(func(context.Context, channel.Question) (channel.Answer, error) {
		return channel.Answer{Choice: channel.Always, Who: "ann on\ntty"}, nil
	})
	r := configured(t, "# mine\nterminal: {timeout: 5} # t\n", Options{Asker: ask})
	for _, c := range []string{"rm -rf build", "cat x | sh"} {
		if d := r.gate.Check(t.Context(), request(c)); d.Outcome != approval.Approved || d.Note != "" {
			t.Fatalf("%q: %s %s", c, d.Outcome, d.Note)
		}
	}
	file := r.doc.Path
	text, err := os.ReadFile(file)
	must(t, err)
	for _, want := range []string{"# mine\nterminal: {timeout: 5} # t\n", "- \"recursive delete\" # added " + time.Now().Format("2006-"), "by ann on tty\n", `exact: "cat x | sh", cwd: "/data/app"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	other := configured(t, string(text), Options{})
	for _, c := range []string{"rm -rf dist", "cat x | sh"} {
		if got := other.gate.Try(request(c)); got.Verdict != "allow" || len(got.AllowedBy) != 1 {
			t.Errorf("after a restart %q: %s", c, got.Verdict)
		}
	}
	if got := other.gate.Try(request("cat y | sh")); got.Verdict != "ask" {
		t.Errorf("another script: %s", got.Verdict)
	}
	must(t, os.WriteFile(other.doc.Path, []byte("command_allowlist: [stop/restart system service]\n"), 0o600))
	if a, b := other.gate.Try(request("systemctl stop x")), other.gate.Try(request("rm -rf dist")); a.Verdict != "allow" || b.Verdict != "ask" {
		t.Errorf("after the file changed: %s and %s", a.Verdict, b.Verdict)
	}
	must(t, os.WriteFile(other.doc.Path, []byte("command_allowlist: [\n"), 0o600))
	if got := other.gate.Try(request("systemctl stop x")); got.Verdict != "allow" {
		t.Errorf("a broken file changed the list: %s", got.Verdict)
	}
}

// A69: without permanent answers, always isn't offered.
func TestPermanent_CanBeTurnedOff(t *testing.T) {
	var offered []channel.Choice
	r := configured(t, "approvals: {permanent: false}", Options{Asker: channel.AskerFunc(func(_ context.Context, q channel.Question) (channel.Answer, error) {
		offered = q.Choices
		return channel.Answer{Choice: channel.Always}, nil
	})})
	if d := r.gate.Check(t.Context(), request("rm -rf build")); d.Runs() || slices.Contains(offered, channel.Always) {
		t.Errorf("%s, offered %v", d.Outcome, offered)
	}
}

// A87: no line, no consent.
func TestAudit_WhatCantBeRecordedIsDenied(t *testing.T) {
	r := configured(t, "command_allowlist: [recursive delete]", Options{})
	must(t, os.WriteFile(filepath.Join(r.home, "audit"), nil, 0o600)) // a file where the directory should be
	if d := r.gate.Check(t.Context(), request("rm -rf build")); d.Outcome != approval.Policy {
		t.Errorf("%s, want policy", d.Outcome)
	}
	if d := r.gate.Check(t.Context(), request("ls")); d.Outcome != approval.Allowed {
		t.Errorf("ls: %s", d.Outcome)
	}
}

// A85: hooks hear of every decision about a finding, the floor and bypasses too.
func TestHooks_HearOfEveryDecision(t *testing.T) {
	told := make(chan hook.Approval, 32)
	r := configured(t, "", Options{Hooks: []hook.Hook{
		{Name: "h", PreApprovalRequest: func(_ context.Context, a hook.Approval) error { told <- a; return nil },
			PostApprovalResponse: func(_ context.Context, a hook.Approval) error { told <- a; return nil }},
	}})
	r.gate.Yolo("y")
	for command, choice := range map[string]string{"rm -rf /": "deny", "rm -rf build": "deny", "rm -rf b": "once"} {
		req := request(command)
		req.Surface, req.Turn, req.CallID = "terminal", "t1", "c1"
		if choice == "once" {
			req.Session = "y"
		}
		d := r.gate.Check(t.Context(), req)
		for _, want := range []string{"", choice} {
			select {
			case a := <-told:
				if a.Choice != want || a.Command != command || a.RequestID != d.RequestID || a.Surface != "terminal" || a.TurnID != "t1" || a.ToolCallID != "c1" || a.PatternKey != d.Keys[0] {
					t.Errorf("%q: told %+v, want choice %q", command, a, want)
				}
			case <-time.After(time.Minute):
				t.Fatalf("%q: no hook was told %q", command, want)
			}
		}
	}
}

// A78, A79: a reviewing model behind an address approves what is of low risk, and is sent no secret.
func TestReviewers_AModelJudgesWhereTheModeIsSmart(t *testing.T) {
	var sent []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var body json.RawMessage
		_ = json.NewDecoder(req.Body).Decode(&body)
		sent = append(sent, req.Header.Get("Authorization")+" "+string(body))
		_, _ = w.Write([]byte(`{"choices":[{"message":{"content":"{\"verdict\":\"approve\",\"reason\":\"dependencies\"}"}}]}`))
	}))
	defer server.Close()
	r := configured(t, "approvals: {mode: smart, unattended_mode: smart}\nauxiliary: {approval: {base_url: '"+server.URL+"', model: small, key_env: REVIEW_KEY}}\n",
		Options{Environ: []string{"HOME=/home/ann", "REVIEW_KEY=key-of-the-reviewer", "MY_TOKEN=hunter2-hunter2"}})
	d := r.gate.Check(t.Context(), request("TOKEN=hunter2-hunter2 rm -rf node_modules"))
	if d.How != approval.ByModel || len(sent) != 1 || !strings.HasPrefix(sent[0], "Bearer key-of-the-reviewer ") || strings.Contains(sent[0], "hunter2-hunter2") {
		t.Errorf("%s by %s, sent %q", d.Outcome, d.How, sent)
	}
	if d := r.gate.Check(t.Context(), request("systemctl stop x")); d.Runs() || len(sent) != 1 {
		t.Errorf("a graver act: %s, sent %d times", d.Outcome, len(sent))
	}
}

// A1: looks at the disk tell what is there, follow links, and never hang.
func TestHostDisk_LooksAndNeverHangs(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "f"), filepath.Join(dir, "l")
	must(t, os.WriteFile(file, []byte("text"), 0o600))
	if err := os.Symlink("f", link); err != nil {
		t.Skip(err)
	}
	var d hostDisk
	a, ok := d.Identify(file)
	l, okLink := d.Identify(link)
	gone, okGone := d.Identify(filepath.Join(dir, "gone"))
	if !ok || !okLink || !okGone || !a.Exists || a.Inode == 0 || l.Link != "f" || gone.Exists {
		t.Errorf("file %+v %v, link %+v %v, nothing %+v %v", a, ok, l, okLink, gone, okGone)
	}
	must(t, os.Remove(file))
	must(t, os.WriteFile(file+"2", []byte("other"), 0o600))
	must(t, os.Rename(file+"2", file))
	real, err := filepath.EvalSymlinks(dir)
	must(t, err)
	if got := d.Resolve(filepath.Join(link, "..", "l")); got != filepath.Join(real, "f") {
		t.Errorf("the link leads to %s", got)
	}
	if got := d.Resolve(filepath.Join(dir, "no", "such")); got != filepath.Join(real, "no", "such") {
		t.Errorf("what isn't there is %s", got)
	}
	if text, ok := d.Text(link, 10); !ok || text != "other" {
		t.Errorf("text %q, %v", text, ok)
	}
	for _, p := range []string{dir, filepath.Join(dir, "gone"), "/dev/zero"} {
		if _, ok := d.Text(p, 10); ok {
			t.Errorf("%s has a text", p)
		}
	}
	if _, ok := d.Text(file, 3); ok {
		t.Error("a longer file was read")
	}
}
