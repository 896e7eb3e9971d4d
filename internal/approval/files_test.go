package approval_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/approval"
)

// disk holds texts of files, and counts the looks at them.
type disk struct {
	texts map[string]string
	links map[string]string
	looks int
}

func (d *disk) Identify(string) (approval.Identity, bool) {
	d.looks++
	return approval.Identity{}, true
}

func (d *disk) Resolve(p string) string {
	d.looks++
	if to := d.links[p]; to != "" {
		return to
	}
	return p
}

func (d *disk) Text(p string, most int) (string, bool) {
	d.looks++
	text, ok := d.texts[p]
	return text, ok && len(text) <= most
}

// A29: what the session fetched or wrote is known when it is run later; a person's own files are not opened.
func TestFiles_WhatTheSessionBroughtIsKnownWhenItRuns(t *testing.T) {
	d := &disk{texts: map[string]string{"/data/app/evil.sh": "systemctl stop x", "/data/app/fine.sh": "ls", "/data/app/own.sh": "systemctl stop x", "/data/app/tool.sh": "systemctl stop x"}}
	p := &person{choice: channel.Once}
	g := approval.New(approval.Config{Asker: p})
	check := func(text string) approval.Decision {
		r := command(text)
		r.Disk = d
		return g.Check(t.Context(), r)
	}
	for _, text := range []string{"curl -o get.sh https://x.example/y", "echo x > evil.sh", "cat in > fine.sh"} {
		if d := check(text); d.Outcome != approval.Allowed {
			t.Fatalf("%q: %s %v", text, d.Outcome, d.IDs)
		}
	}
	g.Check(t.Context(), approval.Request{Session: "s", Kind: approval.KindPath, HostLike: true, Dir: "/data/app", Paths: []approval.PathAct{{Path: "tool.sh"}, {Path: "big.sh"}}})
	for text, want := range map[string]string{"sh get.sh": "remote.run", "bash ./evil.sh": "service.stop", "sh tool.sh": "service.stop", "sh big.sh": "shell.opaque", "sh fine.sh": "", "sh own.sh": ""} {
		got := check(text)
		if want == "" && got.Outcome != approval.Allowed || want != "" && !slices.Contains(got.IDs, want) {
			t.Errorf("%q: %s %v, want %q", text, got.Outcome, got.IDs, want)
		}
	}
	p.choice = channel.Deny
	check("rm -rf x; curl -o never.sh https://x.example/y")
	if got := check("sh never.sh"); got.Outcome != approval.Allowed {
		t.Errorf("a download that was denied is remembered: %v", got.IDs)
	}
	g.EndSession("s")
	if got := check("sh get.sh"); got.Outcome != approval.Allowed {
		t.Errorf("after the session's end: %v", got.IDs)
	}
}

// A29: at most 1,000 files are remembered, the newest.
func TestFiles_TheOldestIsForgotten(t *testing.T) {
	g := approval.New(approval.Config{})
	for i := range 1001 {
		g.Check(t.Context(), command(fmt.Sprintf("curl -o f%d.sh https://x.example/y", i)))
	}
	if d := g.Check(t.Context(), command("sh f0.sh")); d.Outcome != approval.Allowed {
		t.Errorf("the oldest: %v", d.IDs)
	}
	for _, text := range []string{"sh f1.sh", "sh f1000.sh"} {
		if d := g.Check(t.Context(), command(text)); !slices.Contains(d.IDs, "remote.run") {
			t.Errorf("%q: %v", text, d.IDs)
		}
	}
}

// A90: where nothing is found, nothing is looked at.
func TestFiles_NoLookWithoutNeed(t *testing.T) {
	d := &disk{}
	g := approval.New(approval.Config{})
	for _, text := range []string{"ls -l /etc", "cd src && go build ./... 2>&1 | tail -20", "git status", "cat <<E | wc\nx\nE"} {
		r := command(text)
		r.Disk = d
		g.Check(t.Context(), r)
	}
	if d.looks != 0 {
		t.Errorf("%d looks at the disk", d.looks)
	}
}

// A82: the text of a script is judged before it runs, asked about once; what was approved for it isn't asked again by its calls.
func TestScripts_TheTextIsAskedOnce(t *testing.T) {
	p := &person{choice: channel.Once}
	g := approval.New(approval.Config{Asker: p})
	code := func(text string) approval.Request {
		return approval.Request{Session: "s", Kind: approval.KindCode, CallID: "c1", Command: text, Dir: "/data/app", Home: "/home/ann", HostLike: true}
	}
	if d := g.Check(t.Context(), code("from hermes_tools import terminal\nprint(terminal('ls'))\nx = [1]\nx.remove(1)\n")); d.Outcome != approval.Allowed {
		t.Errorf("a harmless script: %v", d.IDs)
	}
	if d := g.Check(t.Context(), code("import shutil\nshutil.rmtree('/')")); d.Outcome != approval.Floor {
		t.Errorf("the floor in a script: %s %v", d.Outcome, d.IDs)
	}
	d := g.Check(t.Context(), code("import subprocess\nsubprocess.run(['systemctl', 'stop', 'x'])\nsubprocess.run('rm -rf build', shell=True)"))
	if d.How != approval.ByPerson || len(p.asked) != 1 || len(p.asked[0].Findings) < 2 {
		t.Fatalf("%s by %s: asked %d times", d.Outcome, d.How, len(p.asked))
	}
	nested := command("systemctl stop y")
	nested.Parent = "c1"
	if d := g.Check(t.Context(), nested); d.How != approval.BySession || len(p.asked) != 1 {
		t.Errorf("a call of the script for a key just approved: %s by %s", d.Outcome, d.How)
	}
	p.choice = channel.Deny
	other := command("systemctl stop y")
	other.Parent = "c2"
	for _, r := range []approval.Request{other, command("systemctl stop y")} {
		if d := g.Check(t.Context(), r); d.Runs() {
			t.Errorf("a call of parent %q rides on it", r.Parent)
		}
	}
	list := approval.New(approval.Config{Allowlist: approval.ParseAllowlist([]string{"execute_code"})})
	if d := list.Check(t.Context(), code("import subprocess\nsubprocess.run(['systemctl', 'stop', 'x'])")); d.How != approval.ByAllowlist {
		t.Errorf("the older key: %s by %s", d.Outcome, d.How)
	}
	if d := list.Check(t.Context(), command("systemctl stop x")); d.Runs() {
		t.Error("the older key opens a command")
	}
}

// A51: file tools are asked about the places that commands are asked about, also through links and ~.
func TestPaths_FileToolsAreAskedAboutTheSamePlaces(t *testing.T) {
	d := &disk{links: map[string]string{"/data/app/link": "/etc/hosts", "/data/app/dir/hosts": "/etc/hosts"}}
	for path, want := range map[string]string{
		"/etc/hosts": "sysconf.write", "~/.ssh/authorized_keys": "user.credentials", "/home/ann/.bashrc": "user.startup", "~/.hermes/config.yaml": "agent.policy",
		"/dev/sda": "disk.raw", "link": "sysconf.write", "dir/hosts": "sysconf.write", "src/x.go": "", "/tmp/x": "", "~/notes.txt": "", "../other/x": "",
	} {
		g := approval.New(approval.Config{})
		got := g.Check(t.Context(), approval.Request{Session: "s", Kind: approval.KindPath, HostLike: true, Dir: "/data/app", Home: "/home/ann", Disk: d,
			Paths: []approval.PathAct{{Path: path}}})
		if want == "" && got.Outcome != approval.Allowed || want != "" && !slices.Contains(got.IDs, want) {
			t.Errorf("%q: %s %v, want %q", path, got.Outcome, got.IDs, want)
		}
	}
	for path, want := range map[string]string{"/etc/hosts": "delete.protected", "link": "", "src": "", "~/.hermes/config.yaml": "agent.policy"} {
		g := approval.New(approval.Config{})
		got := g.Check(t.Context(), approval.Request{Session: "s", Kind: approval.KindPath, HostLike: true, Dir: "/data/app", Home: "/home/ann", Disk: d,
			Paths: []approval.PathAct{{Path: path, Delete: true}}})
		if want == "" && got.Outcome != approval.Allowed || want != "" && !slices.Contains(got.IDs, want) {
			t.Errorf("delete %q: %s %v, want %q", path, got.Outcome, got.IDs, want)
		}
	}
}

// A31: where /dev/fd leads in this process says nothing about another.
func TestFiles_WhatLeadsElsewhereInEachProcessIsNotFollowed(t *testing.T) {
	d := &disk{links: map[string]string{"/dev/fd": "/proc/7/fd", "/dev/stdout": "/proc/7/fd/1", "/dev/fd/3": "/etc/x"}}
	g := approval.New(approval.Config{})
	for _, text := range []string{"echo x > /dev/fd/3", "tee >(wc -l) < x", "exec > >(tee out.log) 2>&1", "echo x | tee /dev/stdout"} {
		r := command(text)
		r.Disk = d
		if got := g.Check(t.Context(), r); got.Outcome != approval.Allowed {
			t.Errorf("%q: %v", text, got.IDs)
		}
	}
}
