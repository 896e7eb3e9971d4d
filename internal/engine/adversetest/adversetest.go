//go:build linux

// Package adversetest gives tests machines in a bad state: mount namespaces of their own, in which something is full, locked or missing.
package adversetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// State is shell text that brings a machine into a bad state. $H is the home there, $T the directory of the test; what ENTER holds is
// put before the program that is to run in it.
type State string

// The states.
const (
	FullHome     State = `mount -t tmpfs -o size=64k none $H; mkdir $H/jobs; cat /dev/zero >$H/fill 2>/dev/null || true;`
	ReadOnlyHome State = `mount -t tmpfs none $H; mount -o remount,ro $H;`
	// NoBashNoTmp has sh as everybody's login shell too.
	NoBashNoTmp State = `R=$T/root; mkdir $R; for d in usr dev proc etc; do mkdir $R/$d; mount --rbind /$d $R/$d; done
for d in bin sbin lib lib64; do [ ! -L /$d ] || ln -s usr/$d $R/$d; [ -L /$d ] || [ ! -d /$d ] || { mkdir $R/$d; mount --rbind /$d $R/$d; }; done
mkdir -p $R$T $R/run/sshd $R/root; mount --rbind $T $R$T 2>/dev/null || mount --bind $T $R$T; mount --bind /dev/null $R/usr/bin/bash
sed 's,/bash$,/sh,' /etc/passwd >$T/passwd; mount --bind $T/passwd $R/etc/passwd; ENTER="chroot $R"; unset TMPDIR;`
)

// Machine is where one test brings a machine into a bad state.
type Machine struct {
	Top  string // the directory of the test, not below /tmp, which one state lacks
	Home string // of whoever works there
	Dir  string // where everybody may write, whatever the state
}

// New makes the directories of a machine. The test is left out where the machine's mounts can't be changed.
func New(t testing.TB) Machine {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can bring a machine into this state")
	}
	for _, program := range []string{"unshare", "chroot"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	top, err := os.MkdirTemp("/var/tmp", "hermes-adverse-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	m := Machine{top, filepath.Join(top, "home"), filepath.Join(top, "dir")}
	for _, err := range []error{os.Chmod(top, 0o755), os.Mkdir(m.Home, 0o777), os.Mkdir(m.Dir, 0o777), os.Chmod(m.Home, 0o777), os.Chmod(m.Dir, 0o777)} { //nolint:gosec // other users work there
		if err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// Command is a program that will run there, once the machine is in a state.
func (m Machine) Command(s State, argv ...string) *exec.Cmd {
	script := "H=" + m.Home + "; T=" + m.Top + "; ENTER=; " + string(s) + ` exec $ENTER "$@"`
	return exec.Command("unshare", append([]string{"-m", "sh", "-ec", script, "sh"}, argv...)...)
}
