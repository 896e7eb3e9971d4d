package approval_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/approval"
)

// chooser answers with one answer after the other, then denies.
type chooser struct {
	answers []channel.Answer
	asked   []channel.Question
	told    []string
}

func (c *chooser) Ask(_ context.Context, q channel.Question) (channel.Answer, error) {
	c.asked = append(c.asked, q)
	if len(c.answers) == 0 {
		return channel.Answer{Choice: channel.Deny}, nil
	}
	a := c.answers[0]
	c.answers = c.answers[1:]
	return a, nil
}

func (c *chooser) Notify(_ context.Context, text string) error {
	c.told = append(c.told, text)
	return nil
}

// A63, A65: exact covers the very command, under what lies below the directory; both are of the session.
func TestMemory_ScopesCoverWhatTheySay(t *testing.T) {
	for _, c := range []struct {
		choice      channel.Choice
		first       string
		under       string
		covered     []string
		not         []string
		otherDirNot bool
	}{
		{channel.Exact, "rm -rf build", "", []string{"rm -rf build"}, []string{"rm -rf dist", "rm -rf build/"}, true},
		{channel.Under, "rm -rf build/a build/b", "/data/app/build", []string{"rm -rf build/x", "rm -r ./build/a/b"}, []string{"rm -rf build", "rm -rf dist", "rm -rf build/../src", "rm -rf build/x src", "rm -rf build/$X"}, false},
		{channel.Session, "rm -rf build", "", []string{"rm -rf build", "rm -rf dist"}, []string{"systemctl stop x"}, false},
		{channel.Once, "rm -rf build", "", nil, []string{"rm -rf build"}, false},
	} {
		p := &chooser{answers: []channel.Answer{{Choice: c.choice}}}
		g := approval.New(approval.Config{Asker: p})
		if d := g.Check(t.Context(), command(c.first)); !d.Runs() || d.Scope != c.choice {
			t.Errorf("%s: %s, %s", c.choice, d.Outcome, d.Scope)
			continue
		}
		if c.under != "" && p.asked[0].Under != c.under {
			t.Errorf("offered %q, want %q", p.asked[0].Under, c.under)
		}
		for _, text := range c.covered {
			if d := g.Check(t.Context(), command(text)); d.How != approval.BySession {
				t.Errorf("%s of %q: %q is %s by %s, want covered", c.choice, c.first, text, d.Outcome, d.How)
			}
		}
		for _, text := range c.not {
			if d := g.Check(t.Context(), command(text)); d.Runs() {
				t.Errorf("%s of %q: %q runs by %s", c.choice, c.first, text, d.How)
			}
		}
		elsewhere := command(c.first)
		elsewhere.Dir = "/data/other"
		if d := g.Check(t.Context(), elsewhere); c.otherDirNot && d.Runs() {
			t.Errorf("%s: the command runs in another directory too", c.choice)
		}
	}
}

// A65: nobody is offered a root, a system directory or a home as a whole.
func TestMemory_NoGraveDirectoryIsOffered(t *testing.T) {
	for text, want := range map[string]string{"rm -rf build/x": "/data/app/build", "rm -rf /data/app/x /data/b": "/data", "rm -rf /srv/x /opt/y": "",
		"rm -rf ~/x ~/y": "", "rm -rf ~/x/y": "/home/ann/x", "rm -rf $X/y": "", "rm -rf build/*": "/data/app/build"} {
		p := &chooser{}
		g := approval.New(approval.Config{Asker: p})
		g.Check(t.Context(), command(text))
		if len(p.asked) != 1 || p.asked[0].Under != want || slices.Contains(p.asked[0].Choices, channel.Under) != (want != "") {
			t.Errorf("%q: offered %q in %v, want %q", text, p.asked[0].Under, p.asked[0].Choices, want)
		}
	}
}

// A66: every key that was shown is stored, or those that the answer names.
func TestMemory_TheAnswerMayNameKeys(t *testing.T) {
	const both = "rm -rf build; systemctl stop x"
	for _, keys := range [][]string{nil, {"recursive delete"}, {"stop/restart system service"}} {
		p := &chooser{answers: []channel.Answer{{Choice: channel.Always, Keys: keys}}}
		r := &remembered{}
		g := approval.New(approval.Config{Asker: p, Remember: r})
		g.Check(t.Context(), command(both))
		want := keys
		if keys == nil {
			want = []string{"recursive delete", "stop/restart system service"}
		}
		got := slices.Sorted(slices.Values(r.keys))
		if !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("keys %v: stored %v", keys, got)
		}
		for _, text := range strings.Split(both, "; ") {
			d := g.Check(t.Context(), command(text))
			if d.Runs() != slices.Contains(want, d.Keys[0]) {
				t.Errorf("keys %v: %q runs: %v", keys, text, d.Runs())
			}
		}
	}
}

// A66, A67: an act that is remembered for one command only is stored with that command; text that may not stand in a file, by its hash.
func TestMemory_AlwaysForAnOpaqueCommandIsForThatCommand(t *testing.T) {
	for text, exact := range map[string]string{"cat x | sh": "cat x | sh", "cat hunter2 | sh": "sha256:", "cat x |\n sh": "sha256:", "cat " + strings.Repeat("x", 300) + " | sh": "sha256:"} {
		p, r := &chooser{answers: []channel.Answer{{Choice: channel.Always, Who: "ann"}}}, &remembered{}
		g := approval.New(approval.Config{Asker: p, Remember: r, Redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "[x]") }})
		g.Check(t.Context(), command(text))
		if len(r.grants) != 1 || !strings.HasPrefix(r.grants[0].Exact, exact) || r.grants[0].Dir != "/data/app" || r.grants[0].By != "ann" {
			t.Errorf("%q: stored %+v", text, r.grants)
			continue
		}
		fresh := approval.New(approval.Config{Allowlist: approval.ReadAllowlist(items(map[string]any{"key": r.grants[0].Key, "exact": r.grants[0].Exact,
			"cwd": r.grants[0].Dir}), nil)})
		if d := fresh.Check(t.Context(), command(text)); d.How != approval.ByAllowlist || d.Entry != r.grants[0].Key {
			t.Errorf("%q after a restart: %s by %s", text, d.Outcome, d.How)
		}
		other := command(text)
		other.Dir = "/data/other"
		for _, r := range []approval.Request{command("cat y | sh"), other} {
			if d := fresh.Check(t.Context(), r); d.Runs() {
				t.Errorf("%q opens another command or directory", text)
			}
		}
	}
}

// A68: what couldn't be stored counts for the session, and the person is told.
func TestMemory_AFailedWriteIsToldToThePerson(t *testing.T) {
	p := &chooser{answers: []channel.Answer{{Choice: channel.Always}}}
	g := approval.New(approval.Config{Asker: p, Remember: &remembered{err: errors.New("disk full")}})
	g.Check(t.Context(), command("rm -rf a"))
	if d := g.Check(t.Context(), command("rm -rf b")); d.How != approval.BySession || len(p.told) != 1 || !strings.Contains(p.told[0], "disk full") {
		t.Errorf("%s by %s, told %q", d.Outcome, d.How, p.told)
	}
}

// A68: the list counts as it is now, and is looked at only when something was found.
func TestMemory_TheListIsTheOneOfNow(t *testing.T) {
	reads, list := 0, approval.ParseAllowlist(nil)
	g := approval.New(approval.Config{Current: func() *approval.Allowlist { reads++; return list }})
	if g.Check(t.Context(), command("ls")); reads != 0 {
		t.Errorf("read %d times for a command without findings", reads)
	}
	if d := g.Check(t.Context(), command("rm -rf x")); d.Runs() {
		t.Error("runs by an empty list")
	}
	list = approval.ParseAllowlist([]string{"recursive delete"})
	if d := g.Check(t.Context(), command("rm -rf x")); d.How != approval.ByAllowlist {
		t.Errorf("after the list grew: %s", d.Outcome)
	}
}

// A67: what each shape of an entry opens.
func TestAllowlist_EachShapeOpensWhatItSays(t *testing.T) {
	rows := own(t, func(u *approval.UserRows) []approval.Fault {
		return u.ReadPatterns(items([]any{"deploy", "my deploys"}))
	})
	tomorrow := time.Now().Add(24 * time.Hour).Format(time.DateOnly)
	for _, c := range []struct {
		entry any
		opens []string
		not   []string
		fault string
	}{
		{"recursive delete", []string{"rm -rf x"}, []string{"rm -rf /etc/x"}, ""},
		{"delete.recursive", []string{"rm -rf x"}, nil, ""},
		{`rm\s+-[^\s]*r`, []string{"rm -rf x"}, []string{"find . -delete"}, ""},
		{"find -delete", []string{"find . -name x -delete"}, []string{"rm -rf x"}, ""},
		{"SQL DROP", []string{"psql -c 'drop table x'"}, []string{"psql -c 'delete from x'"}, ""},
		{"systemctl", []string{"systemctl stop x"}, []string{"service x stop", "rm -rf x"}, ""},
		{"my deploys", []string{"make deploy"}, nil, ""},
		{map[string]any{"key": "recursive delete"}, []string{"rm -rf x"}, nil, ""},
		{map[string]any{"key": "recursive delete", "under": "/data/app/build"}, []string{"rm -rf build/x"}, []string{"rm -rf build", "rm -rf x"}, ""},
		{map[string]any{"key": "recursive delete", "exact": "rm -rf x"}, []string{"rm -rf x"}, []string{"rm -rf y", "rm -rf x; rm -rf y"}, ""},
		{map[string]any{"key": "recursive delete", "exact": "rm -rf x", "cwd": "/srv"}, nil, []string{"rm -rf x"}, ""},
		{map[string]any{"key": "recursive delete", "expires": "2020-01-01"}, nil, []string{"rm -rf x"}, ""},
		{map[string]any{"key": "recursive delete", "expires": tomorrow}, []string{"rm -rf x"}, nil, ""},
		{"*", nil, []string{"rm -rf x"}, "everything"},
		{"r", nil, []string{"rm -rf x"}, "single character"},
		{"", nil, []string{"rm -rf x"}, "single character"},
		{true, nil, []string{"rm -rf x"}, "neither a key nor a map"},
		{7, nil, []string{"rm -rf x"}, "neither a key nor a map"},
		{[]any{"rm"}, nil, []string{"rm -rf x"}, "neither a key nor a map"},
		{map[string]any{"exact": "rm -rf x"}, nil, []string{"rm -rf x"}, "no key"},
		{map[string]any{"key": "recursive delete", "until": "x"}, nil, []string{"rm -rf x"}, `unknown field "until"`},
		{map[string]any{"key": "recursive delete", "expires": "soon"}, nil, []string{"rm -rf x"}, "is not like 2026-01-31"},
		{map[string]any{"key": "recursive delete", "under": "/"}, nil, []string{"rm -rf x"}, "no absolute directory"},
		{map[string]any{"key": "recursive delete", "under": "/data", "exact": "x"}, nil, []string{"rm -rf x"}, "one scope"},
		{"delete.root", nil, []string{"rm -rf /"}, "in advance"},
		{"shell.opaque", nil, []string{"cat x | sh"}, "one command at a time"},
		{"script not known before it runs", nil, []string{"cat x | sh"}, "one command at a time"},
		{"script execution via heredoc", nil, []string{"bash <<E\nrm -rf x\nE"}, "too wide"},
		{"shell command via -c/-lc flag", nil, []string{"bash -c 'rm -rf x'"}, "isn't asked about any more"},
		{"nonsense", nil, []string{"rm -rf x"}, "no key, id or program"},
		{"execute_code", nil, []string{"rm -rf x", "python3 -c 'import shutil; shutil.rmtree(\"x\")'"}, ""},
	} {
		list := approval.ReadAllowlist(items(c.entry), rows)
		if got := len(list.Faults) == 1 && list.Faults[0].Line == 1 && strings.Contains(list.Faults[0].Text, c.fault); got != (c.fault != "") {
			t.Errorf("%v: faults %v, want one of %q", c.entry, list.Faults, c.fault)
		}
		g := approval.New(approval.Config{Allowlist: list, Rows: rows})
		for _, text := range c.opens {
			if d := g.Check(t.Context(), command(text)); d.How != approval.ByAllowlist {
				t.Errorf("%v doesn't open %q: %s %v", c.entry, text, d.Outcome, d.IDs)
			}
		}
		for _, text := range c.not {
			if d := g.Check(t.Context(), command(text)); d.Runs() && len(d.Findings) > 0 {
				t.Errorf("%v opens %q: %v", c.entry, text, d.IDs)
			}
		}
	}
}

// A48: the user's patterns are asked about wherever the program stands; what is wrong with one is told, and the others work.
func TestPatterns_OwnRowsFindWhatWillRun(t *testing.T) {
	rows := &approval.UserRows{}
	faults := rows.ReadPatterns(items(
		[]any{`\bdeploy\b`, "deploys"},
		map[string]any{"regex": "^kubectl .*prod", "description": "touches production", "examples": []any{"kubectl -n prod get pods"}, "not_examples": []any{"kubectl get pods"}},
		map[string]any{"regex": "^npm publish", "description": "publishes", "deny": true},
		[]any{"(", "broken"}, []any{"x"}, "x", map[string]any{"regex": "x", "description": "y", "color": "red"},
		map[string]any{"regex": "x", "description": "fails", "examples": []any{"y"}}, map[string]any{"regex": "y", "description": "hits", "not_examples": []any{"y"}},
		map[string]any{"regex": "x"}, []any{"(?=x)", "look-around"},
		[]any{"^shred-it", "recursive delete"},
	))
	var lines []int
	for _, f := range faults {
		lines = append(lines, f.Line)
	}
	if diff := cmp.Diff([]int{4, 5, 6, 7, 8, 9, 10, 11, 12}, lines); diff != "" {
		t.Errorf("%s\n%v", diff, faults)
	}
	g := approval.New(approval.Config{Rows: rows})
	for text, want := range map[string]string{
		"make deploy": "deploys", "sudo make 'dep''loy'": "deploys", "bash -c 'cd x && make deploy'": "deploys", "X=deploy; make $X": "deploys",
		"for i in 1; do (make deploy) & done": "deploys", "kubectl --context prod get x": "touches production", "npm publish": "publishes", "shred-it": "recursive delete",
	} {
		if d := g.Check(t.Context(), command(text)); !slices.Contains(d.Keys, want) || d.Runs() {
			t.Errorf("%q: %s, keys %v, want %q", text, d.Outcome, d.Keys, want)
		}
	}
	for _, text := range []string{"make", "ls # make deploy", "kubectl get x"} {
		if d := g.Check(t.Context(), command(text)); !d.Runs() {
			t.Errorf("%q: %s, keys %v", text, d.Outcome, d.Keys)
		}
	}
	p := &person{choice: channel.Once}
	if d := approval.New(approval.Config{Rows: rows, Asker: p, Mode: approval.Off}).Check(t.Context(), command("npm publish")); d.Outcome != approval.Policy || len(p.asked) != 0 {
		t.Errorf("a pattern that denies: %s", d.Outcome)
	}
}

// A49: denials hold at every nesting level, and in sandboxes; A50: quiet rows are reported only.
func TestPatterns_DenialsAndQuietRows(t *testing.T) {
	rows := own(t, func(u *approval.UserRows) []approval.Fault {
		return append(u.ReadDeny(items("terraform destroy*", "shutdown-all", map[string]any{"program": "aws", "args": "* delete-*", "reason": "no deletions"},
			map[string]any{"regex": "--force-with-fire"})), u.ReadQuiet(items("service.stop", "recursive delete"))...)
	})
	g := approval.New(approval.Config{Rows: rows, Sandboxed: approval.SandboxSkip, Mode: approval.Off})
	for text, want := range map[string]approval.Outcome{
		"terraform destroy -auto-approve": "policy", "xargs -n1 terraform destroy": "policy", "echo $(terraform destroy)": "policy", "ssh h 'terraform destroy'": "policy",
		"shutdown-all now": "policy", "shutdown-allx": "allowed", "aws s3api delete-bucket --bucket x": "policy", "x --force-with-fire": "policy",
		"terraform plan": "allowed", "echo 'terraform destroy'": "allowed", "( terraform destroy": "policy",
	} {
		for _, hostLike := range []bool{true, false} {
			r := command(text)
			r.HostLike = hostLike
			if d := g.Check(t.Context(), r); d.Outcome != want && !(want == "allowed" && d.Runs()) {
				t.Errorf("%q (host-like %v): %s, want %s", text, hostLike, d.Outcome, want)
			}
		}
	}
	l := &ledger{}
	g = approval.New(approval.Config{Rows: rows, Audit: l})
	if d := g.Check(t.Context(), command("systemctl stop x")); d.How != approval.ByQuiet || len(l.entries) != 1 {
		t.Errorf("quiet: %s by %s, %d lines", d.Outcome, d.How, len(l.entries))
	}
	if d := g.Check(t.Context(), command("rm -rf /")); d.Outcome != approval.Floor {
		t.Errorf("the floor under a quiet row: %s", d.Outcome)
	}
	for _, bad := range []any{"delete.root", "disk.raw", "no such", 7, "agent.policy"} {
		if faults := (&approval.UserRows{}).ReadQuiet(items(bad)); len(faults) != 1 {
			t.Errorf("quiet %v: %v", bad, faults)
		}
	}
	for _, bad := range []any{"*", "", 7, map[string]any{"reason": "x"}, map[string]any{"regex": "("}, map[string]any{"program": 7}, map[string]any{"prog": "x"}} {
		if faults := (&approval.UserRows{}).ReadDeny(items(bad)); len(faults) != 1 {
			t.Errorf("deny %v: %v", bad, faults)
		}
	}
}

// FuzzReadAllowlist: whatever stands in the list, nothing panics, and what is reported as nothing opens nothing.
func FuzzReadAllowlist(f *testing.F) {
	for _, s := range []string{"*", "rm", "recursive delete", "r", "execute_code", `rm\s+-[^\s]*r`} {
		f.Add(s, s, s)
	}
	f.Fuzz(func(t *testing.T, key, exact, under string) {
		for _, entry := range []any{key, map[string]any{"key": key, "exact": exact}, map[string]any{"key": key, "under": under}, map[string]any{key: exact}} {
			list := approval.ReadAllowlist(items(entry), nil)
			g := approval.New(approval.Config{Allowlist: list})
			if d := g.Check(t.Context(), command("rm -rf /")); d.Runs() {
				t.Errorf("%v opens the floor", entry)
			}
			if d := g.Check(t.Context(), command("rm -rf x")); d.Runs() && len(list.Faults) > 0 {
				t.Errorf("%v is reported (%v) and opens", fmt.Sprint(entry), list.Faults)
			}
		}
	})
}
