package search

import "io"

// stutter is a reader that gives a few bytes at a time.
type stutter struct {
	text string
	size int
}

func (s *stutter) Read(b []byte) (int, error) {
	if s.text == "" {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), s.size)], s.text)
	s.text = s.text[n:]
	return n, nil
}
