package analysis

import (
	"strings"
	"sync"
)

// variableUse says what a program makes of the value of a variable.
type variableUse uint8

const (
	useText    variableUse = iota + 1 // a shell reads it
	useArgv                           // it names a program
	useSource                         // a shell reads the file that it names
	useCode                           // a library or module that is loaded
	useExpand                         // a shell expands it, as it does a here-document
	useFlags                          // options of an interpreter, some of which load code
	useKeys                           // a file that says what keys do
	useOptions                        // options of the program, in front of those that it is given
)

// variableUses are the variables with which programs are made to run others (A22), from the programs' manuals.
var variableUses = sync.OnceValue(func() map[string]variableUse {
	uses := map[string]variableUse{}
	for use, names := range map[variableUse]string{
		useText: "GIT_SSH_COMMAND GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_PROXY_COMMAND PAGER MANPAGER BAT_PAGER DELTA_PAGER SYSTEMD_PAGER " +
			"AWS_PAGER GH_PAGER PSQL_PAGER EDITOR VISUAL SUDO_EDITOR SYSTEMD_EDITOR KUBE_EDITOR PSQL_EDITOR FCEDIT HGEDITOR SVN_EDITOR CVSEDITOR " +
			"BROWSER LESSOPEN LESSCLOSE RSYNC_RSH CVS_RSH SVN_SSH RSYNC_CONNECT_PROG PROMPT_COMMAND FZF_DEFAULT_COMMAND FZF_CTRL_T_COMMAND " +
			"RESTIC_PASSWORD_COMMAND BORG_PASSCOMMAND BORG_RSH MAKE_TERMERR PERL5DB KUBECTL_EXTERNAL_DIFF",
		useArgv:    "GIT_SSH GIT_ASKPASS SSH_ASKPASS SUDO_ASKPASS GIT_EXTERNAL_DIFF PKG_CONFIG DIFFPROG",
		useExpand:  "PS0 PS1 PS2 PS4 PROMPT RPROMPT",
		useSource:  "BASH_ENV ENV",
		useKeys:    "INPUTRC",
		useCode:    "LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES LD_LIBRARY_PATH DYLD_LIBRARY_PATH PYTHONSTARTUP PYTHONPATH PERL5LIB RUBYLIB NODE_PATH",
		useOptions: "TAR_OPTIONS MAKEFLAGS GNUMAKEFLAGS",
		useFlags:   "NODE_OPTIONS PERL5OPT RUBYOPT JAVA_TOOL_OPTIONS _JAVA_OPTIONS BUN_OPTIONS",
	} {
		for name := range strings.FieldsSeq(names) {
			uses[name] = use
		}
	}
	return uses
})

// variables reads what the assignments in front of a command make it run.
func (r *reader) variables(st *state, c *Command, at place) {
	for _, a := range c.Assigns {
		r.variableSet(st, a.Name, a.Value, c, at)
	}
}

// variableSet reads what a variable makes some program run, now or later.
func (r *reader) variableSet(st *state, name string, value Word, c *Command, at place) {
	use := variableUses()[name]
	if strings.HasPrefix(name, "BASH_FUNC_") && strings.HasPrefix(value.Text, "()") { // a function for every bash below
		use, value.Text, value.Alts = useText, "exported "+value.Text+"\nexported", nil
	}
	if use == 0 || value.Text == "" {
		return
	}
	at.last, at.stdin, at.redirects = false, Stdin{}, nil
	carrier := *c
	carrier.Program = name
	sub := st.clone()
	sub.funcs = nil
	switch use {
	case useText, useArgv:
		text := value.Text
		if name == "LESSOPEN" {
			text = strings.TrimLeft(text, "|-")
		}
		value.Text = text
		if name == "PERL5DB" {
			carrier.Program = "perl"
			r.inline(sub, value, &carrier, at)
			return
		}
		r.commandValue(sub, value, &carrier, use == useArgv, at)
	case useExpand:
		if strings.Contains(value.Text, "$(") || strings.Contains(value.Text, "`") {
			value.Text, value.Alts = "cat <<end_of_prompt\n"+value.Text+"\nend_of_prompt", nil
			r.text(sub, value, &carrier, at)
		}
	case useSource:
		r.sourced(sub, value, &carrier, at)
	case useKeys:
		r.keyFile(sub, value, &carrier, at)
	case useCode:
		for path := range strings.FieldsFuncSeq(value.Text, func(c rune) bool { return c == ':' || c == ' ' }) {
			r.loads(sub, path, value, &carrier, !strings.HasSuffix(name, "PATH") && !strings.HasSuffix(name, "LIB"))
		}
	case useOptions:
		as := *c
		as.Assigns, as.Words = nil, append([]Word{c.Words[0]}, splitWords(value)...)
		if as.Program = map[string]string{"TAR_OPTIONS": "tar", "MAKEFLAGS": "make", "GNUMAKEFLAGS": "make"}[name]; as.Program != "" {
			r.optionRuns(sub, &as, at)
		}
	case useFlags:
		r.flagsLoad(sub, value, &carrier)
	}
}

// flagsLoad looks for the module that options in a variable load: -r FILE, --require=FILE, -javaagent:FILE, data: and http: texts.
func (r *reader) flagsLoad(st *state, value Word, c *Command) {
	words := splitWords(value)
	for i, w := range words {
		text := w.Text
		switch {
		case strings.Contains(text, "data:text/javascript"), strings.Contains(text, "import=data:"), strings.Contains(text, "import=http"):
			r.codeNote(value.Span, "code in a variable is run", c)
		case oneOf(w, "-r", "--require", "--import", "--loader", "--experimental-loader") && i+1 < len(words):
			r.loads(st, words[i+1].Text, value, c, true)
		case strings.HasPrefix(text, "--require="), strings.HasPrefix(text, "--import="), strings.HasPrefix(text, "--loader="),
			strings.HasPrefix(text, "--experimental-loader="):
			r.loads(st, text[strings.IndexByte(text, '=')+1:], value, c, true)
		case strings.HasPrefix(text, "-M/"), strings.HasPrefix(text, "-r/"):
			r.loads(st, text[2:], value, c, true)
		case strings.HasPrefix(text, "-javaagent:"), strings.HasPrefix(text, "-agentpath:"):
			r.loads(st, text[strings.IndexByte(text, ':')+1:], value, c, true)
		case strings.HasPrefix(text, "-r") && len(text) > 2:
			r.loads(st, text[2:], value, c, true)
		}
	}
}

// loads judges a library or module that a program is made to load: one that the session brought, or one in a place where anyone may put it.
func (r *reader) loads(st *state, path string, value Word, c *Command, file bool) {
	if !strings.ContainsAny(path, "/.") || !Literal(path) {
		return
	}
	for _, d := range st.dirs {
		p := Join(d, path)
		if file && r.ranFile(p, c) {
			return
		}
		if t := r.out.judge(p); file && t.Class == ClassTemp {
			r.codeNote(value.Span, "code is loaded from "+Show(p), c)
			return
		}
	}
}

// codeNote says that code of another language than the shell's is run, which isn't known.
func (r *reader) codeNote(span Span, reason string, c *Command) {
	r.out.Notes = append(r.out.Notes, Note{NoteCode, span, reason, c.index})
}
