package payload

import (
	"strings"
)

// shells are programs that, started without a script, read what they are sent.
var shells = map[string]bool{"sh": true, "bash": true, "dash": true, "zsh": true, "ksh": true, "ash": true, "fish": true, "cmd": true, "cmd.exe": true,
	"powershell": true, "pwsh": true, "powershell.exe": true}

// waits tells whether argv starts a shell that waits for commands.
func waits(argv []string) bool {
	if len(argv) == 0 {
		return false
	}
	base := argv[0][strings.LastIndexByte(argv[0], '/')+1:]
	if !shells[base] {
		return false
	}
	for _, a := range argv[1:] {
		if a == "-c" || a == "-lc" || a == "/c" || a != "" && a[0] != '-' && !strings.ContainsAny(a, "<>&") {
			return false
		}
	}
	return true
}

// shell gives a text to a shell.
func (s *scan) shell(c *call, v value) value {
	t := v.text()
	for _, x := range t {
		s.flags.shell = s.flags.shell || waits(strings.Fields(x))
	}
	if v.isList && v.keys == nil && len(v.list) > 1 {
		return s.exec(c, v.list)
	}
	if v.net && strings.HasPrefix(t[0], Unknown) {
		s.act(Fetch, c, Text{"sh"})
		return value{}
	}
	s.act(Shell, c, t)
	return value{file: false}
}

// exec starts a program.
func (s *scan) exec(c *call, argv []value) value {
	if len(argv) == 0 {
		argv = []value{{}}
	}
	var texts []Text
	var first []string
	for _, a := range argv {
		if a.isList && a.keys == nil {
			for _, b := range a.list {
				texts = append(texts, b.text())
			}
			continue
		}
		if a.keys != nil {
			continue
		}
		texts = append(texts, a.text())
		if a.net && a.text()[0] == Unknown && len(texts) > 1 && len(texts[0]) == 1 && shells[texts[0][0][strings.LastIndexByte(texts[0][0], '/')+1:]] {
			s.act(Fetch, c, Text{"sh"})
		}
	}
	for _, t := range texts {
		first = append(first, t[0])
	}
	s.flags.shell = s.flags.shell || waits(first)
	s.act(Exec, c, texts...)
	return value{}
}

// start runs what a call is given: a list is an argv, a text a program or, with words in it, a shell's text.
func (s *scan) start(c *call, v value) value {
	switch {
	case v.isList && v.keys == nil:
		return s.exec(c, v.list)
	case v.class == "argv":
		v.class = ""
		return s.shell(c, v)
	}
	if t, ok := v.exact(); ok && !strings.ContainsAny(t, " \t\n;|&$`") {
		return s.exec(c, []value{v})
	}
	return s.shell(c, v)
}

// eval runs a program text of the same language.
func (s *scan) eval(c *call, v value) value {
	if v.isList && len(v.list) > 0 {
		v = v.list[0]
	}
	switch {
	case v.class == "code":
	case v.net && len(v.texts) == 0 || v.net && strings.HasPrefix(v.texts[0], Unknown):
		s.act(Fetch, c, Text{"code"})
		return value{}
	case len(v.texts) == 0:
		s.act(Eval, c, Text{Unknown})
		return value{}
	}
	for _, t := range v.texts {
		if strings.HasPrefix(strings.TrimLeft(t, " \t\n"), Unknown) {
			s.act(Eval, c, Text{Unknown})
			continue
		}
		if s.level < maxLevels && isWordOnly(t) {
			continue
		}
		s.nested(t, c)
	}
	if t, ok := v.exact(); ok && isWordOnly(t) {
		return s.resolve(t)
	}
	return value{}
}

// isWordOnly tells whether a text is a dotted name.
func isWordOnly(t string) bool {
	for i := 0; i < len(t); i++ {
		if !letter(t[i]) && !digit(t[i]) && t[i] != '.' {
			return false
		}
	}
	return t != ""
}

// paths are arguments as paths, lists laid out.
func paths(args []value) (out []Text, made bool) {
	made = len(args) > 0
	for _, a := range args {
		switch {
		case a.isList && a.keys == nil:
			for _, e := range a.list {
				out = append(out, e.text())
				made = made && e.made
			}
			made = made && len(a.list) > 0
		case a.keys != nil:
		default:
			out = append(out, a.text())
			made = made && a.made
		}
	}
	if len(out) == 0 {
		out = []Text{{Unknown}}
	}
	return out, made
}

// deletes records that paths go. What the program itself made for its run may go without a word.
func (s *scan) deletes(kind Kind, c *call, args []value) {
	p, made := paths(args)
	if made {
		return
	}
	if kind == Delete && len(p) == 1 && s.everything(p[0]) {
		kind = DeleteTree
	}
	s.act(kind, c, p...)
}

// everything tells whether a path stands for all that a walk or a pattern over whole directories gives, with no test in between.
func (s *scan) everything(p Text) bool {
	dir, below := strings.CutSuffix(p[0], "/"+anyName)
	if !below {
		return false
	}
	if strings.HasSuffix(dir, anyName) {
		return strings.HasSuffix(p[0], "/"+anyName+anyName+"/"+anyName) && !s.tested()
	}
	return s.walks[dir] && !s.tested()
}

// tested tells whether a condition stands a little in front of the place.
func (s *scan) tested() bool {
	for i := min(s.i, len(s.toks)) - 1; i >= 0 && i > s.i-60; i-- {
		switch s.toks[i].text {
		case "if", "unless", "filter", "select", "continue", "next", "endswith", "fnmatch":
			return true
		case "walk", "os.walk":
			return false
		}
	}
	return false
}

// writes records that a path is written, when it is known.
func (s *scan) writes(c *call, v value) {
	if t := v.text(); t[0] != Unknown && !v.made {
		s.act(Write, c, t)
	}
}

func (s *scan) reads(c *call, v value) value {
	if t := v.text(); t[0] != Unknown && !v.made {
		s.act(Read, c, t)
	}
	return value{file: len(v.texts) == 1 && known(v.texts[0]) && v.texts[0] != "/dev/stdin" && !v.made}
}

// opens opens a file with a mode as C's fopen has it.
func (s *scan) opens(c *call, path, mode value) value {
	m, ok := mode.exact()
	if mode.isUnknown() {
		m, ok = "r", true
	}
	if !ok || strings.ContainsAny(m, "wax+c") {
		s.writes(c, path)
		return value{}
	}
	return s.reads(c, path)
}

// handlers by what they do; the numbers are arguments' indices.
