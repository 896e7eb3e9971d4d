package analysis

import (
	"slices"
	"strings"
	"sync"
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

// roots are the first-level directories of the systems that commands run on.
var roots = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for d := range strings.FieldsSeq("/bin /boot /dev /etc /home /lib /lib32 /lib64 /libx32 /media /mnt /opt /proc /run /sbin /snap /srv " +
		"/sys /usr /var /nix /System /Library /Applications /Users /Volumes /private /private/etc /private/var /usr/bin /usr/lib /usr/sbin " +
		"/usr/local /usr/share /var/lib") {
		set[d] = true
	}
	return set
})

// places maps directories to the class of what is below them; the longest match counts.
var places = sync.OnceValue(func() map[string]Class {
	byDir := map[string]Class{}
	for class, dirs := range map[Class]string{
		ClassSystem: "/bin /boot /etc /lib /lib32 /lib64 /libx32 /sbin /usr /System /Library /private/etc /var/spool/cron " +
			"/var/lib/dpkg /var/lib/rpm /var/lib/systemd",
		ClassState:     "/var /opt /srv /run /snap /nix /private/var /Applications",
		ClassOther:     "/home /Users /mnt /media /Volumes /private /usr/src /usr/local/src",
		ClassKernel:    "/proc /sys",
		ClassDevice:    "/dev",
		ClassTemp:      "/tmp /var/tmp /dev/shm /private/tmp /private/var/tmp /private/var/folders /var/folders /run/user",
		ClassSensitive: "/root/.ssh",
	} {
		for d := range strings.FieldsSeq(dirs) {
			byDir[d] = class
		}
	}
	return byDir
})

// harmlessDevices may be written by anyone: they hold nothing.
var harmlessDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/stdin", "/dev/stdout",
	"/dev/stderr", "/dev/ptmx", "/dev/console"}

// sensitive names keys, credentials and start-up files, below a home directory.
var sensitive = []string{".ssh", ".gnupg", ".aws", ".kube", ".netrc", ".docker", ".config/gcloud", ".bashrc", ".bash_profile", ".profile",
	".zshrc", ".git-credentials", ".password-store", ".local/share/keyrings", "Library/Keychains"}

// settled fills in what is left to a default. A workspace in a place of the system, or of keys, makes that place no less one.
func (in Input) settled() Input {
	if in.Workspace == "" {
		in.Workspace = in.Dir
	}
	ws := in.Workspace
	in.Workspace = ""
	switch (&Reading{Input: in}).class(ws) {
	case ClassHome, ClassState, ClassTemp, ClassOther:
		in.Workspace = ws
	}
	return in
}

// Paths returns an empty reading, to judge paths that no command names.
func Paths(in Input) *Reading { return &Reading{Input: in.settled()} }

// Targets resolves a word as a path, for each possible value and directory.
func (r *Reading) Targets(c *Command, w Word) []Target {
	var out []Target
	for _, v := range w.Values() {
		for _, d := range c.Dirs {
			t := r.Target(d, v)
			if !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	return out
}

// Target resolves one value against one directory.
func (r *Reading) Target(dir, value string) Target {
	p := Join(dir, value)
	t := Target{Path: p}
	for {
		head, ok := everythingIn(t.Path)
		if !ok {
			break
		}
		t.Path, t.All = head, true
	}
	t.Class = r.class(t.Path)
	return t
}

// everythingIn tells whether the last element of a path matches all names, hidden ones or visible ones, and gives its directory.
func everythingIn(p string) (string, bool) {
	i := strings.LastIndexByte(p, '/')
	last := p[i+1:]
	if i < 0 || !strings.Contains(last, markStar) && !strings.Contains(last, markAny) {
		return p, false
	}
	rest := strings.NewReplacer(markStar, "", markAny, "", ".", "", markSet+"!.]", "", markSet+"^.]", "").Replace(last)
	if rest != "" {
		return p, false
	}
	if i == 0 {
		return "/", true
	}
	return p[:i], true
}

func (r *Reading) class(p string) Class {
	if !strings.HasPrefix(p, "/") {
		return ClassUnknown
	}
	if p == "/" {
		return ClassRoot
	}
	home := r.Input.Home
	if home == "/" {
		home = ""
	}
	if p == home || p == "/root" || p == HomeUnknown || homeRoot(p) {
		return ClassHomeRoot
	}
	if roots()[p] || globRoot(p) {
		return ClassSystemRoot
	}
	return r.below(p, home)
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

func (r *Reading) below(p, home string) Class {
	if within(p, r.Input.Workspace) {
		if rest, ok := relative(p, r.Input.Workspace); !ok || !isSensitive(rest) {
			return ClassWorkspace
		}
	}
	for _, h := range [...]string{home, "/root", HomeUnknown} {
		if rest, ok := relative(p, h); ok {
			if isSensitive(rest) {
				return ClassSensitive
			}
			return ClassHome
		}
	}
	if slices.Contains(harmlessDevices, p) || strings.HasPrefix(p, "/dev/fd/") || strings.HasPrefix(p, "/dev/pts/") ||
		strings.HasPrefix(p, "/dev/tcp/") || strings.HasPrefix(p, "/dev/udp/") || strings.HasPrefix(p, "/proc/self/fd/") {
		return ClassOther
	}
	for dir := p; ; {
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

func isSensitive(rest string) bool {
	return slices.ContainsFunc(sensitive, func(s string) bool { return rest == s || strings.HasPrefix(rest, s+"/") })
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
