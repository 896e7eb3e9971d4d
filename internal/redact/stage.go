package redact

import "encoding/binary"

// next returns the first place at from, or an even number of bytes later, where the pair of bytes is of a gram; -1 if
// there is none.
func (g *grams) next(b []byte, from int) int {
	hits := &g.hits
	i := from
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		if hits[uint16(x)]|hits[uint16(x>>16)]|hits[uint16(x>>32)]|hits[uint16(x>>48)] != 0 {
			break
		}
	}
	for ; i+1 < len(b); i += 2 {
		if hits[pairAt(b, i)] != 0 {
			return i
		}
	}
	return -1
}

// shapeStage replaces what looks like a secret in a stream. What begins within a secret is part of it; only a private
// key is looked for everywhere, as it may be longer than the value it stands in.
type shapeStage struct {
	tape
	from    int // the next pair to look at
	prev    history
	value   open // the secret that the text is in
	key     open // the same for private keys
	pending int  // where the first undecided literal begins, or the end of the text
}

// open is a run that has come to the end of the text without ending.
type open struct {
	run run // runNone when closed
	at  int // it covers all before
}

// feed takes the next piece and returns what may leave, which is valid until the next call.
func (s *shapeStage) feed(p []byte, final bool) []byte {
	b := s.begin(p)
	t := text{b: b, prev: s.prev, final: final}
	s.goOn(t, &s.value)
	s.goOn(t, &s.key)
	s.pending = len(b)
	g := table()
	for {
		i := g.next(b, s.from)
		if i < 0 {
			s.from = max(s.from, len(b)-1)
			break
		}
		s.from = i
		if !s.decide(t, i) {
			break
		}
		s.from = i + 2
	}
	if !final {
		s.unsure(t)
	}
	end := s.pending
	for _, o := range []*open{&s.value, &s.key} {
		if o.run.kind != runNone {
			end = min(end, o.at)
		}
	}
	return s.leave(b, end)
}

// leave lets go of all before end and moves everything that counts from the start of the text.
func (s *shapeStage) leave(b []byte, end int) []byte {
	if end >= len(s.prev) {
		copy(s.prev[:], b[end-len(s.prev):end])
	} else {
		n := copy(s.prev[:], s.prev[end:])
		copy(s.prev[n:], b[:end])
	}
	out := s.finish(end)
	s.from = max(0, s.from-end)
	s.value.at = max(-len(s.prev), s.value.at-end)
	s.key.at = max(-len(s.prev), s.key.at-end)
	return out
}

// goOn continues a run in the text that has come.
func (s *shapeStage) goOn(t text, o *open) {
	if o.run.kind == runNone {
		return
	}
	var done bool
	o.at, done = o.run.extend(t, o.at)
	s.hide(o.at)
	if done {
		o.run.kind = runNone
	}
}

// decide looks at what may begin around the pair at i and reports whether that could be told.
func (s *shapeStage) decide(t text, i int) bool {
	t.hidden = max(s.value.at, s.key.at)
	g := table()
	for _, c := range g.candidates[g.hits[pairAt(t.b, i)]] {
		at := i - c.back
		if at < 0 {
			continue // dealt with when the text before was here
		}
		v := c.shape.match(t, at)
		var found span
		if v == yes {
			found, v = c.shape.read(t, at, c.shape)
		}
		switch v {
		case more:
			s.pending = min(s.pending, at)
		case yes:
			s.take(t, c.shape, found)
		}
	}
	return s.pending == len(t.b)
}

// flush returns what is held and not yet shown. What would be a secret if the text ended here is replaced first.
func (s *shapeStage) flush() []byte {
	if s.inSecret() {
		return nil // what is held belongs to it
	}
	b := s.begin(nil)
	t := text{b: b, prev: s.prev, final: true, goesOn: true}
	g := table()
	for !s.inSecret() {
		i, shown := g.next(b, s.from), s.shown
		if i < 0 {
			break
		}
		s.pending = len(b)
		s.decide(t, i)
		if s.shown == shown {
			break // more text may make it one: it is kept for that
		}
		s.from = i + 2
	}
	var out []byte
	if s.copying {
		out = s.leave(b, s.shown)
	}
	if s.inSecret() {
		return out
	}
	return append(out, s.tape.flush()...)
}

func (s *shapeStage) inSecret() bool {
	return s.value.run.kind != runNone || s.key.run.kind != runNone
}

// take replaces a secret that was found, unless it lies in another.
func (s *shapeStage) take(t text, by *shape, found span) {
	o := &s.value
	if by.literal == pemBegin {
		o = &s.key
	} else if found.from < s.value.at || s.value.run.kind != runNone {
		return
	}
	if found.from < s.key.at || s.key.run.kind != runNone {
		return
	}
	o.run = found.run
	var done bool
	o.at, done = o.run.extend(t, found.to)
	mark := Mark(by.name)
	s.replace(found.from, o.at, found.wrap+mark+found.wrap)
	if done {
		o.run.kind = runNone
	}
}

// unsure holds the end of the text if a literal may have begun in it.
func (s *shapeStage) unsure(t text) {
	g := table()
	for i := max(0, len(t.b)-g.longest); i < s.pending; i++ {
		if !g.firsts[t.b[i]] {
			continue
		}
		for j := range shapes {
			if shapes[j].match(t, i) == more {
				s.pending = i
				return
			}
		}
	}
}
