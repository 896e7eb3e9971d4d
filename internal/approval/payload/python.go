package payload

import "strings"

// python is Python 2 and 3.
func python() *language {
	l := &language{
		syntax: syntax{
			comments: []string{"#"},
			quotes:   []quoting{{open: `"""`, close: `"""`}, {open: "'''", close: "'''"}, {open: `"`, close: `"`, line: true}, {open: "'", close: "'", line: true}},
			ops: []string{"**=", "//=", ">>=", "<<=", "...", ":=", "->", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "//", "**",
				"<<", ">>"},
			newline: true, special: pythonString,
		},
		member: []string{"."}, adjacent: true, strip: []string{"builtins.", "__builtins__.", "__builtin__.", "__dict__.", "six.moves."},
		prefix:  words("await not yield return raise assert del async else elif if while try finally pass and or"),
		classes: words("pathlib.Path pathlib.PosixPath pathlib.PurePath ctypes.CDLL"),
		callbacks: words("map filter starmap Thread Process Timer submit apply apply_async partial register run_in_executor call_soon to_thread " +
			"call_later reduce imap imap_unordered start_new_thread spawn max min sorted addCallback"),
		envs:      []string{"os.environ", "os.environb"},
		statement: pythonStatement,
	}
	l.attrs = map[string]func(*scan) value{
		"sys.argv": programArgs("-c"), "os.sep": constant("/"), "os.path.sep": constant("/"), "os.devnull": constant("/dev/null"),
		"os.curdir": constant("."), "os.pardir": constant(".."), "sys.executable": constant("python3"),
		"os.__dict__": func(*scan) value { return symbol("os") }, "shutil.__dict__": func(*scan) value { return symbol("shutil") },
		"sys.modules": func(*scan) value { return symbol("sys.modules") }, "stat.S_IRWXU": unknown,
	}
	l.calls = with(pythonCalls())
	return l
}

func constant(t string) func(*scan) value { return func(*scan) value { return text(t) } }

func unknown(*scan) value { return value{} }

// words makes a set of the words of a text.
func words(t string) map[string]bool {
	set := make(map[string]bool, strings.Count(t, " ")+1)
	for w := range strings.FieldsSeq(t) {
		set[w] = true
	}
	return set
}

// pythonString reads strings with a prefix.
func pythonString(l *lexer) bool {
	rest := l.text[l.at:]
	n := 0
	raw, f := false, false
	for n < len(rest) && n < 3 && strings.IndexByte("rRbBuUfFtT", rest[n]) >= 0 {
		raw = raw || rest[n] == 'r' || rest[n] == 'R'
		f = f || rest[n] == 'f' || rest[n] == 'F'
		n++
	}
	if n == 0 || n >= len(rest) || rest[n] != '"' && rest[n] != '\'' {
		return false
	}
	q := quoting{open: rest[n : n+1], line: true}
	if strings.HasPrefix(rest[n:], strings.Repeat(q.open, 3)) {
		q.open, q.line = rest[n:n+3], false
	}
	q.close = q.open
	if raw {
		q.escape = escRaw
	}
	if f {
		q.inner = "{"
	}
	l.quoted(&q, l.at+n+len(q.open))
	return true
}

func pythonStatement(s *scan, end int) bool {
	t := s.peek()
	if t.kind != tokName {
		return false
	}
	switch t.text {
	case "import":
		s.i++
		s.pythonImport(end)
	case "from":
		if s.i+1 < end && s.toks[s.i+1].kind == tokOp && !s.isAt(s.i+1, ".") {
			return false
		}
		s.i++
		s.pythonFrom(end)
	case "for":
		s.forIn(end)
	case "def":
		s.pythonDef(end)
	case "with":
		s.i++
	case "return":
		s.i++
		v := s.expr(end)
		if s.scope != nil && !v.isUnknown() {
			f := s.scope.fn
			if f.gives.isUnknown() {
				f.gives = v
			} else {
				f.gives = either(f.gives, v)
			}
		}
	case "exec", "print": // Python 2's statements
		if s.isAt(s.i+1, "(") || s.i+1 >= end || s.toks[s.i+1].kind == tokOp || s.toks[s.i+1].nl {
			return false
		}
		s.i++
		if v := s.expr(end); t.text == "exec" {
			s.eval(&call{name: "exec", start: int(t.start), end: int(t.end)}, v)
		}
	default:
		return s.tuple(end)
	}
	return true
}

// tuple reads "a, b = x, y".
func (s *scan) tuple(end int) bool {
	i := s.i
	var names []string
	for i < end && s.toks[i].kind == tokName && len(names) < 8 {
		names = append(names, s.toks[i].text)
		if !s.isAt(i+1, ",") {
			break
		}
		i += 2
	}
	if len(names) < 2 || !s.isAt(i+1, "=") {
		return false
	}
	s.i = i + 2
	list := listOf()
	for s.i < end {
		list.list = append(list.list, s.expr(end))
		if !s.is(",") {
			break
		}
		s.i++
	}
	if len(list.list) == 1 && list.list[0].isList {
		list = list.list[0]
	}
	for k, n := range names {
		v := value{}
		if k < len(list.list) {
			v = list.list[k]
		}
		s.assign(n, v)
	}
	return true
}

// dotted reads a.b.c.
func (s *scan) dotted(end int) string {
	var name strings.Builder
	for s.i < end && s.toks[s.i].kind == tokName {
		name.WriteString(s.toks[s.i].text)
		s.i++
		if !s.is(".") {
			break
		}
		name.WriteByte('.')
		s.i++
	}
	return name.String()
}

func (s *scan) pythonImport(end int) {
	for s.i < end {
		name := s.dotted(end)
		if name == "" {
			return
		}
		as := name
		if s.is("as") && s.i+1 < end {
			as = s.toks[s.i+1].text
			s.i += 2
			s.assign(as, symbol(s.bare(name)))
		} else if i := strings.IndexByte(name, '.'); i < 0 {
			s.assign(name, symbol(name))
		}
		if !s.is(",") {
			return
		}
		s.i++
	}
}

func (s *scan) pythonFrom(end int) {
	for s.is(".") {
		s.i++
	}
	module := s.dotted(end)
	if !s.is("import") {
		return
	}
	s.i++
	if s.is("*") {
		s.i++
		prefix := module + "."
		for name := range s.calls {
			if rest, ok := strings.CutPrefix(name, prefix); ok && !strings.Contains(rest, ".") {
				s.vars[rest] = symbol(name)
			}
		}
		return
	}
	if s.is("(") {
		s.i++
	}
	for s.i < end && s.toks[s.i].kind == tokName {
		name := s.toks[s.i].text
		as := name
		s.i++
		if s.is("as") && s.i+1 < end {
			as = s.toks[s.i+1].text
			s.i += 2
		}
		full := module + "." + name
		v := symbol(s.bare(full))
		if f, ok := s.attrs[full]; ok {
			v = f(s)
		}
		s.assign(as, v)
		if !s.is(",") {
			break
		}
		s.i++
	}
}

// pythonDef reads a function's head; its body ends where a line begins no deeper.
func (s *scan) pythonDef(end int) {
	at := s.i
	col := s.toks[at].col
	if s.i+2 >= end || s.toks[s.i+1].kind != tokName || !s.isAt(s.i+2, "(") || len(s.endFn) >= maxDepth {
		s.i++
		return
	}
	name := s.toks[s.i+1].text
	stop := s.close(s.i+2, end)
	params := s.names(s.i+3, stop)
	if len(params) > 0 && (params[0] == "self" || params[0] == "cls") {
		params = params[1:]
	}
	body := stop
	for body < end && !(s.toks[body].nl && s.toks[body].col <= col) {
		body++
	}
	s.define(name, params, body)
	s.i = stop + 1
	for s.i < end && !s.is(":") && !s.toks[s.i].nl {
		s.i++
	}
	if s.is(":") {
		s.i++
	}
}

func pythonCalls() map[string]handler {
	m := map[string]handler{
		"fileinput.input": edits, "fileinput.FileInput": edits, "#__subclasses__": introspects, "int": argText, "sqlalchemy.text": argText,
		"print": prints, "sys.stdout.write": putsOut, "os.write": nothing, "psutil.process_iter": func(*scan, *call) value { return listOf(value{class: "psutil.Process"}) }, "psutil.Process#kill": killsFound, "psutil.Process#terminate": killsFound,
		"#flushall": flushes, "#flushdb": flushes, "#drop_all": drops, "#drop_database": drops, "#drop_collection": drops, "#system": func(s *scan, c *call) value {
			if len(c.args) == 0 { // platform.system()
				return value{}
			}
			return shellFirst(s, c)
		}, "#exec_command": shellFirst, "plumbum.cmd.rm": func(s *scan, c *call) value { return s.exec(c, append([]value{text("rm")}, c.args...)) }, "#reboot": reboots, "pty.spawn": ptySpawn, "os.startfile": shellFirst, "asyncio.create_subprocess_exec": execArgs,
		"os.execl": execAfter(1), "os.execlp": execAfter(1), "os.execle": execAfter(1), "os.execlpe": execAfter(1),
		"os.spawnl": execAfter(2), "os.spawnlp": execAfter(2), "os.spawnle": execAfter(2), "os.spawnlpe": execAfter(2),
		"os.execv": execList(1), "os.execvp": execList(1), "os.execve": execList(1), "os.execvpe": execList(1), "os.spawnv": execList(2),
		"os.spawnvp": execList(2), "os.spawnve": execList(2), "os.spawnvpe": execList(2), "os.posix_spawn": execList(1), "os.posix_spawnp": execList(1),
		"os.rename": two(Move), "os.renames": two(Move), "os.replace": two(Move), "shutil.move": two(Move), "shutil.copy": two(Copy),
		"shutil.copy2": two(Copy), "shutil.copyfile": two(Copy), "shutil.copytree": two(Copy), "os.symlink": two(Link), "os.link": two(Link),
		"shutil.unpack_archive": two(Unpack), "os.chmod": chmodPath, "os.lchmod": chmodPath, "os.chown": chownPath, "os.lchown": chownPath,
		"shutil.chown": chownPath, "os.truncate": truncates, "os.chdir": chdirs, "os.kill": kills, "os.killpg": kills, "os.fork": forks,
		"urllib.request.urlretrieve": two(Download), "urllib.urlretrieve": two(Download), "wget.download": two(Download),
		"open": openMode, "io.open": openMode, "codecs.open": openMode, "os.open": osOpen, "os.mknod": writeFirst, "os.mkfifo": nothing,
		"os.dup2": wires, "#connect": nothing, "socket.socket": sockets, "socket.create_connection": sockets, "#recv": sockets,
		"exec": evals, "eval": evals, "execfile": nothing, "compile": argText, "code.InteractiveInterpreter": nothing, "#runcode": evals, "#runsource": evals,
		"timeit.timeit": evals, "runpy.run_path": nothing, "marshal.loads": codeOf, "pickle.loads": codeOf, "types.FunctionType": nothing,
		"__import__": importer, "importlib.import_module": importer, "getattr": getAttr, "globals": namespace, "locals": namespace, "vars": namespace,
		"sys.modules.get": importer, "#get": getEntry, "#__getitem__": getEntry, "os.getenv": getEnv, "os.environ.get": getEnv, "os.environ.setdefault": getEnv,
		"map": pythonMap, "str": argText, "bytes": bytesOf, "bytearray": bytesOf, "list": argText, "tuple": argText, "set": argText, "sorted": argText, "reversed": argReversed,
		"iter": argText, "repr": nothing, "chr": characters, "shlex.split": argvOf, "shlex.join": joinWords, "subprocess.list2cmdline": joinWords,
		"shlex.quote": argText, "pipes.quote": argText, "os.fspath": argText, "os.fsencode": argText,
		"bytes.fromhex": decodeArg("hex"), "bytearray.fromhex": decodeArg("hex"), "binascii.unhexlify": decodeArg("hex"), "binascii.a2b_hex": decodeArg("hex"),
		"base64.b64decode": decodeArg("base64"), "base64.standard_b64decode": decodeArg("base64"), "base64.urlsafe_b64decode": decodeArg("base64"),
		"base64.decodebytes": decodeArg("base64"), "base64.decodestring": decodeArg("base64"), "binascii.a2b_base64": decodeArg("base64"),
		"base64.b32decode": decodeArg("base32"), "base64.b16decode": decodeArg("hex"), "zlib.decompress": decodeArg("zlib"), "gzip.decompress": decodeArg("gzip"),
		"urllib.parse.unquote": decodeArg("url"), "codecs.decode": codecsDecode, "codecs.encode": codecsDecode,
		"#decode": decodeNamed, "#hex": nothing,
		"os.path.join": joinPaths, "posixpath.join": joinPaths, "os.path.expanduser": func(s *scan, c *call) value { return s.expand(c.arg(0)) },
		"os.path.expandvars": func(s *scan, c *call) value { return s.expand(c.arg(0)) }, "os.path.abspath": argText, "os.path.realpath": argText,
		"os.path.normpath": argText, "os.path.dirname": dirName, "os.getcwd": constantCall("."), "pathlib.Path.cwd": pathOf("."),
		"pathlib.Path.home": func(s *scan, _ *call) value { return value{class: "pathlib.Path", texts: []string{s.home()}} },
		"glob.glob":         globbed, "glob.iglob": globbed, "os.listdir": entries, "os.scandir": scanned, "os.walk": walked, "#iterdir": below, "#glob": below, "#rglob": below, "#joinpath": joinSelf,
		"#with_name": nothing, "tempfile.mkdtemp": temporary("/tmp"), "tempfile.mktemp": temporary("/tmp"), "tempfile.TemporaryDirectory": temporary("/tmp"),
		"tempfile.NamedTemporaryFile": temporary("/tmp"), "tempfile.mkstemp": func(*scan, *call) value {
			return listOf(value{made: true, num: true, texts: []string{"3"}}, value{made: true, texts: []string{"/tmp/" + Unknown}})
		},
		"tempfile.gettempdir": constantCall("/tmp"), "input": unknownCall, "raw_input": unknownCall, "sys.stdin.read": stdin, "sys.stdin.readline": stdin,
		"sys.stdin.buffer.read": stdin, "tarfile.open": argText, "zipfile.ZipFile": argText, "#extractall": extracts, "#open": pathOpen,
		"#unlink": unlinkSelfOr, "#rmdir": unlinkSelfOr, "#rmtree": treeSelfOr, "#remove_p": unlinkSelfOr, "#unlink_p": unlinkSelfOr, "#rmtree_p": treeSelfOr, "#write_text": writeSelf, "#write_bytes": writeSelf,
		"#read_text": readSelf, "#read_bytes": readSelf, "#read": readSelf, "#touch": writeSelf, "#rename": moveSelf, "pathlib.Path#replace": moveSelf,
		"pathlib.Path#chmod":      func(s *scan, c *call) value { s.act(Chmod, c, modeOf(c.arg(0)), c.recv.text()); return value{} },
		"pathlib.Path#symlink_to": func(s *scan, c *call) value { s.act(Link, c, c.arg(0).text(), c.recv.text()); return value{} },
		"invoke.run":              shellFirst, "pexpect.spawn": shellFirst, "pexpect.run": shellFirst, "sh.Command": argText, "ctypes.util.find_library": nothing,
		"fabric.api.local": shellFirst, "IPython.get_ipython": nothing, "#run_cell": evals, "#getoutput": shellFirst, "paramiko.SSHClient": nothing,
	}
	all(m, shellFirst, "os.system os.popen os.popen2 os.popen3 os.popen4 popen2.popen2 popen2.popen3 commands.getoutput commands.getstatusoutput "+
		"subprocess.getoutput subprocess.getstatusoutput asyncio.create_subprocess_shell posix.system nt.system platform.popen")
	all(m, subprocess, "subprocess.run subprocess.call subprocess.Popen subprocess.check_call subprocess.check_output subprocess.popen")
	all(m, unlinkFirst, "os.remove os.unlink os.rmdir os.removedirs posix.remove posix.unlink nt.remove")
	all(m, treeFirst, "shutil.rmtree distutils.dir_util.remove_tree setuptools._distutils.dir_util.remove_tree fs.removetree")
	all(m, fetched, "urllib.request.urlopen urllib2.urlopen urllib.urlopen requests.get requests.post requests.request httpx.get httpx.post httpx.request "+
		"aiohttp.ClientSession requests.Session urllib3.PoolManager http.client.HTTPConnection http.client.HTTPSConnection")
	for _, p := range [...]string{"rm", "bash", "sh", "dd", "mkfs", "chmod", "chown", "mv", "kill", "shutdown", "reboot"} {
		m["sh."+p] = execNamed(p)
	}
	return m
}

func all(m map[string]handler, h handler, names string) {
	for n := range strings.FieldsSeq(names) {
		m[n] = h
	}
}
