package cli_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider/providertest"
)

// CHAT-6: what a conversation was had with comes back; flags win; a directory that is gone is said and the present one used; one that is in
// use elsewhere is refused in a line.
func TestChat_ResumeBringsBackWhatItWasHadWith(t *testing.T) {
	replies := func(n int) (out []providertest.Reply) {
		for range n {
			out = append(out, providertest.Reply{Text: "Yes."})
		}
		return out
	}
	s := providertest.OpenAI(t, providertest.Script(t, replies(5)...))
	k := newTalker(t, "")
	k.env = append(k.env, "OPENAI_BASE_URL="+s.URL())
	first := filepath.Join(k.dir, "first")
	if err := os.Mkdir(first, 0o755); err != nil {
		t.Fatal(err)
	}
	say := func(args ...string) string {
		t.Helper()
		out, errs, code := k.run(t, "", append([]string{"chat", "-q", "?"}, args...)...)
		if code != 0 || out != "Yes.\n" {
			t.Fatalf("%q: exit %d: %q %s", args, code, out, errs)
		}
		return errs
	}
	last := func() providertest.Seen { all := s.Requests(); return all[len(all)-1] }
	works := func(dir string) bool { return strings.Contains(last().System, "Working directory: "+dir+"\n") }

	say("-m", "openai/one", "-t", "file,todo", "-C", first)
	tools := last().Tools
	if !slices.Contains(tools, "read_file") || slices.Contains(tools, "terminal") {
		t.Fatalf("tools: %q", tools)
	}
	say("--resume", "last")
	if got := last(); got.Model != "one" || !slices.Equal(got.Tools, tools) || !works(first) || len(got.Messages) != 3 {
		t.Errorf("resumed: %s, %q, %d messages, %s", got.Model, got.Tools, len(got.Messages), got.System)
	}
	say("--resume", "last", "-m", "openai/two", "-t", "terminal", "-C", k.dir)
	if got := last(); got.Model != "two" || !slices.Contains(got.Tools, "terminal") || slices.Contains(got.Tools, "read_file") || !works(k.dir) {
		t.Errorf("with flags: %s, %q, %s", got.Model, got.Tools, got.System)
	}
	say("-m", "openai/one", "-C", first)
	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	if errs := say("--resume", "last"); !strings.Contains(errs, first+", is gone") || !works(k.dir) {
		t.Errorf("a directory that is gone: %s\n%s", errs, last().System)
	}

	d, err := store.Open(t.Context(), store.Options{File: filepath.Join(k.home(), "sessions.db"), Warn: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	session, err := d.Find(t.Context(), "last")
	if err != nil {
		t.Fatal(err)
	}
	release, err := d.Claim(t.Context(), session.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	out, errs, code := k.run(t, "", "chat", "-q", "?", "--resume", "last")
	if code != 1 || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "in use") {
		t.Errorf("in use elsewhere: exit %d: %q %s", code, out, errs)
	}
}

// home is its home.
func (k *talker) home() (dir string) {
	for _, kv := range k.env {
		if v, ok := strings.CutPrefix(kv, "HERMES_HOME="); ok {
			dir = v
		}
	}
	return dir
}

// STO-6: where nothing can be stored a turn is had all the same, with one warning.
func TestChat_WithoutAStoreItGoesOn(t *testing.T) {
	s := providertest.OpenAI(t, providertest.Script(t, providertest.Reply{Text: "Yes."}))
	k := newTalker(t, "")
	k.env = append(k.env, "OPENAI_BASE_URL="+s.URL())
	if err := os.Mkdir(filepath.Join(k.home(), "sessions.db"), 0o755); err != nil { // holds for root, too
		t.Fatal(err)
	}
	out, errs, code := k.run(t, "", "chat", "-q", "?", "-m", "openai/one")
	if code != 0 || out != "Yes.\n" || strings.Count(errs, "memory") != 1 {
		t.Errorf("exit %d: %q %s", code, out, errs)
	}
	if strings.Contains(errs, "--resume") || !strings.HasSuffix(errs, "was not kept and can't be gone on with\n") {
		t.Errorf("what isn't kept is offered: %s", errs)
	}
}

// STO-8: what is exported of a conversation plays again, with its calls, and the tools run again.
func TestChat_ExportedPlaysAgain(t *testing.T) {
	k := newTalker(t, "")
	tape := filepath.Join(t.TempDir(), "tape.jsonl")
	write(t, tape, `{"text":"Look. ","calls":[{"name":"terminal","arguments":{"command":"echo once >> log"}}]}`+"\n"+`{"text":"That was it."}`)
	out, errs, code := k.run(t, "", "chat", "-q", "do it", "-m", "replay:"+tape)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	exported := filepath.Join(k.dir, "exported.jsonl")
	if _, errs, code := k.run(t, "", "sessions", "export", "last", "-o", exported); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	again, errs, code := k.run(t, "", "chat", "-q", "do it", "-m", "replay:"+exported)
	if code != 0 || again != out {
		t.Errorf("exit %d: %q for %q: %s", code, again, out, errs)
	}
	if log, err := os.ReadFile(filepath.Join(k.dir, "log")); err != nil || string(log) != "once\nonce\n" {
		t.Errorf("%q %v", log, err)
	}
}

// DSP-2: the tools that keep something work on the stores when one call is made from the shell.
func TestToolsCall_StoresAreThere(t *testing.T) {
	k := newTalker(t, "")
	for _, tc := range []struct{ tool, args, want string }{
		{"todo", `{"todos":[{"id":"1","content":"tea","status":"pending"}]}`, `"pending":1`},
		{"memory", `{"action":"add","target":"user","content":"likes tea"}`, `"success":true`},
		{"session_search", `{}`, `"mode":"browse"`},
	} {
		out, errs, code := k.run(t, "", "tools", "call", tc.tool, tc.args)
		if code != 0 || !strings.Contains(strings.ReplaceAll(out, `": `, `":`), tc.want) {
			t.Errorf("%s: exit %d: %s %s", tc.tool, code, out, errs)
		}
	}
	if kept, err := os.ReadFile(filepath.Join(k.home(), "memories", "USER.md")); err != nil || !strings.Contains(string(kept), "likes tea") {
		t.Errorf("%q %v", kept, err)
	}
}
