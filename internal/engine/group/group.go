//go:build linux || darwin

// Package group finds, counts and ends everything that one command started, whatever those processes did to get away.
package group

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/hermes-runtime/hermes/environment"
)

// Variable is the environment variable that marks the members of groups: comma-separated ids, outermost first, so that a runtime
// inside a command of another runtime stays inside that command's group.
const Variable = "HERMES_GROUP"

// next numbers the groups of this process, whichever rung makes them: two groups of one name would be one.
var next atomic.Uint64

// Options says how groups are formed. The zero value is the best that this machine offers without changing this process.
type Options struct {
	Owner     Owner // who the groups belong to; zero = this process
	Subreaper bool  // make this process the parent of orphans below it (Linux without cgroups); only for a process that is ours
	NoCgroup  bool  // don't use cgroups even where they can be made
}

// Rung makes groups in the one way that was found to work here. It is safe for concurrent use.
type Rung struct {
	owner  Owner
	root   string  // cgroup v2 directory below which ours are made, "" = none
	why    string  // why there are no cgroups
	strays *strays // set where this process is a subreaper
}

// Detect chooses the rung. It is cheap, needs no root and leaves nothing behind.
func Detect(o Options) *Rung {
	if o.Owner == (Owner{}) {
		o.Owner = Self("")
	}
	r := &Rung{owner: o.Owner}
	if o.NoCgroup {
		r.why = "not wanted"
	} else {
		r.root, r.why = cgroupRoot()
	}
	if r.root == "" && o.Subreaper {
		if becomeSubreaper() == nil {
			r.strays = &strays{seen: map[int]stray{}}
		}
	}
	return r
}

// Describe says in one line how groups are formed here and why not better.
func (r *Rung) Describe() string {
	switch {
	case r.root != "":
		return "process groups: one cgroup per command below " + r.root
	case r.strays != nil:
		return "process groups: session, descendants and a marker variable (no cgroups: " + r.why + ")"
	default:
		return "process groups: " + scanName + " (no cgroups: " + r.why + "); a process that changes its session, loses its parents and hides its environment is not found"
	}
}

// Open makes an empty group for a command that is about to start.
func (r *Rung) Open() *Group {
	g := &Group{id: r.owner.String() + "." + strconv.FormatUint(next.Add(1), 10), strays: r.strays, known: map[int]uint64{}, sessions: map[int]bool{}}
	if r.root != "" {
		g.cgroup = openCgroup(r.root, g.id) // nil where it can't be made now; the marker still works
	}
	return g
}

// Group is all that one command started.
type Group struct {
	id     string
	cgroup *cgroup
	strays *strays // nil unless orphans come to this process
	counts []count // where bounds are counted
	v1dirs []string

	mu       sync.Mutex
	leader   process
	known    map[int]uint64 // pid → start time of every member ever seen
	sessions map[int]bool   // sessions that members have led
}

// Record is what another process needs to find the same group.
type Record struct {
	ID     string `json:"id"`
	Cgroup string `json:"cgroup,omitempty"`
	Leader int    `json:"leader,omitempty"`
	Start  uint64 `json:"start,omitempty"`
	// Known are members that lived when the record was made, by pid with their start time.
	Known map[int]uint64 `json:"known,omitempty"`
}

// Record describes the group for a guard.
func (g *Group) Record() Record {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := Record{ID: g.id, Leader: g.leader.pid, Start: g.leader.start}
	if g.cgroup != nil {
		r.Cgroup = g.cgroup.dir
	}
	return r
}

// Remains describes what lives of the group once its first process is gone.
func (g *Group) Remains() Record {
	r := Record{ID: g.id, Known: map[int]uint64{}}
	if g.cgroup != nil {
		r.Cgroup = g.cgroup.dir
	}
	for _, p := range g.living() {
		r.Known[p.pid] = p.start
	}
	return r
}

// Find gives the group that r describes, as seen from a process that is not its parent.
func Find(r Record) *Group {
	g := &Group{id: r.ID, known: map[int]uint64{}, sessions: map[int]bool{}}
	if r.Cgroup != "" {
		g.cgroup = &cgroup{dir: r.Cgroup}
	}
	maps.Copy(g.known, r.Known)
	if r.Leader != 0 && r.Start != 0 {
		g.leader = process{pid: r.Leader, start: r.Start}
		g.known[r.Leader] = r.Start
		g.sessions[r.Leader] = true
	}
	return g
}

// ID names the group. It is unique on this machine.
func (g *Group) ID() string { return g.id }

// Mark gives the value of Variable for the command, outer being the value that this process would hand down.
func (g *Group) Mark(outer string) string {
	if outer == "" {
		return g.id
	}
	return outer + "," + g.id
}

// Attr has the command born in the group: in a session of its own without a terminal, and in the cgroup if there is one.
func (g *Group) Attr() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true}
	g.cgroup.attach(a)
	return a
}

// WithoutCgroup gives the cgroup up, where the command could not be born in it after all. It reports whether there was one.
func (g *Group) WithoutCgroup() bool {
	had := g.cgroup != nil
	g.cgroup.remove()
	g.cgroup = nil
	return had
}

// Started tells the group its first process.
func (g *Group) Started(pid int) {
	p, err := readProcess(pid)
	if err != nil { // gone already; the marker finds the rest
		p = process{pid: pid}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leader = p
	if p.start != 0 {
		g.known[pid] = p.start
	}
	g.sessions[pid] = true
}

// Members lists the members that live, in order of pid.
func (g *Group) Members() []environment.ProcessRef {
	refs, _ := g.Look()
	return refs
}

// Look is Members, and says whether one of them is at work: it runs, wants to, or waits for a disk.
func (g *Group) Look() (refs []environment.ProcessRef, busy bool) {
	for _, p := range g.living() {
		refs = append(refs, environment.ProcessRef{PID: p.pid, Command: commandOf(p)})
		busy = busy || p.state == 'R' || p.state == 'D'
	}
	return refs, busy
}

// Close lets go of the group if nobody is in it any more and reports whether that is so. Members go on; Close may be called again.
func (g *Group) Close() bool {
	g.reap()
	v1 := g.removeV1()
	return g.cgroup.remove() && v1
}

// living finds the members that live now.
func (g *Group) living() []process {
	if g.cgroup != nil {
		if pids, err := g.cgroup.members(); err == nil {
			return g.byPID(pids)
		}
	}
	return g.scan()
}

func (g *Group) byPID(pids []int) []process {
	var ps []process
	for _, pid := range pids {
		if p, err := readProcess(pid); err == nil && !p.dead() {
			ps = append(ps, p)
		}
	}
	slices.SortFunc(ps, func(a, b process) int { return a.pid - b.pid })
	return ps
}

// scan walks the process table: a member is who leads or shares a session of the group, descends from a member, was a member
// before, or carries the marker.
func (g *Group) scan() []process {
	g.mu.Lock()
	defer g.mu.Unlock()
	all, err := listProcesses(g.leader.pid)
	if err != nil {
		return nil
	}
	all = slices.DeleteFunc(all, func(p process) bool { return p.start < g.leader.start || p.pid == os.Getpid() })
	members := map[int]process{}
	for first, grown := true, true; grown; first = false {
		grown = false
		for _, p := range all {
			if _, in := members[p.pid]; in || !g.holds(p, members) && !(first && !p.dead() && marked(p.pid, g.id)) {
				continue
			}
			members[p.pid], grown = p, true
			g.known[p.pid] = p.start
			g.sessions[p.session] = true
		}
	}
	for _, p := range all {
		if _, in := members[p.pid]; !in && p.dead() && p.parent == os.Getpid() {
			g.strays.note(p)
		}
	}
	living := slices.Collect(maps.Values(members))
	living = slices.DeleteFunc(living, process.dead)
	slices.SortFunc(living, func(a, b process) int { return a.pid - b.pid })
	return living
}

func (g *Group) holds(p process, members map[int]process) bool {
	if start, ok := g.known[p.pid]; ok && start == p.start {
		return true
	}
	if g.sessions[p.session] || g.sessions[p.group] {
		return true
	}
	_, descends := members[p.parent]
	return descends
}

// carries reports whether an environment block has id among its marks.
func carries(block []byte, id string) bool {
	for entry := range strings.SplitSeq(string(block), "\x00") {
		if v, ok := strings.CutPrefix(entry, Variable+"="); ok {
			return slices.Contains(strings.Split(v, ","), id)
		}
	}
	return false
}

// process is one row of the process table.
type process struct {
	pid, parent, group, session int
	start                       uint64 // in the unit of the system, since its boot
	state                       byte   // Z and X are dead
	name                        string
}

func (p process) dead() bool { return p.state == 'Z' || p.state == 'X' }

// shorten bounds a command line for display.
func shorten(s string) string {
	const longest = 200 // characters
	if r := []rune(s); len(r) > longest {
		return string(r[:longest-1]) + "…"
	}
	return s
}
