package payload

import "strings"

// mayStart tells whether a program can start another at all: most of those that substitute edit text.
func (l *lexer) mayStart() bool {
	if l.quiet == lexUnasked {
		l.quiet = lexEdits
		for _, word := range [...]string{"system", "exec", "qx", "eval", "`", "open"} {
			if strings.Contains(l.text, word) {
				l.quiet = lexStarts
			}
		}
	}
	return l.quiet == lexStarts
}

// substitutes writes s/PATTERN/TEXT/ as an assignment of what it makes of its variable.
func (l *lexer) substitutes(q *quoting, end int, repl string) {
	at, name := l.at, "$_"
	if n := len(l.toks); n > 1 && l.toks[n-1].text == "=~" && l.toks[n-2].kind == tokName {
		name = l.toks[n-2].text
		l.toks = l.toks[:n-2]
	}
	from := at + strings.IndexByte(l.text[at:], q.open[0]) + 1
	pattern, _, _ := l.body(q, from)
	plain := strings.NewReplacer(`\`+q.open, q.open, `\`+q.close, q.close)
	for _, t := range [...]struct {
		kind tokenKind
		text string
	}{{tokName, name}, {tokOp, "="}, {tokName, "s///"}, {tokOp, "("}, {tokName, name}, {tokOp, ","}, {tokString, plain.Replace(pattern)}, {tokOp, ","},
		{tokString, plain.Replace(repl)}, {tokOp, ")"}} {
		l.at = at
		l.add(t.kind, end, t.text)
	}
}

// perlSubstitute is s/// where the pattern is plain text.
func perlSubstitute(s *scan, c *call) value {
	from, to := c.arg(1).text()[0], c.arg(2).text()[0]
	if strings.ContainsAny(from, `\.*+?[](){}|^$`) {
		return value{net: c.arg(0).net}
	}
	return s.each(c.arg(0), func(t string) (string, bool) { return strings.Replace(t, from, to, 1), true })
}

// startsList is IPC::Run's run, whose first argument is an argv.
func startsList(s *scan, c *call) value {
	if v := c.arg(0); v.isList && v.keys == nil {
		return s.exec(c, v.list)
	}
	return value{}
}

// perlSplit is split where the pattern is plain text or white space.
func perlSplit(_ *scan, c *call) value {
	t, ok := c.arg(1).exact()
	if !ok {
		return value{net: c.arg(1).net}
	}
	v := listOf()
	switch by := strings.Trim(c.arg(0).text()[0], "/"); by {
	case " ", `\s+`, `\s*`, " +":
		for _, f := range strings.Fields(t) {
			v.list = append(v.list, text(f))
		}
	default:
		if strings.ContainsAny(by, `\.*+?[](){}|^$`) || by == "" || strings.Count(t, by) > maxStrings {
			return value{net: c.arg(1).net}
		}
		for f := range strings.SplitSeq(t, by) {
			v.list = append(v.list, text(f))
		}
	}
	return v
}

func perlPack(s *scan, c *call) value {
	if len(c.args) < 2 {
		return value{}
	}
	v := c.arg(1)
	if !v.isList {
		v = listOf(c.args[1:]...)
	}
	return packs(s, &call{recv: v, args: c.args[:1]})
}

func perlJoin(s *scan, c *call) value {
	list := listOf()
	for _, a := range c.args[min(1, len(c.args)):] {
		if a.isList {
			list.list = append(list.list, a.list...)
			continue
		}
		list.list = append(list.list, a)
	}
	return s.joinList(&call{recv: c.arg(0), args: []value{list}})
}

func perlReverse(s *scan, c *call) value {
	if len(c.args) == 1 && c.args[0].isText() {
		return s.each(c.args[0], reverse)
	}
	return value{}
}
