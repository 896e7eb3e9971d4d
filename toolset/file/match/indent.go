package match

import "strings"

// indents moves lines from the indent of what was looked for to that of the file.
type indents struct {
	lines []*shift // of each line of the pattern; nil = no indent to learn from
	known []shift
	same  bool // both have the same
	tabs  bool // the file's has tabs
	// unit is how wide, in characters, one step is in the pattern, and step how the file writes it.
	unit int
	step string
}

// shift is a pair of indents that stand for each other.
type shift struct{ from, to string }

// indents learns from the lines of a place.
func (s *search) indents(p place) *indents {
	in := &indents{same: true, lines: make([]*shift, len(s.old))}
	for i, l := range s.old {
		f := p.pair(i)
		if f < 0 || f >= len(s.file) || trimBlank(l) == "" || trimBlank(s.file[f]) == "" {
			continue
		}
		sh := shift{indentOf(l), indentOf(s.file[f])}
		in.lines[i] = &sh
		in.same = in.same && sh.from == sh.to
		in.tabs = in.tabs || strings.Contains(sh.to, "\t")
		if _, ok := in.exact(sh.from); !ok {
			in.known = append(in.known, sh)
		}
	}
	in.learnStep(s.file)
	return in
}

func (in *indents) exact(from string) (string, bool) {
	for _, k := range in.known {
		if k.from == from {
			return k.to, true
		}
	}
	return "", false
}

// learnStep finds out how a step of the pattern is written in the file, from two pairs of different depth, else from the file.
func (in *indents) learnStep(file []string) {
	for _, a := range in.known {
		for _, b := range in.known {
			from, ok1 := strings.CutPrefix(b.from, a.from)
			to, ok2 := strings.CutPrefix(b.to, a.to)
			if ok1 && ok2 && from != "" && to != "" && (in.unit == 0 || len(from) < in.unit) {
				in.unit, in.step = len(from), to
			}
		}
	}
	if in.unit > 0 || in.same {
		return
	}
	if in.tabs = in.tabs || usesTabs(file); in.tabs {
		in.step = "\t"
	}
}

// usesTabs reports whether most indented lines begin with a tab.
func usesTabs(file []string) bool {
	tabs, blanks := 0, 0
	for _, l := range file {
		switch {
		case strings.HasPrefix(l, "\t"):
			tabs++
		case strings.HasPrefix(l, "  "):
			blanks++
		}
	}
	return tabs > blanks
}

// reference is the line of the pattern whose indent says most about new line k of a change that replaces lines from to to: the one
// in its place, else the one before, or the one behind a line that opens a block.
func (s *search) reference(from, to, k int) int {
	switch {
	case from+k < to:
		return from + k
	case from < to || from == 0:
		return max(to-1, 0)
	}
	if before := trimBlank(s.old[from-1]); to < len(s.old) && before != "" && strings.ContainsRune(":{([", rune(before[len(before)-1])) {
		return to
	}
	return from - 1
}

// moveFrom is move for a line that belongs beside line ref of the pattern: where both have the same indent, the file's line has the
// new line's too. It matters where the pattern lost its indent, so that one of its indents stands for several.
func (in *indents) moveFrom(ref int, l string) string {
	for ref > 0 && in.lines[ref] == nil {
		ref--
	}
	if sh := in.lines[ref]; sh != nil && trimBlank(l) != "" && sh.from == indentOf(l) {
		return sh.to + l[len(sh.from):]
	}
	return in.move(l)
}

// move gives a new line the indent of the file. Blank lines become empty.
func (in *indents) move(l string) string {
	if trimBlank(l) == "" {
		if in.same {
			return l
		}
		return ""
	}
	if in.same || len(in.known) == 0 {
		return l
	}
	have := indentOf(l)
	rest := l[len(have):]
	if to, ok := in.exact(have); ok {
		return to + rest
	}
	base, found := shift{}, false
	for _, k := range in.known { // deeper than one that is known
		if strings.HasPrefix(have, k.from) && (!found || len(k.from) > len(base.from)) {
			base, found = k, true
		}
	}
	if found {
		return base.to + in.convert(have[len(base.from):]) + rest
	}
	for _, k := range in.known { // less deep
		if strings.HasPrefix(k.from, have) && (!found || len(k.from) < len(base.from)) {
			base, found = k, true
		}
	}
	if found {
		return strings.TrimSuffix(base.to, in.convert(base.from[len(have):])) + rest
	}
	return in.convert(have) + rest
}

// convert writes blanks of the pattern as the file does.
func (in *indents) convert(extra string) string {
	if in.unit > 0 && len(extra)%in.unit == 0 {
		return strings.Repeat(in.step, len(extra)/in.unit)
	}
	if in.step == "\t" && strings.Trim(extra, " ") == "" {
		for _, unit := range [...]int{4, 2, 8, 3} {
			if len(extra)%unit == 0 {
				return strings.Repeat("\t", len(extra)/unit)
			}
		}
	}
	if !in.tabs && strings.Trim(extra, "\t") == "" {
		return strings.Repeat("    ", len(extra))
	}
	return extra
}
