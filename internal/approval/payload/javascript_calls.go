package payload

import "strings"

func requires(s *scan, c *call) value {
	name, ok := c.arg(0).exact()
	if !ok {
		return value{}
	}
	return symbol(s.bare(moduleName(name)))
}

// spawns is spawn(program, [arguments], {shell: true}).
func spawns(s *scan, c *call) value {
	argv := c.args[:min(1, len(c.args))]
	if v := c.arg(1); v.isList && v.keys == nil {
		argv = append(argv[:1:1], v.list...)
	} else if !v.isList && len(c.args) > 1 && len(v.texts) == 0 && v.recv == nil {
		argv = append(argv[:1:1], value{net: v.net})
	}
	if c.isTrue("shell") {
		line := value{texts: []string{""}}
		for i, a := range argv {
			if i > 0 {
				line = s.plus(line, text(" "))
			}
			a.texts = a.text()
			line = s.plus(line, a)
		}
		return s.shell(c, line)
	}
	return s.exec(c, argv)
}

func forkModule(s *scan, c *call) value { return forks(s, c) }

// dollar is zx's and Bun's template; jQuery's and others' functions of that name take other things.
func dollar(s *scan, c *call) value {
	if v := c.arg(0); v.isText() && s.i > 0 && s.toks[s.i-1].kind == tokString && s.text[s.toks[s.i-1].start] == '`' {
		s.shell(c, v)
	}
	return value{}
}

func bunSpawn(s *scan, c *call) value {
	if v, ok := c.option("cmd"); ok {
		return s.start(c, v)
	}
	return s.start(c, c.arg(0))
}

func denoRun(s *scan, c *call) value {
	v, _ := c.option("cmd")
	return s.start(c, v)
}

func denoCommand(s *scan, c *call) value {
	argv := []value{c.arg(0)}
	if v, ok := c.option("args"); ok && v.isList {
		argv = append(argv, v.list...)
	}
	return s.exec(c, argv)
}

// shellRm is shelljs's rm, which takes options as the program does.
func shellRm(s *scan, c *call) value { return s.exec(c, append([]value{text("rm")}, c.args...)) }

// removes deletes a file, or with recursive a directory.
func removes(s *scan, c *call) value {
	kind := Delete
	if v, ok := c.option("recursive"); ok && v.truthy() {
		kind = DeleteTree
	} else if o := c.arg(1); o.isUnknown() && o.sym != "" && len(c.args) > 1 && !strings.HasSuffix(c.name, "rmdir") {
		kind = DeleteTree // options that aren't known
	}
	s.deletes(kind, c, c.args[:min(1, len(c.args))])
	return value{}
}

func functionOf(s *scan, c *call) value {
	if len(c.args) == 0 {
		return value{}
	}
	body := c.args[len(c.args)-1]
	if t, ok := body.exact(); ok {
		if name := strings.Trim(strings.TrimPrefix(t, "return "), " ;()"); isWordOnly(name) && name != t {
			v := s.resolve(name)
			return value{class: "thunk", sym: v.sym}
		}
	}
	return s.eval(c, body)
}

// timers run a text as a program; a function is read where it stands.
func timers(s *scan, c *call) value {
	if v := c.arg(0); v.isText() {
		return s.eval(c, v)
	}
	return value{}
}

// constructs is f.constructor("code"), which makes a function.
func constructs(s *scan, c *call) value {
	if v := c.arg(0); v.isText() {
		return s.eval(c, v)
	}
	return value{}
}

func bufferFrom(s *scan, c *call) value {
	if v := c.arg(0); v.isList && v.keys == nil {
		return characters(s, &call{args: v.list})
	}
	if name, ok := c.arg(1).exact(); ok && decoders[name] != nil {
		return s.decoded(c.arg(0), name)
	}
	return argText(s, c)
}

// jsJoin joins paths as node does: an absolute part is one below.
func jsJoin(s *scan, c *call) value {
	args := make([]value, len(c.args))
	for i, a := range c.args {
		args[i] = a
		if i > 0 && a.isText() {
			args[i] = s.each(a, func(t string) (string, bool) { return strings.TrimLeft(t, "/"), true })
		}
	}
	return s.join(args)
}

// netCallback is a request whose answer is given to a function.
func netCallback(s *scan, c *call) value {
	return value{net: true}
}

func argSelf(_ *scan, c *call) value { return c.arg(0) }

// applies is Reflect.apply(f, this, arguments).
func applies(s *scan, c *call) value {
	args := c.arg(2)
	return s.invoke(c.arg(0), &call{args: args.list, start: c.start, end: c.end})
}

func calls(s *scan, c *call) value {
	if c.recv.sym == "" || !s.known(c.recv) {
		return value{net: c.recv.net}
	}
	return s.invoke(c.recv, &call{args: c.args[min(1, len(c.args)):], start: c.start, end: c.end})
}

func applied(s *scan, c *call) value {
	if c.recv.sym == "" || !s.known(c.recv) {
		return value{net: c.recv.net}
	}
	return s.invoke(c.recv, &call{args: c.arg(1).list, start: c.start, end: c.end})
}

func bound(_ *scan, c *call) value { return c.recv }

// thens hands what a promise gives to a function: eval, or one that was read already.
func thens(s *scan, c *call) value {
	if f := c.arg(0); f.sym != "" && s.known(f) {
		return s.invoke(f, &call{args: []value{{net: c.recv.net}}, start: c.start, end: c.end})
	}
	return value{net: c.recv.net}
}
