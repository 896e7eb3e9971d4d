package payload

import "strings"

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
	if len(c.args) == 0 && len(c.named.keys) == 1 { // kill KILL => -1
		s.act(Kill, c, Text{strings.TrimPrefix(c.named.keys[0], "SIG")}, c.named.list[0].text())
		return value{}
	}
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

// prints writes its arguments to standard output, with what stands between and behind them.
func prints(s *scan, c *call) value {
	if _, ok := c.option("file"); ok {
		return value{}
	}
	sep, end := " ", "\n"
	for name, to := range map[string]*string{"sep": &sep, "end": &end} {
		if v, ok := c.option(name); ok {
			if *to, ok = v.exact(); !ok {
				*to = Unknown
			}
		}
	}
	var out strings.Builder
	for i, a := range c.args {
		if i > 0 {
			out.WriteString(sep)
		}
		out.WriteString(a.text()[0])
		if len(a.texts) > 1 {
			out.WriteString(Unknown)
		}
		if out.Len() > maxDecoded {
			return value{}
		}
	}
	if out.WriteString(end); out.Len() <= maxDecoded {
		s.act(Print, c, Text{out.String()})
	}
	return value{}
}

// putsOut writes its first argument alone to standard output.
func putsOut(s *scan, c *call) value {
	s.act(Print, c, c.arg(0).text())
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
