package approval_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/approval"
)

// terminal is a person at an interactive terminal who types what they are told to, or something else.
type terminal struct {
	person
	typed string // "" = what the question wants
	there bool
}

func (p *terminal) Confirms() bool { return p.there }

func (p *terminal) Ask(ctx context.Context, q channel.Question) (channel.Answer, error) {
	a, err := p.person.Ask(ctx, q)
	if a.Typed = p.typed; p.typed == "" {
		a.Typed = q.Confirm
	}
	return a, err
}

func own(t *testing.T, fill func(*approval.UserRows) []approval.Fault) *approval.UserRows {
	t.Helper()
	rows := &approval.UserRows{}
	if faults := fill(rows); len(faults) > 0 {
		t.Fatal(faults)
	}
	return rows
}

func items(values ...any) (out []approval.Listed) {
	for i, v := range values {
		out = append(out, approval.Listed{Value: v, Line: i + 1})
	}
	return out
}

// A52: the table of policy, mode by mode. Nobody can be asked, so that what would be asked is refused as unattended.
func TestPolicy_TheTableOfModes(t *testing.T) {
	rows := own(t, func(u *approval.UserRows) []approval.Fault { return u.ReadDeny(items("terraform apply*")) })
	list := approval.ReadAllowlist(items("stop/restart system service", "own.deny", "terraform"), rows)
	for _, c := range []struct {
		command string
		want    map[approval.Mode]approval.Outcome
	}{
		{"ls", map[approval.Mode]approval.Outcome{"manual": "allowed", "smart": "allowed", "off": "allowed"}},
		{"rm -rf /", map[approval.Mode]approval.Outcome{"manual": "floor", "smart": "floor", "off": "floor"}},
		{"terraform apply", map[approval.Mode]approval.Outcome{"manual": "policy", "smart": "policy", "off": "policy"}},
		{"bash -c 'sudo terraform apply -auto-approve'", map[approval.Mode]approval.Outcome{"manual": "policy", "smart": "policy", "off": "policy"}},
		{"systemctl stop x", map[approval.Mode]approval.Outcome{"manual": "approved", "smart": "approved", "off": "approved"}},
		{"rm -rf build", map[approval.Mode]approval.Outcome{"manual": "unattended", "smart": "unattended", "off": "approved"}},
		{"systemctl stop x; rm -rf build", map[approval.Mode]approval.Outcome{"manual": "unattended", "smart": "unattended", "off": "approved"}},
	} {
		for mode, want := range c.want {
			g := approval.New(approval.Config{Mode: mode, Rows: rows, Allowlist: list})
			if d := g.Check(t.Context(), command(c.command)); d.Outcome != want || d.Runs() != (want == "allowed" || want == "approved") {
				t.Errorf("%q in mode %s: %s, want %s", c.command, mode, d.Outcome, want)
			}
		}
	}
}

// A54: yolo is of the session that a person gave it to, and of no child.
func TestPolicy_YoloNeverReachesAChild(t *testing.T) {
	for name, g := range map[string]*approval.Gate{"process": approval.New(approval.Config{Yolo: true}), "session": approval.New(approval.Config{})} {
		if name == "session" {
			g.Yolo("s")
		}
		if d := g.Check(t.Context(), command("rm -rf build")); d.How != approval.ByMode {
			t.Errorf("%s: %s by %s, want approved by mode", name, d.Outcome, d.How)
		}
		child := command("rm -rf build")
		child.Session, child.Root = "child", "s"
		if d := g.Check(t.Context(), child); d.Runs() {
			t.Errorf("%s: the child's runs by %s", name, d.How)
		}
	}
}

// A59: children use the answers of their root only where that is configured, and nothing more of it.
func TestPolicy_ChildrenShareAnswersOnlyWhenTold(t *testing.T) {
	for share, want := range map[bool]approval.Outcome{false: approval.Unattended, true: approval.Approved} {
		g := approval.New(approval.Config{SubagentsShare: share})
		if err := g.Preapprove("s", "recursive delete"); err != nil {
			t.Fatal(err)
		}
		child := command("rm -rf build")
		child.Session, child.Root = "child", "s"
		if d := g.Check(t.Context(), child); d.Outcome != want {
			t.Errorf("share %v: %s, want %s", share, d.Outcome, want)
		}
	}
}

// A46: the agent's own policy is asked about in every mode, and denied where nobody can be asked.
func TestPolicy_AgentPolicyIsAlwaysAsked(t *testing.T) {
	req := command("echo 'approvals: {mode: off}' > /home/ann/.hermes/config.yaml")
	if d := approval.New(approval.Config{}).Check(t.Context(), req); !slices.Contains(d.IDs, "agent.policy") {
		t.Skip("no row is about the agent's policy yet")
	}
	for _, config := range []approval.Config{{Mode: approval.Off}, {Yolo: true}, {UnattendedMode: "approve"}, {Mode: approval.Off, Reviewer: says(approval.ReviewApproved)},
		{Approver: says(approval.ReviewApproved)}, {Sandboxed: approval.SandboxSkip}} {
		r := req
		r.HostLike = config.Sandboxed == ""
		if d := approval.New(config).Check(t.Context(), r); d.Outcome != approval.Unattended {
			t.Errorf("%+v with nobody: %s, want unattended", config, d.Outcome)
		}
		p := &person{choice: channel.Once}
		config.Asker = p
		if d := approval.New(config).Check(t.Context(), r); d.How != approval.ByPerson || len(p.asked) != 1 || slices.Contains(p.asked[0].Choices, channel.Session) {
			t.Errorf("%+v: by %s, asked %+v; want a person, once only", config, d.How, p.asked)
		}
	}
}

// A45a: with confirm, a person at an interactive terminal may type the device; nobody else, nothing else, no other word.
func TestPolicy_AFloorActOfADeviceMayBeTyped(t *testing.T) {
	at := func(p *terminal, confirm bool) *approval.Gate {
		return approval.New(approval.Config{Asker: p, FloorConfirm: confirm, Remember: &remembered{}})
	}
	yes := &terminal{person: person{choice: channel.Once}, there: true}
	d := at(yes, true).Check(t.Context(), command("mkfs.ext4 /dev/sdb1"))
	if d.Outcome != approval.Approved || d.Scope != channel.Once || yes.asked[0].Confirm != "/dev/sdb1" || !slices.Equal(yes.asked[0].Choices, []channel.Choice{channel.Once, channel.Deny}) {
		t.Errorf("typed: %s, asked %+v", d.Outcome, yes.asked)
	}
	for name, c := range map[string]struct {
		person  *terminal
		confirm bool
		command string
		want    approval.Outcome
	}{
		"not configured":      {yes, false, "mkfs.ext4 /dev/sdb1", approval.Floor},
		"no terminal":         {&terminal{person: person{choice: channel.Once}}, true, "mkfs.ext4 /dev/sdb1", approval.Floor},
		"another word":        {&terminal{person: person{choice: channel.Once}, there: true, typed: "/dev/sda1"}, true, "mkfs.ext4 /dev/sdb1", approval.Denied},
		"just yes":            {&terminal{person: person{choice: channel.Once}, there: true, typed: "yes"}, true, "mkfs.ext4 /dev/sdb1", approval.Denied},
		"a scope, not once":   {&terminal{person: person{choice: channel.Session}, there: true}, true, "mkfs.ext4 /dev/sdb1", approval.Denied},
		"another family":      {yes, true, "rm -rf /", approval.Floor},
		"with another family": {yes, true, "mkfs.ext4 /dev/sdb1; rm -rf /", approval.Floor},
		"two devices":         {yes, true, "mkfs.ext4 /dev/sdb1; mkfs.ext4 /dev/sdc1", approval.Floor},
	} {
		if d := at(c.person, c.confirm).Check(t.Context(), command(c.command)); d.Outcome != c.want {
			t.Errorf("%s: %s, want %s", name, d.Outcome, c.want)
		}
	}
	job := command("mkfs.ext4 /dev/sdb1")
	job.Setting = approval.Scheduled
	if d := at(yes, true).Check(t.Context(), job); d.Outcome != approval.Floor {
		t.Errorf("a job: %s", d.Outcome)
	}
}

// A55: in a sandbox what is asked depends on what the harm can reach.
func TestPolicy_SandboxesByWhatTheyExpose(t *testing.T) {
	mounts := []environment.Mount{{Host: "/data/app", Inside: "/work", Writable: true}, {Host: "/home", Inside: "/homes", Writable: true}}
	own := []environment.Mount{{Host: "/h/sandboxes/docker/t/home", Inside: "/root", Writable: true, Own: true}}
	for _, c := range []struct {
		sandboxed approval.Sandboxed
		command   string
		want      approval.Outcome
	}{
		{"reach", "rm -rf /", "approved"}, // what is on a mount lies below it
		{"reach", "rm -rf /srv/x", "approved"},
		{"reach", "psql -c 'DROP TABLE x'", "unattended"},
		{"reach", "rm -rf /work/build", "unattended"},
		{"reach", "rm -rf /homes/ann", "floor"},
		{"skip", "psql -c 'DROP TABLE x'", "approved"},
		{"skip", "rm -rf /homes/ann", "floor"},
		{"ask", "rm -rf /srv/x", "unattended"},
		{"ask", "rm -rf /", "unattended"},
		{"", "rm -rf /srv/x", "approved"},
	} {
		req := command(c.command)
		req.HostLike, req.HostHome, req.Home, req.Dir, req.Mounts = false, "/home/ann", "/root", "/srv", mounts
		if c.command == "rm -rf /" && c.sandboxed == "reach" {
			req.Mounts = nil
		}
		if d := approval.New(approval.Config{Sandboxed: c.sandboxed}).Check(t.Context(), req); d.Outcome != c.want {
			t.Errorf("%s: %q: %s, want %s", c.sandboxed, c.command, d.Outcome, c.want)
		}
	}
	for text, want := range map[string]approval.Outcome{
		"rm -rf /root/build": "approved", "rm -rf $X": "approved", "rm -rf /root": "unattended", "rm -rf ~": "unattended", "rm -rf /": "unattended",
	} {
		req := command(text)
		req.HostLike, req.HostHome, req.Home, req.Dir, req.Mounts = false, "/home/ann", "/root", "/root", own
		if d := approval.New(approval.Config{}).Check(t.Context(), req); d.Outcome != want {
			t.Errorf("%q where the home is kept for the container: %s, want %s", text, d.Outcome, want)
		}
	}
	for _, c := range []struct {
		traits environment.Traits
		want   bool
	}{
		{environment.Traits{}, false},
		{environment.Traits{HostLike: true}, true},
		{environment.Traits{Privileged: true}, true},
		{environment.Traits{Sockets: []string{"/var/run/docker.sock"}}, true},
		{environment.Traits{Sockets: []string{"/tmp/ssh-x/agent.1"}}, false},
		{environment.Traits{Mounts: []environment.Mount{{Host: "/data/app", Inside: "/w", Writable: true}}}, false},
		{environment.Traits{Mounts: []environment.Mount{{Host: "/", Inside: "/host", Writable: true}}}, true},
		{environment.Traits{Mounts: []environment.Mount{{Host: "/home/ann", Inside: "/h", Writable: true}}}, true},
		{environment.Traits{Mounts: []environment.Mount{{Host: "/etc", Inside: "/etc", Writable: true}}}, true},
		{environment.Traits{Mounts: []environment.Mount{{Host: "/run/docker.sock", Inside: "/d.sock"}}}, true},
	} {
		if got := approval.HostLike(c.traits, "/home/ann"); got != c.want {
			t.Errorf("%+v: %v, want %v", c.traits, got, c.want)
		}
	}
}

// says is a reviewer that always says the same.
type says approval.Verdict

func (s says) Review(context.Context, approval.ReviewRequest) (approval.Verdict, string) {
	return approval.Verdict(s), "because"
}

// counting is a reviewer that keeps what it was shown.
type counting struct {
	says
	seen []approval.ReviewRequest
}

func (c *counting) Review(ctx context.Context, r approval.ReviewRequest) (approval.Verdict, string) {
	c.seen = append(c.seen, r)
	return c.says.Review(ctx, r)
}

type panicking struct{}

func (panicking) Review(context.Context, approval.ReviewRequest) (approval.Verdict, string) {
	panic("bug")
}

// A78–A81: a reviewer's consent counts once and only for rows that it may approve; its denial a person may overrule.
func TestPolicy_Reviewers(t *testing.T) {
	const fine, grave = "rm -rf node_modules", "systemctl stop x"
	for name, c := range map[string]struct {
		config  approval.Config
		command string
		want    approval.Outcome
		how     approval.How
		asked   int
	}{
		"approves":                {approval.Config{Mode: approval.Smart, Reviewer: says("approve")}, fine, "approved", approval.ByModel, 0},
		"isn't asked in manual":   {approval.Config{Reviewer: says("approve")}, fine, "denied", approval.ByPerson, 1},
		"denies, and a person":    {approval.Config{Mode: approval.Smart, Reviewer: says("deny")}, fine, "denied", approval.ByPerson, 1},
		"escalates":               {approval.Config{Mode: approval.Smart, Reviewer: says("escalate")}, fine, "denied", approval.ByPerson, 1},
		"says nonsense":           {approval.Config{Mode: approval.Smart, Reviewer: says("approved!")}, fine, "denied", approval.ByPerson, 1},
		"panics":                  {approval.Config{Mode: approval.Smart, Reviewer: panicking{}}, fine, "denied", approval.ByPerson, 1},
		"may not approve the row": {approval.Config{Mode: approval.Smart, Reviewer: says("approve")}, grave, "denied", approval.ByPerson, 1},
		"nor one beside it":       {approval.Config{Mode: approval.Smart, Reviewer: says("approve")}, fine + ";" + grave, "denied", approval.ByPerson, 1},
		"nor an opaque part":      {approval.Config{Mode: approval.Smart, Reviewer: says("approve")}, fine + "; cat x | sh", "denied", approval.ByPerson, 1},
		"nor a long text":         {approval.Config{Mode: approval.Smart, Reviewer: says("approve")}, fine + " #" + strings.Repeat("x", 17<<10), "denied", approval.ByPerson, 1},
		"the program":             {approval.Config{Approver: says("approve")}, grave, "approved", approval.ByProgram, 0},
		"the program first":       {approval.Config{Mode: approval.Smart, Approver: says("deny"), Reviewer: says("approve")}, fine, "denied", approval.ByPerson, 1},
		"not on the floor":        {approval.Config{Mode: approval.Smart, Approver: says("approve"), Reviewer: says("approve")}, "rm -rf /", "floor", approval.ByRule, 0},
	} {
		p := &person{choice: channel.Deny}
		c.config.Asker = p
		g := approval.New(c.config)
		d := g.Check(t.Context(), command(c.command))
		if d.Outcome != c.want || d.How != c.how || len(p.asked) != c.asked {
			t.Errorf("%s: %s by %s, %d questions; want %s by %s and %d", name, d.Outcome, d.How, len(p.asked), c.want, c.how, c.asked)
		}
		if strings.HasPrefix(name, "denies") && p.asked[0].Objection != "because" {
			t.Errorf("the person wasn't shown why: %+v", p.asked[0])
		}
	}
	r := &counting{says: says("approve")}
	g := approval.New(approval.Config{Mode: approval.Smart, Reviewer: r})
	g.Check(t.Context(), command(fine))
	d := g.Check(t.Context(), command(fine))
	if len(r.seen) != 0 || d.Outcome != approval.Unattended {
		t.Errorf("mode smart without a surface: %d reviews, %s; unattended_mode decides there", len(r.seen), d.Outcome)
	}
	g = approval.New(approval.Config{UnattendedMode: "smart", Reviewer: r})
	for range 2 {
		if d := g.Check(t.Context(), command(fine)); d.How != approval.ByModel {
			t.Errorf("unattended smart: %s by %s", d.Outcome, d.How)
		}
	}
	if len(r.seen) != 2 || r.seen[0].Findings[0].Row.ID != "delete.recursive" || r.seen[0].Reading == nil {
		t.Errorf("%d reviews, want one each time: nothing is stored", len(r.seen))
	}
	g = approval.New(approval.Config{UnattendedMode: "smart", Reviewer: says("deny")})
	if d := g.Check(t.Context(), command(fine)); d.Outcome != approval.Denied || !strings.Contains(d.Text, "because") {
		t.Errorf("denied with nobody to overrule: %s %q", d.Outcome, d.Text)
	}
}

// A51: questions that are about no command have rows of their own, each with its memory.
func TestPolicy_QuestionsAboutNoCommand(t *testing.T) {
	for _, c := range []struct {
		ask     approval.AskFor
		key     string
		covered bool // a second time, after an answer for the session
	}{
		{approval.AskFor{Key: "my hook", Reason: "r"}, "my hook", false},
		{approval.AskFor{ID: approval.AskPrivate, Reason: "r"}, "private address", true},
		{approval.AskFor{ID: approval.AskPersist, Reason: "r"}, "process that outlives its session", false},
		{approval.AskFor{ID: "no such", Reason: "r"}, "a hook asks", false},
	} {
		p := &person{choice: channel.Session}
		g := approval.New(approval.Config{Asker: p, Sandboxed: approval.SandboxSkip})
		r := approval.Request{Session: "s", Kind: approval.KindHook, Command: "10.0.0.1:80", Asks: []approval.AskFor{c.ask}}
		if d := g.Check(t.Context(), r); !slices.Equal(d.Keys, []string{c.key}) {
			t.Errorf("%+v: keys %v", c.ask, d.Keys)
		}
		p.choice = channel.Once
		if d := g.Check(t.Context(), r); (d.How == approval.BySession) != c.covered {
			t.Errorf("%+v again: by %s", c.ask, d.How)
		}
		r.Command = "10.0.0.2:80"
		if d := g.Check(t.Context(), r); d.How == approval.BySession {
			t.Errorf("%+v: an answer for one address opens another", c.ask)
		}
	}
	list := approval.New(approval.Config{Allowlist: approval.ReadAllowlist(items(map[string]any{"key": "private address", "exact": "10.0.0.1:80"}), nil)})
	for address, want := range map[string]bool{"10.0.0.1:80": true, "10.0.0.1:81": false} {
		d := list.Check(t.Context(), approval.Request{Kind: approval.KindHook, Command: address, HostLike: true, Asks: []approval.AskFor{{ID: approval.AskPrivate}}})
		if d.Runs() != want {
			t.Errorf("%s by the list: %s", address, d.Outcome)
		}
	}
}

// A function that the session carries is what its name runs, in this command and in those that it starts.
func TestGate_FunctionsOfTheSessionAreFollowed(t *testing.T) {
	functions := map[string]string{"f": "() {\n    rm \"$@\"\n}", "ls": "() {\n    rm \"$@\"\n}", "greet": "() {\n    echo hello \"$1\"\n}"}
	for text, want := range map[string]approval.Outcome{
		"f -rf /srv/x": "unattended", "ls -rf /srv/x": "unattended", "bash -c 'f -rf /srv/x'": "unattended", "f -rf /": "floor",
		"greet 'rm -rf /'": "allowed", "command ls -rf /srv/x": "allowed", "f": "allowed",
	} {
		req := command(text)
		req.Functions = functions
		if d := approval.New(approval.Config{}).Check(t.Context(), req); d.Outcome != want {
			t.Errorf("%q: %s, want %s: %+v", text, d.Outcome, want, d.Findings)
		}
	}
}
