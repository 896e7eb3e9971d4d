package rules

import (
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

// floorRows stand first: nobody can approve what they find on a host-like environment.
func floorRows() []Row {
	return []Row{deleteRoot(), diskRaw(),
		{
			ID: "proc.all", Key: "kill all processes", Family: "process", Floor: true, Leaves: true,
			Matches:  "a signal to every process",
			Programs: []string{"kill", "killall5", "pkill", "killall", "fuser", "xkill"}, Match: procAll,
			Examples: []string{"kill -9 -1", "kill -KILL -- -1", "kill -s TERM -1", "sudo kill -9 -- -1", "killall5 -9", "kill -- -1", "kill -1 -1",
				"kill -n 9 -1", "pkill -9 .", "pkill -KILL -f '.*'",
				"fuser -k /", "fuser -km /", "killall -9 -r '.*'", "command kill -9 -1", "xkill -all", "kill -9 $(ps -e -o pid=)",
				"busybox kill -9 -1"},
			LookAlikes: []string{"kill -1 1234", "kill -9 1234", "kill -0 -1", "echo kill -9 -1", "kill $!", "kill -l", "kill -9 %1", "kill -l -1",
				"pkill -9 node", "fuser -k 8080/tcp", "fuser -v /",
				"kill -9 -1234", "killall -9 node", "kill -9 $(pgrep node)", "pgrep .", "pkill -0 .", "kill -9 $(ps -C node -o pid=)"},
		},
		{
			ID: "proc.bomb", Key: "fork bomb", Family: "process", Floor: true, Note: analysis.NoteBomb,
			Matches: "a function that starts copies of itself without end, and a loop without end that only starts processes",
			Examples: []string{":(){ :|:& };:", "b() { b | b & }; b", "bomb() {\n bomb & bomb &\n}\nbomb", "function f { f | f & }; f",
				`bash -c ':(){ :|:& };:'`, "while :; do bash & done", "for ((;;)); do yes & done", "perl -e 'fork while 1'", "f(){ f|f& };f"},
			LookAlikes: []string{"echo ':(){ :|:& };:'", "f() { g | h & }; f", "fact() { fact $(($1-1)); }; fact 3", "f() { f; }; true",
				"while true; do ./poll & sleep 1; done",
				"for i in 1 2; do x & done", "while read l; do x & done", "grep ':(){ :|:& };:' x"},
		},
		powerOff(),
	}
}

func processRows() []Row {
	return []Row{
		{
			ID: "proc.broad", Key: "forced kill of many processes", Family: "process", Remember: RememberAll,
			Matches: "killall; pkill with the kill signal, a user or a pattern that matches anything; the kill signal to process ids that a command finds; " +
				"the users of a file or port",
			Programs: []string{"killall", "pkill", "skill", "slay", "kill", "fuser", "taskkill", "TASKKILL", "tskill", "Stop-Process", "stop-process",
				"wmic", "xkill"}, Match: procBroad,
			Examples: []string{"killall node", "pkill -9 python", "pkill -KILL -f server", "kill -9 $(pgrep node)", "pgrep x | xargs kill -9",
				"pkill -u ann",
				"pkill --signal KILL x", "killall -9 java", "kill -KILL `pidof x`", "lsof -ti :80 | xargs kill -9", "fuser -k 80/tcp", "pkill .",
				"taskkill /F /IM node.exe", "kill -9 $(ps aux | grep x | awk '{print $2}')",
				"killall -u bob", "ps aux | awk '/x/{print $2}' | xargs -r kill -9", "pkill -t pts/1", "fuser -km /mnt/usb",
				"kill -s KILL $(lsof -t x)"},
			LookAlikes: []string{"kill 1234", "kill -9 1234", "kill $!", "pkill -f 'my server'", "pgrep node", "killall -l", "echo killall node",
				"killall -s INT app", "killall -HUP nginx",
				"kill $(cat server.pid)", "pkill -0 x", "kill $(pgrep node)", "lsof -ti :80 | xargs kill", "fuser 80/tcp", "fuser -k -TERM 80/tcp",
				"pkill -x node", "kill -9 $pid", "kill -9 %1", "tasklist",
				"kill -9 $(cat server.pid)"},
		},
	}
}

// signalOf returns the signal of a kill-like command, upper case without SIG, and its operands.
func signalOf(a *Act) (signal string, operands []analysis.Word, list bool) {
	words := a.Words[1:]
	for i := 0; i < len(words); i++ {
		text := words[i].Text
		switch {
		case text == "--":
			return signalName(signal), append(operands, words[i+1:]...), list
		case text == "-l" || text == "-L" || text == "--list" || text == "-V" || text == "--table":
			list = true
		case text == "-s" || text == "--signal" || text == "-n":
			if i++; i < len(words) {
				signal = words[i].Text
			}
		case strings.HasPrefix(text, "--signal="):
			signal = text[len("--signal="):]
		case strings.HasPrefix(text, "-s") && len(text) > 2 && a.Program == "kill" && isSignal(text[2:]):
			signal = text[2:]
		case signal == "" && len(text) > 1 && text[0] == '-' && isSignal(text[1:]):
			signal = text[1:]
		default:
			operands = append(operands, words[i])
		}
	}
	return signalName(signal), operands, list
}

func signalName(s string) string { return strings.TrimPrefix(strings.ToUpper(s), "SIG") }

func isSignal(s string) bool {
	if strings.Trim(s, "0123456789") == "" {
		return true
	}
	return slices.Contains([]string{"KILL", "TERM", "HUP", "INT", "QUIT", "STOP", "CONT", "USR1", "USR2", "ABRT", "TSTP", "ALRM", "PIPE", "SEGV"}, signalName(s))
}

func procAll(a *Act) []Hit {
	signal, operands, list := signalOf(a)
	if list || signal == "0" {
		return nil
	}
	all := false
	switch a.Program {
	case "killall5":
		all = true
	case "kill":
		all = slices.ContainsFunc(operands, func(w analysis.Word) bool { return w.Is("-1") || w.Is("-01") }) ||
			forced(signal) && slices.ContainsFunc(operands, func(w analysis.Word) bool { return a.listsAll(w.From) })
	case "pkill", "killall":
		all = forced(signal) && anything(a, operands) && !narrowed(a, operands) && (a.Program == "pkill" || a.option([]string{"-r", "--regexp"},
			false))
	case "fuser":
		return floor(one("ends every process", a.fuserKills(func(t analysis.Target) bool { return t.Class == analysis.ClassRoot })))
	case "xkill":
		all = a.option([]string{"-all"}, false)
	}
	if !all {
		return nil
	}
	return []Hit{{Reason: "signals every process: " + a.Line(), Floor: !a.Contained()}}
}

// ending are signals that end or stop a process.
var ending = []string{"", "15", "TERM", "9", "KILL", "19", "STOP", "6", "ABRT", "11", "SEGV"}

func forced(signal string) bool { return signal == "9" || signal == "KILL" }

// killGrammar are the options of pkill that take a value.
var killGrammar = analysis.Grammar{Short: "dgGPstuUFrc", Long: []string{"user", "uid", "euid", "group", "pgroup", "terminal", "session", "parent",
	"signal", "ns", "nslist", "pidfile", "older-than"}}

// without parses a kill-like command's words without the signal, whose letters look like options.
func without(a *Act, words []analysis.Word) *analysis.Args {
	rest := &analysis.Command{Words: append([]analysis.Word{a.Words[0]}, words...)}
	g := killGrammar
	if a.Program == "killall" {
		g = analysis.Grammar{Short: "nouytsZ"}
	}
	return rest.Args(g)
}

// anything tells whether a pattern among the operands matches every name.
func anything(a *Act, words []analysis.Word) bool {
	return slices.ContainsFunc(without(a, words).Operands, func(w analysis.Word) bool {
		return slices.Contains([]string{".", ".*", "", "^", "$", ".+", "^.", ".?", "[^x]*"}, analysis.Plain(w.Text))
	})
}

// narrowed tells whether pkill looks at some processes only.
func narrowed(a *Act, words []analysis.Word) bool {
	return len(without(a, words).Values) > 0
}

func procBroad(a *Act) []Hit {
	signal, operands, list := signalOf(a)
	if list || signal == "0" {
		return nil
	}
	hit := false
	switch a.Program {
	case "killall":
		args := without(a, operands)
		mild := signal != "" && !forced(signal) && len(args.Values["u"]) == 0 && !anything(a, operands)
		hit = len(operands) > 0 && !mild
	case "xkill":
		hit = a.option([]string{"-a"}, false)
	case "skill", "slay":
		hit = len(operands) > 0
	case "pkill":
		hit = len(operands) > 0 && (forced(signal) || pkillBroad(a, operands))
	case "kill":
		hit = forced(signal) && slices.ContainsFunc(operands, func(w analysis.Word) bool { return from(a, w.From, searchers) }) ||
			!a.Contained() && slices.Contains(ending, signal) && slices.ContainsFunc(operands, func(w analysis.Word) bool { return w.Is("1") }) // init
	case "fuser":
		return one("ends whoever uses", a.fuserKills(func(analysis.Target) bool { return true }))
	case "taskkill", "TASKKILL":
		hit = a.option([]string{"/im", "/fi", "-im"}, true)
	case "tskill", "Stop-Process", "stop-process":
		hit = !a.option([]string{"-id", "-whatif"}, true)
	case "wmic":
		hit = a.option([]string{"delete", "terminate"}, true) && a.option([]string{"process"}, true)
	}
	return when(hit, a, "ends processes by name or search, with no look at each")
}

// fuserKills lists the files whose users fuser ends: by its kill signal, unless it is given another.
func (a *Act) fuserKills(want func(analysis.Target) bool) []analysis.Target {
	args := a.Args(analysis.Grammar{Short: "nN", Long: []string{"namespace"}})
	if !args.Has("k") && !args.Long("kill", 1) {
		return nil
	}
	for _, w := range a.Words[1:] {
		if len(w.Text) > 2 && w.Text[0] == '-' && isSignal(w.Text[1:]) && !forced(signalName(w.Text[1:])) {
			return nil
		}
	}
	return a.each(args.Operands, want)
}

// pkillBroad tells whether pkill is aimed at a user, a terminal or anything.
func pkillBroad(a *Act, words []analysis.Word) bool {
	args := without(a, words)
	for _, name := range [...]string{"u", "U", "t", "euid", "uid", "terminal", "G", "group", "user"} {
		if len(args.Values[name]) > 0 {
			return true
		}
	}
	return args.Has("v") || args.Long("inverse", 3) || anything(a, words)
}

// searchers find processes.
var searchers = []string{"pgrep", "pidof", "ps", "lsof", "fuser", "ss", "netstat", "pstree", "top", "tasklist"}

// listsAll tells whether a flow lists the ids of all processes.
func (a *Act) listsAll(f analysis.Flow) bool {
	if f.Empty() {
		return false
	}
	all := false
	for _, c := range a.Reading.Commands[f.Start:min(f.End, len(a.Reading.Commands))] {
		switch c.Program {
		case "ps":
			as := &Act{Command: &c, Reading: a.Reading}
			args := as.Args(analysis.Grammar{Short: "oCpuUgGst", Long: []string{"format", "pid", "user", "ppid"}})
			for name := range args.Values {
				if name != "o" && name != "format" {
					return false
				}
			}
			all = all || args.Has("eAx") || len(args.Operands) > 0 && strings.ContainsAny(args.Operands[0].Text, "ax")
		case "tr", "cut", "xargs", "tail", "sort", "uniq":
		case "awk":
			if slices.ContainsFunc(c.Words[1:], func(w analysis.Word) bool { return strings.ContainsAny(w.Text, "/~=<>") }) {
				return false
			}
		default:
			return false
		}
	}
	return all
}

// from tells whether a flow holds one of the programs.
func from(a *Act, f analysis.Flow, programs []string) bool {
	if f.Empty() {
		return false
	}
	cmds := a.Reading.Commands[f.Start:min(f.End, len(a.Reading.Commands))]
	return slices.ContainsFunc(cmds, func(c analysis.Command) bool { return slices.Contains(programs, c.Program) })
}
