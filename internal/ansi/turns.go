package ansi

import "bytes"

// leadTurn is the first byte of every mark that turns the direction of text around; in UTF-8 it begins a character and nothing else.
const leadTurn = 0xe2

// isTurn tells whether the character that begins p is such a mark: true, false, or not yet known because p ends before.
func isTurn(p []byte) (turn, known bool) {
	if len(p) < 2 {
		return false, false
	}
	low, high := byte(0xaa), byte(0xae) // U+202A to U+202E
	switch p[1] {
	case 0x80:
	case 0x81:
		low, high = 0xa6, 0xa9 // U+2066 to U+2069
	default:
		return false, true
	}
	if len(p) < 3 {
		return false, false
	}
	return low <= p[2] && p[2] <= high, true
}

// dropTurns removes the marks, also those that come in pieces.
func (w *Writer) dropTurns(p []byte) []byte {
	if len(w.held) == 0 && bytes.IndexByte(p, leadTurn) < 0 {
		return p
	}
	p = append(w.held, p...)
	w.held = nil
	out := make([]byte, 0, len(p))
	for len(p) > 0 {
		end := index(p, 0, leadTurn)
		out, p = append(out, p[:end]...), p[end:]
		if len(p) == 0 {
			break
		}
		turn, known := isTurn(p)
		switch {
		case !known:
			w.held = append([]byte{}, p...)
			return out
		case turn:
			p = p[3:]
		default:
			out, p = append(out, p[0]), p[1:]
		}
	}
	return out
}
