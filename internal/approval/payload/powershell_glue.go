package payload

import "strings"

// psGlue puts the pieces of a text together. There may be ten thousand, so what is there already isn't copied for each.
type psGlue struct {
	scan *psScan
	one  strings.Builder // of a text with one value
	many Text            // of one with several
}

// glue begins a text.
func (s *psScan) glue(first Text) *psGlue {
	g := &psGlue{scan: s}
	g.add(first)
	return g
}

func (g *psGlue) add(t Text) {
	if g.many == nil && len(t) == 1 && g.one.Len()+len(t[0]) <= maxDecoded && g.scan.folded <= maxFolded {
		g.one.WriteString(t[0])
		g.scan.folded += len(t[0])
		return
	}
	g.many = g.scan.cat(g.text(), t)
	if len(g.many) == 1 {
		first := g.many[0]
		g.many, g.one = nil, strings.Builder{}
		g.one.WriteString(first)
	}
}

// text is what was put together so far.
func (g *psGlue) text() Text {
	if g.many != nil {
		return g.many
	}
	return Text{g.one.String()}
}

// cat returns every pairing of two texts' values, unknown where that is too many or too long.
func (s *psScan) cat(a, b Text) Text {
	if len(a)*len(b) > 8 || len(a[0])+len(b[0]) > maxDecoded {
		return Text{Unknown}
	}
	var out Text
	for _, x := range a {
		for _, y := range b {
			out = append(out, x+y)
			s.folded += len(x) + len(y)
		}
	}
	if s.folded > maxFolded {
		s.tooMuch("more text than is put together")
		return Text{Unknown}
	}
	return out
}

// tooMuch is said once: what isn't read may be anything.
func (s *psScan) tooMuch(what string) {
	if !s.flags.deep {
		s.flags.deep = true
		s.acts = append(s.acts, Act{Kind: Eval, Call: what, Args: []Text{{Unknown}}, End: len(s.text)})
	}
}
