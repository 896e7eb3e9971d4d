package analysis

import (
	"strings"
	"sync"
)

// optionRun is an option, or a set of them, whose value is a command.
type optionRun struct {
	short  string // letters of all options that take a value
	long   string // long options that take one
	names  string // those whose value is a command: letters and long names
	prefix string // what the value begins with in front of the command, any of these
	argv   bool   // the value is a program's name or path, which no shell reads
	bare   bool   // the value is a command only behind a prefix
	where  func(*reader, *state, *inner) *Inside
}

// optionRunners are programs that run a command which an option names (A22). Options are from the programs' manuals.
var optionRunners = sync.OnceValue(func() map[string][]optionRun {
	ssh := optionRun{short: "BbcDEeFIiJLlmoOpPQRSWw", names: "o", prefix: "ProxyCommand LocalCommand KnownHostsCommand", bare: true}
	tar := []optionRun{
		{short: "fCbTXVgKIFLHN", long: "file directory checkpoint-action exclude transform owner group mode", names: "checkpoint-action", prefix: "exec", bare: true},
		{short: "fCbTXVgKIFLHN", long: "use-compress-program to-command info-script new-volume-script rsh-command", names: "I F use-compress-program to-command info-script new-volume-script rsh-command"},
	}
	pager := []optionRun{{long: "pager", names: "pager"}}
	listen := []optionRun{{short: "cegGhiIopqsSwWxX", long: "exec sh-exec", names: "c e exec sh-exec"}}
	apt := []optionRun{{short: "oct", long: "option", names: "o option", prefix: "APT::Update::* DPkg::Pre* DPkg::Post* Dpkg::Pre* Dpkg::Post*", bare: true}}
	mail := []optionRun{{short: "SscbaFrq", names: "S", prefix: "sendmail PAGER EDITOR VISUAL SHELL", bare: true}}
	return map[string][]optionRun{
		"ssh": {ssh}, "autossh": {ssh}, "slogin": {ssh},
		"sshfs": {{short: "poF", names: "o", prefix: "ProxyCommand ssh_command", bare: true}},
		"scp":   {withNames(ssh, "cFiJloPSXD"), {short: "cFiJloPSXD", names: "S", argv: true}},
		"sftp":  {withNames(ssh, "BbcDFiJloPRSsX"), {short: "BbcDFiJloPRSsX", names: "S D", argv: true}},
		"tar":   tar, "gtar": tar, "bsdtar": tar,
		"rsync": {{short: "efBTM", long: "rsh filter exclude include rsync-path", names: "e rsh"}, {long: "rsync-path", names: "rsync-path", where: onRemote}},
		"man":   {{short: "CRLmMsSepPrEH", long: "pager", names: "P H pager html"}},
		"bat":   pager, "batcat": pager, "ag": pager, "ack": pager, "delta": pager,
		"zip":     {{short: "btnxiP", long: "unzip-command", names: "TT unzip-command"}},
		"sort":    {{short: "kStTo", long: "compress-program", names: "compress-program", argv: true}},
		"rg":      {{short: "efgtTMmABCjEr", long: "pre hostname-bin", names: "pre hostname-bin", argv: true}},
		"split":   {{short: "abCln", long: "filter", names: "filter"}},
		"tcpdump": {{short: "cCDeEFGiIjmMQrsTVwyzZ", names: "z", argv: true}},
		"wget": {{short: "eoaOP", long: "use-askpass execute", names: "use-askpass", argv: true},
			{short: "eoaOP", long: "execute", names: "e execute", prefix: "use_askpass", bare: true}},
		"svn":  {{long: "editor-cmd diff-cmd diff3-cmd config-option", names: "editor-cmd diff-cmd diff3-cmd", argv: true}},
		"hg":   {{long: "config", names: "config", prefix: "alias.* hooks.* ui.editor ui.ssh ui.merge pager.pager", bare: true}},
		"fzf":  {{short: "qfdn", long: "preview query filter", names: "preview"}, {long: "bind", names: "bind", prefix: "*execute *reload *become", bare: true}},
		"ncat": listen, "nc": listen, "netcat": listen, "nc.traditional": listen,
		"apt-get": apt, "apt": apt,
		"feh":  {{short: "A", long: "action", names: "A action"}},
		"mail": mail, "mailx": mail, "mutt": {{short: "eFH", names: "e", prefix: "!", bare: true}},
		"restic": {{long: "password-command", names: "password-command"}, {short: "o", long: "option", names: "o option", prefix: "sftp.command", bare: true}},
		"borg":   {{long: "rsh", names: "rsh"}}, "rclone": {{long: "password-command sftp-ssh", names: "password-command sftp-ssh"}},
		"mapfile": {{short: "dnOsuCc", names: "C"}}, "readarray": {{short: "dnOsuCc", names: "C"}},
		"complete": {{short: "oAGWFCXPS", names: "C"}}, "compgen": {{short: "oAGWFCXPS", names: "C"}},
		"cpio":                {{short: "CDEFHIMORV", long: "rsh-command", names: "rsh-command"}},
		"aria2c":              {{long: "on-download-complete on-download-start on-download-error on-download-stop on-bt-download-complete", names: "on-download-complete on-download-start on-download-error on-download-stop on-bt-download-complete"}},
		"transmission-daemon": {{long: "torrent-done-script", names: "torrent-done-script"}},
		"unison":              {{long: "sshcmd", names: "sshcmd"}},
		"nano":                {{short: "sQTrCoXY", long: "speller", names: "s speller"}},
		"dpkg":                {{long: "pre-invoke post-invoke", names: "pre-invoke post-invoke"}},
		"rpm":                 {{long: "pipe", names: "pipe"}, {short: "E", long: "eval", names: "E eval", prefix: "%(", bare: true}},
	}
})

func withNames(o optionRun, short string) optionRun { o.short = short; return o }

// optionRuns reads the commands that a program's options, variables and own language hold.
func (r *reader) optionRuns(st *state, c *Command, at place) {
	at.last, at.stdin = false, Stdin{}
	if len(c.Assigns) > 0 {
		r.variables(st, c, at)
	}
	for i := range optionRunners()[c.Program] {
		r.optionRun(st, c, &optionRunners()[c.Program][i], at)
	}
	if read := ownLanguage(c.Program); read != nil {
		read(r, st, c, at)
	}
}

func (r *reader) optionRun(st *state, c *Command, row *optionRun, at place) {
	words := c.Words[1:]
	for i := 0; i < len(words); i++ {
		text := words[i].Text
		if text == "--" {
			return
		}
		if len(text) < 2 || text[0] != '-' {
			continue
		}
		name, value, wants := "", Word{Span: words[i].Span, From: words[i].From}, false
		if strings.HasPrefix(text, "--") || has(row.names, text[1:]) && len(text) > 2 {
			var attached bool
			name, value.Text, attached = strings.Cut(strings.TrimLeft(text, "-"), "=")
			wants = !attached && (has(row.long, name) || has(row.names, name))
		} else {
			flag := parseFlag(text, row.short, nil)
			name, value.Text, wants = "", flag.value, flag.wants
			if flag.valued != 0 {
				name = string(flag.valued)
			}
		}
		if wants && i+1 < len(words) {
			i++
			value = words[i]
		}
		if has(row.names, name) && value.Text != "" {
			r.optionValue(st, value, c, row, at)
		}
	}
}

func (r *reader) optionValue(st *state, value Word, c *Command, row *optionRun, at place) {
	sub := st.clone()
	sub.funcs = nil
	if row.where != nil {
		in := inner{c: c}
		at.inside = withParent(row.where(r, sub, &in), at.inside)
	}
	if row.prefix != "" {
		rest, ok := afterPrefix(value.Text, row.prefix)
		if !ok && row.bare {
			return
		}
		if ok {
			value.Text, value.Alts = strings.TrimPrefix(rest, "!"), nil
		}
	}
	r.commandValue(sub, value, c, row.argv, at)
}

func withParent(in, parent *Inside) *Inside {
	if in == nil {
		return parent
	}
	in.Parent = parent
	return in
}

// commandValue reads a value as a command. One that isn't known at all is most often a configured program, and no finding.
func (r *reader) commandValue(st *state, value Word, c *Command, argv bool, at place) {
	if !Known(leadMark(strings.TrimLeft(value.Text, " "))) {
		return
	}
	if !argv || strings.ContainsAny(value.Text, " \t\n") {
		r.text(st, value, c, at)
		return
	}
	at.origin = origin(c, false)
	r.run(st, simple{words: []Word{value, {Text: markUnknown, Span: value.Span}}, span: c.Span}, at)
}

// afterPrefix cuts one of the prefixes off a value, and what joins the two: = or : or white space, and quotes around the rest. A prefix
// that ends in * stands for every name that begins so; one that begins with *, for a name and a value in brackets anywhere.
func afterPrefix(value, prefixes string) (string, bool) {
	for p := range strings.FieldsSeq(prefixes) {
		if name, anywhere := strings.CutPrefix(p, "*"); anywhere {
			if i := strings.Index(value, name); i >= 0 {
				if k := strings.IndexAny(value[i:], "(:"); k >= 0 {
					return strings.TrimRight(value[i+k+1:], ")"), true
				}
			}
			continue
		}
		if p == "%(" { // rpm's macro
			if rest, ok := strings.CutPrefix(value, p); ok {
				return strings.TrimSuffix(rest, ")"), true
			}
			continue
		}
		if p == "!" {
			if rest, ok := strings.CutPrefix(value, "!"); ok {
				return rest, true
			}
			continue
		}
		i := strings.IndexAny(value, "= \t")
		if i < 0 {
			continue
		}
		name, rest := value[:i], strings.TrimLeft(value[i:], "= \t")
		head, open := strings.CutSuffix(p, "*")
		if strings.EqualFold(name, p) || open && strings.HasPrefix(name, head) {
			return rest, true
		}
	}
	return "", false
}

// firstOperand is the first word behind the program that isn't an option, by the letters that take a value.
func firstOperand(words []Word, short string) int {
	for i := 0; i < len(words); i++ {
		text := words[i].Text
		if len(text) < 2 || text[0] != '-' {
			return i
		}
		if text == "--" {
			return i + 1
		}
		if parseFlag(text, short, nil).wants {
			i++
		}
	}
	return -1
}
