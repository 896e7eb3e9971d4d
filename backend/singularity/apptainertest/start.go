//go:build linux

package apptainertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// spec is what an instance is to be like. It reaches its first process through a pipe.
type spec struct {
	Lower    string // the image
	Overlay  string // directory for what is written; "" = memory, if Writable
	Writable bool
	Contain  bool
	Net      bool // a network namespace of its own
	User     bool // a user namespace of its own
	Binds    []bind
	Caps     []int // of what runs there, if it runs as root; nil = all
	NoCaps   bool
	NewPrivs bool // allowed
	Session  string
	Home     string
}

type bind struct {
	From, To string
	ReadOnly bool
}

var instanceName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9._-]+$`) })

func (a at) start(args []string) error {
	p, err := parse(args, valued, plainFlags)
	switch {
	case err != nil:
		return err
	case len(p.rest) < 2:
		return usageError("requires at least 2 arg(s), only received " + strconv.Itoa(len(p.rest)))
	case !instanceName().MatchString(p.rest[1]):
		return fatal("%s is not a valid instance name", p.rest[1])
	case len(listed(a.dir, p.rest[1])) > 0:
		return fatal("instance %s already exists", p.rest[1])
	case a.NoStart:
		return fatal("container creation failed: mount hook function failure: mount /proc/self/fd/3->/var/lib/apptainer/mnt/session/rootfs error: permission denied")
	}
	image, name := p.rest[0], p.rest[1]
	s, err := a.spec(p)
	if err != nil {
		return err
	}
	if s.Lower, err = a.system(image); err != nil {
		return err
	}
	return a.launch(s, image, name)
}

// spec turns flags into what the instance is to be like.
func (a at) spec(p parsed) (spec, error) {
	s := spec{Writable: p.has("--writable-tmpfs"), Contain: p.has("--containall") || p.has("--contain"), User: os.Getuid() != 0 || p.has("--userns"), NewPrivs: os.Getuid() == 0 && !p.has("--no-privs")}
	for f, units := range map[string]string{"--memory": "bBkKmMgG", "--cpus": "", "--pids-limit": ""} {
		v := p.last(f)
		n, err := strconv.ParseFloat(strings.TrimRight(v, units), 64)
		switch {
		case v == "":
		case err != nil || n <= 0 || f != "--cpus" && n != float64(int64(n)):
			return s, fatal("while parsing resource limit flags: invalid value %q for %s", v, f)
		case a.NoBounds:
			return s, fatal("container creation failed: while applying cgroups config: while creating cgroup manager: rootless cgroups require a D-Bus session")
		}
	}
	if n := p.last("--network"); n != "" || p.has("--net") {
		if n != "none" && os.Getuid() != 0 {
			return s, fatal("container creation failed: network requires root or --fakeroot, users cannot setup a network, except with --network=none")
		}
		s.Net = true
	}
	if s.Overlay = p.last("--overlay"); s.Overlay != "" {
		if i, err := os.Stat(s.Overlay); err != nil || !i.IsDir() {
			return s, fatal("container creation failed: while loading overlay images: failed to open overlay image %s: no such file or directory", s.Overlay)
		}
	}
	if p.has("--no-privs") {
		s.Caps = []int{}
	}
	for _, c := range p.flags["--add-caps"] {
		for one := range strings.SplitSeq(c, ",") {
			n, ok := capabilities[one]
			if !ok {
				return s, fatal("won't add unknown capability: %s", one)
			}
			s.Caps = append(s.Caps, n)
		}
	}
	binds := slices.Clone(p.flags["--bind"])
	if v := os.Getenv("APPTAINER_BIND"); v != "" { // each flag can be given by a variable
		binds = append(binds, v)
	}
	for _, b := range binds {
		for one := range strings.SplitSeq(b, ",") {
			f := strings.Split(one, ":")
			to := f[0]
			if len(f) > 1 {
				to = f[1]
			}
			if _, err := os.Stat(f[0]); err != nil {
				return s, fatal("container creation failed: mount %s->%s error: while mounting %s: mount source %s doesn't exist", f[0], to, f[0], f[0])
			}
			s.Binds = append(s.Binds, bind{f[0], to, len(f) > 2 && f[2] == "ro"})
		}
	}
	return s, nil
}

// capabilities are the numbers that the kernel has for them.
var capabilities = map[string]int{"CAP_CHOWN": 0, "CAP_DAC_OVERRIDE": 1, "CAP_FOWNER": 3, "CAP_KILL": 5, "CAP_SETGID": 6, "CAP_SETUID": 7, "CAP_NET_RAW": 13, "CAP_SYS_ADMIN": 21}

// all are the capabilities that the first process has where it isn't root: to arrange things, and to have overlays written to.
var all = func() (caps []uintptr) {
	for c := range uintptr(32) {
		caps = append(caps, c)
	}
	return caps
}()

// launch starts the first process of an instance and waits until it is up.
func (a at) launch(s spec, image, name string) error {
	dir := filepath.Join(instances(a.dir), name)
	_ = os.RemoveAll(dir)
	s.Session = filepath.Join(dir, "session")
	if err := os.MkdirAll(s.Session, 0o755); err != nil { //nolint:gosec // a mount point
		return fatal("failed to create instance directory: %v", err)
	}
	u, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil {
		return fatal("failed to retrieve user information for UID %d: %v", os.Getuid(), err)
	}
	s.Home = u.HomeDir
	if err := os.Chdir(dir); err != nil { // the path of a socket has little room
		return err
	}
	door, err := net.ListenUnix("unix", &net.UnixAddr{Name: "door", Net: "unix"})
	if err != nil {
		return err
	}
	door.SetUnlinkOnClose(false)
	pid, said, err := s.boot(door, roleInstance+u.Username+" ["+name+"]")
	if err != nil {
		return fatal("failed to start instance: %v", err)
	}
	if said != "up" {
		_, _ = syscall.Wait4(pid, nil, 0, nil)
		_ = os.RemoveAll(dir)
		return fatal("container creation failed: %s", said)
	}
	text, err := json.Marshal(record{Name: name, PID: pid, Began: began(pid), Image: image})
	if err == nil {
		err = os.WriteFile("instance.json.part", text, 0o600)
	}
	if err == nil {
		err = os.Rename("instance.json.part", "instance.json")
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "INFO:    instance started successfully")
	return nil
}

// boot starts the first process and gives what it says: up, or what is wrong.
func (s spec) boot(door *net.UnixListener, title string) (pid int, said string, err error) {
	file, err := door.File()
	if err != nil {
		return 0, "", err
	}
	defer file.Close()
	specR, specW, err := os.Pipe()
	if err != nil {
		return 0, "", err
	}
	upR, upW, err := os.Pipe()
	if err != nil {
		return 0, "", err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, "", err
	}
	log, err := os.OpenFile("err", os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, "", err
	}
	sys := &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC}
	if s.Net {
		sys.Cloneflags |= syscall.CLONE_NEWNET
	}
	if s.User {
		sys.Cloneflags |= syscall.CLONE_NEWUSER
		sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		sys.AmbientCaps = all
	}
	p, err := os.StartProcess("/proc/self/exe", []string{title}, &os.ProcAttr{Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, Files: []*os.File{null, log, log, specR, upW, file}, Sys: sys})
	if err != nil {
		return 0, "", err
	}
	_ = specR.Close()
	_ = upW.Close()
	err = json.NewEncoder(specW).Encode(s)
	_ = specW.Close()
	if err != nil {
		return 0, "", err
	}
	text, err := io.ReadAll(upR)
	return p.Pid, string(text), err
}
