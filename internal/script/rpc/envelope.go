package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// ParseRequest reads one request. What is no request at all is ErrMalformed. The arguments are delimited, not checked: the door
// reads them anyway, and a second reading of 20 MB is felt.
func ParseRequest(frame []byte) (Request, error) {
	e := envelope{rest: frame}
	var r Request
	var seen uint8
	for {
		key, value, more, err := e.member()
		if err != nil {
			return Request{}, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		if !more {
			break
		}
		bit := members[string(key)]
		if seen&bit != 0 {
			return Request{}, fmt.Errorf("%w: %q comes twice", ErrMalformed, key)
		}
		seen |= bit
		if err := r.set(bit, value); err != nil {
			return Request{}, fmt.Errorf("%w: %q: %w", ErrMalformed, key, err)
		}
	}
	if seen&memberCancel != 0 {
		return Request{Cancel: r.Cancel}, nil
	}
	if seen&memberID == 0 || seen&memberTool == 0 {
		return Request{}, fmt.Errorf("%w: id and tool are required", ErrMalformed)
	}
	return r, nil
}

// The members of a request, a bit each; others are left alone.
const (
	memberID uint8 = 1 << iota
	memberTool
	memberArgs
	memberLine
	memberCancel
)

var members = map[string]uint8{"id": memberID, "tool": memberTool, "args": memberArgs, "line": memberLine, "cancel": memberCancel}

// HasKey reports whether an object, as Request.Args holds one, has a key that match accepts. What can't be read to its
// end is searched as far as it goes: the door refuses it anyway.
func HasKey(object []byte, match func(key string) bool) bool {
	e := envelope{rest: object}
	for {
		key, _, more, err := e.member()
		if err != nil || !more {
			return false
		}
		if match(string(key)) {
			return true
		}
	}
}

// set takes over one member of the object; others than ours are left alone.
func (r *Request) set(member uint8, value []byte) error {
	switch member {
	case memberID:
		return number(value, &r.ID)
	case memberCancel:
		return number(value, &r.Cancel)
	case memberTool:
		text, err := text(value)
		r.Tool = string(text)
		return err
	case memberLine:
		if value[0] == 'n' {
			return nil
		}
		if err := json.Unmarshal(value, &r.Line); err != nil {
			return err
		}
		r.Line = max(r.Line, 0)
	case memberArgs:
		if value[0] == '{' {
			r.Args = value
		}
	}
	return nil
}

func number(value []byte, into *uint64) error {
	var err error
	if value[0] < '0' || value[0] > '9' || value[0] == '0' && len(value) > 1 {
		return errValue
	}
	if *into, err = strconv.ParseUint(string(value), 10, 64); err != nil {
		return errValue
	}
	if *into == 0 || *into > maxID {
		return fmt.Errorf("%d is out of range", *into)
	}
	return nil
}

// text decodes a JSON string. Most need no decoding.
func text(value []byte) ([]byte, error) {
	if len(value) < 2 || value[0] != '"' {
		return nil, errValue
	}
	plain := value[1 : len(value)-1]
	for _, c := range plain {
		if c < ' ' || c == '\\' || c >= utf8.RuneSelf {
			var s string
			err := json.Unmarshal(value, &s)
			return []byte(s), err
		}
	}
	return plain, nil
}

var (
	errObject = fmt.Errorf("not an object")
	errValue  = fmt.Errorf("a value of another type")
)

// envelope walks the members of one JSON object.
type envelope struct {
	rest  []byte
	begun bool
}

// maxNesting bounds the depth of arguments; what reads them recurses.
const maxNesting = 1000

// member returns the next member; more is false at the end of the object, behind which nothing may stand.
func (e *envelope) member() (key, value []byte, more bool, err error) {
	e.blank()
	switch {
	case !e.begun && e.take('{'):
		e.begun = true
		if e.blank(); e.take('}') {
			return nil, nil, false, e.end()
		}
	case e.begun && e.take('}'):
		return nil, nil, false, e.end()
	case e.begun && e.take(','):
		e.blank()
	default:
		return nil, nil, false, errObject
	}
	n := stringLen(e.rest)
	if n < 0 {
		return nil, nil, false, errObject
	}
	if key, err = text(e.rest[:n]); err != nil {
		return nil, nil, false, err
	}
	e.rest = e.rest[n:]
	e.blank()
	if !e.take(':') {
		return nil, nil, false, errObject
	}
	e.blank()
	if n = valueLen(e.rest); n <= 0 {
		return nil, nil, false, errObject
	}
	value, e.rest = e.rest[:n], e.rest[n:]
	return key, value, true, nil
}

func (e *envelope) end() error {
	if e.blank(); len(e.rest) > 0 {
		return errObject
	}
	return nil
}

func (e *envelope) blank() { e.rest = bytes.TrimLeft(e.rest, " \t\r\n") }

func (e *envelope) take(c byte) bool {
	if len(e.rest) == 0 || e.rest[0] != c {
		return false
	}
	e.rest = e.rest[1:]
	return true
}

// stringLen is the length of the JSON string that b begins with, -1 if there is none.
func stringLen(b []byte) int {
	if len(b) == 0 || b[0] != '"' {
		return -1
	}
	for i := 1; ; {
		q := bytes.IndexByte(b[i:], '"')
		if q < 0 {
			return -1
		}
		i += q
		escapes := 0
		for b[i-1-escapes] == '\\' {
			escapes++
		}
		if i++; escapes%2 == 0 {
			return i
		}
	}
}

// valueLen is the length of the value that b begins with: up to where its brackets close, or its text ends. -1: none.
func valueLen(b []byte) int {
	var open [maxNesting]byte
	depth := 0
	for i := 0; i < len(b); i++ {
		switch c := b[i]; c {
		case '"':
			n := stringLen(b[i:])
			if n < 0 {
				return -1
			}
			if i += n - 1; depth == 0 {
				return i + 1
			}
		case '{', '[':
			if depth == maxNesting {
				return -1
			}
			open[depth] = c + 2 // its closer, in both cases
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; open[depth] != c {
				return -1
			}
			if depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	if depth > 0 {
		return -1
	}
	return len(b)
}
