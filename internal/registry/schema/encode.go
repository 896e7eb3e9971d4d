package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Encode writes a value as compact JSON: keys sorted, no HTML escapes, so that equal values give equal bytes. It is quick for what is read from JSON
// (maps, slices, strings, json.Number, booleans, nil) and takes anything else that encoding/json does; a value without a JSON form is an error.
func Encode(v any) (json.RawMessage, error) {
	out, err := appendJSON(nil, v)
	if err != nil {
		return nil, fmt.Errorf("writing JSON: %w", err)
	}
	return out, nil
}

func appendJSON(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		if v {
			return append(b, "true"...), nil
		}
		return append(b, "false"...), nil
	case string:
		return AppendText(b, v), nil
	case json.Number:
		if jsonNumberSyntax(string(v)) {
			return append(b, v...), nil
		}
	case json.RawMessage:
		if v != nil && json.Valid(v) {
			return append(b, v...), nil
		}
	case map[string]any:
		if v != nil {
			return appendObject(b, v)
		}
	case []any:
		if v != nil {
			return appendList(b, v)
		}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte{'\n'})...), nil
}

func appendObject(b []byte, m map[string]any) ([]byte, error) {
	var few [16]string // most objects need no allocation for their keys
	keys := few[:0]
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	b = append(b, '{')
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(AppendText(b, k), ':')
		var err error
		if b, err = appendJSON(b, m[k]); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func appendList(b []byte, list []any) ([]byte, error) {
	b = append(b, '[')
	for i, e := range list {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendJSON(b, e); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

// AppendText appends s to b as a JSON string. Beside what JSON demands it escapes the two line ends that JavaScript knows and replaces invalid UTF-8, as the standard
// encoder does.
func AppendText(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[from:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			case '\b':
				b = append(b, '\\', 'b')
			case '\f':
				b = append(b, '\\', 'f')
			default:
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
			}
			i++
			from = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b = append(append(b, s[from:i]...), `\ufffd`...)
		case r == '\u2028' || r == '\u2029':
			b = append(append(b, s[from:i]...), '\\', 'u', '2', '0', '2', hex[r&0xf])
		default:
			i += size
			continue
		}
		i += size
		from = i
	}
	return append(append(b, s[from:]...), '"')
}

// encodeTree writes a tree that was read from JSON, which can't fail.
func encodeTree(v any) json.RawMessage {
	text, err := Encode(v)
	if err != nil {
		panic("schema: a tree read from JSON can't be written: " + err.Error())
	}
	return text
}
