package vercel

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds a line of a stream.
const maxLine = 8 << 20

// line is one of a stream of the API: news of the command, or a piece of an output.
type line struct {
	Command *struct {
		ID   string `json:"id"`
		Exit *int   `json:"exitCode"`
	} `json:"command"`
	Stream string          `json:"stream"`
	Data   json.RawMessage `json:"data"`
}

// text is a piece of an output.
func (l *line) text() (s string, err error) {
	if err := json.Unmarshal(l.Data, &s); err != nil {
		return "", fmt.Errorf("a piece of an output is no text: %w", err)
	}
	return s, nil
}

// failure is why the stream can't go on.
func (l *line) failure() error {
	var e struct{ Code, Message string }
	if json.Unmarshal(l.Data, &e) != nil || e.Code+e.Message == "" {
		return errors.New("the stream of outputs broke")
	}
	return fmt.Errorf("the stream of outputs broke: %s (%s)", e.Message, e.Code)
}

// readLines reads lines of JSON until they end, or one is not to be taken. A last line that isn't whole is none: there the stream broke.
func readLines(r io.Reader, take func(line) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), maxLine)
	s.Split(wholeLines)
	for s.Scan() {
		if len(bytes.TrimSpace(s.Bytes())) == 0 {
			continue
		}
		var l line
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			return fmt.Errorf("read a stream of the API: %w", err)
		}
		if err := take(l); err != nil {
			return err
		}
	}
	return s.Err()
}

// wholeLines gives lines that have an end.
func wholeLines(b []byte, eof bool) (advance int, line []byte, err error) {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return i + 1, b[:i], nil
	}
	if eof && len(b) > 0 {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return 0, nil, nil
}
