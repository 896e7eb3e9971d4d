package payload

import "strings"

// php is PHP, with or without its opening tag.
func php() *language {
	l := &language{
		syntax: syntax{
			comments: []string{"//", "#"}, blocks: [][2]string{{"/*", "*/"}}, sigils: `$\`, inName: `\:`, fold: true,
			quotes: []quoting{{open: `"`, close: `"`, inner: "$"}, {open: "'", close: "'", escape: escSimple}, {open: "`", close: "`", kind: tokCommand, inner: "$"}},
			ops: []string{"<=>", "===", "!==", "...", "**=", "??=", "?->", "=>", "->", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", ".=", "||", "&&", "??",
				"++", "--", "<<", ">>", "::"},
			special: phpSpecial,
		},
		member: []string{"->", "?->", "::"}, concat: ".", textCalls: true, qualified: `\`,
		prefix:    words("return if while not and or else elseif echo print die exit new static global public private protected throw const do try @"),
		callbacks: words("array_map array_walk call_user_func call_user_func_array usort array_filter register_shutdown_function forward_static_call iterator_apply"),
		envs:      []string{"$_env", "$_server"},
		statement: phpStatement,
	}
	l.attrs = map[string]func(*scan) value{}
	m := map[string]handler{
		"popen": shellFirst, "proc_open": phpProc, "pcntl_exec": execList1, "rename": two(Move), "copy": two(Copy), "symlink": two(Link), "link": two(Link), "chmod": chmodPath,
		"chown": phpChown, "lchown": phpChown, "chgrp": phpChown, "chdir": chdirs, "posix_kill": kills, "file::deletedirectory": trees, "file::cleandirectory": trees, "storage::deletedirectory": trees, "pcntl_fork": forks, "eval": evals, "assert": evals, "create_function": functionOf,
		"fopen": openMode, "ftruncate": nothing, "touch": writeFirst, "file_put_contents": writeFirst, "base64_decode": decodeArg("base64"), "hex2bin": decodeArg("hex"),
		"str_rot13": decodeArg("rot13"), "gzinflate": nothing, "gzuncompress": decodeArg("zlib"), "gzdecode": decodeArg("gzip"), "urldecode": decodeArg("url"), "rawurldecode": decodeArg("url"),
		"strrev": func(s *scan, c *call) value { return s.each(c.arg(0), reverse) }, "chr": characters, "implode": func(s *scan, c *call) value { return perlJoin(s, c) },
		"join": func(s *scan, c *call) value { return perlJoin(s, c) }, "explode": func(s *scan, c *call) value {
			return splits(s, &call{recv: c.arg(1), args: c.args[:min(1, len(c.args))]})
		}, "trim": argText, "strtolower": func(s *scan, c *call) value { return s.each(c.arg(0), lowered) }, "strval": argText,
		"str_replace": func(s *scan, c *call) value {
			return replaces(s, &call{recv: c.arg(2), args: c.args[:min(2, len(c.args))]})
		},
		"sprintf":        sprintfs,
		"escapeshellarg": argText, "escapeshellcmd": argText, "glob": globbed, "scandir": entries, "getenv": getEnv, "sys_get_temp_dir": constantCall("/tmp"), "tempnam": temporary("/tmp"), "getcwd": constantCall("."),
		"realpath": argText, "dirname": dirName, "file_get_contents": phpRead, "readfile": phpRead, "file": phpRead, "curl_exec": fetched, "fsockopen": sockets, "pfsockopen": sockets,
		"stream_socket_client": sockets, "socket_create": sockets, "stream_get_contents": stdin, "preg_replace": phpReplace, "mysqli_query": querySecond, "pg_query": querySecond, "mysql_query": queries, "#exec": queries, "#prepare": queries, "db::statement": queries, "db::unprepared": queries, "db::delete": queries, "db::update": queries, "file::delete": unlinks,
		"array": func(_ *scan, c *call) value { return listOf(c.args...) },
	}
	all(m, shellFirst, "system exec shell_exec passthru")
	all(m, unlinkFirst, "unlink rmdir")
	l.calls = with(m)
	return l
}

// phpSpecial reads here-documents, and what stands outside the tags.
func phpSpecial(l *lexer) bool {
	rest := l.text[l.at:]
	switch {
	case strings.HasPrefix(rest, "<?php"):
		l.at += len("<?php")
	case strings.HasPrefix(rest, "<?="):
		l.at += len("<?=")
	case strings.HasPrefix(rest, "<?"):
		l.at += len("<?")
	case strings.HasPrefix(rest, "?>"):
		if i := strings.Index(rest, "<?"); i >= 0 {
			l.at += i
		} else {
			l.at = len(l.text)
		}
		l.add(tokOp, l.at, ";")
	case strings.HasPrefix(rest, "<<<"):
		return l.hereDocument(rest, "<<<")
	case strings.HasPrefix(rest, "#["): // an attribute, no comment
		l.add(tokOp, l.at+2, "[")
	default:
		return false
	}
	return true
}

func phpStatement(s *scan, end int) bool {
	t := s.peek()
	if t.kind != tokName {
		return false
	}
	switch t.text {
	case "foreach":
		s.i++
		s.phpForeach(end)
	case "while", "if", "for", "switch", "elseif":
		s.i++
		if s.is("(") {
			stop := s.close(s.i, end)
			s.i++
			s.list(stop, end)
		}
	case "use", "namespace":
		for s.i < end && !s.is(";") && !s.is("{") {
			s.i++
		}
	case "public", "private", "protected", "static", "final", "abstract":
		s.i++
	default:
		return false
	}
	return true
}

// phpForeach reads foreach (list as $k => $v).
func (s *scan) phpForeach(end int) {
	if !s.is("(") {
		return
	}
	stop := s.close(s.i, end)
	s.i++
	s.inside++
	list := s.expr(stop)
	s.inside--
	last := ""
	for s.i < stop {
		if t := s.peek(); t.kind == tokName && strings.HasPrefix(t.text, "$") {
			last = t.text
		}
		s.i++
	}
	if last != "" {
		s.bind([]string{last}, list)
	}
	s.i = min(stop+1, end)
}

func phpProc(s *scan, c *call) value { return s.start(c, c.arg(0)) }

func execList1(s *scan, c *call) value {
	return s.exec(c, append([]value{c.arg(0)}, c.arg(1).list...))
}

func phpChown(s *scan, c *call) value {
	s.act(Chown, c, c.arg(1).text(), c.arg(0).text())
	return value{}
}

// phpRead reads a file, or an address.
func phpRead(s *scan, c *call) value {
	t := c.arg(0).text()[0]
	if strings.HasPrefix(t, "http:") || strings.HasPrefix(t, "https:") || strings.HasPrefix(t, "ftp:") {
		return value{net: true}
	}
	if t == "php://stdin" {
		return stdin(s, c)
	}
	return s.reads(c, c.arg(0))
}

// phpReplace is preg_replace, whose pattern's e made the replacement a program text.
func phpReplace(s *scan, c *call) value {
	p, ok := c.arg(0).exact()
	if ok && len(p) > 2 && strings.Contains(p[strings.LastIndexByte(p, p[0]):], "e") && !letter(p[0]) {
		return s.eval(c, c.arg(1))
	}
	return value{}
}
