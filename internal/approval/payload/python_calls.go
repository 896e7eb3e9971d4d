package payload

import "strings"

func constantCall(t string) handler { return func(*scan, *call) value { return text(t) } }

func unknownCall(*scan, *call) value { return value{} }

func pathOf(t string) handler {
	return func(*scan, *call) value { return value{class: "pathlib.Path", texts: []string{t}} }
}

// subprocess is run, Popen and their kin: a list is an argv, with shell=True its first item a shell's text.
func subprocess(s *scan, c *call) value {
	v := c.arg(0)
	if n, ok := c.named.get("args"); ok && len(c.args) == 0 {
		v = n
	}
	if v.sym == "shlex.split" {
		v = value{texts: v.texts}
	}
	switch {
	case c.isTrue("shell") && v.isList && len(v.list) > 0:
		s.shell(c, v.list[0])
	case c.isTrue("shell"):
		s.shell(c, v)
	default:
		if e, ok := c.named.get("executable"); ok && v.isList && len(v.list) > 0 {
			v.list = append([]value{e}, v.list[1:]...)
		}
		s.start(c, v)
	}
	return value{net: fetches(v) || v.isList && len(v.list) > 0 && fetches(text(v.list[0].text()[0]+" "))}
}

func ptySpawn(s *scan, c *call) value {
	s.start(c, c.arg(0))
	return value{}
}

func execArgs(s *scan, c *call) value { return s.exec(c, c.args) }

// execAfter is an exec whose argv stands in the arguments behind the first n; the word in front of it is the program.
func execAfter(n int) handler {
	return func(s *scan, c *call) value {
		argv := append([]value{c.arg(n - 1)}, c.args[min(n+1, len(c.args)):]...)
		return s.exec(c, argv)
	}
}

// execList is an exec whose argv is a list behind the program.
func execList(n int) handler {
	return func(s *scan, c *call) value {
		argv := c.arg(n)
		if !argv.isList || len(argv.list) == 0 {
			return s.exec(c, []value{c.arg(n - 1), {}})
		}
		return s.exec(c, append([]value{c.arg(n - 1)}, argv.list[1:]...))
	}
}

func execNamed(program string) handler {
	return func(s *scan, c *call) value { return s.exec(c, append([]value{text(program)}, c.args...)) }
}

// osOpen has flags where open has a mode.
func osOpen(s *scan, c *call) value {
	if c.arg(1).sym != "os.O_RDONLY" {
		s.writes(c, c.arg(0))
		return value{}
	}
	return s.reads(c, c.arg(0))
}

// codeOf makes a program from data.
func codeOf(s *scan, c *call) value { return value{net: c.arg(0).net} }

func importer(s *scan, c *call) value {
	name, ok := c.arg(0).exact()
	if !ok {
		return value{}
	}
	return symbol(s.bare(name))
}

func getAttr(s *scan, c *call) value {
	name, ok := c.arg(1).exact()
	if !ok {
		return value{}
	}
	return s.memberOf(c.arg(0), name)
}

// namespace is a dictionary of all names; an index of it is a name.
func namespace(s *scan, c *call) value {
	if len(c.args) > 0 && c.args[0].sym != "" {
		return c.args[0]
	}
	return symbol("__builtins__")
}

func getEntry(s *scan, c *call) value {
	key, ok := c.arg(0).exact()
	if !ok {
		return value{net: c.recv.net}
	}
	if v, found := c.recv.get(key); found {
		return v
	}
	if c.recv.sym != "" && c.recv.recv == nil && len(c.recv.texts) == 0 && !c.recv.net {
		return s.memberOf(c.recv, key)
	}
	return value{net: c.recv.net}
}

func getEnv(s *scan, c *call) value {
	key, _ := c.arg(0).exact()
	v := s.env(key)
	if len(v.texts) == 0 && len(c.args) > 1 {
		d := c.arg(1)
		if d.isText() {
			return value{texts: union([]string{Unknown}, d.texts)}
		}
	}
	return v
}

func bytesOf(s *scan, c *call) value {
	if v := c.arg(0); v.isList && v.keys == nil {
		return characters(s, c)
	}
	return argText(s, c)
}

func argReversed(s *scan, c *call) value {
	return s.calls["#reverse"](s, &call{recv: c.arg(0)})
}

// argvOf is a text that is split as a shell splits it.
func argvOf(s *scan, c *call) value {
	return value{class: "argv", texts: c.arg(0).text(), net: c.arg(0).net}
}

func joinWords(s *scan, c *call) value {
	return s.joinList(&call{recv: text(" "), args: c.args})
}

func codecsDecode(s *scan, c *call) value {
	name, _ := c.arg(1).exact()
	if name == "" || strings.HasPrefix(strings.ToLower(name), "utf") || name == "ascii" || name == "latin1" {
		return argText(s, c)
	}
	return s.decoded(c.arg(0), strings.TrimSuffix(strings.TrimSuffix(name, "_codec"), "-codec"))
}

func decodeNamed(s *scan, c *call) value {
	name, _ := c.arg(0).exact()
	if decoders[strings.ToLower(name)] != nil {
		return s.decoded(c.recv, name)
	}
	return selfText(s, c)
}

func dirName(s *scan, c *call) value { return s.property(value{sym: "parent", recv: ptr(c.arg(0))}) }

func ptr(v value) *value { return &v }

func scanned(s *scan, c *call) value {
	return listOf(value{class: "os.DirEntry", texts: s.join([]value{c.arg(0), text(anyName)}).texts})
}

// walked is a list of (directory, its directories, its files).
func walked(s *scan, c *call) value {
	if t, ok := c.arg(0).exact(); ok {
		if s.walks == nil {
			s.walks = map[string]bool{}
		}
		s.walks[strings.TrimSuffix(t, "/")] = true
	}
	return listOf(listOf(value{texts: c.arg(0).text()}, listOf(text(anyName)), listOf(text(anyName))))
}

// below are the paths in a directory, or those that a pattern matches.
func below(s *scan, c *call) value {
	name := text(anyName)
	if len(c.args) > 0 {
		name = s.each(c.arg(0), pattern)
		name.texts = name.text()
	}
	if len(c.recv.texts) == 0 && c.recv.sym != "" {
		return listOf(value{class: "pathlib.Path", texts: []string{Unknown}})
	}
	v := s.join([]value{c.recv, name})
	v.class, v.sym, v.recv = "pathlib.Path", "", nil
	return listOf(v)
}

func stdin(s *scan, _ *call) value {
	if s.in.Stdin == nil {
		return value{}
	}
	return value{texts: s.in.Stdin}
}

func extracts(s *scan, c *call) value {
	dir := c.arg(0)
	if v, ok := c.named.get("path"); ok {
		dir = v
	}
	if dir.isUnknown() {
		dir = text(".")
	}
	s.act(Unpack, c, c.recv.text(), dir.text())
	return value{}
}

func pathOpen(s *scan, c *call) value {
	if c.recv.class == "" && !c.recv.isText() {
		if c.recv.net || c.recv.sym == "" {
			return value{net: c.recv.net}
		}
		return s.opens(c, c.arg(0), c.arg(1))
	}
	return s.opens(c, c.recv, c.arg(0))
}

// unlinkSelfOr deletes the receiver, or the argument where the receiver is a module.
func unlinkSelfOr(s *scan, c *call) value {
	if len(c.args) > 0 && c.recv.class == "" && !c.recv.isText() {
		return unlinkFirst(s, c)
	}
	return unlinkSelf(s, c)
}

func treeSelfOr(s *scan, c *call) value {
	if len(c.args) > 0 && c.recv.class == "" && !c.recv.isText() {
		return treeFirst(s, c)
	}
	return treeSelf(s, c)
}

func moveSelf(s *scan, c *call) value {
	if c.recv.class != "" {
		s.act(Move, c, c.recv.text(), c.arg(0).text())
	}
	return value{}
}

// pythonMap is map(f, list): what f computes of each item, or does to it.
func pythonMap(s *scan, c *call) value {
	f, list := c.arg(0), c.arg(1)
	if f.sym != "" && pure[f.sym] {
		return mapList(s, &call{recv: list, args: []value{f}})
	}
	if f.sym != "" {
		s.handed(f, c, 0)
	}
	return value{net: list.net}
}

// reboots is the C library's function.
func reboots(s *scan, c *call) value {
	if c.recv.class == "ctypes.CDLL" {
		s.act(Exec, c, Text{"reboot"})
	}
	return value{}
}

// edits is fileinput, which writes its files in place when it is told.
func edits(s *scan, c *call) value {
	if c.isTrue("inplace") {
		files := c.arg(0)
		if v, ok := c.named.get("files"); ok {
			files = v
		}
		s.writes(c, files)
	}
	return value{}
}

// introspects looks for functions among all classes, by which any of them can be called without its name.
func introspects(s *scan, c *call) value {
	s.act(Eval, c, Text{Unknown})
	return value{}
}

// killsFound ends processes that a search gave.
func killsFound(s *scan, c *call) value {
	if s.tested() || s.testedBehind() {
		s.act(Exec, c, Text{"killall"}, Text{Unknown})
	} else {
		s.act(Kill, c, Text{"KILL"}, Text{"-1"})
	}
	return value{}
}

// flushes empties a key-value store.
func flushes(s *scan, c *call) value {
	s.act(Exec, c, Text{"redis-cli"}, Text{"FLUSHALL"})
	return value{}
}

// drops destroys what a library keeps in a database.
func drops(s *scan, c *call) value {
	s.act(Statement, c, Text{"DROP DATABASE x"})
	return value{}
}

// testedBehind tells whether a comprehension's condition stands behind the place.
func (s *scan) testedBehind() bool {
	for i := s.i; i < len(s.toks) && i < s.i+20; i++ {
		if s.toks[i].text == "if" {
			return true
		}
	}
	return false
}
