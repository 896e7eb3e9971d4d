//go:build linux

package group

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseStat_NamesMayHoldAnything(t *testing.T) { // IDN-1
	tail := " S 1 2 3 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 1 1\n"
	for name := range map[string]bool{"sh": true, "a b": true, ") S 9 (": true, "": true} {
		p, err := parseStat([]byte("42 (" + name + ")" + tail))
		if err != nil || p.pid != 42 || p.name != name || p.parent != 1 || p.group != 2 || p.session != 3 || p.start != 4711 || p.dead() {
			t.Errorf("%q: %+v, %v", name, p, err)
		}
	}
	for _, bad := range []string{"", "42", "42 (sh)", "x (sh)" + tail, "42 (sh) S 1 2", "42 (sh) S x 2 3 " + strings.Repeat("0 ", 20)} {
		if p, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q was read as %+v", bad, p)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("42 (sh) S 1 2 3 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 1 1"))
	f.Add([]byte(") ("))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := parseStat(b); err == nil && p.state == 0 {
			t.Errorf("%q has no state", b)
		}
	})
}

func TestOwner_IsReadFromTheIdsOfItsGroups(t *testing.T) { // IDN-1
	self := Self("/some/home")
	r := Detect(Options{Owner: self, NoCgroup: true})
	o, err := ParseOwner(r.Open().ID())
	if err != nil || o != self || !o.Alive() {
		t.Errorf("%+v, %v; want %+v, alive", o, err, self)
	}
	for name, change := range map[string]func(*Owner){
		"another start": func(o *Owner) { o.Start++ }, "another boot": func(o *Owner) { o.Boot = "x" }, "another pid": func(o *Owner) { o.PID = 1 << 30 },
	} {
		o := self
		if change(&o); o.Alive() {
			t.Errorf("%s counts as this process", name)
		}
	}
	for _, bad := range []string{"", "hermes", "hermes-a-b-x-1", "hermes-a-b-1-x", "hermes-a-b-0-1", "other-a-b-1-1", "hermes-a-b-1-1-1"} {
		if o, err := ParseOwner(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, o)
		}
	}
}

func TestMark_KeepsTheOuterGroups(t *testing.T) { // GRP-2
	r := Detect(Options{NoCgroup: true})
	outer, inner := r.Open(), r.Open()
	block := []byte("A=1\x00" + Variable + "=" + inner.Mark(outer.Mark("")) + "\x00B=2\x00")
	for _, g := range []*Group{outer, inner} {
		if !carries(block, g.ID()) {
			t.Errorf("%s isn't found in %q", g.ID(), block)
		}
	}
	if carries(block, r.Open().ID()) || carries(block, inner.ID()[:len(inner.ID())-1]) || carries([]byte("X"+Variable+"="+inner.ID()), inner.ID()) {
		t.Error("a group was found that isn't there")
	}
	if got := marks(block, r.owner.String()+"."); !slices.Equal(got, []string{outer.ID(), inner.ID()}) {
		t.Errorf("marks %q", got)
	}
}

func TestGroup_NoTwoHaveOneName(t *testing.T) { // GRP-5
	seen := map[string]bool{}
	for range 3 {
		r := Detect(Options{})
		for range 3 {
			g := r.Open()
			if seen[g.ID()] {
				t.Errorf("%s names two groups", g.ID())
			}
			seen[g.ID()] = true
			g.Close()
		}
	}
}

func TestGroup_SignalsNobodyElse(t *testing.T) { // IDN-1
	c := exec.Command("sleep", "300")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	p, err := readProcess(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	// The record of a process that had the same pid before.
	g := Find(Record{ID: "hermes-x-x-1-1.1", Leader: p.pid, Start: p.start - 1})
	if left := g.End(10 * time.Millisecond); len(left) > 0 {
		t.Errorf("survivors %v", left)
	}
	if now, err := readProcess(p.pid); err != nil || now.dead() {
		t.Error("someone else's process was ended")
	}
}

func TestCgroup_IsGoneWithItsCommand(t *testing.T) { // GRP-1
	r := Detect(Options{})
	if r.root == "" {
		t.Skip("no cgroups here: " + r.why)
	}
	g := r.Open()
	dir := g.cgroup.dir
	c := exec.Command("sleep", "300")
	c.SysProcAttr = g.Attr()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	g.Started(c.Process.Pid)
	if m := g.Members(); len(m) != 1 || m[0].PID != c.Process.Pid || m[0].Command != "sleep 300" {
		t.Errorf("members %+v", m)
	}
	if g.Close() {
		t.Error("a group with a member was let go")
	}
	if left := g.End(0); len(left) > 0 {
		t.Errorf("survivors %v", left)
	}
	_ = c.Wait() // it was killed
	if !g.Close() {
		t.Error("an empty group wasn't let go")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s: %v", dir, err)
	}
}

func TestStrays_AreCollectedWhenNobodyClaimsThem(t *testing.T) { // GRP-1
	c := exec.Command("true")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if p, err := readProcess(c.Process.Pid); err == nil && p.dead() {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it doesn't end")
		}
	}
	s := &strays{seen: map[int]stray{}}
	p, err := readProcess(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	s.note(p)
	s.collect(time.Now())
	if _, err := readProcess(p.pid); err != nil {
		t.Fatal("a child was taken from who may be about to wait for it")
	}
	s.collect(time.Now().Add(2 * unclaimed))
	if now, err := readProcess(p.pid); err == nil && now.start == p.start {
		t.Error("it lies there for ever")
	}
	if len(s.seen) > 0 {
		t.Errorf("%v", s.seen)
	}
	_ = c.Wait() // taken already, which it says
}

func TestTidy_LeavesOwnersThatCannotBeJudged(t *testing.T) { // LOC-5, IDN-1: a container may see the cgroups of others, whose pids aren't its own
	for name, row := range map[string]struct {
		change func(o *Owner)
		want   bool
	}{
		"itself":            {func(*Owner) {}, false},
		"a dead one":        {func(o *Owner) { o.PID = 1 << 30 }, true},
		"another namespace": {func(o *Owner) { o.PID, o.Boot = 1<<30, "x" }, false},
	} {
		o := Self("/home")
		row.change(&o)
		if got := dead(o.String() + ".1"); got != row.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if dead("hermes-else") {
		t.Error("what isn't ours is taken for dead")
	}
}
