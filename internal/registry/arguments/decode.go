package arguments

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/hermes-runtime/hermes/internal/registry/schema"
)

// Limits bounds what Decode takes. The zero value is ready to use.
type Limits struct {
	// MaxBytes of text; 0 is 64 MiB, far above any model's answer.
	MaxBytes int
	// Cut says that the model's response ended at its length limit: its arguments can't be trusted to be whole, whatever they look like.
	Cut bool
}

const (
	defaultMaxBytes = 64 << 20
	// maxNesting of objects and arrays; no tool's arguments come near it, and it bounds every walk over them.
	maxNesting = 500
)

// The repairs that Decode makes; each is recorded once.
const (
	RepairFence     = "code fence removed"
	RepairUnwrapped = "object taken out of a string"
	RepairControl   = "raw control character escaped"
	RepairComma     = "trailing comma removed"
	RepairCloser    = "surplus closer removed"
	RepairRepeat    = "identical objects folded into one"
	RepairText      = "invalid UTF-8 replaced"
	RepairMark      = "byte order mark removed"
)

// Decoded is an argument object as it was read.
type Decoded struct {
	Object  map[string]any // values are string, json.Number, bool, nil, []any, map[string]any
	Repairs []string
	Raw     json.RawMessage // the text given, if it is the object's JSON as it stands; else nil
}

// Decode reads argument text. Blank text and null are the empty object, and an object inside a JSON string is taken out of it once. Only repairs that
// can't change a value are made. A key given twice, differing objects in a row, or text that ends inside a value is refused with an *Invalid.
func Decode(raw json.RawMessage, limits Limits) (Decoded, error) {
	most := limits.MaxBytes
	if most <= 0 {
		most = defaultMaxBytes
	}
	if len(raw) > most {
		return Decoded{}, syntaxRefusal(fmt.Sprintf("the arguments are %d bytes long; at most %d are taken. Send less at a time.", len(raw), most))
	}
	text := unsafe.String(unsafe.SliceData(raw), len(raw)) // nobody changes arguments that were handed over; a copy of 1 MB shows
	if limits.Cut {
		return Decoded{}, truncated(text)
	}
	p := parser{text: text}
	obj, err := p.document(true)
	if err != nil {
		return Decoded{}, err
	}
	d := Decoded{Object: obj, Repairs: p.repairs}
	if p.repairs == nil && !p.blank {
		d.Raw = raw
	}
	return d, nil
}

// document reads a whole text. unwrap allows it to be a JSON string that holds the object.
func (p *parser) document(unwrap bool) (map[string]any, error) {
	if strings.HasPrefix(p.text, "\ufeff") {
		p.text = p.text[len("\ufeff"):]
		p.repaired(RepairMark)
	}
	p.space()
	if strings.HasPrefix(p.text[p.pos:], "```") {
		p.unfence()
	}
	if p.pos == len(p.text) {
		p.blank = true
		return map[string]any{}, nil
	}
	start := p.pos
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case map[string]any:
		return v, p.rest(v)
	case nil, string:
		p.space()
		if p.pos < len(p.text) {
			return nil, p.syntax("unexpected text after the arguments")
		}
		if v == nil {
			p.blank = true
			return map[string]any{}, nil
		}
		if unwrap {
			return p.unwrap(v.(string))
		}
	}
	return nil, syntaxRefusal(fmt.Sprintf("the arguments must be one JSON object, got %s: %s", schema.KindOf(v), cut(p.text[start:], maxPreview)))
}

func (p *parser) unwrap(s string) (map[string]any, error) {
	inner := parser{text: s}
	obj, err := inner.document(false)
	if err != nil {
		return nil, err
	}
	p.repaired(RepairUnwrapped)
	for _, r := range inner.repairs {
		p.repaired(r)
	}
	return obj, nil
}

// unfence takes off a Markdown fence around the text: the opening line and the closing marks.
func (p *parser) unfence() {
	body := p.text[p.pos+3:]
	// The info string is a word such as "json"; an object may follow it on the same line.
	i := 0
	for i < len(body) && body[i] != '\n' && body[i] != '{' {
		i++
	}
	body = strings.TrimRight(body[i:], " \t\r\n")
	body = strings.TrimSuffix(body, "```")
	p.text, p.pos = body, 0
	p.repaired(RepairFence)
	p.space()
}

// rest judges what follows the object: nothing, surplus closers, or the same object again.
func (p *parser) rest(first map[string]any) error {
	for {
		p.space()
		if p.pos == len(p.text) {
			return nil
		}
		switch p.text[p.pos] {
		case '}', ']':
			p.pos++
			p.repaired(RepairCloser)
		case '{':
			at := p.pos
			v, err := p.value(0)
			if err != nil {
				return err
			}
			if !identical(first, v) {
				p.pos = at
				return p.syntax("a second, different object follows the first; send one object per call")
			}
			p.repaired(RepairRepeat)
		default:
			return p.syntax("unexpected text after the object")
		}
	}
}

func syntaxRefusal(problem string) *Invalid {
	return &Invalid{Kind: InvalidJSON, Problems: []Problem{{Expected: problem}}, text: cut("Invalid JSON: "+problem, maxText)}
}

func truncated(text string) *Invalid {
	e := syntaxRefusal(fmt.Sprintf("the arguments were cut off after %d characters, so the call was not run. Send less at a time: "+
		"shorter values, or several smaller calls.", utf8.RuneCountInString(text)))
	e.Truncated = true
	return e
}

// syntax makes the error for the current position: line and column from 1, and the 40 characters around it.
func (p *parser) syntax(problem string) *Invalid {
	before := p.text[:p.pos]
	line := 1 + strings.Count(before, "\n")
	column := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return syntaxRefusal(fmt.Sprintf("%s at line %d, column %d, near %s", problem, line, column, quoteText(around(p.text, p.pos))))
}

// around gives up to 20 characters on each side of a position.
func around(text string, pos int) string {
	const side = 20
	from, to := pos, pos
	for n := 0; n < side && from > 0; n++ {
		_, size := utf8.DecodeLastRuneInString(text[:from])
		from -= size
	}
	for n := 0; n < side && to < len(text); n++ {
		_, size := utf8.DecodeRuneInString(text[to:])
		to += size
	}
	return text[from:to]
}
