package analysis

import (
	"slices"
	"strings"
)

// Class says what kind of place a path names.
type Class string

// The classes of paths, gravest first.
const (
	ClassRoot       Class = "root"
	ClassSystemRoot Class = "system root" // a first-level system directory
	ClassHomeRoot   Class = "home root"
	ClassSystem     Class = "system" // below a system root that programs of the system own
	ClassKernel     Class = "kernel"
	ClassDevice     Class = "device"
	ClassSensitive  Class = "sensitive"
	ClassState      Class = "system data" // below /var, /opt, /srv and their like
	ClassHome       Class = "home"
	ClassTemp       Class = "temp"
	ClassWorkspace  Class = "workspace"
	ClassOther      Class = "other"
	ClassInner      Class = "inner" // inside a container and on none of its mounts: harmless to the host
	ClassUnknown    Class = "unknown"
)

// Kind says what a place holds where its class says too little. It is about contents, so it is told for the workspace too.
type Kind string

// The kinds of what a place holds; "" is anything else.
const (
	KindKeys        Kind = "keys"        // private keys, key rings, password stores
	KindCredentials Kind = "credentials" // tokens and passwords of clients: cloud, cluster, registry, netrc and their like
	KindStartup     Kind = "startup"     // read and run at login, at start of a session, a shell or a program; hook paths
	KindPolicy      Kind = "policy"      // the agent's own configuration, hooks, environment file, audit, approvals
	KindCron        Kind = "cron"        // scheduled jobs
	KindSocket      Kind = "socket"      // an engine's socket: who talks to it has the host
	KindPublic      Kind = "public"      // beside keys, but nothing secret: public keys, known hosts
)

// Target is one place that an operand may name.
type Target struct {
	Path  string // absolute where the directory is known; with marks
	Class Class  // of the place itself
	All   bool   // everything in Path is meant, not Path
	Kind  Kind   // of the place itself; of what is below it where that is all of one kind
	Link  bool   // where a symbolic link leads that the operand names: a write goes there, a delete takes the link
}

// settled fills in what is left to a default. A workspace in a place of the system, or of keys, makes that place no less one.
func (in Input) settled() Input {
	if in.Workspace == "" {
		in.Workspace = in.Dir
	}
	if in.Hermes == "" && in.Home != "" {
		in.Hermes = Clean(in.Home + "/.hermes")
	}
	ws := in.Workspace
	in.Workspace = ""
	switch t := (&Reading{Input: in}).place(ws); t.Class {
	case ClassHome, ClassState, ClassTemp, ClassOther:
		in.Workspace = ws
	}
	return in
}

// Paths returns an empty reading, to judge paths that no command names.
func Paths(in Input) *Reading { return &Reading{Input: in.settled()} }

// ownRoot takes off what leads to the root by way of the process itself.
func ownRoot(p string) string {
	for _, root := range [...]string{"/proc/self/root", "/proc/thread-self/root", "/proc/1/root"} {
		if rest, ok := strings.CutPrefix(p, root); ok && (rest == "" || rest[0] == '/') {
			return "/" + strings.TrimPrefix(rest, "/")
		}
	}
	return p
}

// Targets resolves a word as a path, for each possible value and directory, as the environment that the command runs in sees it.
func (r *Reading) Targets(c *Command, w Word) []Target {
	var out []Target
	for _, v := range w.Values() {
		for _, d := range c.Dirs {
			t := r.TargetOf(c, d, v)
			if !slices.Contains(out, t) {
				out = append(out, t)
			}
			if t, ok := r.followed(t, c.index); ok && !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	return out
}

// Target resolves one value against one directory, in the environment that the text runs in.
func (r *Reading) Target(dir, value string) Target { return r.judge(Join(dir, value)) }

// TargetOf is Target in the environment that c runs in.
func (r *Reading) TargetOf(c *Command, dir, value string) Target {
	p := ownRoot(Join(dir, value))
	if c.Inside == nil {
		return r.judge(r.real(p, c.index))
	}
	remote := false
	for in := c.Inside; in != nil; in = in.Parent {
		outside, ok := in.outside(p)
		if !ok {
			head, all := everythingIn(p)
			if t, held := r.above(in, head); held {
				return t
			}
			return Target{Path: in.Name + ":" + p, Class: ClassInner, All: all}
		}
		p, remote = outside, remote || in.Remote
	}
	if remote {
		far := Reading{Input: Input{Home: c.Inside.Home}}
		return far.judge(p)
	}
	return r.judge(r.real(p, c.index))
}

// above finds the gravest mount below a directory of a container: who deletes / in there deletes what is mounted.
func (r *Reading) above(in *Inside, dir string) (Target, bool) {
	if dir == "" || !Known(dir) {
		return Target{}, false
	}
	for _, m := range in.Mounts {
		if dir == "/" || strings.HasPrefix(m.Inside, strings.TrimSuffix(dir, "/")+"/") {
			t := r.judge(m.Outside)
			t.All = true
			return t, true
		}
	}
	return Target{}, false
}

func (r *Reading) judge(p string) Target {
	t := Target{Path: p}
	for {
		head, ok := everythingIn(t.Path)
		if !ok {
			break
		}
		t.Path, t.All = head, true
	}
	in := r.place(t.Path)
	t.Class, t.Kind = in.Class, in.Kind
	return t
}

// everythingIn tells whether the last element of a path matches all names, hidden ones or visible ones, and gives its directory.
func everythingIn(p string) (string, bool) {
	i := strings.LastIndexByte(p, '/')
	last := p[i+1:]
	if i < 0 || !strings.Contains(last, markStar) && !strings.Contains(last, markAny) {
		return p, false
	}
	if !anyName(last) {
		return p, false
	}
	if i == 0 {
		return "/", true
	}
	return p[:i], true
}

// anyName tells whether a pattern has nothing in it but dots and what stands for any character.
func anyName(pattern string) bool {
next:
	for pattern != "" {
		for _, s := range [...]string{markStar, markAny, ".", markSet + "!.]", markSet + "^.]"} {
			if rest, ok := strings.CutPrefix(pattern, s); ok {
				pattern = rest
				continue next
			}
		}
		return false
	}
	return true
}

// place is the class and kind of a path.
func (r *Reading) place(p string) (t Target) {
	if !strings.HasPrefix(p, "/") {
		t.Class = ClassUnknown
		if i := strings.IndexByte(p, '/'); i >= 0 && p != "" && p[0] == mark { // some directory, perhaps a home
			t.Kind = kindAt(p[i+1:], homeKinds())
		}
		return t
	}
	if p == "/" {
		t.Class = ClassRoot
		return t
	}
	home := r.Input.Home
	if home == "/" {
		home = ""
	}
	rest, inside := relative(p, r.Input.Hermes)
	if !inside { // the usual place counts, too: it may be the next session's
		rest, inside = relative(p, home+"/.hermes")
	}
	switch {
	case p == home || p == "/root" || p == "/var/root" || p == HomeUnknown || homeRoot(p):
		t.Class = ClassHomeRoot
		return t
	case roots()[p] || globRoot(p) || driveRoot(p):
		t.Class = ClassSystemRoot
		t.Kind = kindAt(p, systemKinds())
		return t
	case (inside || p == r.Input.Hermes && p != "" || p == home+"/.hermes") && isPolicy(rest):
		t.Class, t.Kind = ClassSensitive, KindPolicy
		return t
	}
	if rest, ok := homeRelative(p, home); ok {
		if t.Kind = homeKind(rest); t.Kind != "" && !strings.HasPrefix(rest, ".ssh/known_hosts") && !strings.HasSuffix(rest, ".pub") {
			t.Class = ClassSensitive
			return t
		}
	}
	t.Class = r.below(p, home)
	if t.Kind == "" {
		t.Kind = otherKind(p, t.Class)
	}
	return t
}

// isPolicy tells whether a path below the agent's directory decides what the agent may do.
func isPolicy(rest string) bool {
	if after, ok := strings.CutPrefix(rest, "profiles/"); ok {
		_, rest, _ = strings.Cut(after, "/")
	}
	if !Literal(rest) {
		return kindAt(rest, policyKinds()) != ""
	}
	first, _, _ := strings.Cut(rest, "/")
	return agentPolicy[first]
}

// homeKind is what a path below a home directory holds.
func homeKind(rest string) Kind {
	k := kindAt(rest, homeKinds())
	if k == KindKeys && strings.HasSuffix(rest, ".pub") {
		return KindPublic
	}
	return k
}

// otherKind is what a path outside of homes holds, or one in the workspace.
func otherKind(p string, class Class) Kind {
	base := p[strings.LastIndexByte(p, '/')+1:]
	switch {
	case strings.Contains(p, "/.git/hooks"):
		return KindStartup
	case strings.HasPrefix(base, "id_") && slices.Contains([]string{"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"}, base), strings.HasSuffix(base, ".kdbx"):
		return KindKeys
	case strings.HasSuffix(base, "docker.sock"), strings.HasSuffix(base, "podman.sock"):
		return KindSocket
	case strings.HasPrefix(p, "/etc/ssh/ssh_host_") && !strings.HasSuffix(p, ".pub"):
		return KindKeys
	case class == ClassKernel && strings.HasPrefix(p, "/proc/") && base == "environ":
		return KindCredentials
	case class == ClassWorkspace, class == ClassTemp:
		return ""
	}
	return kindAt(strings.TrimPrefix(p, "/private"), systemKinds())
}

// homeRoot tells whether a path is a directory right below the directory of homes, by name or by glob.
func homeRoot(p string) bool {
	for _, base := range [...]string{"/home/", "/Users/"} {
		if rest, ok := strings.CutPrefix(p, base); ok && rest != "" && strings.IndexByte(rest, '/') < 0 {
			return rest != "Shared" && !strings.HasPrefix(rest, markUnknown)
		}
	}
	return false
}

// globRoot tells whether a first-level glob can match a system root.
func globRoot(p string) bool {
	if Literal(p) || !Known(p) || strings.Count(p, "/") != 1 {
		return false
	}
	for root := range roots() {
		if strings.Count(root, "/") == 1 && MatchesName(p, root) {
			return true
		}
	}
	return false
}

// driveRoot tells whether a path is a drive of the Windows around a Linux, or its system.
func driveRoot(p string) bool {
	rest, ok := strings.CutPrefix(p, "/mnt/")
	return ok && (len(rest) == 1 || rest == "c/Windows" || rest == "c/Users")
}

// homeRelative gives the part of a path below a home directory, anyone's.
func homeRelative(p, home string) (string, bool) {
	for _, h := range [...]string{home, "/root", HomeUnknown, "/var/root"} {
		if rest, ok := relative(p, h); ok {
			return rest, true
		}
	}
	for _, base := range [...]string{"/home/", "/Users/", "/mnt/c/Users/"} {
		if rest, ok := strings.CutPrefix(p, base); ok {
			if _, rest, ok = strings.Cut(rest, "/"); ok {
				return rest, true
			}
		}
	}
	return "", false
}

func (r *Reading) below(p, home string) Class {
	if within(p, r.Input.Workspace) {
		return ClassWorkspace
	}
	for _, h := range [...]string{home, "/root", HomeUnknown} {
		if _, ok := relative(p, h); ok {
			if h == home && r.temporary(p) {
				return ClassTemp
			}
			return ClassHome
		}
	}
	if harmlessDevices[p] || strings.HasPrefix(p, "/dev/fd/") || strings.HasPrefix(p, "/dev/pts/") || strings.HasPrefix(p, "/dev/pty") ||
		strings.HasPrefix(p, "/dev/tty") || strings.HasPrefix(p, "/dev/tcp/") || strings.HasPrefix(p, "/dev/udp/") || strings.HasPrefix(p, "/proc/self/fd/") {
		return ClassOther
	}
	if places()[p] == ClassTemp || r.temporary(p) {
		return ClassTemp
	}
	for dir := known(p); ; {
		i := strings.LastIndexByte(dir, '/')
		if i <= 0 {
			return ClassOther
		}
		dir = dir[:i]
		if class, ok := places()[dir]; ok {
			return class
		}
	}
}

// temporary tells whether a path lies in the directory for temporary files that the session names, unless that is a place of its own.
func (r *Reading) temporary(p string) bool {
	tmp := r.Input.Vars["TMPDIR"]
	return len(tmp) > 1 && strings.Count(tmp, "/") > 1 && within(p, strings.TrimSuffix(tmp, "/")) && places()[tmp] == "" && tmp != r.Input.Home &&
		!roots()[tmp] && !strings.HasPrefix(tmp, "/etc/") && !strings.HasPrefix(tmp, "/usr/")
}

func within(p, dir string) bool {
	if dir == "" || dir == "/" {
		return false
	}
	return p == dir || strings.HasPrefix(p, dir) && len(p) > len(dir) && p[len(dir)] == '/'
}

func relative(p, dir string) (string, bool) {
	if dir == "" || !strings.HasPrefix(p, dir+"/") {
		return "", false
	}
	return p[len(dir)+1:], true
}
