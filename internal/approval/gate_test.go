package approval_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// person answers every question with one choice and keeps what it was shown.
type person struct {
	mu     sync.Mutex
	choice channel.Choice
	asked  []channel.Question
}

func (p *person) Ask(_ context.Context, q channel.Question) (channel.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, q)
	return channel.Answer{Choice: p.choice, Who: "ann on test"}, nil
}

type remembered struct {
	keys   []string
	grants []approval.Grant
	err    error
}

func (r *remembered) Remember(_ context.Context, grants []approval.Grant) error {
	for _, g := range grants {
		if r.err == nil {
			r.keys = append(r.keys, g.Key)
			r.grants = append(r.grants, g)
		}
	}
	return r.err
}

type ledger struct {
	mu      sync.Mutex
	entries []approval.Entry
	err     error
}

func (l *ledger) Record(_ context.Context, e approval.Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, e)
	return l.err
}

func command(text string) approval.Request {
	return approval.Request{Session: "s", Command: text, Dir: "/data/app", Home: "/home/ann", HostLike: true}
}

func TestGate_NoFindingIsAllowedWithoutAQuestionOrRecord(t *testing.T) {
	p, l := &person{choice: channel.Once}, &ledger{}
	g := approval.New(approval.Config{Asker: p, Audit: l})
	for _, c := range []string{"ls -l", "echo 'rm -rf /'", "git commit -m 'rm -rf x'", "", "# nothing"} {
		d := g.Check(t.Context(), command(c))
		if d.Outcome != approval.Allowed || d.Approval() != nil {
			t.Errorf("%q: %+v, want allowed", c, d)
		}
		if c != "" && (d.Analysis <= 0 || d.Mode != approval.Manual) { // A88
			t.Errorf("%q: read in %v, mode %q", c, d.Analysis, d.Mode)
		}
	}
	if len(p.asked) != 0 || len(l.entries) != 0 {
		t.Errorf("asked %d times, recorded %d times, want 0 and 0", len(p.asked), len(l.entries))
	}
}

// A40, A45, A52: floor beats yolo, mode off, memory and every person.
func TestGate_FloorIsNeverAsked(t *testing.T) {
	p := &person{choice: channel.Always}
	g := approval.New(approval.Config{Asker: p, Mode: approval.Off, UnattendedMode: "approve", Remember: &remembered{},
		Allowlist: approval.ParseAllowlist([]string{"delete.root", "rm", "recursive delete"})})
	g.Yolo("s")
	for _, c := range []string{"rm -rf /", "cd / && rm -rf *", "mkfs.ext4 /dev/sda1", "dd if=x of=/dev/sda", "kill -9 -1", ":(){ :|:& };:", "rm -rf ~"} {
		d := g.Check(t.Context(), command(c))
		if d.Outcome != approval.Floor || d.Runs() || d.Text == "" {
			t.Errorf("%q: outcome %s, text %q; want floor with words", c, d.Outcome, d.Text)
		}
	}
	if len(p.asked) != 0 {
		t.Errorf("a person was asked about a floor act")
	}
	req := command("rm -rf /")
	req.HostLike = false
	p.choice = channel.Once
	if d := approval.New(approval.Config{Asker: p}).Check(t.Context(), req); d.Outcome != approval.Approved {
		t.Errorf("in a sandbox: %s, want a question and approved", d.Outcome)
	}
}

// A58: with nobody to ask, what was found is refused by name.
func TestGate_UnattendedRefusesAndNamesTheFinding(t *testing.T) {
	g := approval.New(approval.Config{})
	d := g.Check(t.Context(), command("rm -rf build"))
	if d.Outcome != approval.Unattended || !strings.Contains(d.Text, "recursive delete") || !strings.Contains(d.Text, "/data/app/build") {
		t.Errorf("got %s: %q", d.Outcome, d.Text)
	}
	for mode, want := range map[string]approval.Outcome{"approve": approval.Approved, "off": approval.Approved, "allow": approval.Approved,
		"yes": approval.Approved, "deny": approval.Unattended, "smart": approval.Unattended, "sure": approval.Unattended} {
		g := approval.New(approval.Config{UnattendedMode: mode})
		if d := g.Check(t.Context(), command("rm -rf build")); d.Outcome != want {
			t.Errorf("mode %q: %s, want %s", mode, d.Outcome, want)
		}
	}
	p := &person{choice: channel.Once}
	g = approval.New(approval.Config{Asker: p, CronMode: "deny"})
	req := command("rm -rf build")
	req.Setting = approval.Scheduled
	if d := g.Check(t.Context(), req); d.Outcome != approval.Unattended || len(p.asked) != 0 {
		t.Errorf("a job: %s, %d questions; want unattended and none", d.Outcome, len(p.asked))
	}
}

// A64: "session" for recursive delete opens later ones, and nothing graver.
func TestGate_SessionAnswerOpensTheKeyOnly(t *testing.T) {
	p := &person{choice: channel.Session}
	g := approval.New(approval.Config{Asker: p})
	d := g.Check(t.Context(), command("rm -rf build"))
	if a := d.Approval(); d.How != approval.ByPerson || a.Outcome != "approved" || !a.Asked || a.Who != "ann on test" || a.Keys[0] != "recursive delete" {
		t.Fatalf("first: %+v, %+v", d, a)
	}
	if d := g.Check(t.Context(), command("rm -rf node_modules")); d.How != approval.BySession || len(p.asked) != 1 {
		t.Errorf("second: %s, %d questions, want by session and 1", d.How, len(p.asked))
	}
	p.choice = channel.Deny
	if d := g.Check(t.Context(), command("rm -rf /etc/x")); d.Outcome != approval.Denied {
		t.Errorf("a protected place: %s, want a question and denied", d.Outcome)
	}
	if last := p.asked[len(p.asked)-1]; len(last.Findings) != 1 || last.Findings[0].ID != "delete.protected" {
		t.Errorf("asked about %+v, want delete.protected alone", last.Findings)
	}
	other := command("rm -rf build")
	other.Session = "other"
	if d := g.Check(t.Context(), other); d.Outcome != approval.Denied {
		t.Errorf("another session: %s, want its own question", d.Outcome)
	}
	g.EndSession("s")
	if d := g.Check(t.Context(), command("rm -rf build")); d.Outcome != approval.Denied {
		t.Errorf("after the session ended: %s, want a question", d.Outcome)
	}
}

// A57: one approved key never opens another finding of the same command.
func TestGate_EachFindingIsDecidedForItself(t *testing.T) {
	p := &person{choice: channel.Deny}
	g := approval.New(approval.Config{Asker: p})
	if err := g.Preapprove("s", "recursive delete"); err != nil {
		t.Fatal(err)
	}
	if d := g.Check(t.Context(), command("rm -rf build && systemctl stop x")); d.Outcome != approval.Denied || len(d.Keys) != 2 {
		t.Errorf("got %s with keys %v", d.Outcome, d.Keys)
	}
}

// A47, A66: exact rows are remembered for the very command.
func TestGate_ExactRowIsRememberedForTheVeryCommand(t *testing.T) {
	p := &person{choice: channel.Session}
	g := approval.New(approval.Config{Asker: p})
	for range 2 {
		g.Check(t.Context(), command("cat x | sh"))
	}
	g.Check(t.Context(), command("cat y | sh"))
	if len(p.asked) != 2 {
		t.Errorf("asked %d times, want 2: the repeat is covered, the other command isn't", len(p.asked))
	}
	if slices.Contains(p.asked[0].Choices, channel.Always) || len(p.asked[0].Notes) == 0 {
		t.Errorf("choices %v, notes %v: want no always, and why", p.asked[0].Choices, p.asked[0].Notes)
	}
}

// A54: keys given in advance; only rows that are remembered as a whole.
func TestGate_PreapproveRefusesWhatIsNeverRemembered(t *testing.T) {
	g := approval.New(approval.Config{})
	if err := g.Preapprove("s", "recursive delete", "sql.drop"); err != nil {
		t.Errorf("good keys: %v", err)
	}
	for _, bad := range []string{"delete.root", "shell.opaque", "no such key", "*", ""} {
		if err := g.Preapprove("s", bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	if d := g.Check(t.Context(), command("psql -c 'DROP TABLE x'")); !d.Runs() {
		t.Errorf("approved in advance, got %s", d.Outcome)
	}
}

// A66–A68: "always" goes to the config; when that fails it holds for the session and the person is told.
func TestGate_AlwaysIsStored(t *testing.T) {
	p, r := &person{choice: channel.Always}, &remembered{}
	g := approval.New(approval.Config{Asker: p, Remember: r})
	g.Check(t.Context(), command("rm -rf build"))
	if !slices.Equal(r.keys, []string{"recursive delete"}) {
		t.Errorf("stored %v", r.keys)
	}
	other := command("rm -rf dist")
	other.Session = "other"
	if d := g.Check(t.Context(), other); d.How != approval.ByAllowlist {
		t.Errorf("another session: %s, want by allowlist", d.How)
	}
	r = &remembered{err: errors.New("disk full")}
	g = approval.New(approval.Config{Asker: p, Remember: r})
	if d := g.Check(t.Context(), command("rm -rf build")); !d.Runs() || !strings.Contains(d.Note, "disk full") {
		t.Errorf("a failed write: %s, note %q", d.Outcome, d.Note)
	}
}

// A67: odd entries open nothing and are told.
func TestAllowlist_OddEntriesOpenNothing(t *testing.T) {
	list := approval.ParseAllowlist([]string{"*", "", "delete.root", "shell.opaque", "no such", "find -delete", "rm", "sql.drop"})
	if want := []string{"*", "", "delete.root", "shell.opaque", "no such"}; !slices.Equal(list.Unknown, want) {
		t.Errorf("unknown %q, want %q", list.Unknown, want)
	}
	g := approval.New(approval.Config{Allowlist: list})
	for c, want := range map[string]bool{"rm -rf x": true, "find . -name x -delete": true, "psql -c 'drop table x'": true, "systemctl stop x": false,
		"rm -rf /": false, "psql -c 'delete from x'": false} {
		if d := g.Check(t.Context(), command(c)); d.Runs() != want {
			t.Errorf("%q: %s", c, d.Outcome)
		}
	}
}

// A87: recorded before the run, and consent that can't be recorded is none.
func TestGate_UnrecordedConsentIsDenied(t *testing.T) {
	p, l := &person{choice: channel.Once}, &ledger{}
	g := approval.New(approval.Config{Asker: p, Audit: l, Redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "[x]") }})
	req := command("TOKEN=hunter2 rm -rf build")
	req.Dir = "/data/hunter2"
	d := g.Check(t.Context(), req)
	if !d.Runs() || len(l.entries) != 1 || l.entries[0].Dir != "/data/[x]" || strings.Contains(l.entries[0].Command, "hunter2") || l.entries[0].Findings[0].ID != "delete.recursive" {
		t.Fatalf("decision %s, entries %+v", d.Outcome, l.entries)
	}
	l.err = errors.New("no space")
	if d := g.Check(t.Context(), command("rm -rf build")); d.Outcome != approval.Policy || d.Text == "" {
		t.Errorf("unrecorded: %s, want policy", d.Outcome)
	}
}

// A60: an interrupted session ends the wait at once.
func TestGate_InterruptedWaitIsCancelled(t *testing.T) {
	asked := make(chan struct{})
	g := approval.New(approval.Config{Asker: channel.AskerFunc(func(ctx context.Context, _ channel.Question) (channel.Answer, error) {
		close(asked)
		<-ctx.Done()
		return channel.Answer{}, ctx.Err()
	})})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if d := g.Check(ctx, command("rm -rf build")); d.Outcome != approval.Cancelled || d.Runs() {
		t.Errorf("got %s, want cancelled", d.Outcome)
	}
}

func TestGate_UnansweredQuestionTimesOut(t *testing.T) {
	g := approval.New(approval.Config{Timeout: time.Millisecond, Asker: channel.AskerFunc(func(ctx context.Context, q channel.Question) (channel.Answer, error) {
		<-ctx.Done()
		return channel.Answer{}, ctx.Err()
	})})
	if d := g.Check(t.Context(), command("rm -rf build")); d.Outcome != approval.TimedOut || d.Waited <= 0 {
		t.Errorf("got %s after %v, want timeout", d.Outcome, d.Waited)
	}
}

// A81a: an asker that fails or panics reached nobody; one that answers nonsense got no consent.
func TestGate_BrokenAskerIsNoConsent(t *testing.T) {
	for name, c := range map[string]struct {
		ask  channel.AskerFunc
		want approval.Outcome
	}{
		"fails": {func(context.Context, channel.Question) (channel.Answer, error) {
			return channel.Answer{}, errors.New("no route")
		}, approval.Undeliverable},
		"panics": {func(context.Context, channel.Question) (channel.Answer, error) { panic("bug") }, approval.Undeliverable},
		"nonsense": {func(context.Context, channel.Question) (channel.Answer, error) {
			return channel.Answer{Choice: "sure"}, nil
		}, approval.Denied},
		"empty": {func(context.Context, channel.Question) (channel.Answer, error) { return channel.Answer{}, nil }, approval.Denied},
		"always, which isn't on offer": {func(context.Context, channel.Question) (channel.Answer, error) {
			return channel.Answer{Choice: channel.Always}, nil
		}, approval.Denied},
	} {
		g := approval.New(approval.Config{Asker: c.ask})
		if d := g.Check(t.Context(), command("rm -rf build")); d.Outcome != c.want || d.Text == "" {
			t.Errorf("%s: %s, want %s", name, d.Outcome, c.want)
		}
	}
}

// BAT-11: one question at a time, and an answer of "session" covers the ones that wait behind it.
func TestGate_QuestionsComeOneAtATime(t *testing.T) {
	var mu sync.Mutex
	open, most, asked := 0, 0, 0
	release := make(chan struct{})
	g := approval.New(approval.Config{Asker: channel.AskerFunc(func(context.Context, channel.Question) (channel.Answer, error) {
		mu.Lock()
		open++
		asked++
		most = max(most, open)
		mu.Unlock()
		<-release
		mu.Lock()
		open--
		mu.Unlock()
		return channel.Answer{Choice: channel.Session}, nil
	})})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if d := g.Check(t.Context(), command("rm -rf build")); !d.Runs() {
				t.Errorf("got %s", d.Outcome)
			}
		})
	}
	close(release)
	wg.Wait()
	if most != 1 || asked != 1 {
		t.Errorf("at most %d open at once, %d asked; want 1 and 1", most, asked)
	}
}

func TestGate_PathsAndHooksAreAsked(t *testing.T) {
	p := &person{choice: channel.Once}
	g := approval.New(approval.Config{Asker: p, Remember: &remembered{}})
	d := g.Check(t.Context(), approval.Request{Kind: approval.KindPath, HostLike: true, Dir: "/data/app", Paths: []approval.PathAct{{Path: "x.txt"}, {Path: "/etc/hosts"}}})
	if !slices.Equal(d.IDs, []string{"sysconf.write"}) {
		t.Errorf("ids %v", d.IDs)
	}
	d = g.Check(t.Context(), approval.Request{Kind: approval.KindHook, Asks: []approval.AskFor{{Key: "my hook", Reason: "it says so"}}})
	if !slices.Equal(d.Keys, []string{"my hook"}) || slices.Contains(p.asked[1].Choices, channel.Session) {
		t.Errorf("keys %v, choices %v: want the hook's key, once only", d.Keys, p.asked[1].Choices)
	}
	if d := g.Check(t.Context(), approval.Request{Kind: approval.KindPath, Dir: "/data/app", Paths: []approval.PathAct{{Path: "src/x.go"}}}); d.Outcome != approval.Allowed {
		t.Errorf("an ordinary file: %s", d.Outcome)
	}
}

// The seeds' names.
func TestDetectDangerousCommand_GivesKeyAndDescription(t *testing.T) {
	if ok, key, why := approval.DetectDangerousCommand("rm -rf node_modules/"); !ok || key != "recursive delete" || why == "" {
		t.Errorf("got %v %q %q", ok, key, why)
	}
	if ok, key, _ := approval.DetectDangerousCommand("ls"); ok || key != "" {
		t.Errorf("ls: %v %q", ok, key)
	}
	if n := len(approval.DangerousPatterns()); n < 20 {
		t.Errorf("%d patterns", n)
	}
}

func BenchmarkGate_NoFinding(b *testing.B) {
	g := approval.New(approval.Config{})
	req := command("cd src && go build ./... 2>&1 | tail -20")
	b.ReportAllocs()
	for b.Loop() {
		if d := g.Check(b.Context(), req); !d.Runs() {
			b.Fatal(d.Outcome)
		}
	}
}

func BenchmarkAnalyze(b *testing.B) {
	for name, c := range map[string]string{"short": "git status", "ordinary": `cd src && grep -rn "func main" --include='*.go' . | head -5`,
		"finding": "sudo rm -rf /var/cache/x", "heredoc": "cat > x.py <<'EOF'\nimport os\nprint(os.getcwd())\nEOF\npython3 x.py"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _, _ = approval.DetectDangerousCommand(c)
			}
		})
	}
}

type watcher struct{ seen []string }

func (w *watcher) Requested(q channel.Question) {
	w.seen = append(w.seen, "requested "+q.Findings[0].ID)
}
func (w *watcher) Responded(_ channel.Question, d approval.Decision) {
	w.seen = append(w.seen, "responded "+string(d.Outcome))
}

// A85: observers hear of every decision about a finding.
func TestGate_ObserversHearEveryDecision(t *testing.T) {
	w := &watcher{}
	g := approval.New(approval.Config{Observer: w, Mode: approval.Off})
	for _, c := range []string{"ls", "rm -rf /", "rm -rf build"} {
		g.Check(t.Context(), command(c))
	}
	want := []string{"requested delete.root", "responded floor", "requested delete.recursive", "responded approved"}
	if !slices.Equal(w.seen, want) {
		t.Errorf("got %q, want %q", w.seen, want)
	}
}

// A61: the words say which act, on what, why not, and that other routes aren't to be tried; each outcome has its own.
func TestGate_RefusalNamesActTargetAndReason(t *testing.T) {
	texts := map[string]bool{}
	for _, c := range []struct {
		config  approval.Config
		command string
		want    []string
	}{
		{approval.Config{}, "systemctl stop nginx", []string{"stop/restart system service", "systemctl stop nginx", "nobody can be asked", "another spelling"}},
		{approval.Config{}, "rm -rf ~", []string{"delete root, system or home directory", "/home/ann", "Nobody can approve"}},
		{approval.Config{Asker: &person{choice: channel.Deny}}, "rm -rf x", []string{"recursive delete", "/data/app/x", "said no"}},
	} {
		d := approval.New(c.config).Check(t.Context(), command(c.command))
		for _, w := range c.want {
			if !strings.Contains(d.Text, w) {
				t.Errorf("%q: %q isn't in %q", c.command, w, d.Text)
			}
		}
		texts[d.Text] = true
	}
	if len(texts) != 3 {
		t.Errorf("%d different texts, want 3", len(texts))
	}
}

// A53: words of the configuration.
func TestParseMode_UnknownIsManual(t *testing.T) {
	for s, want := range map[string]approval.Mode{"": approval.Manual, "manual": approval.Manual, "true": approval.Manual, "false": approval.Off,
		"off": approval.Off, "smart": approval.Smart, "sometimes": approval.Manual} {
		if m, ok := approval.ParseMode(s); m != want || ok == (s == "sometimes") {
			t.Errorf("%q: %s %v, want %s", s, m, ok, want)
		}
	}
}

// A90: time of the analysis over the whole corpus, by command.
func BenchmarkAnalyze_Corpus(b *testing.B) {
	all := corpus(b)
	times := make([]time.Duration, 0, len(all))
	for b.Loop() {
		times = times[:0]
		for _, e := range all {
			start := time.Now()
			e.report()
			times = append(times, time.Since(start))
		}
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds()), "p99-ns")
}

// A87: a command with thousands of acts makes one line of bounded length, and looks at the list once a round.
func TestGate_ManyFindingsAreBounded(t *testing.T) {
	l, reads := &ledger{}, 0
	g := approval.New(approval.Config{Audit: l, Current: func() *approval.Allowlist { reads++; return approval.ParseAllowlist(nil) }})
	var b strings.Builder
	for i := range 500 {
		b.WriteString("rm -rf d" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + "\n")
	}
	d := g.Check(t.Context(), command(b.String()))
	if d.Runs() || len(l.entries) != 1 || len(l.entries[0].Findings) != 100 || l.entries[0].More != len(d.Findings)-100 || len(d.Text) > 8<<10 {
		t.Errorf("%s, %d findings, %d recorded, %d more, %d bytes of words", d.Outcome, len(d.Findings), len(l.entries[0].Findings), l.entries[0].More, len(d.Text))
	}
	if reads != 1 {
		t.Errorf("the list was looked at %d times", reads)
	}
}
