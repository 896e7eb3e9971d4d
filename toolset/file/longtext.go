package file

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// cutMember takes the string member of that name out of the text of an object, leaving an empty string in its place: what is long
// then needs not go through the JSON decoder, which reads everything twice. ok is false if the text is not as expected.
func cutMember(raw []byte, name string) (rest, value []byte, ok bool) {
	i := skipBlanks(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		return nil, nil, false
	}
	depth := 0
	for i < len(raw) {
		switch raw[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			end := stringEnd(raw, i)
			if end < 0 {
				return nil, nil, false
			}
			at := skipBlanks(raw, end)
			if depth == 1 && at < len(raw) && raw[at] == ':' && string(raw[i+1:end-1]) == name {
				from := skipBlanks(raw, at+1)
				if from >= len(raw) || raw[from] != '"' {
					return nil, nil, false
				}
				to := stringEnd(raw, from)
				if to < 0 {
					return nil, nil, false
				}
				rest = append(append(append(make([]byte, 0, len(raw)-(to-from)+2), raw[:from]...), `""`...), raw[to:]...)
				return rest, raw[from:to], true
			}
			i = end
			continue
		}
		i++
	}
	return nil, nil, false
}

func skipBlanks(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// stringEnd is the place behind the string that begins at i, -1 if it has no end.
func stringEnd(b []byte, i int) int {
	q := -1 // the next quote, escaped or not
	for i++; i < len(b); {
		if q < i {
			n := bytes.IndexByte(b[i:], '"')
			if n < 0 {
				return -1
			}
			q = i + n
		}
		s := bytes.IndexByte(b[i:q], '\\')
		if s < 0 {
			return q + 1
		}
		i += s + 2
	}
	return -1
}

// escapes are the short ones.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unquote reads a JSON string. ok is false for one that encoding/json had better judge.
func unquote(b []byte) (s string, ok bool) {
	b = b[1 : len(b)-1]
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b), utf8.Valid(b)
	}
	if !utf8.Valid(b) {
		return "", false
	}
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		n := bytes.IndexByte(b, '\\')
		if n < 0 {
			break
		}
		out = append(out, b[:n]...)
		b = b[n+1:]
		if len(b) == 0 {
			return "", false
		}
		if c := escapes[b[0]]; c != 0 {
			out = append(out, c)
			b = b[1:]
			continue
		}
		r, size := escapedRune(b)
		if size == 0 {
			return "", false
		}
		out = utf8.AppendRune(out, r)
		b = b[size:]
	}
	return string(append(out, b...)), true
}

// escapedRune reads uXXXX, and the low half that may follow.
func escapedRune(b []byte) (rune, int) {
	unit := func(b []byte) (rune, bool) {
		if len(b) < 5 || b[0] != 'u' {
			return 0, false
		}
		v, err := strconv.ParseUint(string(b[1:5]), 16, 32)
		return rune(v), err == nil
	}
	r, ok := unit(b)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 5
	}
	if len(b) > 5 && b[5] == '\\' {
		if low, ok := unit(b[6:]); ok {
			if whole := utf16.DecodeRune(r, low); whole != utf8.RuneError {
				return whole, 11
			}
		}
	}
	return utf8.RuneError, 5
}

// decodeLong decodes arguments of which the string called name may be long; that one is put into value. Text that it can't take apart
// is left to the decoder.
func decodeLong(raw json.RawMessage, name string, into any, value *string) error {
	if rest, text, ok := cutMember(raw, name); ok {
		if s, ok := unquote(text); ok {
			if err := json.Unmarshal(rest, into); err != nil {
				return err
			}
			*value = s
			return nil
		}
	}
	return json.Unmarshal(raw, into)
}
