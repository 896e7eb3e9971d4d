package text

import (
	"strings"

	"github.com/hermes-runtime/hermes/toolset/file/align"
)

// refine cuts an edit down to the lines that it changes, so that the others keep their breaks.
func (d *Doc) refine(e Edit) []Edit {
	e = trim(d.Text, e)
	old := d.Text[e.Start:e.End]
	if len(d.crlf) == 0 && len(d.cr) == 0 || strings.Count(old, "\n") == 0 || !d.mixedIn(e.Start, e.End) {
		return []Edit{e}
	}
	a, b := strings.SplitAfter(old, "\n"), strings.SplitAfter(e.New, "\n")
	var out []Edit
	at := e.Start
	for _, h := range align.Changes(a, b) {
		start := at
		for _, line := range a[h.Kept:h.From] {
			start += len(line)
		}
		end := start
		for _, line := range a[h.From:h.To] {
			end += len(line)
		}
		out = append(out, Edit{Start: start, End: end, New: strings.Join(b[h.NewFrom:h.NewTo], "")})
		at = end
	}
	return out
}

// mixedIn reports whether the breaks in a part of Text differ.
func (d *Doc) mixedIn(from, to int) bool {
	first := ""
	for at := from; at < to; {
		n := strings.IndexByte(d.Text[at:to], '\n')
		if n < 0 {
			break
		}
		br := d.breakIs(at + n)
		if first != "" && br != first {
			return true
		}
		first = br
		at += n + 1
	}
	return false
}

// trim takes whole lines off both ends of an edit that it doesn't change.
func trim(s string, e Edit) Edit {
	old, fresh := s[e.Start:e.End], e.New
	n := 0
	for n < len(old) && n < len(fresh) && old[n] == fresh[n] {
		n++
	}
	n = strings.LastIndexByte(old[:n], '\n') + 1
	e.Start += n
	old, fresh = old[n:], fresh[n:]
	m := 0
	for m < len(old) && m < len(fresh) && old[len(old)-1-m] == fresh[len(fresh)-1-m] {
		m++
	}
	if at := strings.IndexByte(old[len(old)-m:], '\n'); at >= 0 {
		m -= at + 1
	} else {
		m = 0
	}
	e.End -= m
	e.New = fresh[:len(fresh)-m]
	return e
}
