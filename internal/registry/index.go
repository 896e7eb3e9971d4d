package registry

import (
	"slices"
	"unicode"
)

// index finds tools by names that are nearly theirs. One is made for each snapshot, when the first name needs it.
type index struct {
	byKey    map[string][]*Entry // key of the name
	byRemote map[string][]*Entry // key of the name at the server, alone or behind the server's
	entries  []*Entry            // sorted by name
}

// forms are what names are compared with to find one tool. They outlive the snapshots that the tool is in.
type forms struct {
	key     string
	remotes []string // keys
	typos   []typoForm
	pairs   []uint16
}

// typoForm is a name in which one typo is looked for: behind a server's prefix only, never in the first letter of a word.
type typoForm struct {
	prefix string // must be there to the letter
	rest   []rune
	starts []bool // where words begin in rest
}

func (s *snapshot) index() *index {
	s.indexOnce.Do(func() {
		n := len(s.names)
		x := &index{byKey: make(map[string][]*Entry, n), byRemote: make(map[string][]*Entry, n), entries: make([]*Entry, n)}
		for i, name := range s.names {
			e := s.entries[name]
			f := e.forms()
			x.entries[i] = e
			x.byKey[f.key] = append(x.byKey[f.key], e)
			for _, k := range f.remotes {
				x.byRemote[k] = append(x.byRemote[k], e)
			}
		}
		s.indexed = x
	})
	return s.indexed
}

func (e *Entry) forms() *forms {
	e.formsOnce.Do(func() {
		name := e.Spec.Name
		f := &e.formsValue
		f.key, f.pairs = key(name), pairs(name)
		server, ok := e.Origin.Server()
		if !ok {
			f.typos = []typoForm{newTypoForm("", name)}
			return
		}
		if e.Remote == "" { // where the prefix ends isn't known
			return
		}
		for _, spelling := range []string{e.Remote, server + "_" + e.Remote, "mcp_" + server + "_" + e.Remote} {
			if k := key(spelling); !slices.Contains(f.remotes, k) {
				f.remotes = append(f.remotes, k)
			}
		}
		f.typos = []typoForm{newTypoForm("mcp_"+server, e.Remote), newTypoForm(server, e.Remote)}
	})
	return &e.formsValue
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
		for _, e := range x.entries {
			fits := func(f typoForm) bool { return f.fits(letters, starts) }
			if slices.ContainsFunc(e.forms().typos, fits) && !slices.Contains(found, e) {
				found = append(found, e)
			}
		}
	}
	return found, repairTypo
}

// similar gives the names of the tools that fit best.
func similar(name string, among []*Entry) []string {
	list := make([]candidate, len(among))
	for i, e := range among {
		list[i] = candidate{e.Spec.Name, e.forms().pairs}
	}
	return nearest(unwrap(trim(name[:min(len(name), maxRepair)])), list, maxNear)
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

func newTypoForm(prefix, rest string) typoForm {
	f := typoForm{prefix: fold1(prefix)}
	f.rest, f.starts = spell(rest)
	return f
}

// fits reports whether a spelling is the form with one letter missing, added or swapped with its neighbour.
func (f typoForm) fits(letters []rune, starts []bool) bool {
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
func (f typoForm) missing(got []rune, i int) bool {
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
func (f typoForm) added(got []rune, gotStarts []bool, i int) bool {
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

func (f typoForm) swapped(got []rune, i int) bool {
	if i+1 >= len(got) || f.starts[i] || f.starts[i+1] || !isLetter(f.rest[i]) || !isLetter(f.rest[i+1]) {
		return false
	}
	return got[i] == f.rest[i+1] && got[i+1] == f.rest[i] && slices.Equal(got[i+2:], f.rest[i+2:])
}

// isLetter reports a letter that a registered name can have; one of another script that looks like it is no slip.
func isLetter(r rune) bool { return r < unicode.MaxASCII && unicode.IsLetter(r) }
