package search

import "strings"

// class reads a bracketed class from its bracket on; not says that it is negated, which comes after letter case.
func (t *translator) class() (s set, not bool, err *Error) {
	at := t.at
	t.at++
	if t.peek('^') {
		not = true
		t.at++
	}
	var left set
	op := "" // pending between left and what is being read
	first := true
	apply := func() {
		switch op {
		case "&&":
			s = left.intersect(s)
		case "--":
			s = left.minus(s)
		case "~~":
			s = left.minus(s).union(s.minus(left))
		}
	}
	for {
		if t.at >= len(t.text) {
			return nil, false, t.fail(at, "the class that opens here is not closed")
		}
		c := t.text[t.at]
		if c == ']' && !first {
			t.at++
			apply()
			return s, not, nil
		}
		if next := t.operator(); next != "" {
			apply()
			left, s, op = s, nil, next
			first = false
			continue
		}
		item, err := t.classItem(first)
		if err != nil {
			return nil, false, err
		}
		s = s.union(item)
		first = false
	}
}

func (t *translator) peek(c rune) bool { return t.at < len(t.text) && t.text[t.at] == c }

// operator reads a set operation, if one stands here.
func (t *translator) operator() string {
	if t.at+1 >= len(t.text) {
		return ""
	}
	switch op := string(t.text[t.at : t.at+2]); op {
	case "&&", "--", "~~":
		if op == "--" && t.at+2 < len(t.text) && t.text[t.at+2] == ']' {
			return "" // two dashes at the end are dashes
		}
		t.at += 2
		return op
	}
	return ""
}

// classItem reads one member of a class: a character, a range, a named class or another class.
func (t *translator) classItem(first bool) (set, *Error) {
	at, c := t.at, t.text[t.at]
	if t.flags.verbose && (spaces().has(c) || c == '#') {
		return t.verboseItem(at)
	}
	if c == '[' {
		if s, ok, err := t.posix(); ok || err != nil {
			return t.foldSet(s), err
		}
		s, not, err := t.class()
		if err == nil && not {
			s = s.complement()
		}
		return s, err
	}
	if c == '\\' {
		t.at++
		if t.at >= len(t.text) {
			return nil, t.fail(at, "a backslash at the end escapes nothing")
		}
		if s, ok, err := t.escapedSet(at); ok || err != nil {
			return s, err
		}
		t.at = at
	}
	low, err := t.classRune()
	if err != nil {
		return nil, err
	}
	high := low
	if t.rangeFollows() && !(first && c == '-') {
		t.at++
		if high, err = t.classRune(); err != nil {
			return nil, err
		}
		if high < low {
			return nil, t.fail(at, "this range is backwards")
		}
	}
	return t.foldSet(set{low, high}), nil
}

// verboseItem skips white space within a class in verbose mode.
func (t *translator) verboseItem(at int) (set, *Error) {
	if t.text[at] == '#' {
		return nil, t.lacking(at, "a comment within a class")
	}
	t.at++
	return nil, nil
}

// rangeFollows reports whether a dash stands here that makes a range.
func (t *translator) rangeFollows() bool {
	return t.at+1 < len(t.text) && t.text[t.at] == '-' && t.text[t.at+1] != ']' && t.text[t.at+1] != '-'
}

func (t *translator) classRune() (rune, *Error) {
	at, c := t.at, t.text[t.at]
	t.at++
	if c != '\\' {
		if c == '[' {
			return 0, t.fail(at, "a range can't end with a class")
		}
		return c, nil
	}
	if t.at >= len(t.text) {
		return 0, t.fail(at, "a backslash at the end escapes nothing")
	}
	if strings.ContainsRune("dDsSwWpP", t.text[t.at]) {
		return 0, t.fail(at, "a range can't end with a class")
	}
	return t.escapedRune(at)
}

// posix reads [:name:].
func (t *translator) posix() (set, bool, *Error) {
	if t.at+1 >= len(t.text) || t.text[t.at+1] != ':' {
		return nil, false, nil
	}
	rest := string(t.text[t.at+2:])
	end := strings.Index(rest, ":]")
	if end < 0 {
		return nil, false, nil
	}
	name, not := strings.CutPrefix(rest[:end], "^")
	s, ok := posixClasses[name]
	if !ok {
		return nil, false, nil
	}
	t.at += 2 + len([]rune(rest[:end])) + 2
	if not {
		s = s.complement()
	}
	return s, true, nil
}

// foldSet adds other cases where the pattern asks for it.
func (t *translator) foldSet(s set) set {
	if t.flags.fold {
		return s.folded()
	}
	return s
}
