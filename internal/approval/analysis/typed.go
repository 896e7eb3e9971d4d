package analysis

import (
	"slices"
	"strings"
)

// specialCarrier gives what follows a carrier whose arguments no option table describes: a language of its own, text that is typed into
// a terminal, a job for later. It is nil for other programs.
func specialCarrier(program string) func(*reader, *state, *Command, place) {
	switch program {
	case "tmux", "tmate", "byobu":
		return tmux
	case "screen":
		return screen
	case "zellij":
		return zellij
	case "at", "batch":
		return atJob
	case "salt", "salt-call", "salt-ssh":
		return salt
	case "concurrently":
		return concurrently
	case "rvm":
		return afterWord("do")
	case "mix":
		return afterWord("cmd")
	case "cmake":
		return cmakeTool
	case "nix":
		return nixRun
	case "bind":
		return bindKeys
	case "bindkey":
		return bindZshKeys
	case "fc":
		return runHistory
	case "i3-msg", "swaymsg":
		return windowManager
	case "xdotool", "ydotool":
		return typist("type")
	case "wtype":
		return typist("")
	case "kitten":
		return typist("send-text")
	case "m4", "gm4":
		return m4
	}
	return nil
}

// concurrently runs each of its operands.
func concurrently(r *reader, st *state, c *Command, at place) {
	args := c.Args(Grammar{Short: "ncpt", Long: []string{"names", "prefix-colors", "prefix", "timestamp-format", "max-processes", "restart-tries"}})
	for _, w := range args.Operands {
		at.last, at.stdin = false, Stdin{}
		r.text(elsewhere(st), w, c, at)
	}
}

// specials are their names.
const specials = "tmux tmate byobu screen zellij at batch salt salt-call salt-ssh concurrently rvm mix cmake nix bind bindkey fc m4 gm4 i3-msg swaymsg xdotool ydotool wtype kitten wp drush rake pry scrapy arangosh puppet chef-apply chef-shell rex"

// elsewhere is the state of a shell that runs already: the same machine, an unknown directory.
func elsewhere(st *state) *state {
	in := st.clone()
	in.funcs, in.dirs, in.failed, in.argsOK = nil, []string{""}, nil, false
	return in
}

// given runs words as tmux and its like do: one word is a shell's text, several are a command.
func (r *reader) given(st *state, words []Word, c *Command, at place) {
	at.last, at.stdin = false, Stdin{}
	switch len(words) {
	case 0:
	case 1:
		r.text(st, words[0], c, at)
	default:
		at.origin = origin(c, false)
		r.run(st, simple{words: words, span: c.Span}, at)
	}
}

// typed reads keys that are sent to a terminal as the text that they type.
func (r *reader) typed(st *state, keys Word, c *Command, at place) {
	at.last, at.stdin = false, Stdin{}
	if strings.TrimSpace(keys.Text) != "" {
		r.text(elsewhere(st), keys, c, at)
	}
}

// tmuxVerbs are the commands of tmux that run something: the letters of their options that take a value.
var tmuxVerbs = []struct {
	names, short string
}{
	{names: "new-session new", short: "cefFnstxy"}, {names: "new-window neww", short: "cefFnt"}, {names: "split-window splitw", short: "ceflFpt"},
	{names: "respawn-pane respawnp respawn-window respawnw", short: "cet"}, {names: "display-popup popup", short: "bcdehsStTwxy"},
	{names: "run-shell run", short: "dtc"}, {names: "if-shell if", short: "t"}, {names: "pipe-pane pipep", short: "t"},
	{names: "confirm-before confirm", short: "ptc"}, {names: "bind-key bind", short: "NT"}, {names: "set-hook", short: "t"},
	{names: "choose-tree", short: "fFKOt"},
}

// tmux reads the commands of a tmux command line, which semicolons separate.
func tmux(r *reader, st *state, c *Command, at place) {
	words := c.Words[1:]
	for len(words) > 0 && len(words[0].Text) > 1 && words[0].Text[0] == '-' {
		flag := parseFlag(words[0].Text, "cfLST", nil)
		value := Word{Text: flag.value, Span: words[0].Span}
		words = words[1:]
		if flag.wants && len(words) > 0 {
			value, words = words[0], words[1:]
		}
		if flag.takes("c") {
			r.text(st.clone(), value, c, at)
		}
	}
	for len(words) > 0 {
		end := slices.IndexFunc(words, func(w Word) bool { return w.Text == ";" || w.Text == `\;` })
		if end < 0 {
			end = len(words)
		}
		r.tmuxCommand(st, words[:end], c, at)
		words = words[min(end+1, len(words)):]
	}
}

func (r *reader) tmuxCommand(st *state, words []Word, c *Command, at place) {
	if len(words) < 2 {
		return
	}
	verb := words[0].Text
	if has("send-keys send", verb) {
		r.sendKeys(st, words[1:], c, at)
		return
	}
	i := slices.IndexFunc(tmuxVerbs, func(v struct{ names, short string }) bool { return has(v.names, verb) })
	if i < 0 {
		return
	}
	sub, rest := st.clone(), words[1:]
	sub.funcs = nil
	for len(rest) > 0 && len(rest[0].Text) > 1 && rest[0].Text[0] == '-' && rest[0].Text != "--" {
		flag := parseFlag(rest[0].Text, tmuxVerbs[i].short, nil)
		value := Word{Text: flag.value}
		rest = rest[1:]
		if flag.wants && len(rest) > 0 {
			value, rest = rest[0], rest[1:]
		}
		if flag.takes("c") {
			r.moveTo(sub, value.Values())
		}
	}
	switch {
	case has("if-shell if", verb):
		for n, w := range rest {
			if n == 0 {
				r.given(sub.clone(), []Word{w}, c, at)
			} else {
				r.tmuxCommand(st, splitWords(w), c, at)
			}
		}
	case has("confirm-before confirm", verb) && len(rest) > 0:
		r.tmuxCommand(st, splitWords(rest[0]), c, at)
	case has("bind-key bind set-hook", verb):
		if len(rest) == 2 {
			r.tmuxCommand(st, splitWords(rest[1]), c, at)
		} else if len(rest) > 2 {
			r.tmuxCommand(st, rest[1:], c, at)
		}
	default:
		r.given(sub, rest, c, at)
	}
}

// keyNames are keys that tmux knows by name and what they type; others type nothing that is read.
var keyNames = map[string]string{"Enter": "\n", "KPEnter": "\n", "C-m": "\n", "C-j": "\n", "Space": " ", "Tab": "\t", "C-c": "\n", "C-u": "\n"}

func (r *reader) sendKeys(st *state, words []Word, c *Command, at place) {
	var keys strings.Builder
	literal := false
	var span Span
	for i := 0; i < len(words); i++ {
		text := words[i].Text
		if flag := parseFlag(text, "tN", nil); flag.letters != "" && keys.Len() == 0 {
			literal = literal || strings.Contains(flag.letters, "l")
			if flag.wants {
				i++
			}
			continue
		}
		if key, ok := keyNames[text]; ok && !literal {
			keys.WriteString(key)
		} else {
			keys.WriteString(text)
		}
		span = words[i].Span
	}
	r.typed(st, Word{Text: keys.String(), Span: span}, c, at)
}

// screen runs a command in a new session, or sends one to a session that runs (-X).
func screen(r *reader, st *state, c *Command, at place) {
	words, sends := c.Words[1:], false
	for len(words) > 0 && len(words[0].Text) > 1 && words[0].Text[0] == '-' {
		flag := parseFlag(words[0].Text, "cehpsStT", nil)
		sends = sends || strings.Contains(flag.letters, "X")
		if strings.ContainsAny(flag.letters, "rxRlw") && !strings.Contains(flag.letters, "X") || oneOf(words[0], "-ls", "-wipe", "-list") {
			return
		}
		words = words[1:]
		if flag.wants && len(words) > 0 {
			words = words[1:]
		}
	}
	if !sends {
		if len(words) > 0 {
			at.origin, at.last, at.stdin = origin(c, false), false, Stdin{}
			r.run(st.clone(), simple{words: words, span: c.Span}, at)
		}
		return
	}
	if len(words) < 2 {
		return
	}
	switch words[0].Text {
	case "stuff", "paste", "register":
		keys := words[len(words)-1]
		keys.Text = strings.NewReplacer("^M", "\n", `\r`, "\n", `\n`, "\n", `\015`, "\n", `\012`, "\n", "\r", "\n").Replace(keys.Text)
		r.typed(st, keys, c, at)
	case "screen", "exec":
		r.given(elsewhere(st), words[1:], c, at)
	}
}

func oneOf(w Word, texts ...string) bool { return slices.Contains(texts, w.Text) }

// zellij types characters into a pane; its run verb is a wrapper.
func zellij(r *reader, st *state, c *Command, at place) {
	args := c.Args(Grammar{Short: "s", Long: []string{"session"}})
	if len(args.Operands) > 2 && args.Operands[0].Is("action") && args.Operands[1].Is("write-chars") {
		r.typed(st, args.Operands[2], c, at)
	}
}

// atJob reads the text that at and batch put by for a shell.
func atJob(r *reader, st *state, c *Command, at place) {
	args := c.Args(Grammar{Short: "qft"})
	if args.Has("lrdc") {
		return
	}
	at.last = false
	for _, w := range args.Values["f"] {
		r.sourced(st.clone(), w, c, at)
		return
	}
	r.login(st.clone(), c, at)
}

// salt runs the text behind cmd.run and its kin on its minions.
func salt(r *reader, st *state, c *Command, at place) {
	words := c.Words[1:]
	i := slices.IndexFunc(words, func(w Word) bool {
		return oneOf(w, "cmd.run", "cmd.shell", "cmd.run_all", "cmd.run_stdout", "cmd.run_bg", "cmd.exec_code")
	})
	sub := st.clone()
	sub.abroad("")
	at.inside = &Inside{Name: "minions", Remote: true, Parent: at.inside}
	at.last, at.stdin = false, Stdin{}
	if i >= 0 && i+1 < len(words) {
		r.text(sub, words[i+1], c, at)
	}
	if i := slices.IndexFunc(words, func(w Word) bool { return saltModules[w.Text] != "" }); i >= 0 {
		args := texts(words[i+1:])
		for k, a := range args {
			args[k] = strings.TrimPrefix(a, "name=")
		}
		r.argvValue(sub, append(strings.Fields(saltModules[words[i].Text]), args...), c.Span, c, at)
	}
	if c.Program == "salt-ssh" {
		for _, w := range c.Args(Grammar{Short: "r", Long: []string{"raw"}}).Values["r"] {
			r.text(sub, w, c, at)
		}
	}
}

// saltModules are functions of Salt's modules that take something away, as the commands that do the same.
var saltModules = map[string]string{
	"file.remove": "rm -r", "file.absent": "rm -r", "file.rmdir": "rm -r", "pkg.remove": "apt-get remove", "pkg.purge": "apt-get purge", "pkg.removed": "apt-get remove",
	"pkg.purged": "apt-get purge", "service.stop": "systemctl stop", "service.restart": "systemctl restart", "service.disable": "systemctl disable",
	"service.dead": "systemctl stop", "service.mask": "systemctl mask", "user.delete": "userdel", "user.absent": "userdel", "group.delete": "groupdel", "cron.rm": "crontab -r",
	"cron.rm_job": "crontab -r", "disk.wipe": "wipefs -a", "disk.format_": "mkfs", "mysql.db_remove": "mysqladmin drop", "postgres.db_remove": "dropdb", "docker.rm": "docker rm -f",
	"iptables.flush": "iptables -F", "ps.kill_pid": "kill -9", "ps.pkill": "pkill -9",
}
