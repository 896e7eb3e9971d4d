package group

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cgroup is one cgroup v2 directory of ours.
type cgroup struct {
	dir string
	fd  *os.File // until the command is started
}

// cgroupRoot finds our own cgroup and tries whether a child can be made in it. Only the v2 hierarchy is used, also beside v1.
func cgroupRoot() (root, why string) {
	own, err := ownCgroup()
	if err != nil {
		return "", err.Error()
	}
	trial := filepath.Join(own, "hermes-trial-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(trial, 0o755); err != nil {
		return "", reason(err) + " in " + own
	}
	defer func() { _ = syscall.Rmdir(trial) }()
	// Clone into a cgroup needs write permission on cgroup.procs of the common ancestor, which is own.
	for _, dir := range []string{own, trial} {
		if err := syscall.Access(filepath.Join(dir, "cgroup.procs"), 2); err != nil {
			return "", "processes can't be moved below " + own
		}
	}
	if b, err := os.ReadFile(filepath.Join(trial, "cgroup.type")); err == nil && strings.TrimSpace(string(b)) != "domain" {
		return "", "cgroups below " + own + " take no processes"
	}
	return own, ""
}

func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// ownCgroup gives the directory of this process in the v2 hierarchy.
func ownCgroup() (string, error) {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", errors.New("no cgroups in this system")
	}
	path := ""
	for line := range strings.Lines(string(b)) {
		if p, ok := strings.CutPrefix(line, "0::"); ok {
			path = strings.TrimRight(p, "\n")
		}
	}
	if path == "" {
		return "", errors.New("no cgroup v2 in this system")
	}
	mount, root, err := mountOf(func(kind, _ string) bool { return kind == "cgroup2" })
	if err != nil {
		return "", fmt.Errorf("cgroup v2: %w", err)
	}
	rel, err := filepath.Rel(root, path)
	if err != nil || strings.HasPrefix(rel, "..") {
		return "", fmt.Errorf("our cgroup %s isn't visible below %s", path, mount)
	}
	return filepath.Join(mount, rel), nil
}

// mountOf finds where a hierarchy is mounted, and which part of it. It is told by its type and its mount options.
func mountOf(is func(kind, options string) bool) (mount, root string, err error) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", "", errors.New("mounts can't be read")
	}
	for line := range strings.Lines(string(b)) {
		left, right, ok := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right) // … root mount … - type source options
		if ok && len(l) >= 5 && len(r) >= 3 && is(r[0], r[2]) {
			return l[4], l[3], nil
		}
	}
	return "", "", errors.New("it isn't mounted")
}

func openCgroup(root, id string) *cgroup {
	c := &cgroup{dir: filepath.Join(root, id)}
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		return nil
	}
	fd, err := os.Open(c.dir)
	if err != nil {
		c.remove()
		return nil
	}
	c.fd = fd
	return c
}

func (c *cgroup) attach(a *syscall.SysProcAttr) {
	if c != nil && c.fd != nil {
		a.UseCgroupFD, a.CgroupFD = true, int(c.fd.Fd())
	}
}

// members lists the processes in it and below it.
func (c *cgroup) members() ([]int, error) {
	b, err := os.ReadFile(filepath.Join(c.dir, "cgroup.events"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
		return nil, nil // removed: it was empty
	}
	if err != nil {
		return nil, err
	}
	if bytes.Contains(b, []byte("populated 0")) {
		return nil, nil
	}
	var pids []int
	if i, err := os.Stat(c.dir); err == nil {
		if s, ok := i.Sys().(*syscall.Stat_t); ok && s.Nlink == leafLinks {
			return procsOf(c.dir, nil), nil
		}
	}
	err = filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // a child that went away meanwhile holds nobody
		}
		pids = procsOf(path, pids)
		return nil
	})
	return pids, err
}

// leafLinks is how many names a directory has that holds none: its own, and its dot.
const leafLinks = 2

// procsOf appends the processes in one directory.
func procsOf(dir string, pids []int) []int {
	b, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	for _, f := range bytes.Fields(b) {
		if pid, err := strconv.Atoi(string(f)); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// kill has the kernel kill all at once; before Linux 5.14 there is no such file and each is signalled instead.
func (c *cgroup) kill() {
	_ = os.WriteFile(filepath.Join(c.dir, "cgroup.kill"), []byte("1"), 0)
}

// remove takes the directory away if nobody is in it, those below it first, and reports whether it is gone.
func (c *cgroup) remove() bool {
	if c == nil {
		return true
	}
	if c.fd != nil {
		c.fd.Close()
		c.fd = nil
	}
	for range 3 { // a killed member leaves the directory a moment after it is gone from the list
		err := syscall.Rmdir(c.dir)
		if err == nil || errors.Is(err, syscall.ENOENT) {
			return true
		}
		if pids, merr := c.members(); !errors.Is(err, syscall.EBUSY) || merr != nil || len(pids) > 0 {
			return false
		}
		below, _ := filepath.Glob(filepath.Join(c.dir, "*", "cgroup.procs"))
		for _, f := range below {
			(&cgroup{dir: filepath.Dir(f)}).remove()
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

// cgroupsOf finds the cgroups below our own whose names begin with prefix.
func cgroupsOf(prefix string) map[string]string {
	own, err := ownCgroup()
	if err != nil {
		return nil
	}
	dirs, _ := filepath.Glob(filepath.Join(own, prefix+"*")) // a prefix of ours holds no pattern characters
	found := map[string]string{}
	for _, d := range dirs {
		found[filepath.Base(d)] = d
	}
	return found
}
