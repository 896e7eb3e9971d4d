package singularity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// proc is what the kernel tells of a process.
func proc(pid int, what string) string { return filepath.Join("/proc", strconv.Itoa(pid), what) }

// exiting is the flag of a process that is about to end: an instance's first one stays for as long as it takes to end all others.
const exiting = 4

// began is when a process began, in the kernel's clock, and whether it is about to end; "" where it isn't there or has ended.
func began(pid int) (when string, ending bool) {
	b, err := os.ReadFile(proc(pid, "stat"))
	if err != nil {
		return "", false
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 20 || string(fields[0]) == "Z" || string(fields[0]) == "X" {
		return "", false
	}
	flags, err := strconv.ParseUint(string(fields[6]), 10, 64)
	return string(fields[19]), err != nil || flags&exiting != 0
}

// alive reports whether the instance goes on, without asking anybody.
func (i *instance) alive() bool {
	when, ending := began(i.PID)
	return when == i.began && !ending
}

// over waits until the instance has ended with all that ran in it.
func (i *instance) over(ctx context.Context) error {
	for {
		if when, _ := began(i.PID); when != i.began {
			return nil
		}
		select {
		case <-time.After(lookTime):
		case <-ctx.Done():
			return fmt.Errorf("wait for the end of instance %s: %w", i.Name, context.Cause(ctx))
		}
	}
}

// lookTime is how often somebody looks who waits for the end of an instance.
const lookTime = 5 * time.Millisecond

// busy reports whether jobs run in the instance: their keeper, and what it keeps. A keeper without any ends by and by.
func (i *instance) busy() (bool, error) {
	inside, err := os.Readlink(proc(i.PID, "ns/pid"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for background processes of instance %s: %w", i.Name, err)
	}
	all, err := os.ReadDir("/proc")
	if err != nil {
		return false, fmt.Errorf("look for background processes of instance %s: %w", i.Name, err)
	}
	keeper, others := false, false
	for _, e := range all {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == i.PID {
			continue
		}
		if there, err := os.Readlink(proc(pid, "ns/pid")); err != nil || there != inside {
			continue
		}
		args, err := os.ReadFile(proc(pid, "cmdline"))
		switch {
		case err != nil || len(args) == 0: // it has ended
		case strings.HasPrefix(string(args), keeping):
			keeper = true
		case !strings.HasPrefix(string(args), carried+"\x00"):
			others = true
		}
	}
	return keeper && others, nil
}

// asRoot reports whether what runs in an instance is root of this machine: without a mapping of users the one is the other.
func asRoot() bool { return os.Geteuid() == 0 }

// planned says what an instance will show of the host by its configuration.
func planned(c *Config) environment.Traits {
	return environment.Traits{HostLike: asRoot(), Network: c.Network}
}

// traits says what an instance that runs shows of the host. One that doesn't let itself be looked at shows everything.
func (i *instance) traits() environment.Traits {
	t := environment.Traits{HostLike: asRoot(), Network: true}
	for _, ns := range []string{"pid", "mnt", "net"} {
		there, err := os.Readlink(proc(i.PID, "ns/"+ns))
		ours, oerr := os.Readlink("/proc/self/ns/" + ns)
		same := err != nil || oerr != nil || there == ours
		if ns == "net" {
			t.Network = same
		} else if same {
			t.HostLike = true
		}
	}
	there, err := mountsOf(strconv.Itoa(i.PID))
	ours, oerr := mountsOf("self")
	if err != nil || oerr != nil {
		t.HostLike = true
		return t
	}
	t.Mounts = shown(there, ours)
	return t
}

// mounted is one line of mountinfo.
type mounted struct {
	device   string // number of the file system
	root     string // what of it
	at       string
	writable bool
	kind     string
}

func mountsOf(pid string) ([]mounted, error) {
	b, err := os.ReadFile(filepath.Join("/proc", pid, "mountinfo"))
	if err != nil {
		return nil, err
	}
	var all []mounted
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		dash := slices.Index(f, "-")
		if len(f) < 6 || dash < 6 || dash+1 >= len(f) {
			return nil, fmt.Errorf("a line of mountinfo isn't understood: %q", line)
		}
		all = append(all, mounted{device: f[2], root: plainPath(f[3]), at: plainPath(f[4]), writable: !slices.Contains(strings.Split(f[5], ","), "ro"), kind: f[dash+1]})
	}
	return all, nil
}

// plainPath undoes how the kernel writes blanks.
func plainPath(p string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(p)
}

// given are files that every instance gets of the host, to find names and the time.
var given = []string{"/etc/hosts", "/etc/localtime", "/etc/resolv.conf", "/etc/passwd", "/etc/group", "/etc/hostname"}

// shown gives the mounts of an instance that lead to directories and files of the host: those whose file system the host has mounted too.
func shown(there, ours []mounted) []environment.Mount {
	var out []environment.Mount
	for _, m := range there {
		if m.at == "/" || m.at == "/dev" || strings.HasPrefix(m.at, "/dev/") || m.at == carried || slices.Contains(given, m.at) || strings.HasPrefix(m.at, "/proc") || strings.HasPrefix(m.at, "/sys") {
			continue
		}
		if host, ok := onHost(m, ours); ok {
			out = append(out, environment.Mount{Host: host, Inside: environment.Path(m.at), Writable: m.writable})
		}
	}
	return out
}

// onHost is where the host has what is mounted.
func onHost(m mounted, ours []mounted) (string, bool) {
	best, found := "", false
	for _, o := range ours {
		rest, ok := strings.CutPrefix(m.root, strings.TrimSuffix(o.root, "/"))
		if o.device != m.device || !ok || rest != "" && rest[0] != '/' {
			continue
		}
		if host := path.Join(o.at, rest); !found || len(host) < len(best) {
			best, found = host, true
		}
	}
	return best, found
}
