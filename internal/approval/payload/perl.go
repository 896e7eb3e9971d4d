package payload

import "strings"

// perl is Perl 5.
func perl() *language {
	l := &language{
		syntax: syntax{
			comments: []string{"#"}, sigils: "$@%", inName: ":",
			quotes: []quoting{{open: `"`, close: `"`, inner: "$@"}, {open: "'", close: "'", escape: escSimple}, {open: "`", close: "`", kind: tokCommand, inner: "$@"}},
			ops: []string{"<=>", "...", "**=", "||=", "&&=", "//=", "=>", "->", "==", "!=", "=~", "!~", "<=", ">=", "+=", "-=", "*=", "/=", ".=", "x=", "||", "&&",
				"//", "++", "--", "<<", ">>", "**", ".."},
			special: perlSpecial,
		},
		member: []string{"->"}, concat: ".", parenless: true, textCalls: true, strip: []string{"CORE::GLOBAL::", "CORE::", "main::"},
		prefix:    words("my our local return if unless while until not and or do else elsif print say die warn defined ref scalar BEGIN END foreach"),
		callbacks: words("map grep sort first any"),
		envs:      []string{"$ENV"},
		statement: perlStatement,
	}
	l.attrs = map[string]func(*scan) value{}
	m := map[string]handler{
		"system": systemOrExec, "exec": systemOrExec, "readpipe": shellFirst, "qx": shellFirst, "IPC::Open3::open3": execAfterHandles, "open2": execAfterHandles, "open3": execAfterHandles,
		"IPC::Open2::open2": execAfterHandles, "capture": systemOrExec, "IPC::System::Simple::system": systemOrExec, "run": startsList, "unlink": unlinks, "rmdir": unlinkFirst,
		"rmtree": treeFirst, "remove_tree": trees, "File::Path::rmtree": treeFirst, "File::Path::remove_tree": trees, "rename": two(Move), "move": two(Move),
		"File::Copy::move": two(Move), "File::Copy::copy": two(Copy), "copy": two(Copy), "symlink": two(Link), "link": two(Link), "chmod": chmodMode, "chown": chownIDs,
		"truncate": truncates, "chdir": chdirs, "kill": killSignal, "fork": forks, "eval": evals, "open": perlOpen, "sysopen": sysOpens,
		"MIME::Base64::decode_base64": decodeArg("base64"), "decode_base64": decodeArg("base64"), "MIME::Base64::decode": decodeArg("base64"),
		"pack": perlPack, "chr": characters, "join": perlJoin, "reverse": perlReverse, "lc": argText, "glob": globbed, "shift": perlShift, "glob_": globbed, "LWP::Simple::get": fetched, "get": fetched,
		"#get": fetched, "#content": selfText, "#do": queries, "#prepare": queries, "sprintf": sprintfs, "#decoded_content": selfText, "IO::Socket::INET->new": sockets, "IO::Socket::INET.new": sockets, "IO::Socket.new": sockets, "socket": sockets,
		"connect": sockets, "#remove": treeSelfKnown, "#remove_tree": treeSelf, "Path::Tiny::path": pathname, "path": pathname, "Pathname#remove": unlinkSelf, "Pathname#remove_tree": treeSelf,
		"Pathname#spew": writeSelf, "IO::File.new": openMode, "Path::Tiny.new": pathname, "File::Spec.catfile": joinPaths, "File::Temp.new": temporary("/tmp"), "tempfile": temporary("/tmp"), "tempdir": temporary("/tmp"),
		"finddepth": findsAll, "find": findsAll, "File::Find::find": findsAll, "File::Find::finddepth": findsAll, "syscall": nothing, "require": nothing,
		"getstore": two(Download), "LWP::Simple::getstore": two(Download), "mirror": two(Download), "s///": perlSubstitute, "split": perlSplit, "readdir": func(*scan, *call) value { return listOf(text(anyName)) },
	}
	l.calls = with(m)
	for _, n := range [...]string{"#replace", "#sub", "#split", "#map", "#format", "#get"} {
		if n != "#get" {
			delete(l.calls, n)
		}
	}
	return l
}

// perlSpecial reads q(), qq(), qw(), qx(), patterns, here-documents, <globs>, and the end of the program.
func perlSpecial(l *lexer) bool {
	rest := l.text[l.at:]
	c := rest[0]
	switch {
	case c == '/':
		return !strings.HasPrefix(rest, "//") && regex(l)
	case c == '<' && strings.HasPrefix(rest, "<<"):
		return l.hereDocument(rest, "<<")
	case c == '<' && (!l.afterValue() || l.afterWord()):
		return l.perlGlob(rest)
	case c == '_' && (strings.HasPrefix(rest, "__END__") || strings.HasPrefix(rest, "__DATA__")):
		l.at = len(l.text)
		return true
	case c == '=' && l.nl && len(rest) > 1 && letter(rest[1]):
		l.at = l.after("\n=cut", l.at)
		l.at = l.lineEnd(l.at)
		return true
	case c == '@' && strings.HasPrefix(rest, "@ARGV"), c == '@' && strings.HasPrefix(rest, "@_"):
		n := len("@_")
		if rest[1] == 'A' {
			n = len("@ARGV")
		}
		l.add(tokName, l.at+n, rest[:n])
		return true
	case c == '$' && len(rest) > 1 && strings.IndexByte("0123456789!@&", rest[1]) >= 0 || c == '$' && strings.HasPrefix(rest, "$_") && (len(rest) == 2 || !letter(rest[2])):
		l.add(tokName, l.at+2, rest[:2])
		return true
	case c == '%' && l.afterValue():
		l.add(tokOp, l.at+1, "%")
		return true
	case c < 'a' || c > 'z':
		return false
	}
	if n := len(l.toks); n > 0 && (l.toks[n-1].text == "->" || l.toks[n-1].text == "sub" || l.toks[n-1].text == "&") && l.toks[n-1].kind != tokString {
		return false
	}
	return l.perlQuote(rest)
}

func (l *lexer) perlGlob(rest string) bool {
	end := strings.IndexAny(rest, ">\n;")
	if end < 2 || rest[end] != '>' {
		return false
	}
	inner := rest[1:end]
	if inner == "STDIN" || inner[0] == '$' && !strings.ContainsAny(inner, "/*.") || strings.ToUpper(inner) == inner && strings.Trim(inner, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" {
		l.add(tokName, l.at+end+1, "<"+inner+">")
		return true
	}
	l.add(tokGlob, l.at+end+1, inner)
	return true
}

// perlQuotes are Perl's operators that quote, with the number of texts that they take.
var perlQuotes = map[string]int{"q": 1, "qq": 1, "qw": 1, "qx": 1, "qr": 1, "m": 1, "s": 2, "tr": 2, "y": 2}

// perlQuote reads an operator that quotes: q qq qw qx qr m s tr y.
func (l *lexer) perlQuote(rest string) bool {
	n := 0
	for n < len(rest) && n < 3 && rest[n] >= 'a' && rest[n] <= 'z' {
		n++
	}
	name := rest[:n]
	parts, ok := perlQuotes[name]
	if !ok || n < len(rest) && (letter(rest[n]) || digit(rest[n]) || rest[n] == ':') {
		return false
	}
	at := n
	for at < len(rest) && (rest[at] == ' ' || rest[at] == '\n' || rest[at] == '\t') {
		at++
	}
	if at >= len(rest) || letter(rest[at]) || digit(rest[at]) || strings.IndexByte(",;)=", rest[at]) >= 0 || at > n && rest[at] == '#' ||
		rest[at] == '-' && strings.HasPrefix(rest[at:], "->") || rest[at] == '}' {
		return false
	}
	end, paired := percentQuotes[rest[at]]
	if !paired || end == rest[at] {
		end = rest[at]
	}
	q := quoting{open: rest[at : at+1], close: string(end)}
	switch name {
	case "q":
		q.escape = escSimple
	case "qq":
		q.inner = "$@"
	case "qx":
		q.kind, q.inner = tokCommand, "$@"
	case "qw":
		q.kind, q.escape = tokWords, escSimple
	default:
		q.kind, q.escape = tokNumber, escRaw
	}
	if parts == 2 {
		_, _, stop := l.body(&q, l.at+at+1)
		if end != rest[at] { // s{…}{…}
			for stop < len(l.text) && (l.text[stop] == ' ' || l.text[stop] == '\n') {
				stop++
			}
			stop++
		}
		if stop > len(l.text) {
			stop = len(l.text)
		}
		l.substitution(&q, stop, name)
		return true
	}
	l.quoted(&q, l.at+at+1)
	return true
}

// substitution reads the second half of s/// and its flags: with e it is a program text.
func (l *lexer) substitution(q *quoting, from int, name string) {
	repl, _, end := l.body(q, from)
	flagsFrom := end
	for end < len(l.text) && l.text[end] >= 'a' && l.text[end] <= 'z' {
		end++
	}
	if name == "s" && strings.Contains(l.text[flagsFrom:end], "e") {
		at := l.at
		l.add(tokName, at, "eval")
		l.at = at
		l.add(tokString, end, repl).sp = true
		return
	}
	if name == "s" && !strings.ContainsAny(repl, "$@") && l.mayStart() {
		l.substitutes(q, end, repl)
		return
	}
	l.add(tokNumber, end, "s///")
}

func perlStatement(s *scan, end int) bool {
	t := s.peek()
	if t.kind != tokName {
		return false
	}
	switch t.text {
	case "for", "foreach":
		s.i++
		s.perlFor(end)
	case "use", "no", "package":
		for s.i < end && !s.is(";") {
			s.i++
		}
	case "while", "if", "unless", "until", "elsif":
		s.i++
	default:
		return false
	}
	return true
}

// perlFor reads for my $x (list), and the form without a name.
func (s *scan) perlFor(end int) {
	if s.is("my") || s.is("our") {
		s.i++
	}
	name := "$_"
	if t := s.peek(); t.kind == tokName && strings.HasPrefix(t.text, "$") {
		name = t.text
		s.i++
	}
	if !s.is("(") {
		s.bind([]string{name}, value{})
		return
	}
	stop := s.close(s.i, end)
	s.i++
	list := s.list(stop, end)
	if len(list) == 1 && list[0].isList {
		s.bind([]string{name}, list[0])
		return
	}
	s.bind([]string{name}, listOf(list...))
}

// perlOpen is open(F, ">file"), open(F, ">", file), open(F, "cmd|"), open(F, "-|", argv).
func perlOpen(s *scan, c *call) value {
	args := c.args
	if len(args) > 0 && (args[0].sym != "" || args[0].isUnknown()) {
		args = args[1:]
	}
	if len(args) == 0 {
		return value{}
	}
	mode := strings.TrimSpace(args[0].text()[0])
	switch {
	case len(args) == 1 && strings.HasPrefix(mode, "|"):
		return s.pipesTo(c, strings.TrimSpace(mode[1:]))
	case len(args) == 1 && strings.HasSuffix(mode, "|"):
		return s.shell(c, text(strings.TrimSpace(mode[:len(mode)-1])))
	case mode == "-|" || mode == "|-":
		if t, ok := args[1].exact(); ok && mode == "|-" {
			return s.pipesTo(c, t)
		}
		if len(args) == 2 {
			return s.shell(c, args[1])
		}
		return s.exec(c, args[1:])
	case len(args) == 1 && strings.HasPrefix(mode, ">&"), strings.HasPrefix(mode, "<&"), strings.HasPrefix(mode, "+<&"):
		return value{}
	case len(args) == 1 && (strings.HasPrefix(mode, ">") || strings.HasPrefix(mode, "+")):
		s.writes(c, s.each(args[0], func(t string) (string, bool) { return strings.TrimLeft(t, "+<> "), true }))
	case len(args) > 1 && strings.ContainsAny(mode, ">+"):
		s.writes(c, args[1])
	case len(args) > 1:
		return s.reads(c, args[1])
	default:
		return s.reads(c, args[0])
	}
	return value{}
}

// pipesTo starts a program that reads what the program prints to it, which the scan doesn't follow.
func (s *scan) pipesTo(c *call, command string) value {
	s.flags.shell = s.flags.shell || waits(strings.Fields(command))
	s.add(Act{Kind: Shell, Call: c.name, Args: []Text{{command}}, Start: c.start, End: c.end, Dir: s.dirOf(c), Stdin: Text{Unknown}})
	return value{}
}

func sysOpens(s *scan, c *call) value {
	if f := c.arg(2); f.sym != "O_RDONLY" {
		s.writes(c, c.arg(1))
	}
	return value{}
}

// execAfterHandles is open3(in, out, err, argv) and open2(out, in, argv).
func execAfterHandles(s *scan, c *call) value {
	n := 2
	if strings.HasSuffix(c.name, "3") {
		n = 3
	}
	if len(c.args) <= n {
		return value{}
	}
	return systemOrExec(s, &call{name: c.name, args: c.args[n:], start: c.start, end: c.end})
}

func perlShift(s *scan, c *call) value {
	if len(c.args) == 0 && len(s.in.Args) > 0 {
		return value{texts: s.in.Args[0]}
	}
	return value{}
}

func treeSelfKnown(s *scan, c *call) value {
	if c.recv.class != "" {
		return treeSelf(s, c)
	}
	return value{}
}

// afterWord tells whether a bare word stands in front, which may be a function's name.
func (l *lexer) afterWord() bool {
	t := &l.toks[len(l.toks)-1]
	return t.kind == tokName && letter(t.text[0])
}

// findsAll is File::Find's search, whose function deletes what it comes to.
func findsAll(s *scan, c *call) value {
	if !s.mentions.holds(s.text, "unlink") && !s.mentions.holds(s.text, "rmdir") && !s.mentions.holds(s.text, "rmtree") {
		return value{}
	}
	var dirs []value
	for _, a := range c.args {
		if a.isText() && !a.num {
			dirs = append(dirs, a)
		}
	}
	if len(dirs) > 0 && !s.mentions.holds(s.text, " if ") && !s.mentions.holds(s.text, "-f") && !s.mentions.holds(s.text, "=~") {
		s.deletes(DeleteTree, c, dirs)
	}
	return value{}
}
