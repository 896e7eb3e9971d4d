package payload

import "strings"

func lua() *language {
	l := &language{
		syntax: syntax{
			blocks: [][2]string{{"--[[", "]]"}, {"--[=[", "]=]"}}, comments: []string{"--"},
			quotes: []quoting{{open: `"`, close: `"`}, {open: "'", close: "'"}, {open: "[[", close: "]]", escape: escNone}, {open: "[=[", close: "]=]", escape: escNone}},
			ops:    []string{"...", "..", "==", "~=", "<=", ">=", "//", "<<", ">>", "::"},
		},
		member: []string{".", ":"}, concat: "..", strip: []string{"_G.", "_ENV."},
		prefix:    words("local return if while not and or then do else elseif repeat until end"),
		callbacks: words("pcall xpcall"),
		tagged:    words("*"),
		statement: nil,
	}
	l.attrs = map[string]func(*scan) value{}
	l.calls = with(map[string]handler{
		"os.execute": shellFirst, "io.popen": shellFirst, "os.remove": unlinkFirst, "os.rename": two(Move), "io.open": openMode, "io.output": writeFirst,
		"load": evals, "loadstring": evals, "dofile": nothing, "require": requires, "string.char": characters, "os.getenv": getEnv, "os.tmpname": temporary("/tmp"),
		"lfs.rmdir": unlinkFirst, "lfs.chdir": chdirs, "posix.exec": execAfter(1), "vim.fn.system": shellFirst, "vim.fn.delete": unlinkFirst,
		"string.reverse": func(s *scan, c *call) value { return s.each(c.arg(0), reverse) }, "table.concat": func(s *scan, c *call) value {
			v := c.arg(1)
			v.texts = append([]string(nil), v.texts...)
			if len(v.texts) == 0 {
				v = text("")
			}
			return s.joinList(&call{recv: v, args: c.args[:min(1, len(c.args))]})
		}, "string.format": sprintfs, "socket.http.request": fetched, "http.request": fetched, "socket.tcp": sockets, "socket.connect": sockets, "#connect": sockets, "#receive": sockets, "#read": selfText,
	})
	return l
}

func applescript() *language {
	l := &language{
		syntax: syntax{comments: []string{"--", "#"}, blocks: [][2]string{{"(*", "*)"}}, quotes: []quoting{{open: `"`, close: `"`}}, ops: []string{"«", "»"}, newline: true},
		concat: "&", prefix: words("the my to"), statement: applescriptStatement,
	}
	l.calls = map[string]handler{}
	return l
}

// applescriptStatement reads do shell script, run script, set x to y, delete …, and what is told to empty the trash.
func applescriptStatement(s *scan, end int) bool {
	t := s.peek()
	switch {
	case s.is("do") && s.isAt(s.i+1, "shell") && s.isAt(s.i+2, "script"), s.is("do") && s.isAt(s.i+1, "script"):
		s.i += 2
		if s.is("script") {
			s.i++
		}
		v := s.expr(end)
		s.shell(&call{name: "do shell script", start: int(t.start), end: int(t.end)}, v)
	case s.is("run") && s.isAt(s.i+1, "script"):
		s.i += 2
		s.eval(&call{name: "run script", start: int(t.start), end: int(t.end)}, s.expr(end))
	case s.is("set") && s.i+2 < end && s.isAt(s.i+2, "to"):
		name := s.toks[s.i+1].text
		s.i += 3
		if s.is("do") {
			return true
		}
		s.assign(name, s.expr(end))
	case s.is("empty") && (s.isAt(s.i+1, "trash") || s.isAt(s.i+2, "trash")):
		s.i++
		s.add(Act{Kind: DeleteTree, Call: "empty trash", Args: []Text{{Unknown}}, Start: int(t.start), End: int(t.end)})
	case s.is("delete") && t.nl || s.is("delete") && s.i > 0 && (s.isAt(s.i-1, "to") || s.toks[s.i-1].kind == tokString):
		s.i++
		s.add(Act{Kind: Delete, Call: "delete", Args: []Text{{Unknown}}, Start: int(t.start), End: int(t.end)})
	default:
		s.i++
	}
	return true
}

func rLang() *language {
	l := &language{
		syntax: syntax{comments: []string{"#"}, quotes: []quoting{{open: `r"(`, close: `)"`, escape: escNone}, {open: `"`, close: `"`}, {open: "'", close: "'"}, {open: "`", close: "`"}},
			inName: ".", ops: []string{"<<-", "<-", "->>", "->", "==", "!=", "<=", ">=", "|>", "::", "&&", "||", "%>%"}, newline: true},
		member: []string{"::", "$"}, prefix: words("return if while not else repeat"), callbacks: words("lapply sapply do.call Map invisible"), textCalls: true,
		strip: []string{"base.", "fs."}, statement: loopStatement,
	}
	l.attrs = map[string]func(*scan) value{}
	l.calls = with(map[string]handler{
		"system": shellFirst, "shell": shellFirst, "system2": func(s *scan, c *call) value {
			return s.exec(c, c.args[:min(2, len(c.args))])
		}, "pipe": shellFirst, "processx.run": func(s *scan, c *call) value { return s.exec(c, c.args[:min(2, len(c.args))]) },
		"unlink": func(s *scan, c *call) value {
			kind := Delete
			if c.isTrue("recursive") {
				kind = DeleteTree
			}
			s.deletes(kind, c, c.args[:min(1, len(c.args))])
			return value{}
		}, "file.remove": unlinks, "dir_delete": trees, "file_delete": unlinks, "file.rename": two(Move), "file.copy": two(Copy), "Sys.chmod": chmodPath,
		"writeLines": func(s *scan, c *call) value { s.writes(c, c.arg(1)); return value{} }, "file.create": writeFirst, "sink": writeFirst, "cat": func(s *scan, c *call) value {
			if v, ok := c.named.get("file"); ok {
				s.writes(c, v)
			}
			return value{}
		}, "eval": evals, "parse": func(_ *scan, c *call) value {
			if v, ok := c.named.get("text"); ok {
				return v
			}
			return value{file: true}
		}, "source": func(s *scan, c *call) value {
			if t := c.arg(0).text()[0]; strings.HasPrefix(t, "http") {
				s.act(Fetch, c, Text{"code"})
			}
			return value{}
		}, "paste0": func(s *scan, c *call) value {
			return s.joinList(&call{recv: text(""), args: []value{listOf(c.args...)}})
		},
		"paste": func(s *scan, c *call) value {
			return s.joinList(&call{recv: text(" "), args: []value{listOf(c.args...)}})
		},
		"c": func(_ *scan, c *call) value { return listOf(c.args...) }, "file.path": joinPaths, "path.expand": func(s *scan, c *call) value { return s.expand(c.arg(0)) },
		"Sys.getenv": getEnv, "tempfile": temporary("/tmp"), "tempdir": constantCall("/tmp"), "list.files": entries, "Sys.glob": globbed, "setwd": chdirs, "url": fetched, "readLines": argText,
		"download.file": two(Download),
	})
	delete(l.calls, "#replace")
	return l
}

// loopStatement reads for (x in list) and for x in list.
func loopStatement(s *scan, end int) bool {
	t := s.peek()
	if t.kind != tokName {
		return false
	}
	switch {
	case t.text == "for" && s.isAt(s.i+1, "("):
		stop := s.close(s.i+1, end)
		s.i++
		s.forIn(stop)
		s.i = min(stop+1, end)
	case t.text == "for":
		s.forIn(end)
	case (t.text == "while" || t.text == "if") && s.isAt(s.i+1, "("):
		stop := s.close(s.i+1, end)
		s.i += 2
		s.list(stop, end)
	default:
		return false
	}
	return true
}

func julia() *language {
	l := &language{
		syntax: syntax{comments: []string{"#"}, blocks: [][2]string{{"#=", "=#"}},
			quotes: []quoting{{open: `raw"`, close: `"`, escape: escRaw}, {open: `"""`, close: `"""`, inner: "$"}, {open: `"`, close: `"`, inner: "$"}, {open: "`", close: "`", kind: tokCommand, inner: "$"}},
			inName: "!", ops: []string{"==", "!=", "<=", ">=", "&&", "||", "->", "=>", "|>", "..."}, newline: true},
		member: []string{"."}, prefix: words("return if while not else begin end do"), callbacks: words("map foreach"), strip: []string{"Base."}, envs: []string{"ENV"},
		statement: loopStatement,
	}
	l.attrs = map[string]func(*scan) value{"ARGS": programArgs()}
	l.calls = with(map[string]handler{
		"run": nothing, "read": nothing, "rm": func(s *scan, c *call) value {
			kind := Delete
			if c.isTrue("recursive") {
				kind = DeleteTree
			}
			s.deletes(kind, c, c.args[:min(1, len(c.args))])
			return value{}
		}, "mv": two(Move), "cp": two(Copy), "chmod": chmodPath, "write": writeFirst, "open": openMode, "joinpath": joinPaths, "homedir": homeDir, "cd": chdirs, "mktempdir": temporary("/tmp"),
		"Meta.parse": argText, "eval": evals, "include_string": func(s *scan, c *call) value { return s.eval(c, c.arg(1)) }, "string": func(s *scan, c *call) value {
			return s.joinList(&call{recv: text(""), args: []value{listOf(c.args...)}})
		}, "expanduser": func(s *scan, c *call) value { return s.expand(c.arg(0)) }, "readdir": entries, "download": fetched, "Downloads.download": fetched, "base64decode": decodeArg("base64"), "String": argText,
	})
	return l
}
