package vercel

import (
	"bufio"
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
func (l *line) text() string {
	var s string
	_ = json.Unmarshal(l.Data, &s)
	return s
}

// failure is why the stream can't go on.
func (l *line) failure() error {
	var e struct{ Code, Message string }
	if json.Unmarshal(l.Data, &e) != nil || e.Code+e.Message == "" {
		return errors.New("the stream of outputs broke")
	}
	return fmt.Errorf("the stream of outputs broke: %s (%s)", e.Message, e.Code)
}

// readLines reads lines of JSON until they end, or one is not to be taken. A last line that isn't whole is none.
func readLines(r io.Reader, take func(line) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), maxLine)
	for s.Scan() {
		if len(s.Bytes()) == 0 {
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
