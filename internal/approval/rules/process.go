package rules

import (
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

// floorRows stand first: nobody can approve what they find on a host-like environment.
var floorRows = []Row{deleteRoot, diskRaw,
	{
		ID: "proc.all", Key: "kill all processes", Family: "process", Floor: true, Leaves: true,
		Matches:  "a signal to every process",
		Programs: []string{"kill", "killall5"}, Match: procAll,
		Examples:   []string{"kill -9 -1", "kill -KILL -- -1", "kill -s TERM -1", "sudo kill -9 -- -1", "killall5 -9", "kill -- -1"},
		LookAlikes: []string{"kill -1 1234", "kill -9 1234", "kill -0 -1", "echo kill -9 -1", "kill $!", "kill -l"},
	},
	{
		ID: "proc.bomb", Key: "fork bomb", Family: "process", Floor: true, Note: analysis.NoteBomb,
		Matches: "a function that starts copies of itself without end",
		Examples: []string{":(){ :|:& };:", "b() { b | b & }; b", "bomb() {\n bomb & bomb &\n}\nbomb", "function f { f | f & }; f",
			`bash -c ':(){ :|:& };:'`},
		LookAlikes: []string{"echo ':(){ :|:& };:'", "f() { g | h & }; f", "fact() { fact $(($1-1)); }; fact 3", "f() { f; }; true"},
	},
	{
		ID: "power.off", Key: "power off or restart the machine", Family: "power", Floor: true, Leaves: true,
		Matches:  "switching the machine off or restarting it",
		Programs: []string{"shutdown", "reboot", "halt", "poweroff", "init", "telinit", "systemctl", "tee", "cp", "dd"}, Writes: true, Match: powerOff,
		Examples:   []string{"shutdown -h now", "sudo reboot", "systemctl poweroff", "init 0", "poweroff -f", "telinit 6", "shutdown", "echo b > /proc/sysrq-trigger"},
		LookAlikes: []string{"shutdown -c", "reboot --help", "echo reboot", "systemctl status reboot.target", "git init", "init 3"},
	},
}

var processRows = []Row{
	{
		ID: "proc.broad", Key: "forced kill of many processes", Family: "process", Remember: RememberAll,
		Matches:  "killall; pkill with the kill signal, a user or a pattern that matches anything; the kill signal to process ids that a command finds",
		Programs: []string{"killall", "pkill", "skill", "kill"}, Match: procBroad,
		Examples: []string{"killall node", "pkill -9 python", "pkill -KILL -f server", "kill -9 $(pgrep node)", "pgrep x | xargs kill -9", "pkill -u ann",
			"pkill --signal KILL x", "killall -9 java"},
		LookAlikes: []string{"kill 1234", "kill -9 1234", "kill $!", "pkill -f 'my server'", "pgrep node", "killall -l", "echo killall node",
			"kill $(cat server.pid)"},
	},
}

// signalOf returns the signal of a kill-like command, upper case without SIG, and its operands.
func signalOf(a *Act) (signal string, operands []analysis.Word, list bool) {
	words := a.Words[1:]
	for i := 0; i < len(words); i++ {
		text := words[i].Text
		switch {
		case text == "--":
			return signal, append(operands, words[i+1:]...), list
		case text == "-l" || text == "-L" || text == "--list" || text == "-V" || text == "--table":
			list = true
		case text == "-s" || text == "--signal" || text == "-n":
			if i++; i < len(words) {
				signal = words[i].Text
			}
		case strings.HasPrefix(text, "--signal="):
			signal = text[len("--signal="):]
		case signal == "" && len(text) > 1 && text[0] == '-' && isSignal(text[1:]):
			signal = text[1:]
		default:
			operands = append(operands, words[i])
		}
	}
	return strings.TrimPrefix(strings.ToUpper(signal), "SIG"), operands, list
}

func isSignal(s string) bool {
	if strings.Trim(s, "0123456789") == "" {
		return true
	}
	s = strings.TrimPrefix(strings.ToUpper(s), "SIG")
	return slices.Contains([]string{"KILL", "TERM", "HUP", "INT", "QUIT", "STOP", "CONT", "USR1", "USR2", "ABRT", "TSTP", "ALRM", "PIPE", "SEGV"}, s)
}

func procAll(a *Act) []Hit {
	signal, operands, list := signalOf(a)
	if list || signal == "0" {
		return nil
	}
	if a.Program == "killall5" || slices.ContainsFunc(operands, func(w analysis.Word) bool { return w.Is("-1") }) {
		return []Hit{{Reason: "signals every process: " + a.Line(), Floor: true}}
	}
	return nil
}

func forced(signal string) bool { return signal == "9" || signal == "KILL" }

func procBroad(a *Act) []Hit {
	signal, operands, list := signalOf(a)
	if list || signal == "0" || len(operands) == 0 {
		return nil
	}
	hit := false
	switch a.Program {
	case "killall", "skill":
		hit = true
	case "pkill":
		hit = forced(signal) || pkillBroad(a, operands)
	case "kill":
		hit = forced(signal) && slices.ContainsFunc(operands, func(w analysis.Word) bool { return findsProcesses(a, w) })
	}
	if !hit {
		return nil
	}
	return []Hit{{Reason: "ends processes by name or search, with no look at each: " + a.Line()}}
}

// pkillBroad tells whether pkill is aimed at a user, a terminal or anything.
func pkillBroad(a *Act, words []analysis.Word) bool {
	rest := &analysis.Command{Words: append([]analysis.Word{a.Words[0]}, words...)} // without the signal, whose letters look like options
	args := rest.Args(analysis.Grammar{Short: "dgGPstuUF", Long: []string{"user", "uid", "euid", "group", "terminal", "session", "parent", "signal"}})
	if len(args.Values["u"])+len(args.Values["U"])+len(args.Values["t"])+len(args.Values["euid"])+len(args.Values["uid"]) > 0 {
		return true
	}
	return slices.ContainsFunc(args.Operands, func(w analysis.Word) bool {
		return slices.Contains([]string{".", ".*", "", "^", "$", ".+"}, analysis.Plain(w.Text))
	})
}

// searchers find processes.
var searchers = []string{"pgrep", "pidof", "ps", "lsof", "fuser", "ss", "netstat"}

func findsProcesses(a *Act, w analysis.Word) bool {
	return from(a, w.From, searchers)
}

// from tells whether a flow holds one of the programs.
func from(a *Act, f analysis.Flow, programs []string) bool {
	if f.Empty() {
		return false
	}
	cmds := a.Reading.Commands[f.Start:min(f.End, len(a.Reading.Commands))]
	return slices.ContainsFunc(cmds, func(c analysis.Command) bool { return slices.Contains(programs, c.Program) })
}

func powerOff(a *Act) []Hit {
	args := &analysis.Args{}
	if len(a.Words) > 0 {
		args = a.Args(analysis.Grammar{Short: "HMtpsno"})
	}
	hit := len(a.each(a.writes(), func(t analysis.Target) bool { return t.Path == "/proc/sysrq-trigger" })) > 0
	switch a.Program {
	case "shutdown":
		hit = !args.Has("ck") && !args.Long("show", 2)
	case "reboot", "halt", "poweroff":
		hit = !args.Has("w") && !args.Long("wtmp-only", 1)
	case "init", "telinit":
		hit = len(args.Operands) == 1 && (args.Operands[0].Is("0") || args.Operands[0].Is("6"))
	case "systemctl":
		hit = len(args.Operands) > 0 && slices.ContainsFunc([]string{"poweroff", "reboot", "halt", "kexec", "soft-reboot"}, args.Operands[0].Is)
	}
	if !hit {
		return nil
	}
	return []Hit{{Reason: "switches the machine off or restarts it", Floor: true}}
}
