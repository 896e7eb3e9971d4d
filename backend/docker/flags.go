package docker

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
)

// flag is one flag of docker run that can be given in docker_extra_args.
type flag struct {
	names  []string
	alone  bool // takes no value, but may be given one (true or false)
	apply  func(p *plan, value string) error
	unsafe func(value string) bool // opens the container towards the host; nil = never
}

// runFlags is the table that docs/docker.md shows.
var runFlags = []flag{
	{names: []string{"--add-host"}, apply: func(p *plan, v string) error { p.host.ExtraHosts = append(p.host.ExtraHosts, v); return nil }},
	{names: []string{"--cap-add"}, apply: func(p *plan, v string) error { p.host.CapAdd = append(p.host.CapAdd, capName(v)); return nil }, unsafe: func(v string) bool { return !slices.Contains(usualCaps, capName(v)) }},
	{names: []string{"--cap-drop"}, apply: func(p *plan, v string) error {
		p.host.CapDrop = append(p.host.CapDrop, capName(v))
		p.host.CapAdd = slices.DeleteFunc(p.host.CapAdd, func(c string) bool { return c == capName(v) })
		return nil
	}},
	{names: []string{"--cgroupns"}, apply: func(p *plan, v string) error { p.host.CgroupnsMode = container.CgroupnsMode(v); return nil }, unsafe: hostOrOther},
	{names: []string{"--cpus"}, apply: func(p *plan, v string) error {
		f, err := strconv.ParseFloat(v, 64)
		p.host.NanoCPUs = int64(f * 1e9)
		return err
	}},
	{names: []string{"--cpu-shares", "-c"}, apply: whole(func(p *plan, n int64) { p.host.CPUShares = n })},
	{names: []string{"--cpuset-cpus"}, apply: func(p *plan, v string) error { p.host.CpusetCpus = v; return nil }},
	{names: []string{"--cpuset-mems"}, apply: func(p *plan, v string) error { p.host.CpusetMems = v; return nil }},
	{names: []string{"--device"}, apply: device, unsafe: always},
	{names: []string{"--dns"}, apply: func(p *plan, v string) error {
		a, err := netip.ParseAddr(v)
		p.host.DNS = append(p.host.DNS, a)
		return err
	}},
	{names: []string{"--dns-option"}, apply: func(p *plan, v string) error { p.host.DNSOptions = append(p.host.DNSOptions, v); return nil }},
	{names: []string{"--dns-search"}, apply: func(p *plan, v string) error { p.host.DNSSearch = append(p.host.DNSSearch, v); return nil }},
	{names: []string{"--env", "-e"}, apply: func(p *plan, v string) error {
		if n, _, ok := strings.Cut(v, "="); !ok || !variableName().MatchString(n) {
			return errors.New("is not NAME=VALUE; variables of this machine are given by docker_forward_env")
		}
		p.config.Env = append(p.config.Env, v)
		return nil
	}},
	{names: []string{"--gpus"}, apply: gpus},
	{names: []string{"--group-add"}, apply: func(p *plan, v string) error { p.host.GroupAdd = append(p.host.GroupAdd, v); return nil }},
	{names: []string{"--hostname", "-h"}, apply: func(p *plan, v string) error { p.config.Hostname = v; return nil }},
	{names: []string{"--init"}, alone: true, apply: yesOrNo(func(p *plan, yes bool) { p.host.Init = &yes })},
	{names: []string{"--ipc"}, apply: func(p *plan, v string) error { p.host.IpcMode = container.IpcMode(v); return nil }, unsafe: hostOrOther},
	{names: []string{"--label", "-l"}, apply: func(p *plan, v string) error {
		n, value, _ := strings.Cut(v, "=")
		if p.config.Labels == nil {
			p.config.Labels = map[string]string{}
		}
		p.config.Labels[n] = value
		return nil
	}},
	{names: []string{"--memory", "-m"}, apply: bytesOf(func(p *plan, n int64) { p.host.Memory = n })},
	{names: []string{"--memory-reservation"}, apply: bytesOf(func(p *plan, n int64) { p.host.MemoryReservation = n })},
	{names: []string{"--memory-swap"}, apply: bytesOf(func(p *plan, n int64) { p.host.MemorySwap = n })},
	{names: []string{"--network", "--net"}, apply: func(p *plan, v string) error { p.host.NetworkMode = container.NetworkMode(v); return nil }, unsafe: hostOrOther},
	{names: []string{"--oom-score-adj"}, apply: whole(func(p *plan, n int64) { p.host.OomScoreAdj = int(n) })},
	{names: []string{"--pid"}, apply: func(p *plan, v string) error { p.host.PidMode = container.PidMode(v); return nil }, unsafe: hostOrOther},
	{names: []string{"--pids-limit"}, apply: whole(func(p *plan, n int64) { p.host.PidsLimit = &n })},
	{names: []string{"--privileged"}, alone: true, apply: yesOrNo(func(p *plan, yes bool) { p.host.Privileged = yes }), unsafe: func(v string) bool { return v != "false" }},
	{names: []string{"--publish", "-p"}, apply: publish},
	{names: []string{"--read-only"}, alone: true, apply: yesOrNo(func(p *plan, yes bool) { p.host.ReadonlyRootfs = yes })},
	{names: []string{"--runtime"}, apply: func(p *plan, v string) error { p.host.Runtime = v; return nil }},
	{names: []string{"--security-opt"}, apply: func(p *plan, v string) error { p.host.SecurityOpt = append(p.host.SecurityOpt, v); return nil }, unsafe: func(v string) bool {
		return v != "no-new-privileges" && v != "no-new-privileges=true" && v != "no-new-privileges:true"
	}},
	{names: []string{"--shm-size"}, apply: bytesOf(func(p *plan, n int64) { p.host.ShmSize = n })},
	{names: []string{"--sysctl"}, apply: func(p *plan, v string) error {
		n, value, _ := strings.Cut(v, "=")
		if p.host.Sysctls == nil {
			p.host.Sysctls = map[string]string{}
		}
		p.host.Sysctls[n] = value
		return nil
	}},
	{names: []string{"--tmpfs"}, apply: func(p *plan, v string) error {
		at, opts, _ := strings.Cut(v, ":")
		p.host.Tmpfs[at] = opts
		return nil
	}},
	{names: []string{"--ulimit"}, apply: ulimit},
	{names: []string{"--user", "-u"}, apply: func(p *plan, v string) error { p.config.User = v; return nil }},
	{names: []string{"--userns"}, apply: func(p *plan, v string) error { p.host.UsernsMode = container.UsernsMode(v); return nil }, unsafe: hostOrOther},
	{names: []string{"--uts"}, apply: func(p *plan, v string) error { p.host.UTSMode = container.UTSMode(v); return nil }, unsafe: hostOrOther},
	{names: []string{"--volume", "-v"}, apply: func(p *plan, v string) error {
		if err := p.volume(v, true); err != nil {
			return err
		}
		_, at, _, _ := splitVolume(v)
		delete(p.host.Tmpfs, at)
		return nil
	}},
	{names: []string{"--workdir", "-w"}, apply: func(p *plan, v string) error { p.config.WorkingDir = v; return nil }},
}

// usualCaps are what a container has that nobody hardened: giving one back opens nothing towards the host.
var usualCaps = []string{
	"CAP_AUDIT_WRITE", "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_MKNOD", "CAP_NET_BIND_SERVICE",
	"CAP_SETFCAP", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_CHROOT",
}

func capName(v string) string {
	v = strings.ToUpper(v)
	if v == "ALL" || strings.HasPrefix(v, "CAP_") {
		return v
	}
	return "CAP_" + v
}

func always(string) bool { return true }

// hostOrOther tells the host's namespace, or that of a container that isn't ours.
func hostOrOther(v string) bool { return v == "host" || strings.HasPrefix(v, "container:") }

func whole(set func(*plan, int64)) func(*plan, string) error {
	return func(p *plan, v string) error {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return errors.New("is no whole number")
		}
		set(p, n)
		return nil
	}
}

func yesOrNo(set func(*plan, bool)) func(*plan, string) error {
	return func(p *plan, v string) error {
		yes, err := strconv.ParseBool(v)
		if err != nil {
			return errors.New("is neither true nor false")
		}
		set(p, yes)
		return nil
	}
}

func bytesOf(set func(*plan, int64)) func(*plan, string) error {
	return func(p *plan, v string) error {
		digits := strings.TrimRight(strings.ToLower(v), "kmgtib")
		shift, ok := map[string]uint{"": 0, "b": 0, "k": 10, "kb": 10, "kib": 10, "m": 20, "mb": 20, "mib": 20, "g": 30, "gb": 30, "gib": 30, "t": 40, "tb": 40, "tib": 40}[strings.ToLower(v)[len(digits):]]
		n, err := strconv.ParseInt(digits, 10, 64)
		if !ok || err != nil || n < -1 || n > 1<<20 && shift > 0 && n<<shift>>shift != n {
			return errors.New("is no size such as 512m")
		}
		if n > 0 {
			n <<= shift
		}
		set(p, n)
		return nil
	}
}

func device(p *plan, v string) error {
	parts := strings.Split(v, ":")
	if len(parts) > 3 || !strings.HasPrefix(parts[0], "/") {
		return errors.New("is not /dev/NAME[:/dev/NAME[:rwm]]")
	}
	d := container.DeviceMapping{PathOnHost: parts[0], PathInContainer: parts[0], CgroupPermissions: "rwm"}
	if len(parts) > 1 {
		d.PathInContainer = parts[1]
	}
	if len(parts) > 2 {
		d.CgroupPermissions = parts[2]
	}
	p.host.Devices = append(p.host.Devices, d)
	return nil
}

func gpus(p *plan, v string) error {
	r := container.DeviceRequest{Capabilities: [][]string{{"gpu"}}}
	switch n, err := strconv.Atoi(v); {
	case v == "all":
		r.Count = -1
	case err == nil && n > 0:
		r.Count = n
	case strings.HasPrefix(v, "device="):
		r.DeviceIDs = strings.Split(strings.TrimPrefix(v, "device="), ",")
	default:
		return errors.New("is not all, a number, or device=ID,…")
	}
	p.host.DeviceRequests = append(p.host.DeviceRequests, r)
	return nil
}

func publish(p *plan, v string) error {
	parts := strings.Split(v, ":")
	if len(parts) > 3 {
		return errors.New("is not [[IP:]HOSTPORT:]PORT[/PROTOCOL]")
	}
	port, err := network.ParsePort(parts[len(parts)-1])
	if err != nil {
		return err
	}
	var b network.PortBinding
	if len(parts) > 1 {
		b.HostPort = parts[len(parts)-2]
	}
	b.HostIP = netip.MustParseAddr("127.0.0.1") // the network isn't invited unless it is named
	if len(parts) == 3 {
		if b.HostIP, err = netip.ParseAddr(parts[0]); err != nil {
			return err
		}
	}
	if p.host.PortBindings == nil {
		p.host.PortBindings, p.config.ExposedPorts = network.PortMap{}, network.PortSet{}
	}
	p.host.PortBindings[port] = append(p.host.PortBindings[port], b)
	p.config.ExposedPorts[port] = struct{}{}
	return nil
}

func ulimit(p *plan, v string) error {
	name, bounds, _ := strings.Cut(v, "=")
	soft, hard, both := strings.Cut(bounds, ":")
	if !both {
		hard = soft
	}
	s, err := strconv.ParseInt(soft, 10, 64)
	h, err2 := strconv.ParseInt(hard, 10, 64)
	if name == "" || err != nil || err2 != nil {
		return errors.New("is not NAME=SOFT[:HARD]")
	}
	p.host.Ulimits = append(p.host.Ulimits, &container.Ulimit{Name: name, Soft: s, Hard: h})
	return nil
}

// flags applies docker_extra_args.
func (p *plan) flags(args []string) error {
	for i := 0; i < len(args); i++ {
		given, value, has := strings.Cut(args[i], "=")
		f, ok := findFlag(given)
		if !ok {
			return badConfig("docker_extra_args", fmt.Errorf("%q can't be used; what can is listed in docs/docker.md", given))
		}
		switch {
		case !has && f.alone:
			value = "true"
		case !has:
			if i++; i == len(args) {
				return badConfig("docker_extra_args", fmt.Errorf("%s has no value", given))
			}
			value = args[i]
		}
		if err := f.apply(p, value); err != nil {
			return badConfig("docker_extra_args", fmt.Errorf("%s %q: %w", given, value, err))
		}
		if f.unsafe != nil && f.unsafe(value) {
			p.unsafe = append(p.unsafe, given+" "+value)
		}
	}
	return nil
}

func findFlag(given string) (flag, bool) {
	i := slices.IndexFunc(runFlags, func(f flag) bool { return slices.Contains(f.names, given) })
	if i < 0 {
		return flag{}, false
	}
	return runFlags[i], true
}
