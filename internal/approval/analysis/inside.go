package analysis

import (
	"slices"
	"strings"
)

// Inside describes the environment that a carrier runs its command in, as far as paths are concerned.
type Inside struct {
	Name      string  // as people know it: the host, image or container
	Container bool    // paths lead to the outside only through Mounts
	Remote    bool    // another machine: its own files, as grave as ours
	Mounts    []Mount // of a container
	Root      string  // what / is outside, after a chroot; "" = unchanged
	Home      string  // the home directory in there; "" = unknown
	Parent    *Inside // the environment around it; nil is the text's own
}

// Mount is a directory of the outside that a container sees.
type Mount struct{ Outside, Inside string }

// outside maps a path of the inner environment to the one around it. ok is false when no mount leads there.
func (in *Inside) outside(p string) (path string, ok bool) {
	if in.Root != "" {
		return Clean(in.Root + "/" + p), true
	}
	if !in.Container {
		return p, true
	}
	best := -1
	for i, m := range in.Mounts {
		if (p == m.Inside || m.Inside == "/" || strings.HasPrefix(p, m.Inside+"/")) && (best < 0 || len(m.Inside) > len(in.Mounts[best].Inside)) {
			best = i
		}
	}
	if best < 0 {
		return p, false
	}
	m := in.Mounts[best]
	return Clean(m.Outside + "/" + strings.TrimPrefix(p, m.Inside)), true
}

// onRemote is another machine, whose directories and variables aren't known.
func onRemote(_ *reader, st *state, in *inner) *Inside {
	name := "remote host"
	if len(in.operands) > 0 {
		name = Show(in.operands[0].Text)
	}
	st.abroad("")
	return &Inside{Name: name, Remote: true}
}

// abroad forgets what only holds in the environment that a command leaves.
func (st *state) abroad(dir string) {
	st.vars, st.owned, st.failed = nil, false, nil
	for _, name := range [...]string{"OLDPWD", "USER", "LOGNAME", "TMPDIR", "HERMES_HOME"} {
		st.set(name, variable{vals: []string{markUnknown}})
	}
	st.set("HOME", variable{vals: []string{HomeUnknown}})
	st.dirs, st.argsOK = []string{dir}, false
}

// inContainer is a container that runs already, of whose mounts nothing is known.
func inContainer(_ *reader, st *state, in *inner) *Inside {
	name := in.c.Program
	if len(in.operands) > 0 {
		name = Show(in.operands[0].Text)
	}
	st.abroad("/")
	st.set("HOME", variable{vals: []string{"/root"}})
	return &Inside{Name: name, Container: true, Home: "/root"}
}

// inDebugged is inContainer; one beside a node of the cluster sees the node's root at /host.
func inDebugged(r *reader, st *state, in *inner) *Inside {
	inside := inContainer(r, st, in)
	if slices.ContainsFunc(in.c.Words, func(w Word) bool { return strings.HasPrefix(w.Text, "node/") }) {
		inside.Mounts = append(inside.Mounts, Mount{"/", "/host"})
	}
	return inside
}

// inMachine is inContainer where the name is not the host's own: USER@ and USER@.host.
func inMachine(r *reader, st *state, in *inner) *Inside {
	if len(in.operands) > 0 && (strings.HasSuffix(in.operands[0].Text, "@") || strings.HasSuffix(in.operands[0].Text, ".host")) {
		st.abroad("")
		return nil
	}
	return inContainer(r, st, in)
}

// inMounted is a container that the command starts, with the mounts and the program that its options name.
func inMounted(r *reader, st *state, in *inner) *Inside {
	outer := st.clone()
	inside := inContainer(r, st, in)
	st.dirs = []string{"/"}
	if front := in.c.Words[:max(0, len(in.c.Words)-len(in.words))]; slices.ContainsFunc(front, func(w Word) bool { return oneOf(w, "--privileged", "--privileged=true") }) {
		inside.mount(outer, "/dev", "/dev") // it sees the host's devices
	}
	for _, o := range in.options {
		switch o.name {
		case "v", "volume":
			parts := strings.SplitN(o.value.Text, ":", 3)
			if len(parts) > 1 {
				inside.mount(outer, parts[0], parts[1])
			}
		case "mount":
			from, to := mountSpec(o.value.Text)
			inside.mount(outer, from, to)
		case "device":
			from, to, ok := strings.Cut(o.value.Text, ":")
			if !ok {
				to = from
			}
			inside.mount(outer, from, to)
		case "w", "workdir":
			st.dirs = []string{Clean(o.value.Text)}
		case "entrypoint":
			if o.value.Text != "" {
				in.words = append([]Word{o.value}, in.words...)
			}
		}
	}
	return inside
}

// mountSpec reads the value of --mount: type=bind,source=DIR,target=DIR.
func mountSpec(spec string) (from, to string) {
	for f := range strings.SplitSeq(spec, ",") {
		switch k, v, _ := strings.Cut(f, "="); k {
		case "source", "src":
			from = v
		case "target", "destination", "dst":
			to = v
		}
	}
	return from, to
}

// mount adds a directory of the outside. A volume, which has no path, is none.
func (in *Inside) mount(outer *state, from, to string) {
	if to == "" || !strings.ContainsAny(from, "/.~") && from != "" && from[0] != mark {
		return
	}
	for _, d := range outer.dirs {
		in.Mounts = append(in.Mounts, Mount{Join(d, from), Clean(to)})
	}
}

// besideHome is a container that sees the home and working directories of the outside: singularity's way.
func besideHome(r *reader, st *state, in *inner) *Inside {
	home, dirs := r.home(st), st.dirs
	inside := inContainer(r, st, in)
	st.set("HOME", variable{vals: home})
	st.dirs = dirs
	for _, d := range append(append([]string{"/tmp", "/dev", "/sys", "/proc"}, home...), dirs...) {
		inside.Mounts = append(inside.Mounts, Mount{d, d})
	}
	for _, o := range in.options {
		if o.name == "B" || o.name == "bind" {
			for spec := range strings.SplitSeq(o.value.Text, ",") {
				parts := strings.SplitN(spec, ":", 3)
				inside.mount(&state{dirs: dirs}, parts[0], parts[min(1, len(parts)-1)])
			}
		}
	}
	return inside
}

// bound is the view of the file system that bubblewrap builds of mounts.
func bound(_ *reader, st *state, in *inner) *Inside {
	inside := &Inside{Name: in.c.Program, Container: true}
	for i, o := range in.options {
		if strings.Contains(o.name, "bind") && i+1 < len(in.options) && in.options[i+1].name == o.name+" to" {
			inside.mount(st, o.value.Text, in.options[i+1].value.Text)
		}
	}
	return inside
}

// newRoot is a chroot: all paths lie below a directory.
func newRoot(_ *reader, st *state, in *inner) *Inside {
	root, ok := in.value("r rootfs R root D directory")
	if in.c.Program == "chroot" || in.c.Program == "arch-chroot" {
		if len(in.operands) == 0 {
			return nil
		}
		root, ok = in.operands[0], true
	}
	if !ok || root.Text == "" {
		return nil
	}
	dir := Join(st.dirs[0], root.Text)
	st.abroad("/")
	if dir == "/" {
		return nil
	}
	return &Inside{Name: in.c.Program + " " + Show(dir), Root: dir}
}

// targetsInit tells whether nsenter goes to process 1: out of any container.
func (in *inner) targetsInit() bool {
	target, ok := in.value("t target")
	return ok && target.Is("1")
}

// entered is another process's namespaces: where they lead isn't known, so they count as the outside.
func entered(_ *reader, _ *state, _ *inner) *Inside { return nil }

// asUser changes the home directory to the new user's.
func asUser(_ *reader, st *state, in *inner) *Inside {
	user, named := in.value(in.row.user)
	switch {
	case !named && strings.ContainsAny(in.letters, "iH"), named && user.Is("root"):
		st.set("HOME", variable{vals: []string{"/root"}})
	case named && Literal(user.Text) && user.Text != "" && user.Text[0] != '#':
		st.set("HOME", variable{vals: []string{"/home/" + user.Text}})
	case named:
		st.set("HOME", variable{vals: []string{HomeUnknown}})
	}
	return nil
}
