package engine

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// dump is the state that a shell printed when it ended.
type dump struct {
	dir  string
	vars map[string]string // exported variables, functions under the name that bash exports them by
}

// maxDump bounds the bytes of one state: an environment is at most a few MiB, what is longer isn't one.
const maxDump = 16 << 20

var errDump = errors.New("unreadable state")

// parseDump reads the last whole record of what came through the state pipe.
func parseDump(b []byte) (dump, error) {
	const fields = 4 // directory, variables, functions, mark
	parts := bytes.Split(b, []byte{0})
	for n := (len(parts) - 1) / fields * fields; n >= fields; n -= fields {
		rec := parts[n-fields : n]
		if string(rec[3]) != "." {
			continue
		}
		d := dump{dir: strings.TrimSuffix(string(rec[0]), "\n")}
		var err error
		if d.vars, err = parseExports(string(rec[1])); err != nil {
			return dump{}, err
		}
		parseFunctions(string(rec[2]), d.vars)
		return d, nil
	}
	return dump{}, fmt.Errorf("%w: no whole record in %d bytes", errDump, len(b))
}

// parseExports reads what `export -p` prints: lines of declare -x NAME="value" in bash, export NAME='value' in other shells. Names
// without a value aren't set.
func parseExports(s string) (map[string]string, error) {
	vars := make(map[string]string, 64)
	for s != "" {
		line := s
		switch {
		case strings.HasPrefix(s, "declare -"):
			attrs, rest, ok := strings.Cut(s[len("declare -"):], " ")
			if !ok {
				return nil, fmt.Errorf("%w: %.40q", errDump, line)
			}
			s = rest
			name, value, rest, err := assignment(s)
			if err != nil {
				return nil, err
			}
			if s = rest; value != nil && !strings.ContainsAny(attrs, "aA") { // arrays can't be exported
				vars[name] = *value
			}
		case strings.HasPrefix(s, "export "):
			name, value, rest, err := assignment(s[len("export "):])
			if err != nil {
				return nil, err
			}
			if s = rest; value != nil {
				vars[name] = *value
			}
		default:
			return nil, fmt.Errorf("%w: %.40q", errDump, line)
		}
	}
	return vars, nil
}

// assignment reads NAME or NAME=word and the line break after it. The value is nil where there is none.
func assignment(s string) (name string, value *string, rest string, err error) {
	end := strings.IndexAny(s, "=\n")
	if end < 1 {
		return "", nil, "", fmt.Errorf("%w: no name in %.40q", errDump, s)
	}
	name = s[:end]
	if s[end] == '\n' {
		return name, nil, s[end+1:], nil
	}
	v, rest, err := word(s[end+1:])
	if err != nil {
		return "", nil, "", fmt.Errorf("variable %s: %w", name, err)
	}
	return name, &v, rest, nil
}

// word reads one shell word made of plain text and quoted parts, up to and with the line break.
func word(s string) (value, rest string, err error) {
	var b strings.Builder
	for i := 0; i < len(s); {
		var n int
		switch {
		case s[i] == '\n':
			return b.String(), s[i+1:], nil
		case s[i] == '\'':
			n = single(s[i+1:], &b) + 1
		case s[i] == '"':
			n = double(s[i+1:], &b) + 1
		case strings.HasPrefix(s[i:], "$'"):
			n = ansiC(s[i+2:], &b) + 2
		case s[i] == '\\' && i+1 < len(s):
			b.WriteByte(s[i+1])
			n = 2
		default:
			b.WriteByte(s[i])
			n = 1
		}
		if i += n; i > len(s) {
			break
		}
	}
	return "", "", fmt.Errorf("%w: a value without end", errDump)
}

// The three readers of quoted text give the bytes consumed with the closing quote, more than there are if it is missing.

func single(s string, b *strings.Builder) int {
	end := strings.IndexByte(s, '\'')
	if end < 0 {
		return len(s) + 1
	}
	b.WriteString(s[:end])
	return end + 1
}

func double(s string, b *strings.Builder) int {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return i + 1
		case s[i] == '\\' && i+1 < len(s) && strings.IndexByte("\"\\$`", s[i+1]) >= 0:
			i++
			b.WriteByte(s[i])
		case s[i] == '\\' && i+1 < len(s) && s[i+1] == '\n':
			i++ // a continued line
		default:
			b.WriteByte(s[i])
		}
	}
	return len(s) + 1
}

// ansiLetters are the one-letter escapes of $'…'.
var ansiLetters = map[byte]byte{'a': 7, 'b': 8, 'e': 27, 'E': 27, 'f': 12, 'n': 10, 'r': 13, 't': 9, 'v': 11, '\\': '\\', '\'': '\'', '"': '"', '?': '?'}

func ansiC(s string, b *strings.Builder) int {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\'':
			return i + 1
		case s[i] != '\\' || i+1 == len(s):
			b.WriteByte(s[i])
		default:
			i += ansiEscape(s[i+1:], b)
		}
	}
	return len(s) + 1
}

// ansiEscape reads what follows a backslash and gives its length.
func ansiEscape(s string, b *strings.Builder) int {
	if c, ok := ansiLetters[s[0]]; ok {
		b.WriteByte(c)
		return 1
	}
	number := func(from, most, base int) (uint64, int) {
		to := from
		for to < len(s) && to-from < most && digit(s[to]) < base {
			to++
		}
		v, _ := strconv.ParseUint(s[from:to], base, 32)
		return v, to
	}
	switch c := s[0]; {
	case '0' <= c && c <= '7':
		v, n := number(0, 3, 8)
		b.WriteByte(byte(v))
		return n
	case c == 'x':
		v, n := number(1, 2, 16)
		b.WriteByte(byte(v))
		return n
	case c == 'u' || c == 'U':
		v, n := number(1, map[byte]int{'u': 4, 'U': 8}[c], 16)
		b.WriteString(string(utf8.AppendRune(nil, rune(v))))
		return n
	case c == 'c' && len(s) > 1:
		b.WriteByte(s[1] & 0x1f)
		return 2
	default:
		b.WriteByte('\\')
		b.WriteByte(c)
		return 1
	}
}

// digit gives the value of a hexadecimal digit, 16 for anything else.
func digit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return 16
}

// functionHead and functionTail enclose the name of a variable that holds an exported function.
const (
	functionHead = "BASH_FUNC_"
	functionTail = "%%"
)

// parseFunctions reads what `export -pf` prints and adds each whole function under the name that bash exports it by.
func parseFunctions(s string, vars map[string]string) {
	for s != "" {
		name, body, ok := strings.Cut(s, " () \n")
		if !ok || strings.ContainsAny(name, "\n ") {
			return
		}
		end := -1
		for from := 0; ; { // the closing line names the function and its attributes, x among them
			i := strings.Index(body[from:], "\ndeclare -")
			if i < 0 {
				return
			}
			line, _, _ := strings.Cut(body[from+i+1:], "\n")
			if f := strings.Fields(line); len(f) == 3 && f[2] == name && strings.Contains(f[1], "f") {
				end, s = from+i, strings.TrimPrefix(body[from+i+1+len(line):], "\n")
				break
			}
			from += i + 1
		}
		text := strings.TrimPrefix(body[:end], "{ \n")
		vars[functionHead+name+functionTail] = "() {\n" + text
	}
}
