package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// ParseRequest reads one request. What is no request at all is ErrMalformed. The arguments are delimited, not checked: the door
// reads them anyway, and a second reading of 20 MB is felt.
func ParseRequest(frame []byte) (Request, error) {
	e := envelope{rest: frame}
	var r Request
	seen := map[string]bool{}
	for {
		key, value, more, err := e.member()
		if err != nil {
			return Request{}, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		if !more {
			break
		}
		if seen[key] {
			return Request{}, fmt.Errorf("%w: %q comes twice", ErrMalformed, key)
		}
		seen[key] = true
		if err := r.set(key, value); err != nil {
			return Request{}, fmt.Errorf("%w: %q: %w", ErrMalformed, key, err)
		}
	}
	if seen["cancel"] {
		return Request{Cancel: r.Cancel}, nil
	}
	if !seen["id"] || !seen["tool"] {
		return Request{}, fmt.Errorf("%w: id and tool are required", ErrMalformed)
	}
	return r, nil
}

// set takes over one member of the object; others than ours are left alone.
func (r *Request) set(key string, value []byte) error {
	switch key {
	case "id":
		return number(value, &r.ID)
	case "cancel":
		return number(value, &r.Cancel)
	case "tool":
		if value[0] != '"' {
			return errValue
		}
		return json.Unmarshal(value, &r.Tool)
	case "line":
		if value[0] == 'n' {
			return nil
		}
		if err := json.Unmarshal(value, &r.Line); err != nil {
			return err
		}
		r.Line = max(r.Line, 0)
	case "args":
		if value[0] == '{' {
			r.Args = value
		}
	}
	return nil
}

func number(value []byte, into *uint64) error {
	if value[0] == 'n' {
		return errValue
	}
	if err := json.Unmarshal(value, into); err != nil {
		return err
	}
	if *into == 0 || *into > maxID {
		return fmt.Errorf("%d is out of range", *into)
	}
	return nil
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
func (e *envelope) member() (key string, value []byte, more bool, err error) {
	e.blank()
	switch {
	case !e.begun && e.take('{'):
		e.begun = true
		if e.blank(); e.take('}') {
			return "", nil, false, e.end()
		}
	case e.begun && e.take('}'):
		return "", nil, false, e.end()
	case e.begun && e.take(','):
		e.blank()
	default:
		return "", nil, false, errObject
	}
	n := stringLen(e.rest)
	if n < 0 || json.Unmarshal(e.rest[:n], &key) != nil {
		return "", nil, false, errObject
	}
	e.rest = e.rest[n:]
	e.blank()
	if !e.take(':') {
		return "", nil, false, errObject
	}
	e.blank()
	if n = valueLen(e.rest); n <= 0 {
		return "", nil, false, errObject
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
