package analysis

import (
	"strconv"
	"strings"
)

func unescape(lit string) string {
	if strings.IndexByte(lit, '\\') < 0 {
		return lit
	}
	var b strings.Builder
	for i := 0; i < len(lit); i++ {
		if lit[i] == '\\' {
			if i++; i >= len(lit) || lit[i] == '\n' {
				continue
			}
		}
		b.WriteByte(lit[i])
	}
	return b.String()
}

// unescapeIn resolves the backslashes in front of the given characters, as double quotes and here-documents do.
func unescapeIn(lit, chars string) string {
	if strings.IndexByte(lit, '\\') < 0 {
		return lit
	}
	var b strings.Builder
	for i := 0; i < len(lit); i++ {
		if lit[i] == '\\' && i+1 < len(lit) {
			if lit[i+1] == '\n' {
				i++
				continue
			}
			if strings.IndexByte(chars, lit[i+1]) >= 0 {
				i++
			}
		}
		b.WriteByte(lit[i])
	}
	return b.String()
}

var ansiLetters = [256]byte{'n': '\n', 't': '\t', 'r': '\r', 'a': 7, 'b': 8, 'e': 27, 'E': 27, 'f': 12, 'v': 11,
	'\\': '\\', '\'': '\'', '"': '"', '?': '?'}

// ansiC decodes the escapes of $'…' (and of printf and echo -e, which share nearly all). NUL ends the text, as in bash.
func ansiC(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 >= len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		c := s[i]
		if v := ansiLetters[c]; v != 0 {
			b.WriteByte(v)
			continue
		}
		code, n := escapeNumber(s[i:])
		switch {
		case c == 'c' && i+1 < len(s):
			i++
			if s[i]&0x1f == 0 {
				return b.String()
			}
			b.WriteByte(s[i] & 0x1f)
		case n == 0:
			b.WriteByte('\\')
			b.WriteByte(c)
		case code == 0:
			return b.String()
		case c == 'u' || c == 'U':
			b.WriteRune(rune(code))
			i += n - 1
		default:
			b.WriteByte(byte(code))
			i += n - 1
		}
	}
	return b.String()
}

// escapeNumber reads nnn, xHH, uHHHH and UHHHHHHHH at the start of s; n is the number of bytes, 0 if it is none of them.
func escapeNumber(s string) (code, n int) {
	base, digits, skip := 8, 3, 0
	switch s[0] {
	case 'x':
		base, digits, skip = 16, 2, 1
	case 'u':
		base, digits, skip = 16, 4, 1
	case 'U':
		base, digits, skip = 16, 8, 1
	case '0':
		digits = 4
	}
	end := skip
	for end < len(s) && end < skip+digits {
		if _, err := strconv.ParseUint(s[end:end+1], base, 8); err != nil {
			break
		}
		end++
	}
	if end == skip {
		return 0, 0
	}
	v, err := strconv.ParseUint(s[skip:end], base, 32)
	if err != nil {
		return 0, 0
	}
	return int(v), end
}
