//go:build linux

package apptainertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// beInstance is the first process of an instance: it arranges the mounts, and runs there what it is asked to.
func beInstance() int {
	up := os.NewFile(4, "up")
	var s spec
	err := json.NewDecoder(os.NewFile(3, "spec")).Decode(&s)
	if err == nil {
		err = s.arrange()
	}
	if err != nil {
		_, _ = io.WriteString(up, err.Error())
		return 1
	}
	file := os.NewFile(5, "door")
	l, err := net.FileListener(file)
	_ = file.Close()
	if err != nil {
		_, _ = io.WriteString(up, err.Error())
		return 1
	}
	in := &inside{spec: s, ended: map[int]chan syscall.WaitStatus{}, changed: make(chan os.Signal, 1)}
	signal.Notify(in.changed, syscall.SIGCHLD)
	go in.reap()
	go in.serve(l.(*net.UnixListener))
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGINT, syscall.SIGTERM)
	_, _ = io.WriteString(up, "up")
	_ = up.Close()
	<-end
	return 0 // the kernel ends all others with the first process
}

// step is one thing that is mounted.
type step struct {
	from, to, kind string
	flags          uintptr
	data           string
}

// memory is how much a directory in memory holds, as in Apptainer's configuration (sessiondir max size).
const memory = "mode=1777,size=64m"

// arrange makes the file system of the instance and enters it.
func (s spec) arrange() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("tmpfs", s.Session, "tmpfs", 0, "mode=0755,size=64m"); err != nil {
		return fmt.Errorf("mount the session directory: %w", err)
	}
	root := filepath.Join(s.Session, "root")
	if err := os.Mkdir(root, 0o755); err != nil { //nolint:gosec // a mount point
		return err
	}
	if err := s.mountRoot(root); err != nil {
		return err
	}
	const quiet = unix.MS_NOSUID | unix.MS_NODEV
	steps := []step{{"proc", "/proc", "proc", quiet | unix.MS_NOEXEC, ""}}
	if s.Net {
		steps = append(steps, step{"sysfs", "/sys", "sysfs", quiet | unix.MS_RDONLY, ""})
	} else {
		steps = append(steps, step{"/sys", "/sys", "", unix.MS_BIND | unix.MS_REC, ""})
	}
	steps = append(steps, step{"tmpfs", "/dev", "tmpfs", unix.MS_NOSUID, "mode=0755,size=64k"})
	for _, d := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		steps = append(steps, step{"/dev/" + d, "/dev/" + d, "", unix.MS_BIND, ""})
	}
	steps = append(steps,
		step{"devpts", "/dev/pts", "devpts", unix.MS_NOSUID | unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"},
		step{"tmpfs", "/dev/shm", "tmpfs", quiet, memory}, step{"tmpfs", "/tmp", "tmpfs", quiet, memory}, step{"tmpfs", "/var/tmp", "tmpfs", quiet, memory})
	for _, b := range s.Binds {
		steps = append(steps, step{b.From, b.To, "", unix.MS_BIND | unix.MS_REC, ""})
		if b.ReadOnly {
			steps = append(steps, step{"", b.To, "", unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY, ""})
		}
	}
	for _, m := range steps {
		if err := m.mount(root); err != nil {
			return fmt.Errorf("mount %s->%s error: %w", m.from, m.to, err)
		}
	}
	for link, to := range map[string]string{"/dev/ptmx": "pts/ptmx", "/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0", "/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			return err
		}
	}
	return enter(root)
}

// mountRoot mounts the image, with what makes it writable.
func (s spec) mountRoot(root string) error {
	upper := s.Overlay
	if upper == "" {
		upper = filepath.Join(s.Session, "overlay")
	}
	up, work := filepath.Join(upper, "upper"), filepath.Join(upper, "work")
	for _, d := range []string{up, work} {
		if err := os.MkdirAll(d, 0o755); err != nil { //nolint:gosec // the root of the instance
			return err
		}
	}
	data := "lowerdir=" + s.Lower + ",upperdir=" + up + ",workdir=" + work
	if s.User {
		data += ",userxattr"
	}
	if err := unix.Mount("overlay", root, "overlay", unix.MS_NODEV, data); err != nil {
		return fmt.Errorf("mount overlay->%s error: %w", root, err)
	}
	return nil
}

// mount mounts one thing below a root. What it is mounted on is made.
func (m step) mount(root string) error {
	to := filepath.Join(root, m.to)
	i, err := os.Stat(m.from)
	switch {
	case m.flags&unix.MS_REMOUNT != 0:
		var st unix.Statfs_t
		if err := unix.Statfs(to, &st); err != nil {
			return err
		}
		m.flags |= uintptr(st.Flags) & (unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC) //nolint:gosec // flags; what is locked has to stay
	case m.kind == "" && err == nil && !i.IsDir():
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // a mount point
			return err
		}
		f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // a mount point
		if err != nil {
			return err
		}
		_ = f.Close()
	default:
		if err := os.MkdirAll(to, 0o755); err != nil { //nolint:gosec // a mount point
			return err
		}
	}
	return unix.Mount(m.from, to, m.kind, m.flags, m.data)
}

// enter makes a directory the root, with nothing of the former one left.
func enter(root string) error {
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the former root: %w", err)
	}
	return os.Chdir("/")
}

// lookUp finds a program as a shell does.
func lookUp(program string, env []string) (string, bool) {
	if strings.Contains(program, "/") {
		i, err := os.Stat(program)
		return program, err == nil && !i.IsDir()
	}
	for _, e := range env {
		path, ok := strings.CutPrefix(e, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(path) {
			p := filepath.Join(dir, program)
			if i, err := os.Stat(p); err == nil && !i.IsDir() && i.Mode()&0o111 != 0 {
				return p, true
			}
		}
	}
	return "", false
}
