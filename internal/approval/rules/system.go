package rules

import (
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

var systemRows = []Row{
	{
		ID: "sysconf.write", Key: "overwrite system config", Family: "system", Remember: RememberAll,
		Matches:  "a write to /etc or another system path, by redirect, tee, copy, move, link, install, in-place edit or download",
		Programs: []string{"tee", "cp", "mv", "install", "ln", "sed", "dd", "truncate", "curl", "wget", "rsync"}, Writes: true, Match: sysconfWrite,
		Examples: []string{"echo x > /etc/hosts", "echo x >> /etc/fstab", "cat a | sudo tee -a /etc/hosts", "cp x /etc/nginx/", "sed -i s/a/b/ /etc/ssh/sshd_config",
			"install -m 644 x /usr/local/bin/x", "ln -sf /a /etc/localtime", "cp -t /etc x", "echo x >| /etc/passwd", "curl -o /etc/x http://h/x",
			"> /etc/motd", "{ echo a; echo b; } > /etc/x", "cd /etc && echo x > hosts", "echo x &> /etc/x", "mv x /etc/sudoers"},
		LookAlikes: []string{"cat /etc/hosts", "cp /etc/hosts .", "echo '> /etc/hosts'", "sed s/a/b/ /etc/hosts", "echo x > etc/hosts", "grep x /etc/passwd > out",
			"cat < /etc/hosts", "ls /etc 2>/dev/null", "ln -s /etc/hosts h", "tee out < /etc/hosts"},
	},
	{
		ID: "service.stop", Key: "stop/restart system service", Family: "service", Remember: RememberAll,
		Matches:  "stop, restart, disable, mask, kill and their like, of service managers and supervisors",
		Programs: servicePrograms(), Match: serviceStop,
		Examples: []string{"systemctl stop nginx", "sudo systemctl --user restart x", "service nginx stop", "rc-service sshd restart", "systemctl mask x",
			"/etc/init.d/nginx stop", "launchctl unload x.plist", "systemctl -H host disable x", "supervisorctl stop all"},
		LookAlikes: []string{"systemctl status nginx", "service nginx status", "systemctl start x", "echo systemctl stop x", "systemctl list-units stop",
			"journalctl -u stop", "service --status-all"},
	},
}

// writes lists the operands, options and redirects of a command that it writes to. A source is never one.
func (a *Act) writes() []analysis.Word {
	var out []analysis.Word
	for _, r := range a.Redirects {
		if r.Write {
			out = append(out, r.Target)
		}
	}
	if w, ok := writers[a.Program]; ok {
		out = append(out, w(a)...)
	}
	return out
}

// writers tells, by program, which words name what is written.
var writers = map[string]func(*Act) []analysis.Word{
	"tee": func(a *Act) []analysis.Word { return a.Args(analysis.Grammar{}).Operands },
	"truncate": func(a *Act) []analysis.Word {
		return a.Args(analysis.Grammar{Short: "sr", Long: []string{"size", "reference"}}).Operands
	},
	"cp":      copied("St", "suffix"),
	"mv":      copied("St", "suffix"),
	"ln":      copied("St", "suffix"),
	"rsync":   copied("efBTM", "rsh", "filter", "exclude", "include", "files-from", "rsync-path", "out-format"),
	"install": installed,
	"sed":     sedInPlace,
	"dd": func(a *Act) []analysis.Word {
		if w, ok := a.ddOperand("of"); ok {
			return []analysis.Word{w}
		}
		return nil
	},
	"curl": func(a *Act) []analysis.Word {
		return optionValues(a, analysis.Grammar{Short: "AbcCdDeEFhHKmoPQrtTuUwxXyYz", Long: []string{"output", "dump-header", "data", "header"}}, "o", "output")
	},
	"wget": func(a *Act) []analysis.Word {
		return optionValues(a, analysis.Grammar{Short: "oaetOTwQPUlADRXIBi", Long: []string{"output-document", "output-file", "directory-prefix"}},
			"O", "output-document", "P", "directory-prefix", "o", "output-file")
	},
}

func optionValues(a *Act, g analysis.Grammar, names ...string) []analysis.Word {
	args := a.Args(g)
	var out []analysis.Word
	for _, n := range names {
		out = append(out, args.Values[n]...)
	}
	return out
}

// copied gives the destination of programs that copy, move or link: the value of -t, or the last operand.
func copied(short string, long ...string) func(*Act) []analysis.Word {
	return func(a *Act) []analysis.Word {
		args := a.Args(analysis.Grammar{Short: short, Long: append([]string{"target-directory"}, long...)})
		if a.Program != "rsync" {
			if t := slices.Concat(args.Values["t"], args.Values["target-directory"]); len(t) > 0 {
				return t
			}
		}
		if len(args.Operands) < 2 {
			return nil
		}
		return args.Operands[len(args.Operands)-1:]
	}
}

func installed(a *Act) []analysis.Word {
	args := a.Args(analysis.Grammar{Short: "gmotS", Long: []string{"group", "mode", "owner", "suffix", "target-directory"}})
	if args.Has("d") || args.Long("directory", 1) {
		return args.Operands
	}
	return copied("gmotS", "group", "mode", "owner", "suffix")(a)
}

func sedInPlace(a *Act) []analysis.Word {
	args := a.Args(analysis.Grammar{Short: "efl", Long: []string{"expression", "file", "line-length"}})
	if !args.Has("i") && !args.Long("in-place", 2) {
		return nil
	}
	if len(args.Values["e"])+len(args.Values["f"])+len(args.Values["expression"])+len(args.Values["file"]) > 0 {
		return args.Operands
	}
	return args.Operands[min(1, len(args.Operands)):]
}

func sysconfWrite(a *Act) []Hit {
	return one("writes to a system path", a.each(a.writes(), func(t analysis.Target) bool {
		switch t.Class {
		case analysis.ClassSystem, analysis.ClassKernel, analysis.ClassRoot:
			return true
		case analysis.ClassSystemRoot: // into it
			in := a.Reading.Target("", t.Path+"/x").Class
			return in == analysis.ClassSystem || in == analysis.ClassKernel
		}
		return false
	}))
}

// manager describes how a service manager is told what to do.
type manager struct {
	short string   // option letters with a value
	long  []string // long options with a value
	verb  int      // the operand that is the verb
	verbs []string
	flags string // option letters that act themselves
}

// stops are the verbs of most managers; others of a manager's own stand in its row.
var stops = []string{"stop", "restart", "force-reload", "condrestart", "try-restart", "force-stop", "zap"}

var managers = map[string]manager{
	"systemctl": {short: "HMtpsno", long: []string{"host", "machine", "type", "property", "signal", "lines", "output", "root", "kill-whom", "job-mode",
		"state", "image", "what"},
		verbs: []string{"stop", "restart", "try-restart", "reload-or-restart", "try-reload-or-restart", "condrestart", "force-reload", "disable",
			"mask", "kill", "isolate", "rescue", "emergency", "default", "preset-all"}},
	"service":       {verb: 1, verbs: stops},
	"rc-service":    {verb: 1, verbs: stops},
	"invoke-rc.d":   {verb: 1, verbs: stops},
	"initctl":       {verbs: stops},
	"launchctl":     {verbs: []string{"unload", "bootout", "disable", "kill", "stop", "remove", "kickstart"}},
	"supervisorctl": {short: "csup", verbs: []string{"stop", "restart", "shutdown", "reload", "remove"}},
	"sv":            {short: "w", verbs: []string{"down", "d", "stop", "restart", "force-stop", "force-restart", "exit", "kill", "k", "shutdown"}},
	"s6-svc":        {flags: "dkxrt"},
	"monit":         {short: "cdgl", verbs: []string{"stop", "restart", "unmonitor", "quit"}},
	"pm2":           {verbs: []string{"stop", "restart", "delete", "kill", "reload", "del"}},
	"svcadm":        {verbs: []string{"disable", "restart", "mark"}},
	"update-rc.d":   {verb: 1, verbs: []string{"remove", "disable"}},
	"rc-update":     {verbs: []string{"del", "delete"}},
	"chkconfig":     {verb: 1, verbs: []string{"off"}},
	"net":           {verbs: []string{"stop"}},
	"sc":            {verbs: []string{"stop", "delete"}},
}

func servicePrograms() []string {
	names := make([]string, 0, len(managers))
	for name := range managers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// initScript tells whether a command is a start script called by its path.
func initScript(c *analysis.Command) bool {
	return len(c.Words) > 1 && (strings.HasPrefix(c.Words[0].Text, "/etc/init.d/") || strings.HasPrefix(c.Words[0].Text, "/etc/rc.d/"))
}

func serviceRow() *Row { return ByName("service.stop") }

func serviceStop(a *Act) []Hit {
	m, ok := managers[a.Program]
	if initScript(a.Command) {
		m, ok = manager{verbs: stops}, true
	}
	if !ok {
		return nil
	}
	args := a.Args(analysis.Grammar{Short: m.short, Long: m.long})
	hit := m.flags != "" && args.Has(m.flags)
	if len(args.Operands) > m.verb {
		for _, v := range m.verbs {
			hit = hit || args.Operands[m.verb].Is(v)
		}
	}
	if !hit {
		return nil
	}
	return []Hit{{Reason: "stops or restarts a service: " + a.Line()}}
}
