package docker

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/mount"

	"github.com/hermes-runtime/hermes/environment"
)

// engineSockets are names of sockets through which a container could make another one that holds the whole host.
var engineSockets = []string{"docker.sock", "podman.sock", "containerd.sock", "crio.sock"}

// mount decides which directories a container has from elsewhere.
func (p *plan) mount(w planning) error {
	c := w.config
	for _, v := range c.Volumes {
		if err := p.volume(v, w.local); err != nil {
			return badConfig("docker_volumes", err)
		}
	}
	if c.MountCwd && !p.mounted(workspace) {
		dir, err := filepath.Abs(w.dir)
		if err != nil {
			return badConfig("docker_mount_cwd_to_workspace", fmt.Errorf("find the directory %q: %w", w.dir, err))
		}
		if !w.local {
			return badConfig("docker_mount_cwd_to_workspace", errors.New("the container engine runs elsewhere and doesn't see this machine's directories"))
		}
		if dir == "/" || opens(dir) != "" {
			p.unsafe = append(p.unsafe, "mounting "+dir)
		}
		p.bind(dir, workspace)
	}
	switch {
	case !c.Files:
		for at, opts := range inMemory {
			p.memory(at, own(opts, w))
		}
	case w.local && w.home+c.SandboxDir != "":
		base := filepath.Join(sandboxes(c, w.home), name, p.labels.task)
		for _, d := range [][2]string{{"home", rootHome}, {"workspace", workspace}} {
			if !p.mounted(d[1]) {
				host := filepath.Join(base, d[0])
				p.made = append(p.made, host)
				p.bind(host, d[1])
			}
		}
	default:
		p.notes = append(p.notes, "files of the container live in the container alone: this machine's directories can't be mounted there")
	}
	p.shares(w)
	for at := range maps.Clone(p.host.Tmpfs) {
		if p.mounted(at) {
			delete(p.host.Tmpfs, at)
		}
	}
	return nil
}

// shares mounts what the container is to have of this machine, for reading. What the user mounts at the same path stays.
func (p *plan) shares(w planning) {
	kept := slices.ContainsFunc(p.host.Mounts, func(m mount.Mount) bool { return m.Target == rootHome && slices.Contains(p.made, m.Source) })
	for _, s := range w.share {
		at := environment.SharedPath(rootHome, s.Name)
		if !w.local || p.covered(string(at)) {
			continue
		}
		p.host.Mounts = append(p.host.Mounts, mount.Mount{Type: mount.TypeBind, Source: s.Host, Target: string(at), ReadOnly: true})
		p.shared = append(p.shared, environment.Mount{Host: s.Host, Inside: at})
		if i, err := os.Stat(s.Host); kept && err == nil {
			p.points(path.Join(environment.SharedDir, s.Name), i.IsDir())
		}
	}
}

// covered tells whether the user mounts something where things are shared, at a path or above it.
func (p *plan) covered(at string) bool {
	for ; at != rootHome; at = path.Dir(at) {
		if p.mounted(at) {
			return true
		}
	}
	return false
}

// points notes the directories that have to be there for something to be mounted at a path of the home directory.
func (p *plan) points(name string, dir bool) {
	for i, c := range name {
		if c == '/' {
			p.below = append(p.below, name[:i])
		}
	}
	if dir {
		p.below = append(p.below, name)
	}
}

// own gives a directory in memory to the user that commands run as.
func own(opts string, w planning) string {
	if !w.config.AsHostUser {
		return opts
	}
	return opts + ",uid=" + strconv.Itoa(w.uid) + ",gid=" + strconv.Itoa(w.gid)
}

func sandboxes(c *Config, home string) string {
	if c.SandboxDir != "" {
		return expandHome(c.SandboxDir)
	}
	return filepath.Join(home, "sandboxes")
}

func expandHome(p string) string {
	if p == "~" || strings.HasPrefix(p, "~/") {
		if h, err := os.UserHomeDir(); err == nil {
			return filepath.Join(h, p[1:])
		}
	}
	return p
}

func (p *plan) bind(host, inside string) {
	p.host.Mounts = append(p.host.Mounts, mount.Mount{Type: mount.TypeBind, Source: host, Target: inside})
}

func (p *plan) memory(at, opts string) {
	if !p.mounted(at) {
		p.host.Tmpfs[at] = opts
	}
}

// mounted reports whether something is mounted at a directory already, memory not counted.
func (p *plan) mounted(inside string) bool {
	return slices.ContainsFunc(p.host.Mounts, func(m mount.Mount) bool { return path.Clean(m.Target) == inside }) ||
		slices.ContainsFunc(p.host.Binds, func(b string) bool { _, at, _, _ := splitVolume(b); return path.Clean(at) == inside })
}

// volume adds SOURCE:TARGET[:OPTIONS]. A source that isn't there is left out: the daemon would make it, as root.
func (p *plan) volume(text string, local bool) error {
	source, target, opts, err := splitVolume(text)
	if err != nil {
		return err
	}
	if isPath(source) {
		source, err = filepath.Abs(expandHome(source))
		if err != nil {
			return fmt.Errorf("%q: %w", text, err)
		}
		_, err = os.Stat(source)
		switch {
		case local && errors.Is(err, fs.ErrNotExist):
			p.notes = append(p.notes, fmt.Sprintf("the volume %q is left out: %s is not there", text, source))
			return nil
		case local && err != nil:
			return fmt.Errorf("%q: %w", text, err)
		}
		if why := opens(source); why != "" {
			p.unsafe = append(p.unsafe, fmt.Sprintf("the volume %q (%s)", text, why))
		}
	}
	p.host.Binds = append(p.host.Binds, source+":"+target+opts)
	return nil
}

// opens says why a directory of the host must not be mounted without further ado, "" if it may.
func opens(source string) string {
	if real, err := filepath.EvalSymlinks(source); err == nil {
		source = real
	}
	switch {
	case filepath.Dir(source) == source:
		return "the whole host"
	case slices.Contains(engineSockets, filepath.Base(source)):
		return "the engine's socket"
	case source == "/proc" || source == "/sys" || source == "/dev" || source == "/run" || source == "/var/run" || source == "/etc":
		return "the host's " + source
	}
	return ""
}

func isPath(source string) bool {
	return strings.HasPrefix(source, "/") || strings.HasPrefix(source, "~") || strings.HasPrefix(source, ".") || filepath.IsAbs(source)
}

// splitVolume takes a volume apart; opts begins with a colon or is empty.
func splitVolume(text string) (source, target, opts string, err error) {
	drive := ""
	if len(text) > 2 && text[0]|0x20 >= 'a' && text[0]|0x20 <= 'z' && text[1] == ':' && (text[2] == '\\' || text[2] == '/') && filepath.IsAbs(text[:3]) { // a drive of Windows
		drive, text = text[:2], text[2:]
	}
	source, rest, ok := strings.Cut(text, ":")
	target, tail, more := strings.Cut(rest, ":")
	if more {
		opts = ":" + tail
	}
	if !ok || source == "" || !strings.HasPrefix(target, "/") {
		return "", "", "", fmt.Errorf("%q is not SOURCE:TARGET with an absolute target", drive+text)
	}
	return drive + source, target, opts, nil
}

// readOnly reads the options of a volume.
func readOnly(opts string) bool {
	return slices.Contains(strings.Split(strings.TrimPrefix(opts, ":"), ","), "ro")
}
