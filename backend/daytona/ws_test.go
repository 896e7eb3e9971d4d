package daytona

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// wireOf is a server that has said something, and takes what it is told.
type wireOf struct{ io.Reader }

func (wireOf) Write(b []byte) (int, error) { return len(b), nil }
func (wireOf) Close() error                { return nil }

// messages reads all that there is.
func messages(b []byte) (all [][]byte, err error) {
	s := newSocket(wireOf{bytes.NewReader(b)})
	defer s.Close()
	for {
		_, m, err := s.next()
		if err != nil {
			return all, err
		}
		all = append(all, m)
	}
}

func TestSocket_ReadsWhatServersSend(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 70_000)
	for name, c := range map[string]struct {
		sent []byte
		want []string
		code int // of a close
	}{
		"text and binary":  {[]byte("\x81\x02hi\x82\x01!"), []string{"hi", "!"}, 0},
		"in pieces":        {[]byte("\x01\x01a\x89\x00\x80\x01b"), []string{"ab"}, 0}, // a ping between
		"126 and 127":      {append([]byte("\x82\x7e\x00\x02ok\x82\x7f\x00\x00\x00\x00\x00\x01\x11\x70"), long...), []string{"ok", string(long)}, 0},
		"closed":           {[]byte("\x88\x04\x03\xf0no"), nil, 1008},
		"closed and mute":  {[]byte("\x88\x00"), nil, 1005},
		"masked":           {[]byte("\x81\x82abcdhi"), nil, 0},
		"more of nothing":  {[]byte("\x80\x01a"), nil, 0},
		"a long ping":      {[]byte("\x89\x7e\x00\x80"), nil, 0},
		"too much":         {[]byte("\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"), nil, 0},
		"an unknown kind":  {[]byte("\x83\x00"), nil, 0},
		"within another":   {[]byte("\x01\x01a\x81\x01b"), nil, 0},
		"bits that aren't": {[]byte("\xc1\x00"), nil, 0},
		"cut":              {[]byte("\x81\x05hi"), nil, 0},
	} {
		got, err := messages(c.sent)
		var end *closedError
		if errors.As(err, &end) != (c.code != 0) || end != nil && end.code != c.code || err == nil || len(got) != len(c.want) {
			t.Errorf("%s: %q, %v", name, got, err)
			continue
		}
		for i := range got {
			if string(got[i]) != c.want[i] {
				t.Errorf("%s: %.40q", name, got[i])
			}
		}
	}
}

func FuzzSocket_NoServerBreaksIt(f *testing.F) {
	f.Add([]byte("\x81\x02hi\x89\x00\x88\x02\x03\xe8"))
	f.Add([]byte("\x01\x7e\x01\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := messages(b)
		n := 0
		for _, m := range all {
			n += len(m)
		}
		if err == nil || n > len(b) {
			t.Errorf("%d bytes out of %d, %v", n, len(b), err)
		}
	})
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
