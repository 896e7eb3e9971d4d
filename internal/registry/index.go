package registry

import (
	"slices"
	"unicode"
)

// index finds tools by names that are nearly theirs. One is made for each snapshot, when the first name needs it.
type index struct {
	byKey    map[string][]*Entry // key of the name
	byRemote map[string][]*Entry // key of the name at the server, alone or behind the server's
	typos    []typoForm
	pairs    map[*Entry][]uint16
}

// typoForm is a name in which one typo is looked for: behind a server's prefix only, never in the first letter of a word.
type typoForm struct {
	entry  *Entry
	prefix string // must be there to the letter
	rest   []rune
	starts []bool // where words begin in rest
}

func (s *snapshot) index() *index {
	s.indexOnce.Do(func() {
		x := &index{byKey: map[string][]*Entry{}, byRemote: map[string][]*Entry{}, pairs: make(map[*Entry][]uint16, len(s.entries))}
		for _, name := range s.names {
			x.add(s.entries[name])
		}
		s.indexed = x
	})
	return s.indexed
}

func (x *index) add(e *Entry) {
	name := e.Spec.Name
	x.pairs[e] = pairs(name)
	x.byKey[key(name)] = append(x.byKey[key(name)], e)
	server, ok := e.Origin.Server()
	if !ok {
		x.typos = append(x.typos, newTypoForm(e, "", name))
		return
	}
	if e.Remote == "" { // where the prefix ends isn't known
		return
	}
	for _, spelling := range []string{e.Remote, server + "_" + e.Remote, "mcp_" + server + "_" + e.Remote} {
		k := key(spelling)
		if !slices.Contains(x.byRemote[k], e) {
			x.byRemote[k] = append(x.byRemote[k], e)
		}
	}
	x.typos = append(x.typos, newTypoForm(e, "mcp_"+server, e.Remote), newTypoForm(e, server, e.Remote))
}

// match gives the tools that a name may stand for, by the first way of reading it that finds any.
func (x *index) match(name string) (found []*Entry, how string) {
	if len(name) > maxRepair {
		return nil, ""
	}
	keys, spellings := variants(name)
	collect := func(from map[string][]*Entry) (out []*Entry) {
		for _, k := range keys {
			for _, e := range from[k] {
				if !slices.Contains(out, e) {
					out = append(out, e)
				}
			}
		}
		return out
	}
	if found = collect(x.byKey); len(found) > 0 {
		return found, repairSpelling
	}
	if found = collect(x.byRemote); len(found) > 0 {
		return found, repairRemote
	}
	for _, s := range spellings {
		letters, starts := spell(s)
		for i := range x.typos {
			f := &x.typos[i]
			if !slices.Contains(found, f.entry) && f.fits(letters, starts) {
				found = append(found, f.entry)
			}
		}
	}
	return found, repairTypo
}

func (x *index) similar(name string, among []*Entry) []string {
	list := make([]candidate, len(among))
	for i, e := range among {
		p, ok := x.pairs[e]
		if !ok { // the scope is of an older state
			p = pairs(e.Spec.Name)
		}
		list[i] = candidate{e.Spec.Name, p}
	}
	if len(name) > maxRepair {
		name = name[:maxRepair]
	}
	return nearest(unwrap(trim(name)), list, maxNear)
}

// spell gives the letters and digits of a name in lower case and, for each, whether a word begins with it.
func spell(name string) (letters []rune, starts []bool) {
	begin, lower := true, false
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			begin = true
			continue
		}
		if unicode.IsUpper(r) && lower {
			begin = true
		}
		letters, starts = append(letters, unicode.ToLower(r)), append(starts, begin)
		begin, lower = false, !unicode.IsUpper(r)
	}
	return letters, starts
}

func newTypoForm(e *Entry, prefix, rest string) typoForm {
	f := typoForm{entry: e, prefix: fold1(prefix)}
	f.rest, f.starts = spell(rest)
	return f
}

// fits reports whether a spelling is the form with one letter missing, added or swapped with its neighbour.
func (f *typoForm) fits(letters []rune, starts []bool) bool {
	n := len(f.prefix) // of one byte per letter, or it is no prefix of a registered name
	if len(letters) < n || string(letters[:min(n, len(letters))]) != f.prefix {
		return false
	}
	got, gotStarts := letters[n:], starts[n:]
	i := 0
	for i < len(got) && i < len(f.rest) && got[i] == f.rest[i] {
		i++
	}
	switch len(got) - len(f.rest) {
	case -1:
		return f.missing(got, i)
	case 1:
		return f.added(got, gotStarts, i)
	case 0:
		return f.swapped(got, i)
	}
	return false
}

// missing: i is the last place where the lost letter can have been; in a run of equal letters it may be an earlier one's.
func (f *typoForm) missing(got []rune, i int) bool {
	if !slices.Equal(got[i:], f.rest[i+1:]) || !isLetter(f.rest[i]) {
		return false
	}
	for j := i; j >= 0 && f.rest[j] == f.rest[i]; j-- {
		if !f.starts[j] {
			return true
		}
	}
	return false
}

// added: a letter before the first one of a word is that word's first letter, unless the spelling shows that it ends the word before.
func (f *typoForm) added(got []rune, gotStarts []bool, i int) bool {
	if !slices.Equal(got[i+1:], f.rest[i:]) || !isLetter(got[i]) {
		return false
	}
	for j := i; j >= 0 && got[j] == got[i]; j-- {
		ends := j+1 == len(got) || gotStarts[j+1]
		if !gotStarts[j] && (j == len(f.rest) || !f.starts[j] || ends) {
			return true
		}
	}
	return false
}

func (f *typoForm) swapped(got []rune, i int) bool {
	if i+1 >= len(got) || f.starts[i] || f.starts[i+1] || !isLetter(f.rest[i]) || !isLetter(f.rest[i+1]) {
		return false
	}
	return got[i] == f.rest[i+1] && got[i+1] == f.rest[i] && slices.Equal(got[i+2:], f.rest[i+2:])
}

// isLetter reports a letter that a registered name can have; one of another script that looks like it is no slip.
func isLetter(r rune) bool { return r < unicode.MaxASCII && unicode.IsLetter(r) }
