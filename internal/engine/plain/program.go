package plain

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine"
)

// The texts that take a program from standard input, so that nothing of it is in arguments. Where data follows, the program is one
// line, which read takes byte by byte; where none does, it is all there is.
const (
	bootLine = `IFS= read -r __h; eval "$(printf %b "$__h")"`
	bootAll  = `eval "$(cat)"`
)

// escape makes a text one line for printf %b.
var escape = strings.NewReplacer(`\`, `\\`, "\n", `\n`)

// input gives the script that starts the command there, and what it reads.
func (r *call) input() (boot string, stdin io.Reader) {
	text := r.program()
	boot = bootAll
	if r.c.Stdin != nil {
		boot = bootLine
		stdin = io.MultiReader(strings.NewReader(escape.Replace(text)+"\n"), struct{ io.Reader }{r.c.Stdin})
	} else {
		stdin = strings.NewReader(text)
	}
	group := "HERMES_GROUP=" + r.mark
	clean := group + ";export HERMES_GROUP;exec " // from the start, where those who look for members see it
	if r.c.Environ != nil {
		clean = "exec env -i " + group + " "
	}
	return clean + engine.Word(r.p.info.Shell, false) + " -c " + engine.Word(boot, false), stdin
}

func (r *call) word(s string) string { return engine.Word(s, r.p.bash) }

// program is all that the shell does: it says that it has begun, goes where it should, sets the variables, runs the script, and says how
// that ended. All of it stands on one line in bash, so that line numbers in messages are the script's.
func (r *call) program() string {
	var s strings.Builder
	s.WriteString("exec 3>&2;")
	if r.p.bash {
		s.WriteString("exec 10>&-;") // which it is to take for itself: see how the engine wraps a script. Other shells take 10 for a program
	}
	if r.c.Stderr == nil {
		s.WriteString("exec 2>&1;")
	}
	fmt.Fprintf(&s, `printf "\0%sb%%s\0" "$$" >&3;`, r.mark)
	if r.c.Stdin == nil {
		s.WriteString("exec </dev/null;")
	} else {
		s.WriteString("unset __h;")
	}
	s.WriteString(r.enter())
	s.WriteString("unset OLDPWD;export OLDPWD;")
	s.WriteString(r.variables())
	s.WriteString(r.ulimits())
	if len(r.c.Argv) > 0 {
		words := make([]string, len(r.c.Argv))
		for i, a := range r.c.Argv {
			words[i] = r.word(a)
		}
		// Whoever holds the outputs afterwards must not hide the end, so the shell stays and tells it, and says nothing else.
		fmt.Fprintf(&s, `exec 4>&2 2>/dev/null;(exec 2>&4 3>&- 4>&-;exec %s);__s=$?;printf "\0%se%%s\0\0.\0" "$__s" >&3;exit $__s`, strings.Join(words, " "), r.mark)
		return s.String()
	}
	s.WriteString(engine.Carried(r.c.Script, r.mark+"e", r.p.bash))
	return s.String()
}

// enter goes to the directory where the command starts. One that was asked for and can't be entered ends it with 126; a carried one that
// is gone is replaced by its nearest ancestor.
func (r *call) enter() string {
	carried := cmp.Or(string(r.before.Dir), string(r.p.info.Home))
	says := fmt.Sprintf(`printf "\0%sd%%s\0" "$PWD" >&3;`, r.mark)
	if dir := r.c.Dir; dir != "" && absolute(dir) {
		return r.enterAsked(dir) + says
	}
	nearest := fmt.Sprintf(`cd -- %[1]s 2>/dev/null || { __d=%[1]s; while __d=${__d%%/*}; [ -n "$__d" ] && ! cd -- "$__d" 2>/dev/null; do :; done; `+
		`[ -n "$__d" ] || cd -- %[2]s 2>/dev/null || cd -- %[3]s 2>/dev/null || cd /; unset __d; printf "\0%[4]sg%%s\0" "$PWD" >&3; };`,
		r.word(carried), r.word(string(r.p.info.Home)), r.word(string(r.p.info.Temp)), r.mark)
	if r.c.Dir != "" {
		nearest += r.enterAsked(r.c.Dir)
	}
	return nearest + says
}

func absolute(dir string) bool { return strings.HasPrefix(dir, "/") || isTilde(dir) }

// isTilde tells ~ and ~user at the start of a name from names that only look like it.
func isTilde(dir string) bool {
	if !strings.HasPrefix(dir, "~") {
		return false
	}
	user, _, _ := strings.Cut(dir[1:], "/")
	return strings.Trim(user, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == ""
}

func (r *call) enterAsked(dir string) string {
	to := r.word(dir)
	switch {
	case isTilde(dir):
		user, rest, _ := strings.Cut(dir, "/")
		to = user + "/" + r.word(rest)
		if user == "~" {
			to = r.word(path.Join(string(r.p.info.Home), rest))
		}
	case !strings.HasPrefix(dir, "/"):
		to = `"$PWD"/` + to
	}
	return fmt.Sprintf(`__d=%s; cd -- "$__d" 2>/dev/null || { __w="no such directory"; [ ! -e "$__d" ] || __w="permission denied"; [ ! -e "$__d" ] || [ -d "$__d" ] || __w="not a directory"; `+
		`printf "hermes: cannot enter directory %%s: %%s\n" "$__d" "$__w" >&2; exit 126; }; unset __d;`, to)
}

// fixed are names that a shell doesn't let be set.
var fixed = []string{"UID", "EUID", "GID", "PPID", "SHELLOPTS", "BASHOPTS", "BASH_VERSINFO", "GROUPS", "_", "PWD", "SHLVL"}

// variables sets what is carried and what was given for this call.
func (r *call) variables() string {
	set := map[string]*string{}
	if r.c.Environ != nil {
		for _, e := range r.c.Environ {
			n, v, _ := strings.Cut(e, "=")
			set[n] = &v
		}
	} else {
		maps.Copy(set, r.before.Vars)
		for n, v := range r.c.Env {
			set[n] = &v
		}
	}
	mark := r.mark
	set["HERMES_GROUP"] = &mark
	var s strings.Builder
	for _, n := range slices.Sorted(maps.Keys(set)) {
		v := set[n]
		f, function := strings.CutPrefix(n, "BASH_FUNC_")
		switch {
		case function && r.p.bash:
			f = strings.TrimSuffix(f, "%%")
			if v == nil {
				s.WriteString("unset -f " + r.word(f) + ";")
			} else {
				s.WriteString("eval " + r.word(f+" "+*v+"\nexport -f "+f) + ";")
			}
		case !isName(n) || slices.Contains(fixed, n):
		case v == nil:
			s.WriteString("unset " + n + ";")
		default:
			s.WriteString("export " + n + "=" + r.word(*v) + ";")
		}
	}
	return s.String()
}

func isName(s string) bool {
	for i, c := range []byte(s) {
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

func (r *call) limits() environment.Limits {
	c, d := r.c.Limits, r.p.o.Limits
	return environment.Limits{
		MemoryMB: cmp.Or(c.MemoryMB, d.MemoryMB), Processes: cmp.Or(c.Processes, d.Processes), CPUSeconds: cmp.Or(c.CPUSeconds, d.CPUSeconds),
		FileSizeMB: cmp.Or(c.FileSizeMB, d.FileSizeMB), OpenFiles: cmp.Or(c.OpenFiles, d.OpenFiles),
	}
}

// ulimits bounds what the shell and its children may use.
func (r *call) ulimits() string {
	l, block := r.limits(), 2048 // POSIX counts files in blocks of 512 bytes, bash in such of 1024
	if r.p.bash {
		block = 1024
	}
	var s strings.Builder
	for _, row := range []struct {
		value int
		text  string
	}{
		{l.MemoryMB, fmt.Sprintf("ulimit -v %d;", l.MemoryMB*1024)}, {l.Processes, fmt.Sprintf("ulimit -u %d;", l.Processes)},
		{l.CPUSeconds, fmt.Sprintf("ulimit -S -t %d;ulimit -H -t %d;", l.CPUSeconds, l.CPUSeconds+2)},
		{l.FileSizeMB, fmt.Sprintf("ulimit -f %d;", l.FileSizeMB*block)}, {l.OpenFiles, fmt.Sprintf("ulimit -n %d;", l.OpenFiles)},
	} {
		if row.value > 0 {
			s.WriteString(row.text)
		}
	}
	return s.String()
}
