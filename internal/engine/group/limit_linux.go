package group

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Limits are the bounds that cgroups can hold for a whole group.
type Limits struct {
	MemoryMB  int
	Processes int
}

// Held says which of them cgroups hold. The first process must write 0, which is itself, into each file of Join before it does
// anything: v1 hierarchies can't be born into. A lone thread that moves itself waits for nobody; a whole process, or another one's,
// stops every fork of the machine until all processors have passed a quiet state, which takes 5 to 800 ms.
type Held struct {
	Memory    bool
	Processes bool
	Join      []string
}

// controller is one resource: its files in v2 and v1, and the words that count what struck.
type controller struct {
	name           string
	v2, v1         string // the file that takes the bound
	event2, event1 string // file and key of the count, joined by a space
	value          func(Limits) int64
}

// controllers is the table. Bounds are written in bytes and in tasks.
var controllers = []controller{
	{"memory", "memory.max", "memory.limit_in_bytes", "memory.events oom_kill", "memory.oom_control oom_kill", func(l Limits) int64 { return int64(l.MemoryMB) << 20 }},
	{"pids", "pids.max", "pids.max", "pids.events max", "pids.events max", func(l Limits) int64 { return int64(l.Processes) }},
}

// Limit sets bounds where the controllers are at hand: in the group's own cgroup, else in one of the v1 hierarchy.
func (g *Group) Limit(l Limits) Held {
	var h Held
	for _, c := range controllers {
		v := c.value(l)
		if v <= 0 {
			continue
		}
		held := false
		if g.cgroup != nil && writeFile(filepath.Join(g.cgroup.dir, c.v2), strconv.FormatInt(v, 10)) == nil {
			held = true
			g.counts = append(g.counts, count{c.name, g.cgroup.dir, c.event2})
		} else if dir := g.v1(c.name); dir != "" {
			if held = writeFile(filepath.Join(dir, c.v1), strconv.FormatInt(v, 10)) == nil; held {
				g.counts = append(g.counts, count{c.name, dir, c.event1})
				h.Join = append(h.Join, filepath.Join(dir, "tasks"))
			}
		}
		switch c.name {
		case "memory":
			h.Memory = held
		default:
			h.Processes = held
		}
	}
	return h
}

// writeFile writes an existing file: a controller that isn't there must not leave a file behind.
func writeFile(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// count is where it is counted that a bound struck.
type count struct{ controller, dir, event string }

// Struck tells which bounds have struck since Limit.
func (g *Group) Struck() (memory, processes bool) {
	for _, c := range g.counts {
		file, key, _ := strings.Cut(c.event, " ")
		b, _ := os.ReadFile(filepath.Join(c.dir, file)) // gone: nothing is known
		for line := range bytes.Lines(b) {
			f := strings.Fields(string(line))
			if len(f) == 2 && f[0] == key && f[1] != "0" {
				memory, processes = memory || c.controller == "memory", processes || c.controller == "pids"
			}
		}
	}
	return memory, processes
}

// v1 makes a directory of the group in a v1 hierarchy, "" where it can't be.
func (g *Group) v1(controller string) string {
	own := ownV1(controller)
	if own == "" {
		return ""
	}
	dir := filepath.Join(own, g.id)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return ""
	}
	g.v1dirs = append(g.v1dirs, dir)
	return dir
}

// ownV1 gives the directory of this process in the v1 hierarchy of a controller, "" where there is none to be seen.
func ownV1(controller string) string {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3)
		if len(f) != 3 || f[1] != controller {
			continue
		}
		mount, root, err := mountOf(func(kind, options string) bool {
			return kind == "cgroup" && strings.Contains(","+options+",", ","+controller+",")
		})
		if err != nil {
			return ""
		}
		if rel, err := filepath.Rel(root, f[2]); err == nil && !strings.HasPrefix(rel, "..") {
			return filepath.Join(mount, rel)
		}
	}
	return ""
}

// tidyV1 removes the v1 directories of owners that are dead, which only empty ones allow.
func tidyV1() {
	for _, c := range controllers {
		own := ownV1(c.name)
		if own == "" {
			continue
		}
		dirs, _ := filepath.Glob(filepath.Join(own, "hermes-*"))
		for _, d := range dirs {
			if dead(filepath.Base(d)) {
				_ = syscall.Rmdir(d) // fails while someone is in it
			}
		}
	}
}

// removeV1 takes the v1 directories away and reports whether none is left.
func (g *Group) removeV1() bool {
	left := g.v1dirs[:0]
	for _, dir := range g.v1dirs {
		if err := syscall.Rmdir(dir); err != nil && !errors.Is(err, syscall.ENOENT) {
			left = append(left, dir)
		}
	}
	g.v1dirs = left
	return len(left) == 0
}
