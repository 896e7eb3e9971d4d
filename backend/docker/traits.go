package docker

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"

	"github.com/hermes-runtime/hermes/environment"
)

// traitsOf says what a container shows of the host. It is asked about plans and about containers that were inspected alike.
func traitsOf(h *container.HostConfig, mounts []environment.Mount) environment.Traits {
	t := environment.Traits{
		Privileged: h.Privileged, Mounts: mounts, Network: h.NetworkMode != "none",
		HostLike: h.Privileged || h.PidMode == "host" || h.NetworkMode == "host" || h.IpcMode == "host" || h.UTSMode == "host" || len(h.Devices) > 0 ||
			slices.ContainsFunc(h.CapAdd, func(c string) bool { return !slices.Contains(usualCaps, capName(c)) }),
	}
	for _, m := range mounts {
		if isSocket(m.Host) {
			t.Sockets = append(t.Sockets, m.Host)
		}
		if opens(m.Host) != "" {
			t.HostLike = true
		}
	}
	return t
}

func isSocket(p string) bool {
	i, err := os.Stat(p)
	return err == nil && i.Mode()&os.ModeSocket != 0 || slices.Contains(engineSockets, filepath.Base(p))
}

// planned are the mounts that a plan asks for.
func (p *plan) planned() []environment.Mount {
	var out []environment.Mount
	for _, m := range p.host.Mounts {
		if m.Type == mount.TypeBind && m.Target != carried {
			out = append(out, environment.Mount{Host: m.Source, Inside: environment.Path(m.Target), Writable: !m.ReadOnly})
		}
	}
	for _, b := range p.host.Binds {
		source, at, opts, _ := splitVolume(b)
		if isPath(source) {
			out = append(out, environment.Mount{Host: source, Inside: environment.Path(at), Writable: !readOnly(opts)})
		}
	}
	return p.mark(out)
}
