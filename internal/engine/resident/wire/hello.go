package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Version is the protocol's. Both sides must have the same.
const Version = 1

// greeting begins the first line of each side. What stands before it (a login banner, a chatty start-up file) is skipped.
const greeting = "\x01hermes-resident "

// maxBanner bounds what is skipped, and a hello, in bytes.
const maxBanner = 64 << 10

// Hello is what each side says of itself first.
type Hello struct {
	Version int             `json:"version"`
	Build   string          `json:"build,omitempty"` // hash or version of the program, for messages
	Line    bool            `json:"line,omitempty"`  // the client's: it asks one thing at a time, see Line
	Body    json.RawMessage `json:"body,omitempty"`  // for what is above this package
}

// greet says hello and waits for the other side's. It closes rw when that fails.
func greet(ctx context.Context, rw io.ReadWriteCloser, h Hello) (*bufio.Reader, Hello, error) {
	stop := context.AfterFunc(ctx, func() { _ = rw.Close() })
	r := bufio.NewReaderSize(rw, MaxPayload)
	wrote := make(chan error, 1)
	go func() { wrote <- writeHello(rw, h) }() // both sides write first: neither may wait for the other to read
	peer, err := readHello(r)
	if err != nil {
		_ = rw.Close()
	}
	werr := <-wrote
	if !stop() && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil { // else writing failed because of it, or it tells more
		err = werr
	}
	if err != nil {
		_ = rw.Close()
	}
	return r, peer, err
}

// ErrVersion is the kind of an error for sides that speak different versions.
var ErrVersion = errors.New("the two sides speak different versions")

func writeHello(w io.Writer, h Hello) error {
	h.Version = Version
	text, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("encode the hello: %w", err)
	}
	_, err = w.Write(append(append([]byte(greeting), text...), '\n'))
	return err
}

// readHello skips what isn't one. The hello stands on one line, behind anything.
func readHello(r *bufio.Reader) (Hello, error) {
	var seen []byte
	for {
		c, err := r.ReadByte()
		if err != nil {
			return Hello{}, fmt.Errorf("the other side said no hello%s: %w", quoted(seen), cut(err))
		}
		if seen = append(seen, c); len(seen) > maxBanner {
			return Hello{}, malformed("no hello in the first %d bytes%s", maxBanner, quoted(seen[:200]))
		}
		if c == greeting[len(greeting)-1] && bytes.HasSuffix(seen, []byte(greeting)) {
			break
		}
	}
	var line []byte
	for {
		c, err := r.ReadByte()
		if err != nil {
			return Hello{}, cut(err)
		}
		if c == '\n' {
			break
		}
		if line = append(line, c); len(line) > maxBanner {
			return Hello{}, malformed("a hello of more than %d bytes", maxBanner)
		}
	}
	var h Hello
	if err := json.Unmarshal(bytes.TrimRight(line, "\r"), &h); err != nil {
		return Hello{}, malformed("a hello that can't be read: %v", err)
	}
	if h.Version != Version {
		return h, fmt.Errorf("%w: here %d, there %d (%s)", ErrVersion, Version, h.Version, h.Build)
	}
	return h, nil
}

// quoted shows what came instead, for the person who has to find out why.
func quoted(b []byte) string {
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return ""
	}
	if len(b) > 300 {
		b = b[len(b)-300:]
	}
	return fmt.Sprintf(" but %q", b)
}
