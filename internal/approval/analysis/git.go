package analysis

import (
	"slices"
	"strconv"
	"strings"
)

// gitConfigRuns are configuration keys whose value git runs; a * stands for any name.
var gitConfigRuns = []string{"core.pager", "core.editor", "core.sshcommand", "core.fsmonitor", "core.askpass", "core.gitproxy", "sequence.editor",
	"diff.external", "diff.*.command", "diff.*.textconv", "difftool.*.cmd", "mergetool.*.cmd", "merge.*.driver", "filter.*.clean", "filter.*.smudge",
	"filter.*.process", "gpg.program", "gpg.*.program", "pager.*", "browser.*.cmd", "man.*.cmd", "interactive.difffilter", "uploadpack.packobjectshook",
	"sendemail.sendmailcmd", "trailer.*.command", "remote.*.uploadpack", "remote.*.receivepack", "credential.helper", "credential.*.helper", "alias.*"}

// gitConfig reads the value of a configuration key that git runs.
func (r *reader) gitConfig(st *state, key string, value Word, c *Command, at place) {
	key = strings.ToLower(key)
	if key == "core.hookspath" {
		r.loads(st, value.Text, value, c, true)
		return
	}
	if !slices.ContainsFunc(gitConfigRuns, func(k string) bool {
		head, tail, wild := strings.Cut(k, "*")
		return key == k || wild && strings.HasPrefix(key, head) && strings.HasSuffix(key, tail) && len(key) > len(head)+len(tail)
	}) {
		return
	}
	if strings.HasPrefix(key, "alias.") || strings.HasSuffix(key, "helper") {
		rest, ok := strings.CutPrefix(value.Text, "!")
		if !ok {
			if strings.HasPrefix(key, "alias.") { // a git command of its own
				at.origin = origin(c, false)
				words := append([]Word{c.Words[0]}, splitWords(value)...)
				if len(words) > 1 && !strings.Contains(value.Text, "alias.") {
					r.run(st, simple{words: words, span: c.Span}, at)
				}
			}
			return
		}
		value.Text = rest
	}
	if value.Is("true") || value.Is("false") || value.Is("1") || value.Is("0") {
		return
	}
	r.commandValue(st, value, c, false, at)
}

// gitVariables reads the settings that git takes from variables: in front of the command, set before, or carried by the session.
func (r *reader) gitVariables(st *state, c *Command, at place) {
	if all, ok := r.inEnvironment(st, c, "GIT_CONFIG_PARAMETERS"); ok {
		for _, w := range splitWords(all) {
			key, value, _ := strings.Cut(w.Text, "=")
			r.gitConfig(st, strings.Trim(key, "'"), Word{Text: strings.Trim(value, "'"), Span: w.Span}, c, at)
		}
	}
	for n := range MaxLoopItems {
		key, ok := r.inEnvironment(st, c, "GIT_CONFIG_KEY_"+strconv.Itoa(n))
		value, given := r.inEnvironment(st, c, "GIT_CONFIG_VALUE_"+strconv.Itoa(n))
		if !ok {
			return
		}
		if given {
			r.gitConfig(st, key.Text, value, c, at)
		}
	}
}

// inEnvironment is what a command finds in a variable.
func (r *reader) inEnvironment(st *state, c *Command, name string) (Word, bool) {
	for _, a := range slices.Backward(c.Assigns) {
		if a.Name == name {
			return a.Value, true
		}
	}
	v, ok := r.lookup(st, name)
	if !ok || v.arr || len(v.vals) == 0 {
		return Word{}, false
	}
	return Word{Text: v.vals[0], Alts: v.vals[1:], From: v.from, Span: c.Span}, true
}

// gitRuns reads the commands that git's options and verbs hold.
func gitRuns(r *reader, st *state, c *Command, at place) {
	sub := st.clone()
	sub.funcs = nil
	r.gitVariables(sub, c, at)
	words, i := c.Words[1:], 0
	for i < len(words) && len(words[i].Text) > 1 && words[i].Text[0] == '-' {
		switch text := words[i].Text; {
		case text == "-c" && i+1 < len(words):
			i++
			if key, value, ok := strings.Cut(words[i].Text, "="); ok {
				r.gitConfig(sub, key, Word{Text: value, Span: words[i].Span}, c, at)
			}
		case text == "-C" && i+1 < len(words):
			i++
			r.moveTo(sub, words[i].Values())
			sub.failed = nil
		case oneOf(words[i], "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix"):
			i++
		}
		i++
	}
	if i >= len(words) {
		return
	}
	verb, rest := words[i].Text, words[i+1:]
	switch verb {
	case "rebase":
		r.valuesOf(sub, c, rest, "x", "exec", at)
	case "grep":
		r.valuesOf(sub, c, rest, "O", "open-files-in-pager", at)
	case "send-email":
		r.valuesOf(sub, c, rest, "", "sendmail-cmd to-cmd cc-cmd header-cmd smtp-server", at)
	case "difftool", "mergetool":
		r.valuesOf(sub, c, rest, "x", "extcmd", at)
	case "clone", "fetch", "pull", "ls-remote", "archive", "push":
		r.valuesOf(sub, c, rest, map[string]string{"clone": "u"}[verb], "upload-pack receive-pack exec", at)
		for k, w := range rest {
			setting, attached := strings.CutPrefix(w.Text, "--config=")
			if !attached && verb == "clone" && oneOf(w, "-c", "--config") && k+1 < len(rest) {
				setting = rest[k+1].Text
			}
			if key, value, ok := strings.Cut(setting, "="); ok && verb == "clone" {
				r.gitConfig(sub, key, Word{Text: value, Span: w.Span}, c, at)
			}
		}
		for _, w := range rest {
			if cmd, ok := strings.CutPrefix(w.Text, "ext::"); ok { // "% " is a space inside a word
				if strings.Contains(cmd, "% ") {
					cmd = "'" + strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(cmd, "% ", "\x01"), " ", "' '"), "\x01", " ") + "'"
				}
				r.commandValue(sub, Word{Text: cmd, Span: w.Span}, c, false, at)
			}
		}
	case "filter-branch":
		r.valuesOf(sub, c, rest, "", "setup env-filter tree-filter index-filter parent-filter msg-filter commit-filter tag-name-filter", at)
	case "submodule":
		if k := slices.IndexFunc(rest, func(w Word) bool { return w.Is("foreach") }); k >= 0 {
			r.restOf(sub, c, rest[k+1:], at)
		}
	case "bisect":
		if len(rest) > 1 && rest[0].Is("run") {
			at.origin = origin(c, false)
			r.run(sub, simple{words: rest[1:], span: c.Span}, at)
		}
	case "config":
		operands := slices.DeleteFunc(slices.Clone(rest), func(w Word) bool { return len(w.Text) > 1 && w.Text[0] == '-' || w.Is("set") })
		if len(operands) > 1 {
			r.gitConfig(sub, operands[0].Text, operands[1], c, at)
		}
	}
}

// restOf runs words behind options: one word is a shell's text.
func (r *reader) restOf(st *state, c *Command, words []Word, at place) {
	for len(words) > 0 && len(words[0].Text) > 1 && words[0].Text[0] == '-' {
		words = words[1:]
	}
	r.given(st, words, c, at)
}

// valuesOf reads the values of a short option and of long options as commands.
func (r *reader) valuesOf(st *state, c *Command, words []Word, short, long string, at place) {
	row := &optionRun{short: short, long: long, names: strings.TrimSpace(short + " " + long)}
	as := *c
	as.Words = append([]Word{c.Words[0]}, words...)
	r.optionRun(st, &as, row, at)
}
