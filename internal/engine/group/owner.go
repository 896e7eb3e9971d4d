//go:build linux || darwin

package group

import (
	"fmt"
	"hash/fnv"
	"os"
	"strconv"
	"strings"
)

// Owner identifies the process that a group belongs to: a pid alone may be someone else's by now, so its start time and the boot
// of the machine are part of it.
type Owner struct {
	Home  string // hash of the home directory that the owner worked for
	PID   int
	Start uint64
	Boot  string // hash of the boot's id and of the namespace that the pid is of
}

// Self is this process, working for home.
func Self(home string) Owner {
	p, _ := readProcess(os.Getpid()) // start 0 where the table can't be read: matches nothing alive
	return Owner{Home: hash(home), PID: os.Getpid(), Start: p.start, Boot: hash(bootID())}
}

// String gives the owner as it begins the ids of its groups.
func (o Owner) String() string {
	return fmt.Sprintf("hermes-%s-%s-%d-%d", o.Home, o.Boot, o.PID, o.Start)
}

// ParseOwner reads what String wrote, also from the start of a group's id.
func ParseOwner(id string) (Owner, error) {
	name, _, _ := strings.Cut(id, ".")
	parts := strings.Split(name, "-")
	if len(parts) != 5 || parts[0] != "hermes" {
		return Owner{}, fmt.Errorf("%q is not the id of an owner", id)
	}
	pid, err := strconv.Atoi(parts[3])
	if err != nil || pid <= 0 {
		return Owner{}, fmt.Errorf("owner %q: bad pid", id)
	}
	start, err := strconv.ParseUint(parts[4], 10, 64)
	if err != nil {
		return Owner{}, fmt.Errorf("owner %q: bad start time", id)
	}
	return Owner{Home: parts[1], Boot: parts[2], PID: pid, Start: start}, nil
}

// ThisBoot reports whether the owner began since the machine was started, and in this namespace: other pids mean nothing.
func (o Owner) ThisBoot() bool { return o.Boot == hash(bootID()) }

// Alive reports whether the owner still runs: same boot, same pid, same start time.
func (o Owner) Alive() bool {
	if !o.ThisBoot() {
		return false
	}
	p, err := readProcess(o.PID)
	return err == nil && p.start == o.Start && !p.dead()
}

func hash(s string) string {
	h := fnv.New64a()
	h.Write([]byte(s))
	return strconv.FormatUint(h.Sum64(), 36)
}

// dead reports whether the owner in the name of a cgroup is known to run no more. Those of other namespaces aren't, and of former boots there
// are no cgroups.
func dead(id string) bool {
	o, err := ParseOwner(id)
	return err == nil && o.ThisBoot() && !o.Alive()
}
