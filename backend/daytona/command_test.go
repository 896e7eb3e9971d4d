package daytona

import (
	"bytes"
	"testing"
)

func TestCommand_ALineWithoutAnEndFillsNoMemory(t *testing.T) {
	c := &command{mark: "hmark"}
	piece := bytes.Repeat([]byte("x"), 1<<20)
	for range maxLine/len(piece) + 1 {
		if err := c.take(piece); err != nil {
			return
		}
	}
	t.Errorf("%d bytes were kept", len(c.line))
}

func FuzzCommand_NoLogBreaksIt(f *testing.F) {
	f.Add([]byte("\x01\x01\x01hmarkob2s=\n\x02\x02\x02noise\n\x01\x01\x01hmarkO\nhmarkE\nhmarkx0\n"))
	f.Add([]byte("hmarkxone\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var out bytes.Buffer
		c := &command{mark: "hmark", stdout: &out, stderr: &out}
		if err := c.take(b); err == nil && c.seen > len(b) {
			t.Error("more was seen than there is")
		}
	})
}
