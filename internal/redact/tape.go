package redact

// tape is the part of a stream that a stage is working on: what is held from before and the piece that has come. Bytes
// leave it in order, as they are or replaced. Nothing is copied as long as nothing is held or replaced.
type tape struct {
	held     []byte
	b        []byte // held and the piece, or the piece alone
	out      []byte // what leaves, once it differs from a part of b
	copying  bool   // out is in use
	shown    int    // before it all has left or been replaced
	plain    bool   // the byte before shown left as it is, although undecided, because of a flush
	replaced bool   // anything, ever
}

// begin adds a piece.
func (t *tape) begin(p []byte) []byte {
	if len(t.held) > 0 {
		t.held = append(t.held, p...)
		t.b = t.held
	} else {
		t.b = p
	}
	t.copying, t.out = false, t.out[:0]
	return t.b
}

// replace puts mark in place of b[from:to]. What has been replaced already is not marked again.
func (t *tape) replace(from, to int, mark string) {
	t.replaced, t.copying = true, true
	if from >= t.shown {
		t.out = append(append(t.out, t.b[t.shown:from]...), mark...)
	} else if t.plain && to > t.shown {
		t.out = append(t.out, mark...)
	}
	if to > t.shown {
		t.shown, t.plain = to, false
	}
}

// hide lets all before to go without a trace.
func (t *tape) hide(to int) {
	if to > t.shown {
		t.copying = true
		t.shown, t.plain = to, false
	}
}

// finish lets go of all before end and holds the rest. It returns what leaves.
func (t *tape) finish(end int) []byte {
	out := t.out
	if end > t.shown {
		if t.copying {
			t.out = append(t.out, t.b[t.shown:end]...)
			out = t.out
		} else {
			out = t.b[t.shown:end]
		}
		t.shown, t.plain = end, false
	}
	rest := t.b[min(end, len(t.b)):]
	if len(t.held) > 0 && len(out) > 0 && !t.copying { // out lies in held, which is about to be moved
		t.out = append(t.out[:0], out...)
		out = t.out
	}
	t.held = append(t.held[:0], rest...)
	t.shown -= end
	t.b = nil
	return out
}

// flush returns what is held and not yet shown, and keeps it to decide about what follows.
func (t *tape) flush() []byte {
	if t.shown >= len(t.held) {
		return nil
	}
	out := t.held[t.shown:]
	t.shown, t.plain = len(t.held), true
	return out
}
