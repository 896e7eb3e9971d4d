package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
)

// maxArgument bounds arguments that are read from a file or a pipe, in bytes.
const maxArgument = 64 << 20

// argument is JSON itself, @FILE or - for standard input.
func (a *app) argument(ctx context.Context, s string) (string, error) {
	name, isFile := strings.CutPrefix(s, "@")
	if !isFile && s != "-" {
		return s, nil
	}
	return attend(ctx, func() (string, error) {
		from := a.in
		if isFile {
			f, err := os.Open(name)
			if err != nil {
				return "", usage("read the arguments: %v", err)
			}
			defer f.Close()
			from = f
		}
		text, err := io.ReadAll(io.LimitReader(from, maxArgument+1))
		if err != nil {
			return "", fmt.Errorf("read the arguments: %w", err)
		}
		if len(text) > maxArgument {
			return "", usage("the arguments are longer than %d bytes", maxArgument)
		}
		return string(text), nil
	})
}

// attend waits for what may never come, such as a line from a terminal or the writer of a pipe, until ctx ends. read then stays
// behind; it ends with the process, which has nothing else to do.
func attend[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	got := make(chan answer, 1)
	go func() {
		v, err := read()
		got <- answer{v, err}
	}()
	select {
	case r := <-got:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, &exit{code: exitInterrupted}
	}
}

// steady remembers the first write that failed, for everything that doesn't look at it.
type steady struct {
	to  io.Writer
	err error
}

// Write implements io.Writer.
func (s *steady) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.to.Write(p)
	s.err = err
	return n, err
}
