package resident

import (
	"errors"
	"os"
)

// stdio makes one stream of two files.
type stdio struct{ in, out *os.File }

func (s stdio) Read(b []byte) (int, error)  { return s.in.Read(b) }
func (s stdio) Write(b []byte) (int, error) { return s.out.Write(b) }
func (s stdio) Close() error                { return errors.Join(s.out.Close(), s.in.Close()) }
