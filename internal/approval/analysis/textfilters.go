package analysis

import (
	"strconv"
	"strings"
)

// translated handles tr SET1 SET2, tr -d SET and tr -s, with ranges and classes.
func translated(a *Args, in string) (string, bool) {
	switch {
	case a.Has("cC"), a.Long("complement", 1), len(a.Operands) == 0:
		return "", false
	case a.Has("d") || a.Long("delete", 1):
		set := trSet(a.Operands[0].Text)
		return strings.Map(func(ch rune) rune {
			if strings.ContainsRune(set, ch) {
				return -1
			}
			return ch
		}, in), true
	case len(a.Operands) < 2:
		return in, a.Has("s")
	}
	from, to := trSet(a.Operands[0].Text), trSet(a.Operands[1].Text)
	if to == "" {
		return "", false
	}
	return mapped(in, from, to), true
}

func mapped(in, from, to string) string {
	return strings.Map(func(ch rune) rune {
		if i := strings.LastIndex(from, string(ch)); i >= 0 {
			return rune(to[min(i, len(to)-1)])
		}
		return ch
	}, in)
}

var trClasses = strings.NewReplacer("[:upper:]", "A-Z", "[:lower:]", "a-z", "[:digit:]", "0-9", "[:alpha:]", "A-Za-z", "[:alnum:]", "A-Za-z0-9",
	"[:space:]", " \t\n\r\f\v", "[:blank:]", " \t")

func trSet(s string) string {
	s = ansiC(trClasses.Replace(s))
	if len(s) > 4 && s[0] == '[' && s[len(s)-1] == ']' && s[2] == '-' { // the way of System V
		s = s[1 : len(s)-1]
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if i+2 < len(s) && s[i+1] == '-' && s[i] <= s[i+2] {
			for ch := int(s[i]); ch <= int(s[i+2]); ch++ {
				b.WriteByte(byte(ch))
			}
			i += 2
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func eachLine(in string, f func(string) (string, bool)) (string, bool) {
	var b strings.Builder
	for line := range strings.Lines(in) {
		body, nl := strings.CutSuffix(line, "\n")
		out, ok := f(body)
		if !ok {
			return "", false
		}
		b.WriteString(out)
		if nl {
			b.WriteByte('\n')
		}
	}
	return b.String(), true
}

// cutFields handles cut -c, -b and -f with ranges.
func cutFields(a *Args, in string) (string, bool) {
	if a.Long("complement", 1) {
		return "", false
	}
	if list, ok := a.first("c", "b", "characters", "bytes"); ok {
		return eachLine(in, func(line string) (string, bool) {
			var b strings.Builder
			for i := range len(line) {
				in, ok := inRanges(list, i+1)
				if !ok {
					return "", false
				}
				if in {
					b.WriteByte(line[i])
				}
			}
			return b.String(), true
		})
	}
	list, ok := a.first("f", "fields")
	if !ok {
		return "", false
	}
	sep, given := a.first("d", "delimiter")
	if !given || sep == "" {
		sep = "\t"
	}
	return eachLine(in, func(line string) (string, bool) {
		if !strings.Contains(line, sep) {
			return line, true
		}
		var kept []string
		for i, f := range strings.Split(line, sep) {
			in, ok := inRanges(list, i+1)
			if !ok {
				return "", false
			}
			if in {
				kept = append(kept, f)
			}
		}
		return strings.Join(kept, sep), true
	})
}

func inRanges(list string, n int) (in, ok bool) {
	for r := range strings.SplitSeq(list, ",") {
		from, to, ranged := strings.Cut(r, "-")
		lo, hi := 1, 1<<30
		var err error
		if from != "" {
			if lo, err = strconv.Atoi(from); err != nil {
				return false, false
			}
		}
		switch {
		case !ranged:
			hi = lo
		case to != "":
			if hi, err = strconv.Atoi(to); err != nil {
				return false, false
			}
		}
		in = in || lo <= n && n <= hi
	}
	return in, true
}

// ends handles head and tail by lines or bytes.
func ends(program string) func(*Args, string) (string, bool) {
	return func(a *Args, in string) (string, bool) {
		n := 10
		count, lines := a.first("n", "lines")
		bytes, inBytes := a.first("c", "bytes")
		switch {
		case inBytes:
			count = bytes
		case !lines && strings.Trim(a.Letters, "0123456789") == "" && a.Letters != "":
			count = a.Letters // head -1
		}
		fromStart := program == "tail" && strings.HasPrefix(count, "+")
		if count != "" {
			var err error
			if n, err = strconv.Atoi(strings.TrimPrefix(count, "+")); err != nil {
				return "", false
			}
		}
		units := strings.SplitAfter(strings.TrimSuffix(in, "\n"), "\n")
		if inBytes {
			units = strings.Split(in, "")
		}
		switch {
		case fromStart:
			units = units[min(max(n-1, 0), len(units)):]
		case program == "head" && n < 0:
			units = units[:max(0, len(units)+n)]
		case program == "head":
			units = units[:min(n, len(units))]
		default:
			units = units[max(0, len(units)-max(n, -n)):]
		}
		return strings.Join(units, "") + map[bool]string{false: "\n"}[inBytes], true
	}
}

// plainPattern tells whether a regular expression is plain text, perhaps held to the beginning or the end.
func plainPattern(p string) (text string, head, tail, ok bool) {
	p, head = strings.CutPrefix(p, "^")
	p, tail = strings.CutSuffix(p, "$")
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		switch {
		case strings.IndexByte(`.*[]+?(){}|^$`, p[i]) >= 0 && p[i] != '+' && p[i] != '?' && p[i] != '(' && p[i] != ')' && p[i] != '{' && p[i] != '}' && p[i] != '|':
			return "", false, false, false
		case p[i] == '\\' && i+1 < len(p) && strings.IndexByte(`.*[]^$/\`, p[i+1]) >= 0:
			i++
		case p[i] == '\\':
			return "", false, false, false
		}
		b.WriteByte(p[i])
	}
	return b.String(), head, tail, b.Len() > 0 || head || tail
}

// awkText handles programs that print fields: {print $2}, {print $1 $2}, {print $NF}, {print}.
func awkText(a *Args, in string) (string, bool) {
	if len(a.Operands) == 0 || len(a.Values["v"]) > 0 {
		return "", false
	}
	body := strings.TrimSpace(a.Operands[0].Text)
	body, ok := strings.CutPrefix(body, "{")
	if !ok || !strings.HasSuffix(body, "}") {
		return "", false
	}
	body, ok = strings.CutPrefix(strings.TrimSpace(strings.TrimSuffix(body, "}")), "print")
	if !ok || strings.ContainsAny(body, "{}|>;(") {
		return "", false
	}
	sep, given := a.first("F")
	return eachLine(in, func(line string) (string, bool) {
		fields := strings.Fields(line)
		if given && sep != " " {
			fields = strings.Split(line, ansiC(sep))
		}
		var b strings.Builder
		rest := strings.TrimSpace(body)
		if rest == "" {
			return line, true
		}
		for rest != "" {
			switch {
			case rest[0] == '"':
				s, after, ok := quotedString(rest)
				if !ok {
					return "", false
				}
				b.WriteString(s)
				rest = after
			case strings.HasPrefix(rest, "$NF"):
				if len(fields) > 0 {
					b.WriteString(fields[len(fields)-1])
				}
				rest = rest[3:]
			case rest[0] == '$' && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9':
				n := int(rest[1] - '0')
				if n == 0 {
					b.WriteString(line)
				} else if n <= len(fields) {
					b.WriteString(fields[n-1])
				}
				rest = rest[2:]
			case rest[0] == ',':
				b.WriteByte(' ')
				rest = rest[1:]
			case rest[0] == ' ':
				rest = rest[1:]
			default:
				return "", false
			}
		}
		return b.String(), true
	})
}

// grepped handles a search for plain text.
func grepped(a *Args, in string) (string, bool) {
	pattern, ok := a.first("e")
	if !ok && len(a.Operands) > 0 {
		pattern, ok = a.Operands[0].Text, true
	}
	if !ok || a.Has("ocnliLqfEPwx") {
		return "", false
	}
	text, head, tail, plain := plainPattern(pattern)
	if !plain {
		return "", false
	}
	var b strings.Builder
	for line := range strings.Lines(in) {
		body := strings.TrimSuffix(line, "\n")
		hit := strings.Contains(body, text) && (!head || strings.HasPrefix(body, text)) && (!tail || strings.HasSuffix(body, text))
		if hit != a.Has("v") {
			b.WriteString(line)
		}
	}
	return b.String(), true
}
