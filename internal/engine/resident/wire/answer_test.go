package wire

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// RES-2: an answer arrives whole, whether it fits a frame or not, and the stream is over once the other side has finished too.
func TestStream_AnswerIsTheLast(t *testing.T) {
	for _, text := range []bool{false, true} {
		for _, n := range []int{0, 1, 500, 300_000} {
			want := bytes.Repeat([]byte("a"), n)
			said := make(chan error, 2)
			client, _ := pair(t, text, func(s *Stream) {
				said <- s.Answer(3, want)
				said <- s.Answer(3, want) // too late
			})
			s, err := client.Open([]byte("ask"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(s.Reader(3))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes, text %v: %d, %v", n, text, len(got), err)
			}
			if err := <-said; err != nil {
				t.Errorf("%d bytes, text %v: %v", n, text, err)
			}
			if err := <-said; !errors.Is(err, io.ErrClosedPipe) && n > 0 {
				t.Errorf("%d bytes, text %v: answered twice: %v", n, text, err)
			}
			if err := s.Finish(); err != nil {
				t.Error(err)
			}
			<-s.Context().Done()
		}
	}
}
