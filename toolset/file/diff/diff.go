// Package diff shows edits of a text as a unified diff. It knows the edits, so it needs not look for them.
package diff

import (
	"fmt"
	"strings"

	"github.com/hermes-runtime/hermes/toolset/file/align"
	"github.com/hermes-runtime/hermes/toolset/file/text"
)

// context is how many unchanged lines stand around a change.
const context = 3

// hunk says that lines from to to (from 0, to not included) become fresh.
type hunk struct {
	from, to int
	fresh    []string // with breaks
}

// Edits is the diff of edits of a text, without the heads that name files.
func Edits(d *text.Doc, edits []text.Edit) string {
	if len(edits) == 0 {
		return ""
	}
	from, to := around(d.Text, edits) // the rest of a long text is nothing to a diff but a number of lines
	part := &text.Doc{Text: d.Text[from:to]}
	moved := make([]text.Edit, len(edits))
	for i, e := range edits {
		moved[i] = text.Edit{Start: e.Start - from, End: e.End - from, New: e.New}
	}
	return render(part.Text, part.Starts(), hunks(part, moved), strings.Count(d.Text[:from], "\n"))
}

// around gives the part of a text that holds the lines of edits and their context.
func around(s string, edits []text.Edit) (from, to int) {
	from, to = edits[0].Start, edits[len(edits)-1].End
	for range context + 2 {
		from = max(0, strings.LastIndexByte(s[:from], '\n'))
		if n := strings.IndexByte(s[to:], '\n'); n >= 0 {
			to += n + 1
		} else {
			to = len(s)
		}
	}
	if from > 0 {
		from++ // behind the break
	}
	return from, to
}

// Named puts the names of the two files in front of a diff; "" is /dev/null.
func Named(old, fresh, body string) string {
	label := func(prefix, name string) string {
		if name == "" {
			return "/dev/null"
		}
		return prefix + strings.TrimPrefix(name, "/")
	}
	return "--- " + label("a/", old) + "\n+++ " + label("b/", fresh) + "\n" + body
}

// All is the diff of a text that appears or, with sign '-', disappears as a whole.
func All(content string, sign byte) string {
	lines := strings.SplitAfter(content, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	var b strings.Builder
	if len(lines) == 0 {
		return ""
	}
	if sign == '-' {
		fmt.Fprintf(&b, "@@ -1,%d +0,0 @@\n", len(lines))
	} else {
		fmt.Fprintf(&b, "@@ -0,0 +1,%d @@\n", len(lines))
	}
	for _, l := range lines {
		put(&b, sign, l)
	}
	return b.String()
}

// Cut bounds a diff to limit characters, at the end of a line.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	at := strings.LastIndexByte(s[:limit], '\n') + 1
	if at == 0 {
		at = limit
	}
	return s[:at] + fmt.Sprintf("[%d more lines of the diff are left out]\n", strings.Count(s[at:], "\n"))
}

// hunks are the edits as changes of whole lines.
func hunks(d *text.Doc, edits []text.Edit) []hunk {
	s := d.Text
	var out []hunk
	for i := 0; i < len(edits); {
		start := strings.LastIndexByte(s[:edits[i].Start], '\n') + 1
		end := start
		var b strings.Builder
		at := start
		for i < len(edits) && (edits[i].Start < end || at == start && end == start) {
			e := edits[i]
			b.WriteString(s[at:e.Start])
			b.WriteString(e.New)
			at = e.End
			end = lineEnd(s, e)
			i++
		}
		b.WriteString(s[at:end])
		first := d.LineAt(start) - 1
		if start == len(s) {
			first = len(d.Starts())
		}
		old, fresh := split(s[start:end]), split(b.String())
		for _, c := range align.Changes(old, fresh) {
			out = append(out, hunk{first + c.From, first + c.To, fresh[c.NewFrom:c.NewTo]})
		}
	}
	return out
}

// lineEnd is where the last line that an edit changes ends.
func lineEnd(s string, e text.Edit) int {
	whole := (e.Start == 0 || s[e.Start-1] == '\n') && (e.New == "" || strings.HasSuffix(e.New, "\n"))
	if whole && (e.End == e.Start || s[e.End-1] == '\n') {
		return e.End
	}
	if n := strings.IndexByte(s[e.End:], '\n'); n >= 0 {
		return e.End + n + 1
	}
	return len(s)
}

func split(s string) []string {
	if s == "" {
		return nil
	}
	l := strings.SplitAfter(s, "\n")
	if l[len(l)-1] == "" {
		l = l[:len(l)-1]
	}
	return l
}

// render writes hunks with their context; those that are near each other share it. Before s stand that many lines.
func render(s string, starts []int, list []hunk, before int) string {
	line := func(i int) string {
		end := len(s)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		return s[starts[i]:end]
	}
	var b strings.Builder
	shift := 0
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && list[j].from-list[j-1].to <= 2*context {
			j++
		}
		from, to := max(0, list[i].from-context), min(len(starts), list[j-1].to+context)
		grown := 0
		for _, h := range list[i:j] {
			grown += len(h.fresh) - (h.to - h.from)
		}
		head(&b, before+from, to-from, shift, grown)
		at := from
		for _, h := range list[i:j] {
			for ; at < h.from; at++ {
				put(&b, ' ', line(at))
			}
			for ; at < h.to; at++ {
				put(&b, '-', line(at))
			}
			for _, l := range h.fresh {
				put(&b, '+', l)
			}
		}
		for ; at < to; at++ {
			put(&b, ' ', line(at))
		}
		shift += grown
		i = j
	}
	return b.String()
}

// head writes the line that says where a hunk is; a side without lines counts from the line before.
func head(b *strings.Builder, from, count, shift, grown int) {
	side := func(at, n int) string {
		if n == 0 {
			return fmt.Sprintf("%d,0", at)
		}
		if n == 1 {
			return fmt.Sprint(at + 1)
		}
		return fmt.Sprintf("%d,%d", at+1, n)
	}
	fmt.Fprintf(b, "@@ -%s +%s @@\n", side(from, count), side(from+shift, count+grown))
}

func put(b *strings.Builder, sign byte, l string) {
	b.WriteByte(sign)
	b.WriteString(l)
	if !strings.HasSuffix(l, "\n") {
		b.WriteString("\n\\ No newline at end of file\n")
	}
}
