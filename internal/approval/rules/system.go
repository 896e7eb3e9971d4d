package rules

import (
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

func systemRows() []Row {
	return []Row{
		{
			ID: "sysconf.write", Key: "overwrite system config", Family: "system", Remember: RememberAll,
			Matches:  "a write to /etc or another system path, by redirect, tee, copy, move, link, install, in-place or line edit, patch, extraction or download",
			Programs: []string{"tee", "cp", "mv", "install", "ln", "sed", "perl", "ruby", "ed", "ex", "patch", "sort", "tar", "unzip", "dd", "truncate", "curl", "wget", "rsync"}, Writes: true, Match: sysconfWrite,
			Examples: []string{"echo x > /etc/hosts", "echo x >> /etc/fstab", "cat a | sudo tee -a /etc/hosts", "cp x /etc/nginx/", "sed -i s/a/b/ /etc/ssh/sshd_config",
				"install -m 644 x /usr/local/bin/x", "ln -sf /a /etc/localtime", "cp -t /etc x", "echo x >| /etc/passwd", "curl -o /etc/x http://h/x",
				"> /etc/motd", "{ echo a; echo b; } > /etc/x", "cd /etc && echo x > hosts", "echo x &> /etc/x", "mv x /etc/sudoers", "perl -pi -e s/a/b/ /etc/hosts", "ed -s /etc/hosts < x", "patch /etc/hosts < p",
				"sort -o /etc/x x", "tar -C /etc -xf a.tar", "tar xzf a.tgz -C /usr/local", "cd /etc && tar xf a.tar", "unzip -o a.zip -d /etc"},
			LookAlikes: []string{"cat /etc/hosts", "cp /etc/hosts .", "echo '> /etc/hosts'", "sed s/a/b/ /etc/hosts", "echo x > etc/hosts", "grep x /etc/passwd > out",
				"cat < /etc/hosts", "ls /etc 2>/dev/null", "ln -s /etc/hosts h", "tee out < /etc/hosts", "perl -ne 'print if /x/' /etc/hosts", "perl -e 'print 1' -i", "sort /etc/hosts", "tar czf x.tgz /etc", "tar xf a.tar", "tar -C /etc -cf x.tar .",
				"tar xf a.tar etc/hosts", "unzip a.zip", "unzip -l a.zip -d /etc", "patch -p1 < /etc/p", "tar -C /etc -tf /data/a.tar"},
		},
		{
			ID: "service.stop", Key: "stop/restart system service", Family: "service", Remember: RememberAll,
			Matches:  "stop, restart, disable, mask, kill and their like, of service managers and supervisors",
			Programs: servicePrograms(), Match: serviceStop,
			Examples: []string{"systemctl stop nginx", "sudo systemctl --user restart x", "service nginx stop", "rc-service sshd restart", "systemctl mask x",
				"/etc/init.d/nginx stop", "sh /etc/init.d/nginx restart", "launchctl unload x.plist", "systemctl -H host disable x", "supervisorctl stop all"},
			LookAlikes: []string{"systemctl status nginx", "service nginx status", "systemctl start x", "echo systemctl stop x", "systemctl list-units stop",
				"journalctl -u stop", "service --status-all"},
		},
	}
}

// writes lists the operands, options and redirects of a command that it writes to. A source is never one.
func (a *Act) writes() []analysis.Word {
	var out []analysis.Word
	for _, r := range a.Redirects {
		if r.Write {
			out = append(out, r.Target)
		}
	}
	return append(out, a.written()...)
}

// written tells, by program, which words name what is written.
func (a *Act) written() []analysis.Word {
	switch a.Program {
	case "tee":
		return a.Args(analysis.Grammar{}).Operands
	case "truncate":
		return a.Args(analysis.Grammar{Short: "sr", Long: []string{"size", "reference"}}).Operands
	case "cp", "mv", "ln":
		return copied(a, "St", "suffix")
	case "rsync":
		return copied(a, "efBTM", "rsh", "filter", "exclude", "include", "files-from", "rsync-path", "out-format")
	case "install":
		return installed(a)
	case "sed":
		return sedInPlace(a)
	case "perl", "ruby":
		return codeInPlace(a)
	case "ed", "ex":
		return a.Args(analysis.Grammar{Short: "pcStTuw"}).Operands
	case "patch":
		return patched(a)
	case "sort":
		return optionValues(a, analysis.Grammar{Short: "kStTo", Long: []string{"output", "key", "field-separator", "buffer-size", "temporary-directory"}}, "o", "output")
	case "tar":
		return extracted(a)
	case "unzip":
		if args := a.Args(analysis.Grammar{Short: "dxP"}); !args.Has("lptvzZ") {
			return orHere(args.Values["d"])
		}
	case "dd":
		if w, ok := a.ddOperand("of"); ok {
			return []analysis.Word{w}
		}
	case "curl":
		return optionValues(a, analysis.Grammar{Short: "AbcCdDeEFhHKmoPQrtTuUwxXyYz", Long: []string{"output", "dump-header", "data", "header"}}, "o", "output")
	case "wget":
		return optionValues(a, analysis.Grammar{Short: "oaetOTwQPUlADRXIBi", Long: []string{"output-document", "output-file", "directory-prefix"}},
			"O", "output-document", "P", "directory-prefix", "o", "output-file")
	}
	return nil
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
func copied(a *Act, short string, long ...string) []analysis.Word {
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

func installed(a *Act) []analysis.Word {
	args := a.Args(analysis.Grammar{Short: "gmotS", Long: []string{"group", "mode", "owner", "suffix", "target-directory"}})
	if args.Has("d") || args.Long("directory", 1) {
		return args.Operands
	}
	return copied(a, "gmotS", "group", "mode", "owner", "suffix")
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

// codeInPlace lists the files that perl -i and ruby -i edit.
func codeInPlace(a *Act) []analysis.Word {
	args := a.Args(analysis.Grammar{Short: "eEiImMFxrlC0"})
	if !strings.Contains(args.Letters, "i") {
		return nil
	}
	if len(args.Values["e"])+len(args.Values["E"]) > 0 {
		return args.Operands
	}
	return args.Operands[min(1, len(args.Operands)):]
}

// patched lists what patch writes to: the file it is given, or what the patch names below the directory.
func patched(a *Act) []analysis.Word {
	args := a.Args(analysis.Grammar{Short: "pidoBDFrVYzg", Long: []string{"strip", "input", "directory", "output", "reject-file", "fuzz", "prefix", "suffix"}})
	if args.Long("dry-run", 2) {
		return nil
	}
	out := slices.Concat(args.Values["o"], args.Values["output"], args.Operands[:min(1, len(args.Operands))])
	if len(out) == 0 {
		return orHere(slices.Concat(args.Values["d"], args.Values["directory"]))
	}
	return out
}

// extracted lists where tar -x puts what it extracts. Its first word may be options without a dash.
func extracted(a *Act) []analysis.Word {
	c := *a.Command
	if len(c.Words) > 1 && c.Words[1].Text != "" && c.Words[1].Text[0] != '-' {
		old := c.Words[1].Text
		c.Words = slices.Clone(c.Words)
		c.Words[1].Text = "-" + strings.Trim(old, "fCbTXVgK") // values of such options are operands of their own
		if strings.Contains(old, "C") {
			return nil
		}
	}
	args := c.Args(analysis.Grammar{Short: "fCbTXVgKI", Long: []string{"file", "directory", "exclude", "files-from", "exclude-from", "use-compress-program",
		"transform", "strip-components", "owner", "group", "mode"}})
	if !args.Has("x") && !args.Long("extract", 2) && !args.Long("get", 2) || args.Has("O") || args.Long("to-stdout", 4) {
		return nil
	}
	return orHere(slices.Concat(args.Values["C"], args.Values["directory"]))
}

// orHere is the working directory where no other was named.
func orHere(words []analysis.Word) []analysis.Word {
	if len(words) > 0 {
		return words
	}
	return []analysis.Word{{Text: "."}}
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
	name  string
	short string   // option letters with a value
	long  []string // long options with a value
	verb  int      // the operand that is the verb
	verbs []string
	flags string // option letters that act themselves
}

// stops are the verbs of most managers; others of a manager's own stand in its row.
var stops = []string{"stop", "restart", "force-reload", "condrestart", "try-restart", "force-stop", "zap"}

var managers = []manager{
	{name: "systemctl", short: "HMtpsno", long: []string{"host", "machine", "type", "property", "signal", "lines", "output", "root", "kill-whom", "job-mode",
		"state", "image", "what"},
		verbs: []string{"stop", "restart", "try-restart", "reload-or-restart", "try-reload-or-restart", "condrestart", "force-reload", "disable",
			"mask", "kill", "isolate", "rescue", "emergency", "default", "preset-all"}},
	{name: "service", verb: 1, verbs: stops},
	{name: "rc-service", verb: 1, verbs: stops},
	{name: "invoke-rc.d", verb: 1, verbs: stops},
	{name: "initctl", verbs: stops},
	{name: "launchctl", verbs: []string{"unload", "bootout", "disable", "kill", "stop", "remove", "kickstart"}},
	{name: "supervisorctl", short: "csup", verbs: []string{"stop", "restart", "shutdown", "reload", "remove"}},
	{name: "sv", short: "w", verbs: []string{"down", "d", "stop", "restart", "force-stop", "force-restart", "exit", "kill", "k", "shutdown"}},
	{name: "s6-svc", flags: "dkxrt"},
	{name: "monit", short: "cdgl", verbs: []string{"stop", "restart", "unmonitor", "quit"}},
	{name: "pm2", verbs: []string{"stop", "restart", "delete", "kill", "reload", "del"}},
	{name: "svcadm", verbs: []string{"disable", "restart", "mark"}},
	{name: "update-rc.d", verb: 1, verbs: []string{"remove", "disable"}},
	{name: "rc-update", verbs: []string{"del", "delete"}},
	{name: "chkconfig", verb: 1, verbs: []string{"off"}},
	{name: "net", verbs: []string{"stop"}},
	{name: "sc", verbs: []string{"stop", "delete"}},
}

func servicePrograms() []string {
	names := make([]string, len(managers))
	for i, m := range managers {
		names[i] = m.name
	}
	slices.Sort(names)
	return names
}

// initScript tells whether a command is a start script called by its path.
func initScript(c *analysis.Command) bool {
	words := c.Words
	if len(words) > 0 && slices.Contains([]string{"sh", "bash", "dash"}, c.Program) {
		words = words[1:]
	}
	return len(words) > 1 && (strings.HasPrefix(words[0].Text, "/etc/init.d/") || strings.HasPrefix(words[0].Text, "/etc/rc.d/"))
}

func serviceRow() *Row { return ByName("service.stop") }

// managerOf gives the service manager that a command calls.
func managerOf(c *analysis.Command) (manager, bool) {
	if initScript(c) {
		m := manager{verbs: stops}
		if !strings.HasPrefix(c.Words[0].Text, "/etc/") { // behind a shell
			m.verb = 1
		}
		return m, true
	}
	i := slices.IndexFunc(managers, func(m manager) bool { return m.name == c.Program })
	if i < 0 {
		return manager{}, false
	}
	return managers[i], true
}

func serviceStop(a *Act) []Hit {
	m, ok := managerOf(a.Command)
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
