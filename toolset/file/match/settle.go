package match

import (
	"strings"

	"github.com/hermes-runtime/hermes/toolset/file/align"
	"github.com/hermes-runtime/hermes/toolset/file/text"
)

// settle makes edits of the places that one strategy found, or says that there are too many.
func (s *search) settle(name Strategy, places []place) (Found, error) {
	if s.req.All {
		places = s.apart(places)
	} else if len(places) > 1 {
		e := &Ambiguous{Strategy: name, Count: len(places)}
		for _, p := range places[:min(len(places), maxShownLines)] {
			e.Lines = append(e.Lines, s.lineOf(p))
		}
		return Found{}, e
	}
	f := Found{Strategy: name, Matches: len(places)}
	for _, p := range places {
		start, end := s.span(p)
		if err := s.drift(s.doc.Text[start:end]); err != nil {
			return Found{}, err
		}
		if p.chars != nil {
			f.Edits = joined(f.Edits, *p.chars)
		} else {
			f.Edits = joined(f.Edits, s.merge(p)...)
		}
	}
	return f, nil
}

// joined adds edits behind others. Where the last line goes, so does the line break above it, which may have gone with that line.
func joined(edits []text.Edit, more ...text.Edit) []text.Edit {
	for _, e := range more {
		if n := len(edits); n > 0 && e.New == "" && edits[n-1].New == "" {
			e.Start = max(e.Start, edits[n-1].End)
		}
		edits = append(edits, e)
	}
	return edits
}

func (s *search) lineOf(p place) int {
	if p.chars != nil {
		return s.doc.LineAt(p.chars.Start)
	}
	return p.first + 1
}

// span is the part of the text that a place covers.
func (s *search) span(p place) (start, end int) {
	if p.chars != nil {
		return p.chars.Start, p.chars.End
	}
	e := s.doc.ReplaceLines(p.first, p.last, []string{""})
	return e.Start, e.End
}

// apart leaves out places that overlap one above.
func (s *search) apart(places []place) []place {
	out := places[:0:0]
	last := 0
	for _, p := range places {
		if start, end := s.span(p); start >= last {
			out = append(out, p)
			last = end
		}
	}
	return out
}

// drift refuses an edit whose quotes were escaped once too often on the way here: the file would get the backslashes.
func (s *search) drift(matched string) error {
	for _, e := range [...]string{`\'`, `\"`} {
		if strings.Contains(s.req.Old, e) && strings.Contains(s.req.New, e) && !strings.Contains(matched, e) {
			return &Refused{Why: "old_string and new_string have " + e + " where the file has the quote alone: the escapes would be written into the file. Send both without the backslash"}
		}
	}
	return nil
}

// pair is the line of the file that stands for line i of the pattern, -1 = none.
func (p place) pair(i int) int {
	if p.pairs == nil {
		return p.first + i
	}
	return p.pairs[i]
}

// merge does the edit line by line: lines that old and new text share stay as the file has them, what the edit changes is put in with
// the file's indent.
func (s *search) merge(p place) []text.Edit {
	old, fresh, joins := s.old, s.newLines(), false
	if s.broken && s.req.New != "" && !strings.HasSuffix(s.req.New, "\n") {
		joins = true // the break behind the last line goes, and the next line joins it
	}
	kept := align.Common(old, fresh)
	in := s.indents(p)
	var out []text.Edit
	i, j, at := 0, 0, p.first
	emit := func(toOld, toNew, toFile int) {
		if equal(old[i:toOld], fresh[j:toNew]) && !(joins && toNew == len(fresh)) {
			return
		}
		lines := make([]string, 0, toNew-j)
		for k, l := range fresh[j:toNew] {
			lines = append(lines, in.moveFrom(s.reference(i, toOld, k), l))
		}
		e := s.doc.ReplaceLines(at, toFile, lines)
		if joins && toNew == len(fresh) {
			e.New = strings.TrimSuffix(e.New, "\n")
		}
		out = append(out, e)
	}
	for _, k := range kept {
		f := p.pair(k[0])
		if f < 0 || joins && k[1] == len(fresh)-1 {
			continue
		}
		emit(k[0], k[1], f)
		i, j, at = k[0]+1, k[1]+1, f+1
	}
	emit(len(old), len(fresh), p.last)
	return out
}

// newLines are the lines of New as they stand against those of Old: with its break as part of the last line where Old's was.
func (s *search) newLines() []string {
	if s.broken {
		return s.fresh
	}
	return strings.Split(s.req.New, "\n")
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
