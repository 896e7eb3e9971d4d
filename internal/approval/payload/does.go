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
	if p, made := paths(args); !made {
		s.act(kind, c, p...)
	}
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

func unlinks(s *scan, c *call) value {
	s.deletes(Delete, c, c.args)
	return value{}
}

func unlinkFirst(s *scan, c *call) value {
	s.deletes(Delete, c, c.args[:min(1, len(c.args))])
	return value{}
}

// unlinkSelf deletes what the receiver names.
func unlinkSelf(s *scan, c *call) value {
	s.deletes(Delete, c, []value{c.recv})
	return value{}
}

func treeSelf(s *scan, c *call) value {
	s.deletes(DeleteTree, c, []value{c.recv})
	return value{}
}

func trees(s *scan, c *call) value {
	s.deletes(DeleteTree, c, c.args)
	return value{}
}

func treeFirst(s *scan, c *call) value {
	first := c.arg(0)
	if v, ok := c.named.get("path"); ok && len(c.args) == 0 {
		first = v
	}
	s.deletes(DeleteTree, c, []value{first})
	return value{}
}

func shellFirst(s *scan, c *call) value {
	v := c.arg(0)
	for _, name := range [...]string{"cmd", "command", "args"} {
		if n, ok := c.named.get(name); ok && len(c.args) == 0 {
			v = n
		}
	}
	s.shell(c, v)
	return value{net: fetches(v)}
}

// systemOrExec is a system call as Perl, Ruby and Lua have it: one text goes to a shell, several words are an argv.
func systemOrExec(s *scan, c *call) value {
	args := c.args
	if len(args) > 0 && args[0].keys != nil { // the environment
		args = args[1:]
	}
	switch {
	case len(args) == 0:
		s.shell(c, value{})
	case len(args) == 1 && !args[0].isList:
		s.shell(c, args[0])
		return value{net: fetches(args[0])}
	default:
		s.exec(c, args)
	}
	return value{}
}

func writeFirst(s *scan, c *call) value {
	s.writes(c, c.arg(0))
	return value{}
}

func writeSelf(s *scan, c *call) value {
	s.writes(c, c.recv)
	return value{}
}

func readFirst(s *scan, c *call) value { return s.reads(c, c.arg(0)) }

func readSelf(s *scan, c *call) value {
	v := s.reads(c, c.recv)
	v.net = c.recv.net
	v.file = v.file || c.recv.file
	return v
}

func openMode(s *scan, c *call) value {
	mode := c.arg(1)
	if v, ok := c.named.get("mode"); ok {
		mode = v
	}
	return s.opens(c, c.arg(0), mode)
}

func two(kind Kind) handler {
	return func(s *scan, c *call) value {
		s.act(kind, c, c.arg(0).text(), c.arg(1).text())
		return value{}
	}
}

func chmodPath(s *scan, c *call) value {
	s.act(Chmod, c, modeOf(c.arg(1)), c.arg(0).text())
	return value{}
}

// chmodMode has the mode in front of the paths.
func chmodMode(s *scan, c *call) value {
	if len(c.args) > 0 {
		p, _ := paths(c.args[1:])
		s.act(Chmod, c, append([]Text{modeOf(c.arg(0))}, p...)...)
	}
	return value{}
}

// modeOf writes a mode as chmod reads it.
func modeOf(v value) Text {
	t, ok := v.exact()
	if !ok {
		return Text{Unknown}
	}
	if n, ok := number(t); ok && v.num {
		return Text{"0" + octal(n)}
	}
	return Text{t}
}

func chownPath(s *scan, c *call) value {
	s.act(Chown, c, s.cat(s.cat(c.arg(1).text(), []string{":"}), c.arg(2).text()), c.arg(0).text())
	return value{}
}

func truncates(s *scan, c *call) value {
	s.act(Truncate, c, c.arg(0).text())
	return value{}
}

func chdirs(s *scan, c *call) value {
	s.act(Chdir, c, c.arg(0).text())
	return value{}
}

// kills has the process in front of the signal.
func kills(s *scan, c *call) value {
	if sig := signalOf(c.arg(1)); strings.Contains(c.arg(0).text()[0], anyName) {
		s.act(Exec, c, Text{"killall"}, Text{Unknown})
	} else if sig[0] != "0" {
		s.act(Kill, c, sig, c.arg(0).text())
	}
	return value{}
}

// killSignal has the signal in front of the processes.
func killSignal(s *scan, c *call) value {
	p, _ := paths(c.args[min(1, len(c.args)):])
	if sig := signalOf(c.arg(0)); sig[0] != "0" { // 0 only asks whether the process is there
		s.act(Kill, c, append([]Text{sig}, p...)...)
	}
	return value{}
}

func signalOf(v value) Text {
	if v.sym != "" && len(v.texts) == 0 {
		name := v.sym[strings.LastIndexByte(v.sym, '.')+1:]
		return Text{strings.TrimPrefix(name, "SIG")}
	}
	if v.isUnknown() {
		return Text{"TERM"}
	}
	return v.text()
}

func evals(s *scan, c *call) value {
	return s.eval(c, c.arg(0))
}

// fetched is a call whose value came from the network.
func fetched(*scan, *call) value { return value{net: true} }

func sockets(s *scan, c *call) value {
	s.flags.socket = true
	return value{net: true}
}

func argText(s *scan, c *call) value {
	v := c.arg(0)
	return value{texts: v.texts, net: v.net, file: v.file, made: v.made, list: v.list, isList: v.isList}
}

func selfText(s *scan, c *call) value {
	v := c.recv
	v.sym = ""
	return v
}

func decodeArg(name string) handler {
	return func(s *scan, c *call) value { return s.decoded(c.arg(0), name) }
}

func decodeSelf(name string) handler {
	return func(s *scan, c *call) value { return s.decoded(c.recv, name) }
}

func changeSelf(f func(string) (string, bool)) handler {
	return func(s *scan, c *call) value { return s.each(c.recv, f) }
}

func joinPaths(s *scan, c *call) value {
	v := s.join(c.args)
	v.sym, v.recv = "", nil
	return v
}

// joinSelf joins the receiver, a path, with the arguments.
func joinSelf(s *scan, c *call) value {
	v := s.join(append([]value{c.recv}, c.args...))
	v.class = c.recv.class
	return v
}

func homeDir(s *scan, _ *call) value { return text(s.home()) }

func globbed(s *scan, c *call) value {
	v := s.each(c.arg(0), pattern)
	return listOf(value{texts: v.text()})
}

// entries are the names in a directory.
func entries(*scan, *call) value { return listOf(text(anyName)) }

func temporary(dir string) handler {
	return func(*scan, *call) value { return value{texts: []string{dir + "/" + Unknown}, made: true} }
}

func forks(s *scan, c *call) value {
	if s.looped() && !s.flags.loops {
		s.flags.loops = true
		s.act(Bomb, c)
	}
	return value{}
}

// queries gives a database a text.
func queries(s *scan, c *call) value {
	v := c.arg(0)
	if !v.isText() {
		return value{}
	}
	for _, t := range v.texts {
		if len(SQL(strings.ReplaceAll(t, "\x00", " "), SQLStandard)) > 0 {
			s.act(Statement, c, Text{t})
		}
	}
	return value{}
}

func wires(s *scan, _ *call) value {
	s.flags.shell = true
	return value{}
}

func nothing(*scan, *call) value { return value{} }

// sprintfs is sprintf as a function.
func sprintfs(s *scan, c *call) value {
	if !c.arg(0).isText() {
		return value{}
	}
	return s.fill(c.arg(0), c.args[1:], value{})
}

func querySecond(s *scan, c *call) value {
	return queries(s, &call{name: c.name, args: c.args[min(1, len(c.args)):], start: c.start, end: c.end})
}
