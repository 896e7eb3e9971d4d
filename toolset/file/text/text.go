// Package text is a file's bytes as text that can be edited: encoding, byte order mark and the line break of each line are known,
// and an edit changes nothing but what it names.
package text

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Encoding is how a file's characters are written.
type Encoding string

// The encodings.
const (
	UTF8     Encoding = "utf-8"
	UTF8BOM  Encoding = "utf-8-bom"
	UTF16LE  Encoding = "utf-16-le" // with byte order mark
	UTF16BE  Encoding = "utf-16-be"
	EightBit Encoding = "unknown-8bit" // some other code page: bytes that are no UTF-8
)

// bom is U+FEFF in UTF-8.
const bom = "\uFEFF"

// Doc is one text. Text is its characters with every line break as "\n" and without byte order mark. In a file of an unknown code
// page it holds that file's bytes, in one of UTF-16 lone surrogates as three bytes each: what can't be decoded survives, and is no
// valid UTF-8.
type Doc struct {
	Text     string
	Encoding Encoding

	crlf  []int  // places in Text of breaks that are "\r\n" in the file
	cr    []int  // and of those that are "\r"
	tail  []byte // an odd last byte of UTF-16
	lines []int  // starts of lines in Text; made when asked for
}

// Parse reads a file. The text may share the memory of raw, which must not be changed afterwards.
func Parse(raw []byte) *Doc {
	d := &Doc{Encoding: Detect(raw)}
	switch d.Encoding {
	case UTF16LE, UTF16BE:
		body := raw[2:]
		if len(body)%2 == 1 {
			d.tail = bytes.Clone(body[len(body)-1:])
			body = body[:len(body)-1]
		}
		d.normalise(fromUTF16(body, d.Encoding == UTF16LE))
	case UTF8BOM:
		d.normalise(string(raw[len(bom):]))
	default:
		d.normalise(unsafe.String(unsafe.SliceData(raw), len(raw))) // a copy of a large file costs more than reading it
	}
	if d.Encoding == UTF8 || d.Encoding == UTF8BOM {
		if !utf8.ValidString(d.Text) && d.Encoding == UTF8 {
			d.Encoding = EightBit
		}
	}
	return d
}

// Plain tells whether a file is UTF-8 without byte order mark and all its breaks are "\n": its bytes are its text.
func Plain(raw []byte) bool {
	return Detect(raw) == UTF8 && bytes.IndexByte(raw, '\r') < 0 && utf8.Valid(raw)
}

// Detect looks at the byte order mark alone: UTF8 stands for everything without one.
func Detect(head []byte) Encoding {
	switch {
	case bytes.HasPrefix(head, []byte(bom)):
		return UTF8BOM
	case bytes.HasPrefix(head, []byte{0xFF, 0xFE}):
		return UTF16LE
	case bytes.HasPrefix(head, []byte{0xFE, 0xFF}):
		return UTF16BE
	}
	return UTF8
}

// normalise sets Text and remembers which breaks were not "\n".
func (d *Doc) normalise(s string) {
	at := strings.IndexByte(s, '\r')
	if at < 0 {
		d.Text = s
		return
	}
	var b strings.Builder
	b.Grow(len(s))
	for at >= 0 {
		b.WriteString(s[:at])
		if strings.HasPrefix(s[at:], "\r\n") {
			d.crlf = append(d.crlf, b.Len())
			s = s[at+2:]
		} else {
			d.cr = append(d.cr, b.Len())
			s = s[at+1:]
		}
		b.WriteByte('\n')
		at = strings.IndexByte(s, '\r')
	}
	b.WriteString(s)
	d.Text = b.String()
}

// Normalise gives s with every line break as "\n".
func Normalise(s string) string {
	if strings.IndexByte(s, '\r') < 0 {
		return s
	}
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
}

// Break is the line break of the line that Text[at] belongs to, "" for a last line without one.
func (d *Doc) breakAt(at int) string {
	n := strings.IndexByte(d.Text[at:], '\n')
	if n < 0 {
		return ""
	}
	return d.breakIs(at + n)
}

// breakIs is how the break at a place of Text stands in the file.
func (d *Doc) breakIs(at int) string {
	switch {
	case has(d.crlf, at):
		return "\r\n"
	case has(d.cr, at):
		return "\r"
	}
	return "\n"
}

func has(sorted []int, v int) bool {
	i := sort.SearchInts(sorted, v)
	return i < len(sorted) && sorted[i] == v
}

// Mixed reports whether the breaks are of more than one kind.
func (d *Doc) Mixed() bool { return len(d.kinds()) > 1 }

// OnlyBreak is the one kind of break that the file has, "" if it has none or several.
func (d *Doc) OnlyBreak() string {
	if k := d.kinds(); len(k) == 1 {
		return k[0]
	}
	return ""
}

func (d *Doc) kinds() []string {
	var out []string
	if len(d.crlf) > 0 {
		out = append(out, "\r\n")
	}
	if len(d.cr) > 0 {
		out = append(out, "\r")
	}
	if strings.Count(d.Text, "\n") > len(d.crlf)+len(d.cr) {
		out = append(out, "\n")
	}
	return out
}

// Starts are the places in Text where lines begin. What follows the last break is a line only if it isn't empty.
func (d *Doc) Starts() []int {
	if d.lines == nil {
		d.lines = starts(d.Text)
	}
	return d.lines
}

func starts(s string) []int {
	out := make([]int, 0, strings.Count(s, "\n")+1)
	for at := 0; at < len(s); {
		out = append(out, at)
		n := strings.IndexByte(s[at:], '\n')
		if n < 0 {
			break
		}
		at += n + 1
	}
	return out
}

// LineAt is the number, from 1, of the line that Text[at] belongs to.
func (d *Doc) LineAt(at int) int {
	return max(1, sort.SearchInts(d.Starts(), at+1))
}

// Lines are the lines of Text without their breaks.
func (d *Doc) Lines() []string {
	s := d.Starts()
	out := make([]string, len(s))
	for i, at := range s {
		end := len(d.Text)
		if i+1 < len(s) {
			end = s[i+1]
		}
		out[i] = strings.TrimSuffix(d.Text[at:end], "\n")
	}
	return out
}

// Edit puts New, whose breaks are "\n", in place of Text[Start:End].
type Edit struct {
	Start, End int
	New        string
}

// ErrUndecodable is the kind of an error for an edit that touches what can't be decoded.
var ErrUndecodable = errors.New("the place holds bytes that are no text")

// Apply gives the file's bytes after the edits, which are sorted and don't overlap. Every byte outside of them stays. New lines get
// the break of the first line that they replace, else of a neighbour.
func (d *Doc) Apply(edits []Edit) ([]byte, error) {
	var b bytes.Buffer
	size := len(d.Text) + len(d.crlf) + 4
	for _, e := range edits {
		size += len(e.New) + 16
	}
	b.Grow(size)
	at := 0
	for _, e := range edits {
		if e.Start < at || e.End < e.Start || e.End > len(d.Text) {
			return nil, fmt.Errorf("edit of %d to %d behind %d in %d bytes: they overlap", e.Start, e.End, at, len(d.Text))
		}
		if !utf8.ValidString(d.Text[e.Start:e.End]) {
			line := d.LineAt(e.Start + invalidAt(d.Text[e.Start:e.End]))
			return nil, fmt.Errorf("line %d (%s): %w", line, d.Encoding, ErrUndecodable)
		}
		for _, part := range d.refine(e) {
			d.copy(&b, at, part.Start)
			d.write(&b, part)
			at = part.End
		}
	}
	d.copy(&b, at, len(d.Text))
	return d.encode(b.Bytes()), nil
}

func invalidAt(s string) int {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return 0
}

// copy writes Text[from:to] with the breaks that the file has.
func (d *Doc) copy(b *bytes.Buffer, from, to int) {
	if len(d.crlf) == 0 && len(d.cr) == 0 {
		b.WriteString(d.Text[from:to])
		return
	}
	i, j := sort.SearchInts(d.crlf, from), sort.SearchInts(d.cr, from)
	for {
		next, br := to, ""
		if i < len(d.crlf) && d.crlf[i] < next {
			next, br = d.crlf[i], "\r\n"
		}
		if j < len(d.cr) && d.cr[j] < next {
			next, br = d.cr[j], "\r"
		}
		if br == "" {
			break
		}
		b.WriteString(d.Text[from:next])
		b.WriteString(br)
		from = next + 1
		if br == "\r" {
			j++
		} else {
			i++
		}
	}
	b.WriteString(d.Text[from:to])
}

// write writes new text.
func (d *Doc) write(b *bytes.Buffer, e Edit) {
	if strings.IndexByte(e.New, '\n') < 0 || len(d.crlf) == 0 && len(d.cr) == 0 {
		b.WriteString(e.New)
		return
	}
	br := d.breakAt(e.Start)
	if br == "" { // the last line has none: the one before it decides
		br = "\n"
		if n := strings.LastIndexByte(d.Text[:e.Start], '\n'); n >= 0 {
			br = d.breakIs(n)
		}
	}
	b.WriteString(strings.ReplaceAll(e.New, "\n", br))
}

// encode turns text with its own breaks into the file's encoding.
func (d *Doc) encode(s []byte) []byte {
	switch d.Encoding {
	case UTF8BOM:
		return append([]byte(bom), s...)
	case UTF16LE:
		return append(toUTF16(s, true), d.tail...)
	case UTF16BE:
		return append(toUTF16(s, false), d.tail...)
	}
	return s
}

// Encode gives new content for the file: in its encoding, with its byte order mark, and with its line break where it has only one
// kind. A file of an unknown code page becomes UTF-8.
func (d *Doc) Encode(content string) []byte {
	if d.Encoding != UTF8 && d.Encoding != EightBit {
		content = strings.TrimPrefix(content, bom)
	}
	if br := d.OnlyBreak(); br != "" {
		content = Normalise(content)
		if br != "\n" {
			content = strings.ReplaceAll(content, "\n", br)
		}
	}
	e := &Doc{Encoding: d.Encoding}
	return e.encode([]byte(content))
}

// Decoded is the whole text with the file's own line breaks.
func (d *Doc) Decoded() string {
	var b bytes.Buffer
	d.copy(&b, 0, len(d.Text))
	return b.String()
}

// ReplaceLines is the edit that puts fresh lines in place of lines from to to (counted from 0, to not included); to may be one more
// than the last line's number. A last line without break stays one.
func (d *Doc) ReplaceLines(from, to int, fresh []string) Edit {
	s := d.Starts()
	at := func(i int) int {
		if i < len(s) {
			return s[i]
		}
		return len(d.Text)
	}
	e := Edit{Start: at(from), End: at(to), New: strings.Join(fresh, "\n")}
	open := len(s) > 0 && !strings.HasSuffix(d.Text, "\n")
	switch {
	case !open || to < len(s):
		if len(fresh) > 0 {
			e.New += "\n"
		}
	case from >= len(s) && len(fresh) > 0:
		e.New = "\n" + e.New
	case len(fresh) == 0 && from < to && e.Start > 0:
		e.Start--
	}
	return e
}
