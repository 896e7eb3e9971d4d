package payload

import "strings"

// ruby is Ruby.
func ruby() *language {
	l := &language{
		syntax: syntax{
			comments: []string{"#"}, sigils: "$@", inName: "?!",
			quotes: []quoting{{open: `"`, close: `"`, inner: "#{"}, {open: "'", close: "'", escape: escSimple}, {open: "`", close: "`", kind: tokCommand, inner: "#{"}},
			ops: []string{"===", "<=>", "...", "**=", "||=", "&&=", "=>", "==", "!=", "=~", "!~", "<=", ">=", "+=", "-=", "*=", "/=", "<<=", "&.", "||", "&&", "<<",
				">>", "**", "..", "->"},
			newline: true, special: rubySpecial,
		},
		member: []string{".", "&."}, parenless: true, propertyCalls: true, rubyBlocks: true, strip: []string{"Kernel.", "Object.", "self.", ":"},
		prefix:  words("return if unless while until not and or then do else elsif begin ensure case when yield puts p print raise"),
		classes: words("Pathname Pathname.new"), textCalls: false,
		callbacks: words("each map each_with_index each_entry tap then flat_map select send new start each_slice each_child each_pair"),
		envs:      []string{"ENV"},
		statement: rubyStatement,
	}
	l.attrs = map[string]func(*scan) value{}
	m := map[string]handler{
		"popen": popens, "IO.popen": popens, "PTY.spawn": systemOrExec, "File.rename": two(Move), "FileUtils.mv": fileUtils2(Move), "FileUtils.move": fileUtils2(Move),
		"FileUtils.cp": fileUtils2(Copy), "FileUtils.cp_r": fileUtils2(Copy), "FileUtils.copy": fileUtils2(Copy), "FileUtils.install": fileUtils2(Copy),
		"FileUtils.ln_s": fileUtils2(Link), "FileUtils.ln_sf": fileUtils2(Link), "File.symlink": two(Link), "File.chmod": chmodMode, "FileUtils.chmod": chmodMode,
		"FileUtils.chmod_R": chmodTree, "FileUtils.chown_R": chownTree, "FileUtils.chown": chownIDs, "File.chown": chownIDs, "File.truncate": truncates,
		"Dir.chdir": chdirs, "FileUtils.cd": chdirs, "Process.kill": killSignal, "fork": forks, "Process.fork": forks, "eval": evals, "instance_eval": evals, "#instance_eval": evals,
		"#class_eval": evals, "#module_eval": evals, "binding.eval": evals, "#eval": evals, "#send": sends, "#public_send": sends, "#__send__": sends, "send": sendSelf, "__send__": sendSelf,
		"public_send": sendSelf, "method": methodOf, "#method": methodOf, "#call": callAll, "#yield": callAll, "open": rubyOpen, "File.open": openMode, "File.new": openMode, "IO.open": openMode, "require": nothing,
		"File.join": joinPaths, "File.expand_path": func(s *scan, c *call) value { return s.expand(c.arg(0)) }, "Dir.home": homeDir, "Dir.pwd": constantCall("."),
		"Dir.glob": globbed, "Dir[]": globbed, "rm_rf": trees, "rm_r": trees, "rmtree": trees, "remove_dir": trees, "remove_entry": trees, "remove_entry_secure": trees, "#rm_rf": trees, "#rm_r": trees, "#remove_entry_secure": trees, "Dir.entries": entries, "Dir.children": entries, "Dir.mktmpdir": temporary("/tmp"), "Dir.tmpdir": constantCall("/tmp"),
		"Dir.each_child": entries, "Tempfile.new": temporary("/tmp"), "Tempfile.create": temporary("/tmp"), "Base64.decode64": decodeArg("base64"), "Base64.strict_decode64": decodeArg("base64"),
		"Base64.urlsafe_decode64": decodeArg("base64"), "#unpack1": unpacks, "#unpack": unpacks, "#pack": packs, "#rot13": nothing, "URI.open": fetched, "Net.HTTP.get": fetched, "Net.HTTP.get_response": fetched,
		"OpenURI.open_uri": fetched, "URI.parse": argText, "#hex": nothing, "HTTParty.get": fetched, "TCPSocket.new": sockets, "TCPSocket.open": sockets, "Socket.tcp": sockets, "UNIXSocket.new": sockets,
		"STDIN.read": stdin, "$stdin.read": stdin, "gets": stdin, "STDIN.gets": stdin, "ENV.fetch": getEnv, "#chr": func(s *scan, c *call) value { return characters(s, &call{args: []value{c.recv}}) },
		"Pathname": pathname, "Pathname.new": pathname, "Pathname#delete": unlinkSelf, "Pathname#unlink": unlinkSelf, "Pathname#rmdir": unlinkSelf, "Pathname#rmtree": treeSelf, "#rmtree": treeSelf,
		"#unlink": unlinkSelf, "Pathname#write": writeSelf, "Pathname#read": readSelf, "Pathname#children": below, "Pathname#glob": below, "#read": selfText, "#body": selfText, "#to_path": selfText, "#freeze": selfText, "#to_a": selfText,
		"RubyVM.InstructionSequence.compile": argText, "sprintf": sprintfs, "format": sprintfs, "#exec": queries, "#exec_params": queries, "Shellwords.split": argvOf, "Shellwords.escape": argText, "#shellsplit": selfText, "#strip": selfText,
	}
	all(m, systemOrExec, "system exec spawn Process.spawn Process.exec Open3.capture2 Open3.capture2e Open3.capture3 Open3.popen2 Open3.popen2e Open3.popen3 "+
		"Open3.pipeline POSIX.Spawn.spawn syscall.system %x `")
	all(m, unlinks, "File.delete File.unlink Dir.rmdir Dir.delete Dir.unlink FileUtils.rm FileUtils.rm_f FileUtils.remove FileUtils.safe_unlink FileUtils.rmdir "+
		"FileUtils.remove_file")
	all(m, trees, "FileUtils.rm_r FileUtils.rm_rf FileUtils.remove_dir FileUtils.remove_entry FileUtils.remove_entry_secure FileUtils.rmtree")
	all(m, writeFirst, "File.write IO.write File.binwrite IO.binwrite FileUtils.touch")
	all(m, readFirst, "File.read IO.read File.readlines IO.readlines File.foreach File.binread")
	l.calls = with(m)
	return l
}

var percentQuotes = map[byte]byte{'(': ')', '[': ']', '{': '}', '<': '>', '|': '|', '!': '!', '/': '/', '^': '^', '~': '~', ',': ',', '#': '#', '"': '"'}

// rubySpecial reads %q(), %w(), %x(), here-documents, regular expressions, and the colons of paths to constants.
func rubySpecial(l *lexer) bool {
	rest := l.text[l.at:]
	switch rest[0] {
	case '%':
		return l.percent(rest)
	case '/':
		return regex(l)
	case '<':
		return l.hereDocument(rest, "<<")
	case '?':
		if len(rest) > 1 && letter(rest[1]) && (len(rest) == 2 || !letter(rest[2])) && !l.afterValue() {
			l.add(tokString, l.at+2, rest[1:2])
			return true
		}
	case '=':
		if l.nl && strings.HasPrefix(rest, "=begin") {
			l.at = l.lineEnd(l.after("\n=end", l.at))
			return true
		}
	case '_':
		if l.nl && strings.HasPrefix(rest, "__END__") {
			l.at = len(l.text)
			return true
		}
	case ':':
		if strings.HasPrefix(rest, `:"`) || strings.HasPrefix(rest, ":'") {
			l.at++
			return true
		}
		if n := len(l.toks); len(rest) > 1 && letter(rest[1]) && (l.sp || n == 0 || l.toks[n-1].kind == tokOp) {
			end := 1
			for end < len(rest) && (letter(rest[end]) || digit(rest[end])) {
				end++
			}
			l.add(tokString, l.at+end, rest[1:end])
			return true
		}
	}
	if c := rest[0]; c >= 'A' && c <= 'Z' || c == ':' && strings.HasPrefix(rest, "::") && !l.afterValue() {
		return l.constant(rest)
	}
	return false
}

// constant reads A::B::c as A.B.c.
func (l *lexer) constant(rest string) bool {
	n := 0
	for n < len(rest) {
		if strings.HasPrefix(rest[n:], "::") && n+2 < len(rest) && letter(rest[n+2]) {
			n += 2
			continue
		}
		if !letter(rest[n]) && !digit(rest[n]) {
			break
		}
		n++
	}
	l.add(tokName, l.at+n, strings.TrimPrefix(strings.ReplaceAll(rest[:n], "::", "."), "."))
	return true
}

func (l *lexer) percent(rest string) bool {
	if l.afterValue() && (len(rest) < 2 || rest[1] == ' ' || !l.sp) || len(rest) < 3 {
		return false
	}
	n := 1
	letterOf := rest[1]
	if strings.IndexByte("qQwWiIxrs", letterOf) >= 0 {
		n = 2
	} else {
		letterOf = 'Q'
	}
	end, ok := percentQuotes[rest[n]]
	if !ok {
		return false
	}
	q := quoting{open: rest[:n+1], close: string(end), inner: "#{"}
	switch letterOf {
	case 'q':
		q.escape, q.inner = escSimple, ""
	case 'w', 'i', 'W', 'I':
		q.kind, q.escape, q.inner = tokWords, escSimple, ""
	case 'x':
		q.kind = tokCommand
	case 'r':
		q.escape, q.inner, q.kind = escRaw, "", tokNumber
	}
	l.quoted(&q, l.at+n+1)
	return true
}

// hereDocument announces a text that begins on the next line: <<~X, <<-'X', <<"X".
func (l *lexer) hereDocument(rest, op string) bool {
	if !strings.HasPrefix(rest, op) {
		return false
	}
	n := len(op)
	h := here{}
	if op == "<<<" {
		for n < len(rest) && (rest[n] == ' ' || rest[n] == '\t') {
			n++
		}
		h.indent = true
	}
	if n < len(rest) && (rest[n] == '~' || rest[n] == '-') {
		h.indent = true
		n++
	}
	quote := byte(0)
	if n < len(rest) && (rest[n] == '"' || rest[n] == '\'' || rest[n] == '`') {
		quote = rest[n]
		n++
	}
	from := n
	for n < len(rest) && (letter(rest[n]) || digit(rest[n])) {
		n++
	}
	if n == from || quote != 0 && (n >= len(rest) || rest[n] != quote) {
		return false
	}
	if quote == 0 && (digit(rest[from]) || rest[from] >= 'a' && rest[from] <= 'z' && op == "<<" && !h.indent || l.afterValue() && !l.sp) {
		return false
	}
	h.end, h.raw = rest[from:n], quote == '\''
	if quote != 0 {
		n++
	}
	kind := tokString
	if quote == '`' {
		kind = tokCommand
	}
	l.add(kind, l.at+n, "")
	h.tok = len(l.toks) - 1
	l.heres = append(l.heres, h)
	return true
}

func rubyStatement(s *scan, end int) bool {
	t := s.peek()
	if t.kind != tokName {
		return false
	}
	switch t.text {
	case "for":
		s.forIn(end)
	case "def":
		s.rubyDef(end)
	case "require", "require_relative", "end", "class", "module", "include", "loop":
		s.i++
	case "alias":
		if s.i+2 < end {
			s.vars[s.toks[s.i+1].text] = s.resolve(s.toks[s.i+2].text)
		}
		s.i += 3
	default:
		return false
	}
	return true
}

// rubyDef reads a method's head; its body ends with the end that belongs to it.
func (s *scan) rubyDef(end int) {
	s.i++
	if s.is("self") && s.isAt(s.i+1, ".") {
		s.i += 2
	}
	if s.i >= end {
		return
	}
	name := s.toks[s.i].text
	s.i++
	var params []string
	if s.is("(") {
		stop := s.close(s.i, end)
		params = s.names(s.i+1, stop)
		s.i = min(stop+1, end)
	}
	if len(s.endFn) < maxDepth {
		s.define(name, params, s.rubyEnd(s.i, end))
	}
}

// rubyEnd finds the end that closes what began in front of from.
func (s *scan) rubyEnd(from, end int) int {
	depth := 1
	const longest = 512 // tokens of a method that are looked through
	for i := from; i < end && i < from+longest; i++ {
		t := &s.toks[i]
		if t.kind != tokName {
			continue
		}
		switch t.text {
		case "end":
			if depth--; depth == 0 {
				return i
			}
		case "do", "begin", "case", "def", "class", "module":
			depth++
		case "if", "unless", "while", "until", "for": // behind a statement they have no end
			if i == 0 || t.nl || s.toks[i-1].text == ";" {
				depth++
			}
		}
	}
	return end
}

// popens runs a text or a list; a text "|x" is a command.
func popens(s *scan, c *call) value {
	v := c.arg(0)
	if v.isList && v.keys == nil {
		if len(v.list) > 0 && v.list[0].keys != nil {
			v.list = v.list[1:]
		}
		return s.exec(c, v.list)
	}
	if v.keys != nil {
		v = c.arg(1)
	}
	return s.shell(c, v)
}

// rubyOpen is open, which runs what begins with a pipe and fetches addresses.
func rubyOpen(s *scan, c *call) value {
	v := c.arg(0)
	if v.net {
		return value{net: true}
	}
	t := v.text()[0]
	switch {
	case strings.HasPrefix(t, "|"):
		return s.shell(c, text(strings.TrimLeft(t, "| ")))
	case strings.HasPrefix(t, "http:"), strings.HasPrefix(t, "https:"), strings.HasPrefix(t, "ftp:"):
		return value{net: true}
	}
	return openMode(s, c)
}

func fileUtils2(kind Kind) handler {
	return func(s *scan, c *call) value {
		src := c.arg(0)
		if src.isList {
			for _, e := range src.list {
				s.act(kind, c, e.text(), c.arg(1).text())
			}
			return value{}
		}
		s.act(kind, c, src.text(), c.arg(1).text())
		return value{}
	}
}

func chmodTree(s *scan, c *call) value {
	n := len(s.acts)
	chmodMode(s, c)
	for i := n; i < len(s.acts); i++ {
		s.acts[i].Recursive = true
	}
	return value{}
}

func chownIDs(s *scan, c *call) value {
	if len(c.args) > 2 {
		p, _ := paths(c.args[2:])
		s.act(Chown, c, append([]Text{s.cat(s.cat(c.arg(0).text(), []string{":"}), c.arg(1).text())}, p...)...)
	}
	return value{}
}

func chownTree(s *scan, c *call) value {
	n := len(s.acts)
	chownIDs(s, c)
	for i := n; i < len(s.acts); i++ {
		s.acts[i].Recursive = true
	}
	return value{}
}

// sends is receiver.send(:name, arguments).
func sends(s *scan, c *call) value {
	name := symbolName(c.arg(0))
	if name == "" {
		return value{}
	}
	return s.invoke(s.memberOf(c.recv, name), &call{args: c.args[1:], start: c.start, end: c.end})
}

func sendSelf(s *scan, c *call) value {
	name := symbolName(c.arg(0))
	if name == "" {
		return value{}
	}
	return s.invoke(s.resolve(name), &call{args: c.args[1:], start: c.start, end: c.end})
}

func symbolName(v value) string {
	if t, ok := v.exact(); ok {
		return t
	}
	return strings.TrimPrefix(v.sym, ":")
}

func methodOf(s *scan, c *call) value {
	name := symbolName(c.arg(0))
	if name == "" {
		return value{}
	}
	if c.recv.sym != "" && c.recv.recv == nil {
		return s.memberOf(c.recv, name)
	}
	return s.resolve(name)
}

func pathname(s *scan, c *call) value {
	return value{class: "Pathname", texts: c.arg(0).text()}
}

// unpacks is "…".unpack1("m"): base64, or hexadecimal digits.
func unpacks(s *scan, c *call) value {
	f, _ := c.arg(0).exact()
	if strings.HasPrefix(f, "m") {
		return s.decoded(c.recv, "base64")
	}
	return value{net: c.recv.net}
}

// packs is [codes].pack("c*") or ["hex"].pack("H*").
func packs(s *scan, c *call) value {
	f, _ := c.arg(0).exact()
	switch {
	case strings.HasPrefix(f, "H") && len(c.recv.list) > 0:
		return s.decoded(c.recv.list[0], "hex")
	case strings.HasPrefix(strings.ToLower(f), "c"), strings.HasPrefix(f, "U"):
		return characters(s, &call{args: c.recv.list})
	}
	return value{net: c.recv.net}
}

// callAll calls a function that is held as an object.
func callAll(s *scan, c *call) value {
	if c.recv.sym == "" || !s.known(c.recv) {
		return value{net: c.recv.net}
	}
	return s.invoke(c.recv, &call{args: c.args, start: c.start, end: c.end})
}
