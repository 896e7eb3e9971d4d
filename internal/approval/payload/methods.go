package payload

import (
	"maps"
	"strconv"
	"strings"
)

// number reads a number of any base as the languages write it.
func number(t string) (uint64, bool) {
	t = strings.ReplaceAll(t, "_", "")
	if len(t) > 1 && t[0] == '0' && digit(t[1]) {
		n, err := strconv.ParseUint(t, 8, 32)
		return n, err == nil
	}
	n, err := strconv.ParseUint(t, 0, 32)
	return n, err == nil
}

func octal(n uint64) string { return strconv.FormatUint(n, 8) }

// looped tells whether the call stands alone in a loop without end.
func (s *scan) looped() bool {
	at := min(s.i, len(s.toks)) - 1
	for i := at; i >= 0 && i > at-20; i-- {
		switch t := s.toks[i].text; t {
		case "=", "if", "unless", ":=", "}":
			return false
		case "loop", "forever":
			return true
		case "while", "until":
			n := i + 1
			if s.isAt(n, "(") {
				n++
			}
			return n < len(s.toks) && (endless[s.toks[n].text] || s.toks[n].text == "fork" || s.toks[n].text == "os")
		case "for":
			return s.isAt(i+2, ";") && s.isAt(i+3, ";")
		}
	}
	for i := at; i < len(s.toks) && i < at+12; i++ {
		if s.isAt(i, "for") && (s.isAt(i+3, "iter") || s.isAt(i+3, "itertools") || s.isAt(i+3, "count") || s.isAt(i+3, "cycle") || s.manyTimes(i+3)) {
			return true
		}
	}
	for i := at; i < len(s.toks) && i < at+3; i++ {
		if s.isAt(i, "while") && i+1 < len(s.toks) {
			return endless[s.toks[i+1].text] || s.toks[i+1].text == "fork"
		}
	}
	return false
}

// manyTimes tells whether range(N) at i counts so far that processes which fork each time fill any machine.
func (s *scan) manyTimes(i int) bool {
	const enough = 16 // doubled so often, one is 65,536
	if !s.isAt(i, "range") || i+2 >= len(s.toks) || s.toks[i+2].kind != tokNumber {
		return false
	}
	n, err := strconv.Atoi(s.toks[i+2].text)
	return err == nil && n >= enough || s.isAt(i+3, "**")
}

var endless = map[string]bool{"True": true, "true": true, "1": true, "TRUE": true}

// with is the table of what texts and lists of any language can do, and a language's own.
func with(own map[string]handler) map[string]handler {
	all := map[string]handler{
		"#join": func(s *scan, c *call) value { return s.joinList(c) }, "#format": func(s *scan, c *call) value { return s.braceFormat(c.recv, c) },
		"#replace": replaces, "#replaceAll": replaces, "#gsub": replaces, "#sub": replaces,
		"#strip": changeSelf(trimmed), "#trim": changeSelf(trimmed), "#rstrip": changeSelf(trimmed), "#lstrip": changeSelf(trimmed), "#chomp": changeSelf(trimmed),
		"#lower": changeSelf(lowered), "#toLowerCase": changeSelf(lowered), "#downcase": changeSelf(lowered),
		"#reverse": func(s *scan, c *call) value {
			if c.recv.isList {
				v := listOf()
				for i := len(c.recv.list) - 1; i >= 0; i-- {
					v.list = append(v.list, c.recv.list[i])
				}
				return v
			}
			return s.each(c.recv, reverse)
		},
		"#split": splits, "#concat": func(s *scan, c *call) value {
			v := c.recv
			for _, a := range c.args {
				v = s.plus(v, a)
			}
			return v
		},
		"#execute": queries, "#executescript": queries, "#executemany": queries, "#execute_batch": queries, "#query": queries, "#raw": queries,
		"#exec_query": queries, "#$executeRawUnsafe": queries, "#$queryRawUnsafe": queries, "#execute_sql": queries, "#sql": queries,
		"#map": mapList, "#encode": selfText, "#toString": toString, "#to_s": selfText, "#valueOf": selfText, "#as_posix": selfText, "#resolve": selfText, "#absolute": selfText,
		"#expanduser": func(s *scan, c *call) value { v := s.expand(c.recv); v.class = c.recv.class; return v },
	}
	maps.Copy(all, own)
	return all
}

func trimmed(t string) (string, bool) { return strings.TrimSpace(t), true }

func lowered(t string) (string, bool) { return strings.ToLower(t), true }

func replaces(s *scan, c *call) value {
	old, ok := c.arg(0).exact()
	repl, ok2 := c.arg(1).exact()
	if !ok || !ok2 || old == "" {
		return value{net: c.recv.net, texts: nil}
	}
	return s.each(c.recv, func(t string) (string, bool) {
		return strings.ReplaceAll(t, old, repl), len(t)+strings.Count(t, old)*len(repl) < maxDecoded
	})
}

func splits(s *scan, c *call) value {
	t, ok := c.recv.exact()
	if !ok {
		return value{net: c.recv.net}
	}
	sep, given := c.arg(0).exact()
	var parts []string
	switch {
	case !given && len(c.args) > 0 && c.args[0].sym != "None":
		return value{net: c.recv.net}
	case !given:
		parts = strings.Fields(t)
	default:
		parts = strings.SplitN(t, sep, 4096)
	}
	v := listOf()
	for _, p := range parts {
		v.list = append(v.list, text(p))
	}
	return v
}

// mapList is list.map(f): only conversions of numbers to characters are followed.
func mapList(s *scan, c *call) value {
	f := c.arg(0)
	if f.sym == "" {
		return value{net: c.recv.net}
	}
	out := listOf()
	h := s.lookup(f)
	if h == nil || !pure[f.sym] {
		s.handed(f, c, 0)
	} else {
		for _, e := range c.recv.list {
			out.list = append(out.list, h(s, &call{args: []value{e}}))
		}
		return out
	}
	return value{net: c.recv.net}
}

// pure are functions that only compute.
var pure = map[string]bool{"chr": true, "String.fromCharCode": true, "str": true, "int": true}

// joinList puts a list's texts together: as sep.join(list), or list.join(sep).
func (s *scan) joinList(c *call) value {
	list, sep := c.arg(0), c.recv
	if c.recv.isList {
		list, sep = c.recv, c.arg(0)
		if len(c.args) == 0 {
			sep = text("")
			if s.concat == "" && s.member[0] == "." && !s.adjacent && !s.parenless {
				sep = text(",")
			}
		}
	} else if !list.isList && list.isText() {
		return list
	}
	if !list.isList || list.keys != nil {
		return value{net: list.net, file: list.file}
	}
	out := text("")
	sep.texts = sep.text()
	for i, e := range list.list {
		if i > 0 {
			out = s.plus(out, sep)
		}
		e.texts, e.num = e.text(), false
		out = s.plus(out, e)
	}
	return out
}

// toString gives bytes as a text: in the encoding that is named.
func toString(s *scan, c *call) value {
	if name, ok := c.arg(0).exact(); ok && decoders[name] != nil && c.recv.class == "" {
		v := c.recv
		v.texts = c.recv.texts
		return v
	}
	return selfText(s, c)
}

// characters puts codes together.
func characters(s *scan, c *call) value {
	list := c.args
	if len(list) == 1 && list[0].isList {
		list = list[0].list
	}
	var b strings.Builder
	for _, a := range list {
		t, ok := a.exact()
		n, ok2 := number(t)
		if !ok || !ok2 || n == 0 || n > 0x10ffff {
			return value{}
		}
		b.WriteRune(rune(n))
	}
	if s.folded += b.Len(); s.folded > maxFolded {
		return value{}
	}
	return text(b.String())
}

// expand replaces a leading ~ by the home directory.
func (s *scan) expand(v value) value {
	v.sym, v.recv = "", nil
	if len(v.texts) == 0 {
		return v
	}
	return s.each(v, func(t string) (string, bool) {
		if t == "~" || strings.HasPrefix(t, "~/") {
			return s.home() + t[1:], true
		}
		if strings.HasPrefix(t, "$HOME") {
			return s.home() + t[len("$HOME"):], true
		}
		return t, true
	})
}
