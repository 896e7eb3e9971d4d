package search

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// set is a set of characters: pairs of first and last, sorted, apart.
type set []rune

func newSet(pairs ...rune) set {
	type span struct{ lo, hi rune }
	spans := make([]span, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		spans = append(spans, span{pairs[i], pairs[i+1]})
	}
	slices.SortFunc(spans, func(a, b span) int { return int(a.lo - b.lo) })
	var s set
	for _, p := range spans {
		if n := len(s); n > 0 && p.lo <= s[n-1]+1 {
			s[n-1] = max(s[n-1], p.hi)
		} else {
			s = append(s, p.lo, p.hi)
		}
	}
	return s
}

func (s set) union(o set) set { return newSet(append(slices.Clone(s), o...)...) }

func (s set) complement() set {
	var out set
	next := rune(0)
	for i := 0; i < len(s); i += 2 {
		if next < s[i] {
			out = append(out, next, s[i]-1)
		}
		next = s[i+1] + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, next, unicode.MaxRune)
	}
	return out
}

func (s set) intersect(o set) set { return s.complement().union(o.complement()).complement() }

func (s set) minus(o set) set { return s.intersect(o.complement()) }

func (s set) has(r rune) bool {
	i, _ := slices.BinarySearchFunc(s, r, func(a, b rune) int { return int(a - b) })
	return i < len(s) && (s[i] == r || i%2 == 1)
}

// text writes the set as a class of package regexp. The line break is never in it: no pattern matches across lines.
func (s set) text() string {
	s = s.minus(set{'\n', '\n'})
	if len(s) == 0 {
		return `[^\x{0}-\x{10FFFF}]`
	}
	var b strings.Builder
	b.WriteByte('[')
	for i := 0; i < len(s); i += 2 {
		fmt.Fprintf(&b, `\x{%X}-\x{%X}`, s[i], s[i+1])
	}
	b.WriteByte(']')
	return b.String()
}

// folded adds the other cases of all characters.
func (s set) folded() set {
	if len(s) == 0 {
		return s
	}
	var b strings.Builder
	b.WriteString("(?i)[")
	for i := 0; i < len(s); i += 2 {
		fmt.Fprintf(&b, `\x{%X}-\x{%X}`, s[i], s[i+1])
	}
	b.WriteByte(']')
	re, err := syntax.Parse(b.String(), syntax.Perl)
	if err != nil || re.Op != syntax.OpCharClass {
		// One character folds to a literal instead of a class.
		var pairs []rune
		for i := 0; i < len(s); i += 2 {
			for r := s[i]; r <= s[i+1] && r-s[i] < 64; r++ {
				for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
					pairs = append(pairs, f, f)
				}
			}
		}
		return s.union(newSet(pairs...))
	}
	return newSet(re.Rune...)
}

func tableSet(tables ...*unicode.RangeTable) set {
	var pairs []rune
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			pairs = append(pairs, lo, hi)
			return
		}
		for r := lo; r <= hi; r += stride {
			pairs = append(pairs, r, r)
		}
	}
	for _, t := range tables {
		for _, r := range t.R16 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	return newSet(pairs...)
}

// The Unicode meaning of the short classes: UTS 18, annex C.
var (
	digits = sync.OnceValue(func() set { return tableSet(unicode.Nd) })
	spaces = sync.OnceValue(func() set { return tableSet(unicode.White_Space) })
	words  = sync.OnceValue(func() set {
		return tableSet(unicode.L, unicode.Nl, unicode.Other_Alphabetic, unicode.Other_Lowercase, unicode.Other_Uppercase,
			unicode.M, unicode.Nd, unicode.Pc, unicode.Join_Control)
	})
)

// shortClasses are \d, \s, \w; a capital letter is the complement.
var shortClasses = map[rune]func() set{'d': digits, 's': spaces, 'w': words}

// posixClasses are the names in [[:name:]], which mean ASCII.
var posixClasses = map[string]set{
	"alnum": {'0', '9', 'A', 'Z', 'a', 'z'}, "alpha": {'A', 'Z', 'a', 'z'}, "ascii": {0, 0x7F}, "blank": {'\t', '\t', ' ', ' '},
	"cntrl": {0, 0x1F, 0x7F, 0x7F}, "digit": {'0', '9'}, "graph": {'!', '~'}, "lower": {'a', 'z'}, "print": {' ', '~'},
	"punct": {'!', '/', ':', '@', '[', '`', '{', '~'}, "space": {'\t', '\r', ' ', ' '}, "upper": {'A', 'Z'},
	"word": {'0', '9', 'A', 'Z', '_', '_', 'a', 'z'}, "xdigit": {'0', '9', 'A', 'F', 'a', 'f'},
}

// looseNames leads from names without case, blanks, dashes and underscores to the tables of package unicode.
var looseNames = sync.OnceValue(func() map[string][]*unicode.RangeTable {
	names := map[string][]*unicode.RangeTable{}
	for _, tables := range []map[string]*unicode.RangeTable{unicode.Properties, unicode.Scripts, unicode.Categories} {
		for name, t := range tables {
			names[loose(name)] = []*unicode.RangeTable{t}
		}
	}
	for long, short := range categoryNames {
		if t := unicode.Categories[short]; t != nil {
			names[long] = []*unicode.RangeTable{t}
		}
	}
	names["alphabetic"] = []*unicode.RangeTable{unicode.L, unicode.Nl, unicode.Other_Alphabetic, unicode.Other_Lowercase, unicode.Other_Uppercase}
	names["alpha"] = names["alphabetic"]
	names["lowercase"] = []*unicode.RangeTable{unicode.Ll, unicode.Other_Lowercase}
	names["lower"] = names["lowercase"]
	names["uppercase"] = []*unicode.RangeTable{unicode.Lu, unicode.Other_Uppercase}
	names["upper"] = names["uppercase"]
	names["space"], names["wspace"] = names["whitespace"], names["whitespace"]
	return names
})

// categoryNames are the long names of general categories.
var categoryNames = map[string]string{
	"letter": "L", "uppercaseletter": "Lu", "lowercaseletter": "Ll", "titlecaseletter": "Lt", "modifierletter": "Lm",
	"otherletter": "Lo", "mark": "M", "nonspacingmark": "Mn", "spacingmark": "Mc", "enclosingmark": "Me", "number": "N",
	"decimalnumber": "Nd", "digit": "Nd", "letternumber": "Nl", "othernumber": "No", "punctuation": "P", "punct": "P",
	"connectorpunctuation": "Pc", "dashpunctuation": "Pd", "openpunctuation": "Ps", "closepunctuation": "Pe",
	"initialpunctuation": "Pi", "finalpunctuation": "Pf", "otherpunctuation": "Po", "symbol": "S", "mathsymbol": "Sm",
	"currencysymbol": "Sc", "modifiersymbol": "Sk", "othersymbol": "So", "separator": "Z", "spaceseparator": "Zs",
	"lineseparator": "Zl", "paragraphseparator": "Zp", "control": "Cc", "format": "Cf", "privateuse": "Co",
}

func loose(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}

// property is the set that \p{name} means; ok is false for a name that isn't known here.
func property(name string) (s set, ok bool) {
	if key, value, found := strings.Cut(name, "="); found {
		switch loose(key) {
		case "gc", "generalcategory", "sc", "script":
			name = value
		default:
			return nil, false
		}
	}
	switch loose(name) {
	case "any":
		return set{0, unicode.MaxRune}, true
	case "ascii":
		return set{0, 0x7F}, true
	}
	tables, ok := looseNames()[loose(name)]
	if !ok {
		return nil, false
	}
	return tableSet(tables...), true
}
