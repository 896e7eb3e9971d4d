package arguments

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/internal/registry/schema"
)

// parser reads JSON in one pass. It is written by hand because the standard decoder keeps neither doubled keys nor the place of a fault, and because
// values can share the memory of the text.
type parser struct {
	text    string
	pos     int
	repairs []string
	blank   bool // there was no object in the text
}

func (p *parser) repaired(what string) {
	if !slices.Contains(p.repairs, what) {
		p.repairs = append(p.repairs, what)
	}
}

func (p *parser) space() {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\n', '\t', '\r':
			p.pos++
		default:
			return
		}
	}
}

// value reads one value; the position is on its first byte.
func (p *parser) value(depth int) (any, error) {
	if p.pos == len(p.text) {
		return nil, truncated(p.text)
	}
	switch c := p.text[p.pos]; c {
	case '{':
		return p.object(depth + 1)
	case '[':
		return p.array(depth + 1)
	case '"':
		s, err := p.str()
		if err != nil {
			return nil, err
		}
		return s, nil
	case 't':
		return true, p.word("true")
	case 'f':
		return false, p.word("false")
	case 'n':
		return nil, p.word("null")
	default:
		if c == '-' || c >= '0' && c <= '9' {
			return p.number()
		}
	}
	return nil, p.syntax("expected a value")
}

func (p *parser) word(w string) error {
	rest := p.text[p.pos:]
	if strings.HasPrefix(rest, w) {
		p.pos += len(w)
		return nil
	}
	if strings.HasPrefix(w, rest) {
		return truncated(p.text)
	}
	return p.syntax("expected a value")
}

func (p *parser) number() (any, error) {
	from := p.pos
	i := from
	plain := true
scan:
	for ; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c >= '0' && c <= '9':
		case c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E':
			plain = plain && i == from
		default:
			break scan
		}
	}
	s := p.text[from:i]
	digits := len(s)
	if s[0] == '-' {
		digits--
	}
	if plain && digits > 0 && digits <= 300 && (digits == 1 || s[len(s)-digits] != '0') {
		p.pos = i
		return json.Number(s), nil
	}
	if _, ok := schema.ParseNumber(s); ok {
		p.pos = i
		return json.Number(s), nil
	}
	if i == len(p.text) && !plain || s == "-" && i == len(p.text) {
		if last := s[len(s)-1]; last < '0' || last > '9' {
			return nil, truncated(p.text)
		}
	}
	return nil, p.syntax("expected a number that JSON can write and a double can hold")
}

func (p *parser) array(depth int) (any, error) {
	if depth > maxNesting {
		return nil, p.syntax("nested too deeply")
	}
	p.pos++
	out := []any{}
	p.space()
	for {
		if p.pos < len(p.text) && p.text[p.pos] == ']' {
			if len(out) > 0 {
				p.repaired(RepairComma)
			}
			p.pos++
			return out, nil
		}
		v, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		end, err := p.next(']')
		if err != nil || end {
			return out, err
		}
	}
}

// next steps over what follows a member: a comma, or the closer.
func (p *parser) next(closer byte) (end bool, err error) {
	p.space()
	if p.pos == len(p.text) {
		return false, truncated(p.text)
	}
	switch p.text[p.pos] {
	case closer:
		p.pos++
		return true, nil
	case ',':
		p.pos++
		p.space()
		return false, nil
	}
	return false, p.syntax("expected a comma or " + string(closer))
}

func (p *parser) object(depth int) (any, error) {
	if depth > maxNesting {
		return nil, p.syntax("nested too deeply")
	}
	p.pos++
	out := map[string]any{}
	p.space()
	for {
		if p.pos == len(p.text) {
			return nil, truncated(p.text)
		}
		at := p.pos
		switch p.text[p.pos] {
		case '}':
			if len(out) > 0 {
				p.repaired(RepairComma)
			}
			p.pos++
			return out, nil
		case '"':
		default:
			return nil, p.syntax("expected a key in double quotes")
		}
		key, err := p.str()
		if err != nil {
			return nil, err
		}
		if err := p.colon(); err != nil {
			return nil, err
		}
		v, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		before := len(out)
		if out[key] = v; len(out) == before {
			p.pos = at
			return nil, p.syntax("the key " + quoteText(key) + " is given twice in one object")
		}
		end, err := p.next('}')
		if err != nil || end {
			return out, err
		}
	}
}

func (p *parser) colon() error {
	p.space()
	if p.pos == len(p.text) {
		return truncated(p.text)
	}
	if p.text[p.pos] != ':' {
		return p.syntax("expected a colon")
	}
	p.pos++
	p.space()
	return nil
}

// str reads a string. One without escapes shares the text's memory.
func (p *parser) str() (string, error) {
	p.pos++
	from := p.pos
	n := strings.IndexByte(p.text[from:], '"')
	if n < 0 {
		return "", truncated(p.text)
	}
	s := p.text[from : from+n]
	if strings.IndexByte(s, '\\') >= 0 || hasControl(s) || !utf8.ValidString(s) {
		return p.escaped(from, from+n)
	}
	p.pos = from + n + 1
	return s, nil
}

// escaped reads a string that has to be rewritten. The first quote in it is at quote.
func (p *parser) escaped(from, quote int) (string, error) {
	end := closing(p.text, from, quote)
	if end < 0 {
		return "", truncated(p.text)
	}
	body := p.text[from:end]
	var b strings.Builder
	b.Grow(len(body))
	if hasControl(body) || !utf8.ValidString(body) {
		return p.mended(&b, from, end)
	}
	for i := from; ; {
		n := strings.IndexByte(p.text[i:end], '\\')
		if n < 0 {
			b.WriteString(p.text[i:end])
			p.pos = end + 1
			return b.String(), nil
		}
		b.WriteString(p.text[i : i+n])
		next, err := p.escape(&b, i+n)
		if err != nil {
			return "", err
		}
		i = next
	}
}

// mended is escaped for a string that also holds what JSON doesn't allow: control characters as they are, bytes that are no text.
func (p *parser) mended(b *strings.Builder, from, end int) (string, error) {
	for i := from; i < end; {
		switch c := p.text[i]; {
		case c == '\\':
			next, err := p.escape(b, i)
			if err != nil {
				return "", err
			}
			i = next
		case c < 0x80:
			if c < 0x20 {
				p.repaired(RepairControl)
			}
			b.WriteByte(c)
			i++
		default:
			r, size := utf8.DecodeRuneInString(p.text[i:end])
			if r == utf8.RuneError && size == 1 {
				p.repaired(RepairText)
			}
			b.WriteRune(r)
			i += size
		}
	}
	p.pos = end + 1
	return b.String(), nil
}

// closing is the place of the quote that ends the string whose first byte is at from, the first quote in it being at i; −1 = there is none.
func closing(text string, from, i int) int {
	for ; ; i++ {
		n := strings.IndexByte(text[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		slashes := 0
		for i-slashes > from && text[i-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
}

// hasControl tells whether a byte below 0x20 is in s. It looks at eight bytes at once.
func hasControl(s string) bool {
	const low, high = 0x2020202020202020, 0x8080808080808080
	for len(s) >= 8 {
		x := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		if (x-low)&^x&high != 0 {
			return true
		}
		s = s[8:]
	}
	for i := range len(s) {
		if s[i] < 0x20 {
			return true
		}
	}
	return false
}

var plainEscapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads the escape at i and gives the position behind it.
func (p *parser) escape(b *strings.Builder, i int) (int, error) {
	if i+1 >= len(p.text) {
		return 0, truncated(p.text)
	}
	c := p.text[i+1]
	if plain := plainEscapes[c]; plain != 0 {
		b.WriteByte(plain)
		return i + 2, nil
	}
	if c != 'u' {
		p.pos = i
		return 0, p.syntax(`unknown escape \` + string(rune(c)))
	}
	r, ok := hex4(p.text, i+2)
	if !ok {
		if i+6 > len(p.text) {
			return 0, truncated(p.text)
		}
		p.pos = i
		return 0, p.syntax(`expected four hexadecimal digits after \u`)
	}
	next := i + 6
	if utf16.IsSurrogate(r) {
		// Half a pair becomes the replacement character, as the standard decoder has it.
		low, ok := rune(0), false
		if strings.HasPrefix(p.text[next:], `\u`) {
			low, ok = hex4(p.text, next+2)
		}
		if pair := utf16.DecodeRune(r, low); ok && pair != utf8.RuneError {
			r, next = pair, next+6
		} else {
			r = utf8.RuneError
		}
	}
	b.WriteRune(r)
	return next, nil
}

func hex4(s string, i int) (rune, bool) {
	if i+4 > len(s) {
		return 0, false
	}
	n, err := strconv.ParseUint(s[i:i+4], 16, 32)
	if err != nil || strings.ContainsAny(s[i:i+4], "+-_") {
		return 0, false
	}
	return rune(n), true
}

// quoteText writes a string as JSON.
func quoteText(s string) string {
	text, err := schema.Encode(s)
	if err != nil {
		return strconv.Quote(s)
	}
	return string(text)
}
