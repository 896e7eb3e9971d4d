package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxLine bounds one line of an event stream, and all data lines of one event together, in bytes.
const MaxLine = 16 << 20

// ErrTooLong is a line or an event of more than MaxLine bytes.
var ErrTooLong = errors.New("a line of the event stream is too long")

// Event is one event of a stream.
type Event struct {
	Name  string // of its event line; "" = none
	Data  []byte // its data lines, joined by line feeds; valid until the next event is read
	Whole bool   // Data is an unstreamed reply
}

// EventReader reads an event stream. Lines end in LF or CRLF; comments and fields other than event and data are skipped, and so are
// events without data. A line that is a JSON object without a field name before it counts as data: servers report errors so in the
// middle of a stream.
type EventReader struct {
	r     *bufio.Reader
	begun bool
	long  []byte // a line that is longer than the buffer
	data  []byte
}

// NewEventReader reads events from r.
func NewEventReader(r io.Reader) *EventReader {
	return &EventReader{r: bufio.NewReaderSize(r, 8<<10)}
}

// Next returns the next event; at the end io.EOF, or what reading failed with. Data that the stream's end cuts off is no event.
func (e *EventReader) Next() (Event, error) {
	ev := Event{}
	e.data = e.data[:0]
	has := false
	for {
		line, err := e.line()
		if err != nil {
			if has && errors.Is(err, io.EOF) {
				ev.Data = e.data
				return ev, nil
			}
			return Event{}, err
		}
		switch {
		case len(line) == 0:
			if has {
				ev.Data = e.data
				return ev, nil
			}
			ev.Name = ""
			continue
		case line[0] == ':':
			continue
		}
		name, value := field(line)
		switch name {
		case "event":
			ev.Name = string(value)
		case "data":
			if len(e.data)+len(value) >= MaxLine {
				return Event{}, ErrTooLong
			}
			if has {
				e.data = append(e.data, '\n')
			}
			e.data = append(e.data, value...)
			has = true
		}
	}
}

func field(line []byte) (string, []byte) {
	if line[0] == '{' {
		return "data", line
	}
	name, value, _ := bytes.Cut(line, []byte{':'})
	return string(name), bytes.TrimPrefix(value, []byte{' '})
}

// line returns the next line without its end. A last one that nothing ends counts if it is whole for what it holds.
func (e *EventReader) line() ([]byte, error) {
	e.long = e.long[:0]
	for {
		part, err := e.r.ReadSlice('\n')
		switch {
		case len(e.long)+len(part) > MaxLine:
			return nil, fmt.Errorf("%w: over %d bytes", ErrTooLong, MaxLine)
		case errors.Is(err, bufio.ErrBufferFull):
			e.long = append(e.long, part...)
			continue
		case err != nil:
			line := append(e.long, part...)
			if errors.Is(err, io.EOF) && finished(line) {
				return e.trim(line), nil
			}
			return nil, err
		case len(e.long) == 0:
			return e.trim(part), nil
		}
		e.long = append(e.long, part...)
		return e.trim(e.long), nil
	}
}

func (e *EventReader) trim(line []byte) []byte {
	if !e.begun {
		e.begun = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'})
}

// finished tells whether a line without an end was all of it.
func finished(line []byte) bool {
	if len(line) == 0 {
		return false
	}
	name, value := field(line)
	return name == "data" && (string(value) == Done || json.Valid(value))
}

// Done is what the data of the last event is in streams that mark it.
const Done = "[DONE]"
