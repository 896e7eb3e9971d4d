package wire

import (
	"bytes"
	"io"
	"testing"
)

// RES-2: over text, what is under way to a reader who doesn't read fits what servers of terminals queue.
func TestStream_OverTextLessIsUnderWay(t *testing.T) {
	for text, window := range map[bool]int{false: Window, true: TextWindow} {
		used := make(chan int, 1)
		client, _ := pair(t, text, func(s *Stream) {
			for {
				n, err := s.reserve(1, 1000)
				if err != nil {
					return
				}
				s.mu.Lock()
				all := s.out[1].used
				s.mu.Unlock()
				if err := s.c.send(frame{kind: kindData, stream: s.id, channel: 1, payload: bytes.Repeat([]byte("x"), n)}); err != nil {
					return
				}
				if all == window {
					used <- all
					_ = s.Writer(1).Close() // there is no room for more: it waits for none
					return
				}
			}
		})
		s, err := client.Open([]byte("ask"))
		if err != nil {
			t.Fatal(err)
		}
		if got := <-used; got != window {
			t.Errorf("text %v: %d bytes", text, got)
		}
		if got, err := io.ReadAll(s.Reader(1)); err != nil || len(got) != window {
			t.Errorf("text %v: %d bytes came, %v", text, len(got), err)
		}
		s.Reset("enough")
	}
}
