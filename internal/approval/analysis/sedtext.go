package analysis

import (
	"regexp"
	"strings"
)

// mostMade is what one substitution may make at most, in bytes: a script of them can double a text with each.
const mostMade = 1 << 20

// sedText handles scripts of s commands with patterns of plain characters, and of line deletions by nothing else.
func sedText(a *Args, in string) (string, bool) {
	scripts := a.Values["e"]
	if len(scripts) == 0 && len(a.Operands) > 0 {
		scripts = a.Operands[:1]
	}
	if a.Has("n") || len(scripts) == 0 {
		return "", false
	}
	for _, s := range scripts {
		for text := strings.TrimSpace(s.Text); text != ""; {
			if len(in) > MaxFile {
				return "", false
			}
			if text[0] != 's' || len(text) < 4 {
				return "", false
			}
			delim, rest := text[1], text[2:]
			var parts [2]string
			for i := range parts {
				end := sedEnd(rest, delim)
				if end < 0 {
					return "", false
				}
				parts[i], rest = rest[:end], rest[end+1:]
			}
			flags, next, _ := strings.Cut(rest, ";")
			text = strings.TrimSpace(next)
			if strings.Trim(flags, "g ") != "" {
				return "", false
			}
			from, head, tail, ok := plainPattern(parts[0])
			if !ok || strings.ContainsAny(parts[1], `&\`) {
				re, ok := sedPattern(parts[0], a.Has("Er") || a.Long("regexp-extended", 3))
				if !ok {
					return "", false
				}
				with := sedReplacement(parts[1])
				if (len(in)+1)*(len(with)+1) > mostMade {
					return "", false
				}
				in, _ = eachLine(in, func(line string) (string, bool) {
					if strings.Contains(flags, "g") {
						return re.ReplaceAllString(line, with), true
					}
					at := re.FindStringSubmatchIndex(line)
					if at == nil {
						return line, true
					}
					return line[:at[0]] + string(re.ExpandString(nil, with, line, at)) + line[at[1]:], true
				})
				continue
			}
			n := 1
			if strings.Contains(flags, "g") {
				n = -1
			}
			if (len(in)/max(1, len(from))+1)*(len(parts[1])+1) > mostMade {
				return "", false
			}
			in, _ = eachLine(in, func(line string) (string, bool) {
				switch {
				case head && tail:
					if line == from {
						return parts[1], true
					}
				case head:
					if after, ok := strings.CutPrefix(line, from); ok {
						return parts[1] + after, true
					}
				case tail:
					if before, ok := strings.CutSuffix(line, from); ok {
						return before + parts[1], true
					}
				default:
					return strings.Replace(line, from, parts[1], n), true
				}
				return line, true
			})
		}
	}
	return in, true
}

// sedPattern is a basic or an extended regular expression as Go has them; ok is false for one that means something else there.
func sedPattern(p string, extended bool) (*regexp.Regexp, bool) {
	if len(p) > maxPattern || p == "" {
		return nil, false
	}
	if !extended { // backslashes change sides
		var b strings.Builder
		for i := 0; i < len(p); i++ {
			switch c := p[i]; {
			case c == '\\' && i+1 < len(p):
				if i++; strings.IndexByte("(){}|+?", p[i]) < 0 {
					b.WriteByte('\\')
				}
				b.WriteByte(p[i])
			case strings.IndexByte("(){}|+?", c) >= 0:
				b.WriteByte('\\')
				b.WriteByte(c)
			default:
				b.WriteByte(c)
			}
		}
		p = b.String()
	}
	re, err := regexp.Compile(p)
	return re, err == nil
}

// sedReplacement writes & and \1 as Go does.
func sedReplacement(with string) string {
	var b strings.Builder
	for i := 0; i < len(with); i++ {
		switch c := with[i]; {
		case c == '$':
			b.WriteString("$$")
		case c == '&':
			b.WriteString("${0}")
		case c == '\\' && i+1 < len(with):
			if i++; with[i] >= '0' && with[i] <= '9' {
				b.WriteString("${" + with[i:i+1] + "}")
			} else if with[i] == 'n' {
				b.WriteByte('\n')
			} else {
				b.WriteByte(with[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
