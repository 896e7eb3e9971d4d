package analysis

import (
	"strings"
	"sync"
)

// wrapper describes a program that runs the command in its arguments, or one verb of such a program. Lists are separated by spaces.
// It never changes which rules match what it runs. Options are from the programs' manuals.
type wrapper struct {
	verb     string // words in front of everything else but options: "compose exec"
	short    string // letters of options that take a value
	long     string // long options that take a value; of one dash too
	pairs    string // long options that take two values
	operands int    // operands in front of the command
	mixed    bool   // options may stand behind operands
	dash     bool   // only what stands behind -- is the command
	assigns  bool   // NAME=value may stand in front of the command
	elevated bool   // the command runs with more rights
	data     string // with which no command runs: letters in one piece (- for none), then long options
	joined   bool   // the arguments are joined and read by a shell
	text     string // letters and long options whose value a shell reads
	argv     string // letters and long options behind which the command begins
	words    string // letters and long options whose value is split into the first words of the command
	only     bool   // without one of text, argv, words nothing runs
	dir      string // letters and long options that name the command's directory
	user     string // letters and long options that name the command's user
	joint    bool   // its exit status is the command's
	where    func(*reader, *state, *inner) *Inside
}

// wrappers hold one row a verb.
var wrappers = sync.OnceValue(func() map[string][]wrapper {
	all := map[string][]wrapper{}
	for _, group := range []map[string]wrapper{privilege(), conditions(), lockers(), builtins(), namespaces(), remotes(), terminals(), runners()} {
		for name, w := range group {
			all[name] = append(all[name], w)
		}
	}
	for _, group := range []map[string][]wrapper{containers(), clouds(), verbRunners()} {
		for name, rows := range group {
			all[name] = append(all[name], rows...)
		}
	}
	return all
})

func privilege() map[string]wrapper {
	return map[string]wrapper{
		"sudo": {short: "ugCDhpRrtTU", long: "user group close-from chdir host prompt chroot role type command-timeout other-user", assigns: true,
			elevated: true, data: "lvkKeV list validate edit version", dir: "D chdir", user: "u user", joint: true, where: asUser},
		"doas":   {short: "uC", elevated: true, data: "L", user: "u", joint: true, where: asUser},
		"pkexec": {long: "user", elevated: true, user: "user", joint: true, where: asUser},
		"run0": {short: "ugDpM", long: "user group chdir property description slice nice setenv background machine unit", elevated: true,
			dir: "D chdir", user: "u user", joint: true, where: asUser},
		"dzdo":         {short: "ug", elevated: true, user: "u", joint: true, where: asUser},
		"please":       {short: "ugtd", long: "user group target dir", elevated: true, dir: "d dir", user: "u user", joint: true, where: asUser},
		"gsudo":        {short: "ui", long: "user integrity", elevated: true, joint: true},
		"super":        {elevated: true},
		"calife":       {operands: 1, elevated: true},
		"gosu":         {operands: 1, elevated: true, joint: true},
		"su-exec":      {operands: 1, elevated: true, joint: true},
		"setuidgid":    {operands: 1, joint: true},
		"s6-setuidgid": {operands: 1, joint: true},
		"envuidgid":    {operands: 1, joint: true},
		"setpriv": {long: "reuid regid groups securebits pdeathsig selinux-label apparmor-profile inh-caps ambient-caps bounding-set ruid euid " +
			"rgid egid", data: "d dump", joint: true},
		"kdesu":   {short: "uc", text: "c", elevated: true},
		"kdesudo": {short: "uc", text: "c", elevated: true},
		"gksudo":  {short: "um", long: "user message", elevated: true, joined: true},
		"gksu":    {short: "um", long: "user message", elevated: true, joined: true},
		"beesu":   {elevated: true, joined: true},
		"sg":      {operands: 1, mixed: true, short: "c", text: "c", joined: true},
		"newgrp":  {short: "c", text: "c", operands: 1, mixed: true},
	}
}

func conditions() map[string]wrapper {
	timeout := wrapper{short: "ks", long: "kill-after signal", operands: 1, joint: true}
	env := wrapper{short: "uCSaP", long: "unset chdir split-string argv0", assigns: true, dir: "C chdir", words: "S split-string", joint: true}
	clock := wrapper{short: "fo", long: "format output", joint: true}
	same := wrapper{joint: true}
	return map[string]wrapper{
		"env": env, "genv": env, "timeout": timeout, "gtimeout": timeout, "time": clock, "gtime": clock, "nohup": same, "gnohup": same,
		"setsid": same, "catchsegv": same, "eatmydata": same, "nocache": same, "chronic": same, "unbuffer": same, "setarch": same, "linux32": same,
		"linux64": same, "cross-env": {assigns: true, joint: true}, "cross-env-shell": {assigns: true, joined: true},
		"nice":    {short: "n", long: "adjustment", joint: true},
		"ionice":  {short: "cnpPu", long: "class classdata pid pgid uid", data: "pPu pid pgid uid", joint: true},
		"stdbuf":  {short: "ioe", long: "input output error", joint: true},
		"chrt":    {short: "TPDp", long: "sched-runtime sched-period sched-deadline", operands: 1, data: "pm pid max", joint: true},
		"taskset": {operands: 1, data: "p pid", joint: true},
		"strace":  {short: "aeEIoOpPsSuUX", data: "p", joint: true},
		"ltrace":  {short: "aAbDeFlnopsuwxX", data: "p"},
		"prlimit": {short: "po", long: "pid output", data: "p pid", joint: true},
		"cgexec":  {short: "g", joint: true},
		"numactl": {short: "ipmCNPx", long: "interleave preferred membind cpunodebind physcpubind localalloc", data: "sH", joint: true},
		"systemd-run": {short: "upEHMC", long: "unit property description slice uid gid nice working-directory setenv service-type host machine " +
			"on-active on-boot on-startup on-unit-active on-unit-inactive on-calendar path-property socket-property timer-property background",
			dir: "working-directory"},
		"systemd-inhibit": {long: "what who why mode", data: "- list", joint: true},
		"systemd-cat":     {short: "tp", long: "identifier priority stderr-priority", joint: true},
		"watch":           {short: "nqs", long: "interval equexit shotsdir", joined: true},
		"valgrind":        same,
		"gdb": {short: "xdcpsenb", long: "ex eval-command command directory core pid symbols exec init-command iex init-eval-command cd",
			argv: "args", only: true},
		"lldb": {short: "osSOpnf", long: "one-line source file one-line-before-file", dash: true},
		"hyperfine": {short: "wmMrpPSLDnscCu", long: "warmup min-runs max-runs runs setup prepare conclude cleanup parameter-scan parameter-list " +
			"parameter-step-size shell style sort time-unit export-json export-csv export-markdown export-asciidoc command-name output input",
			text: "p prepare s setup C conclude c cleanup", joined: true},
		"entr": {short: "s", text: "s"}, "rlwrap": {short: "abcCDefHmOPqsStwz"}, "ifne": {}, "caffeinate": {short: "tw", joint: true}, "arch": {}, "dbus-launch": {},
		"watchexec":        {short: "ewfiIdnso", long: "exts watch filter ignore signal shell delay-run debounce on-busy-update workdir env", joined: true},
		"nodemon":          {short: "wexid", long: "watch ext exec ignore delay signal", text: "x exec", only: true},
		"chokidar":         {short: "cdi", long: "command debounce ignore", text: "c command", only: true, mixed: true},
		"reflex":           {short: "rgRGd", dash: true},
		"faketime":         {short: "fp", operands: 1, joint: true},
		"fakeroot":         {short: "lsib", long: "lib faked", joint: true},
		"xvfb-run":         {short: "enfpsw", long: "error-file server-num auth-file xauth-protocol server-args wait", joint: true},
		"dbus-run-session": {long: "dbus-daemon config-file", joint: true},
		"proxychains":      {short: "f"}, "proxychains4": {short: "f"}, "torsocks": {short: "uPap"}, "torify": {}, "tsocks": {}, "trickle": {short: "udwltLNnp"},
		"cpulimit": {short: "lpec"}, "optirun": {}, "primusrun": {}, "prime-run": {}, "ssh-agent": {short: "aEtPO", data: "kcs"},
		"wine": same, "wine64": same, "retry": {short: "dtmnus", long: "delay times until while", joint: true}, "run-one": same,
		"cmd": {argv: "c k", only: true}, "asciinema": {short: "ctieq", long: "command title idle-time-limit", text: "c command", only: true},
	}
}

func lockers() map[string]wrapper {
	return map[string]wrapper{
		"flock":   {short: "wEc", long: "wait timeout conflict-exit-code command", operands: 1, mixed: true, text: "c command", joint: true},
		"setlock": {operands: 1}, "lckdo": {operands: 1}, "chpst": {short: "uUbe/nmodfpcrtC", dir: "C", user: "u", joint: true},
		"softlimit": {short: "adfmoprst", joint: true}, "envdir": {operands: 1, joint: true}, "daemonize": {short: "aceouplE"},
		"daemon": {short: "nuXlpoDeUOEFPACNLm", long: "name user chroot chdir env output pidfile"},
		"start-stop-daemon": {short: "pxnuskagrdcNIPRv", long: "pidfile exec name user signal startas chuid group chroot chdir nicelevel retry",
			words: "x exec a startas", data: "KTH stop status", dash: true},
		"dtach": {short: "cAnprez", argv: "c A n N"}, "abduco": {short: "cAn", argv: "c A n"},
	}
}

func builtins() map[string]wrapper {
	return map[string]wrapper{
		"command": {data: "vV", joint: true}, "builtin": {joint: true}, "exec": {short: "a", joint: true}, "noglob": {joint: true}, "nocorrect": {joint: true},
		"busybox": {joint: true}, "toybox": {joint: true}, "coreutils": {long: "coreutils-prog", argv: "coreutils-prog", joint: true}, "shx": {joint: true},
		"gxargs": {short: "adEILnPsSJR", long: "arg-file delimiter eof max-lines max-args max-procs max-chars process-slot-var"},
		"xargs":  {short: "adEILnPsSJR", long: "arg-file delimiter eof max-lines max-args max-procs max-chars process-slot-var"},
		"parallel": {short: "jaINnLlSPdC", long: "jobs arg-file max-args delay joblog sshlogin sshloginfile tmpdir results colsep retries timeout " +
			"delimiter load memfree nice workdir basefile return transferfile env halt arg-sep tagstring", data: "- dry-run dryrun"},
		"rush": {short: "jdDkinrT", joined: true}, "sem": {short: "jI", long: "jobs id", joined: true},
	}
}

func namespaces() map[string]wrapper {
	return map[string]wrapper{
		"unshare": {short: "SGlwR", long: "setuid setgid root wd map-user map-group map-users map-groups propagation setgroups monotonic boottime",
			dir: "w wd", joint: true, where: newRoot},
		"chroot":  {long: "userspec groups", operands: 1, joint: true, where: newRoot},
		"nsenter": {short: "tSGN", long: "target setuid setgid net-socket", joint: true, where: entered},
		"bwrap": {long: "dev proc tmpfs dir chdir unsetenv hostname uid gid lock-file remount-ro mqueue seccomp add-seccomp-fd exec-label " +
			"file-label block-fd userns-block-fd info-fd json-status-fd sync-fd userns userns2 pidns args perms size cap-add cap-drop argv0 " +
			"overlay-src tmp-overlay ro-overlay",
			pairs: "bind bind-try dev-bind dev-bind-try ro-bind ro-bind-try symlink setenv file bind-data ro-bind-data chmod bind-fd ro-bind-fd",
			dir:   "chdir", where: bound},
		"firejail":        {},
		"proot":           {short: "rbmqwvkiRS", long: "rootfs bind mount qemu pwd cwd kernel-release", dir: "w pwd cwd", where: newRoot},
		"systemd-nspawn":  {short: "DMiuSpExLZ", long: "directory machine image user bind bind-ro tmpfs chdir setenv network-interface property template", dir: "chdir", where: newRoot},
		"arch-chroot":     {short: "u", operands: 1, where: newRoot},
		"minijail0":       {short: "ugcCPbkReSTm"},
		"distrobox-enter": {short: "na", long: "name additional-flags", argv: "e exec", dash: true},
		"flatpak-spawn":   {long: "directory env watch-bus", dir: "directory"},
	}
}

func terminals() map[string]wrapper {
	terminal := wrapper{short: "TngdIPbf", long: "title name geometry directory class working-directory config option hold-time tab window " +
		"profile display fn bg fg", argv: "e execute x command", only: true}
	dashed := terminal
	dashed.dash, dashed.only = true, false
	all := map[string]wrapper{
		"gnome-terminal": dashed, "ptyxis": dashed, "kgx": dashed,
		"kitty": {short: "cdTo", long: "config directory title override class name", argv: "e"},
		"foot":  {short: "catTwWoD", long: "config title app-id term working-directory", argv: "e"},
	}
	for name := range strings.FieldsSeq("xterm uxterm urxvt rxvt st alacritty konsole terminator x-terminal-emulator lxterminal tilix mate-terminal xfce4-terminal") {
		all[name] = terminal
	}
	return all
}

// runners run programs of packages, and programs with variables from a store.
func runners() map[string]wrapper {
	return map[string]wrapper{
		"npx":  {short: "pcw", long: "package call node-arg workspace prefix registry cache", text: "c call"},
		"bunx": {long: "package"}, "pnpx": {short: "pc", long: "package"},
		"uvx":       {short: "p", long: "from with python index-url with-editable with-requirements"},
		"nix-shell": {short: "pAEI", long: "run command attr expr argstr arg packages keep", text: "run command", only: true, mixed: true},
		",":         {}, "env-cmd": {short: "fr", long: "file"}, "envchain": {operands: 1}, "summon": {short: "pfeD"},
	}
}

// verbRunners are such programs with verbs.
func verbRunners() map[string][]wrapper {
	python := []wrapper{{verb: "run", short: "CPpm", long: "directory project extra with with-requirements python package env-file group only-group venv " +
		"manifest-path environment feature project-dir cwd index-url cache-dir color config-file index", dir: "C directory cwd"}}
	conda := []wrapper{{verb: "run", short: "np", long: "name prefix cwd", dir: "cwd"}}
	exec := []wrapper{{verb: "exec"}}
	dashed := []wrapper{{verb: "exec", dash: true}, {verb: "x", dash: true}}
	nix := wrapper{verb: "develop", short: "ckuif", long: "command keep unset profile override-input file", argv: "c command", only: true}
	all := map[string][]wrapper{
		"npm":  {{verb: "exec", short: "pcw", long: "package call workspace prefix", text: "c call"}, {verb: "x", short: "pcw", long: "package call", text: "c call"}, {verb: "explore", operands: 1, dash: true}},
		"pnpm": {{verb: "dlx", short: "pc", long: "package"}, {verb: "exec", short: "CF", long: "filter dir"}, {verb: "recursive exec"}, {verb: "multi exec"}},
		"yarn": {{verb: "dlx", short: "p", long: "package"}, {verb: "exec"}, {verb: "workspaces foreach exec", short: "j", long: "jobs include exclude from"}, {verb: "workspace exec", operands: 1}}, "lerna": {{verb: "exec", long: "scope ignore concurrency", joined: true}}, "bolt": {{verb: "ws exec"}, {verb: "workspaces exec"}}, "meson": {{verb: "devenv", short: "Cw", long: "workdir", dir: "w workdir"}}, "nx": {{verb: "exec", dash: true}}, "bun": {{verb: "x", long: "package"}},
		"uv":   append([]wrapper{{verb: "tool run", short: "p", long: "from with python"}}, python...),
		"pipx": {{verb: "run", long: "spec python pip-args index-url"}}, "bundle": {{verb: "exec", long: "gemfile"}},
		"volta": {{verb: "run", long: "node npm yarn"}}, "fnm": {{verb: "exec", long: "using"}}, "nvm": {{verb: "exec", operands: 1}},
		"mise": {{verb: "exec", short: "c", long: "command", text: "c command", dash: true}, {verb: "x", short: "c", long: "command", text: "c command", dash: true}},
		"rtx":  dashed, "opam": {{verb: "exec", long: "switch", dash: true}}, "guix": {{verb: "shell", dash: true}, {verb: "environment", dash: true}},
		"tox": {{verb: "exec", short: "e", dash: true}}, "rustup": {{verb: "run", operands: 1}}, "stack": {{verb: "exec", long: "package resolver stack-yaml"}},
		"nix": {nix, renamed(nix, "shell"), renamed(nix, "develop")}, "devbox": {{verb: "run", short: "ce", long: "config env"}},
		"direnv": {{verb: "exec", operands: 1}}, "op": {{verb: "run", long: "env-file account", dash: true}},
		"aws-vault": {{verb: "exec", short: "d", long: "duration prompt region", operands: 1, mixed: true}},
		"doppler":   {{verb: "run", short: "pct", long: "command project config token", text: "command", dash: true}},
		"infisical": {{verb: "run", long: "env path command projectId", text: "command", dash: true}}, "chamber": {{verb: "exec", dash: true}},
		"dotenv":     {{verb: "run", short: "fecpv", long: "file"}, {short: "fecpv", long: "file"}},
		"sentry-cli": {{verb: "monitors run", short: "est", operands: 1, dash: true}}, "snap": {{verb: "run", long: "command", short: "c", text: "c", operands: 1, mixed: true, only: true}}, "pm2": {{verb: "start", short: "nioe", long: "name interpreter output error cwd", joined: true, dir: "cwd"}},
		"teller": {{verb: "run", dash: true}}, "railway": {{verb: "run", short: "se", long: "service environment"}}, "foreman": {{verb: "run", short: "ef"}},
		"sops": {{verb: "exec-env", operands: 1, joined: true}, {verb: "exec-file", operands: 1, joined: true}}, "dotenvx": {{verb: "run", short: "fe", dash: true}},
		"cargo": {{verb: "watch", short: "sxwid", text: "s", only: true}}, "perf": {{verb: "stat", short: "ertIpCGD", long: "event output", joint: true}, {verb: "record", short: "eoFpCgm", long: "event output call-graph"}},
		"distrobox": {{verb: "enter", short: "na", long: "name additional-flags", argv: "e exec", dash: true}}, "toolbox": {{verb: "run", short: "cdr", long: "container distro release"}},
		"wezterm": {{verb: "start", long: "cwd class workspace position", dir: "cwd"}, {verb: "cli spawn", long: "cwd pane-id window-id workspace domain-name", dir: "cwd"}, {verb: "cli split-pane", long: "cwd pane-id percent cells", dir: "cwd"}}, "zellij": {{verb: "run", short: "dn", long: "cwd direction name", dash: true, dir: "cwd"}},
		"ip":    {{verb: "netns exec", short: "nbf", operands: 1}, {verb: "vrf exec", operands: 1}},
		"conda": conda, "mamba": conda, "micromamba": conda,
	}
	for name := range strings.FieldsSeq("poetry pipenv hatch pdm rye pixi") {
		all[name] = python
	}
	for name := range strings.FieldsSeq("rbenv pyenv nodenv asdf cabal") {
		all[name] = exec
	}
	return all
}

func renamed(w wrapper, verb string) wrapper { w.verb = verb; return w }

// prefixed puts a word in front of each row's verb.
func prefixed(word string, rows []wrapper) []wrapper {
	out := make([]wrapper, len(rows))
	for i, w := range rows {
		w.verb = word + " " + w.verb
		out[i] = w
	}
	return out
}

// has tells whether name is one of the names in a list separated by spaces.
func has(list, name string) bool {
	if name == "" || strings.IndexByte(name, ' ') >= 0 {
		return false
	}
	for from := 0; ; {
		i := strings.Index(list[from:], name)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(name)
		if (start == 0 || list[start-1] == ' ') && (end == len(list) || list[end] == ' ') {
			return true
		}
		from = end
	}
}
