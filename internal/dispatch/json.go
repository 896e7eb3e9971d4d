package dispatch

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/internal/registry/schema"
)

var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.enc = json.NewEncoder(&e.buf)
	e.enc.SetEscapeHTML(false)
	return e
}}

type encoder struct {
	buf bytes.Buffer
	enc *json.Encoder
}

// keptBuffer is the largest buffer that goes back to the pool.
const keptBuffer = 64 << 10

// marshal is json.Marshal without escaping <, > and &.
func marshal(v any) (string, error) {
	e := encoders.Get().(*encoder)
	defer func() {
		if e.buf.Cap() <= keptBuffer {
			e.buf.Reset()
			encoders.Put(e)
		}
	}()
	if err := e.enc.Encode(v); err != nil {
		e.buf.Reset()
		return "", err
	}
	return string(bytes.TrimSuffix(e.buf.Bytes(), []byte("\n"))), nil
}

// encode makes the one JSON text of what a handler returned: objects and arrays as they are, also where they come as text,
// anything else under the key result.
func encode(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return `{"result":null}`, nil
	case string:
		if isContainer(v) {
			return strings.ToValidUTF8(v, "\uFFFD"), nil
		}
	case json.RawMessage:
		if text := string(v); isContainer(text) {
			return strings.ToValidUTF8(text, "\uFFFD"), nil
		}
		if len(v) == 0 {
			return `{"result":null}`, nil
		}
	}
	text, err := marshal(v)
	if err != nil {
		return "", err
	}
	if text[0] != '{' && text[0] != '[' {
		return `{"result":` + text + `}`, nil
	}
	return text, nil
}

func isContainer(s string) bool {
	t := strings.TrimLeft(s, " \t\r\n")
	return t != "" && (t[0] == '{' || t[0] == '[') && json.Valid([]byte(s))
}

// member is one key of a JSON object, as it stands in the text.
type member struct {
	key        string
	value      string
	start, end int // of the value
}

// members lists the keys of the object in text, which must be valid JSON; nil for anything else.
func members(text string) []member {
	i := skipSpace(text, 0)
	if i >= len(text) || text[i] != '{' {
		return nil
	}
	var out []member
	for i = skipSpace(text, i+1); i < len(text) && text[i] == '"'; i = skipSpace(text, i+1) {
		end := skipString(text, i)
		key := text[i+1 : end-1]
		if strings.IndexByte(key, '\\') >= 0 {
			_ = json.Unmarshal([]byte(text[i:end]), &key)
		}
		start := skipSpace(text, skipSpace(text, end)+1)
		stop := skipValue(text, start)
		out = append(out, member{key, text[start:stop], start, stop})
		if i = skipSpace(text, stop); i >= len(text) || text[i] != ',' {
			break
		}
	}
	return out
}

func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index behind the string that begins at i.
func skipString(s string, i int) int {
	for i++; i < len(s); i++ {
		j := strings.IndexAny(s[i:], `"\`)
		if j < 0 {
			return len(s)
		}
		if i += j; s[i] == '"' {
			return i + 1
		}
		i++
	}
	return len(s)
}

func skipValue(s string, i int) int {
	if i >= len(s) {
		return i
	}
	switch s[i] {
	case '"':
		return skipString(s, i)
	case '{', '[':
		for depth := 0; i < len(s); {
			switch s[i] {
			case '"':
				i = skipString(s, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return i
	}
	for i < len(s) && !strings.ContainsRune(",]} \n\t\r", rune(s[i])) {
		i++
	}
	return i
}

// saysError reports whether text is an object whose error member is truthy, and gives its text.
func saysError(text string) (string, bool) {
	if !strings.Contains(text, `"error"`) && !strings.Contains(text, `\u`) { // a key may be written with escapes
		return "", false
	}
	for _, m := range members(text) {
		if m.key != "error" {
			continue
		}
		switch m.value {
		case "null", "false", `""`, "0", "[]", "{}":
			return "", false
		}
		var s string
		if json.Unmarshal([]byte(m.value), &s) != nil {
			s = m.value
		}
		return s, true
	}
	return "", false
}

// errorObject is the JSON of an object whose first member is error.
func errorObject(message string, more map[string]any) string {
	b := append(make([]byte, 0, len(message)+64), `{"error":`...)
	b = schema.AppendText(b, message)
	b = append(b, '}')
	return withMembers(string(b), more)
}

// withMembers adds members that the object in text doesn't have, sorted by key. Text that is no object is returned as it is.
func withMembers(text string, more map[string]any) string {
	if len(more) == 0 || !strings.HasSuffix(text, "}") {
		return text
	}
	had := members(text)
	for _, m := range had {
		delete(more, m.key)
	}
	if len(more) == 0 {
		return text
	}
	add, err := marshal(more)
	if err != nil {
		return text
	}
	if len(had) == 0 {
		return add
	}
	return text[:len(text)-1] + "," + add[1:]
}

// plainEscapes are the characters that stand for one behind a backslash.
var plainEscapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unquote decodes the JSON string s, which must be valid. The standard decoder takes several times as long for a long one.
func unquote(s string) (string, bool) {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return "", false
	}
	s = s[1 : len(s)-1]
	i := strings.IndexByte(s, '\\')
	if i < 0 {
		return s, true
	}
	var b strings.Builder
	b.Grow(len(s))
	for ; i >= 0; i = strings.IndexByte(s, '\\') {
		b.WriteString(s[:i])
		s = s[i:]
		if len(s) < 2 {
			return "", false
		}
		if c := plainEscapes[s[1]]; c != 0 {
			b.WriteByte(c)
			s = s[2:]
			continue
		}
		n := 6 // \uXXXX, or two of them for a character that takes a pair
		if len(s) >= 12 && s[2]|0x20 == 'd' && strings.IndexByte("89abAB", s[3]) >= 0 && s[6] == '\\' && s[7] == 'u' {
			n = 12
		}
		var text string
		if len(s) < n || json.Unmarshal([]byte(`"`+s[:n]+`"`), &text) != nil {
			return "", false
		}
		b.WriteString(text)
		s = s[n:]
	}
	b.WriteString(s)
	return b.String(), true
}
