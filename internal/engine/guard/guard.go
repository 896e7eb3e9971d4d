// Package guard ends what the commands of a runtime hold when that runtime dies without a word.
package guard

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// The guard reads lines from its runtime, each a JSON object. End-of-file without a goodbye means that the runtime is dead.
type message struct {
	Add    json.RawMessage `json:"add,omitempty"`    // a group that commands of the runtime are in
	Remove string          `json:"remove,omitempty"` // id of a group whose command has ended
	Bye    bool            `json:"bye,omitempty"`    // the runtime closes in order
}

const (
	// grace between TERM and KILL: the person has gone, and all is to be over within 2 s.
	grace = 500 * time.Millisecond
	// maxLine bounds one line; a record has some 200 bytes.
	maxLine = 64 << 10
)

// follow reads messages until the end and gives the groups that are still held then; none after a goodbye. A line that can't be
// read is passed over: what the others name must be ended all the same.
func follow(r io.Reader) (map[string]json.RawMessage, error) {
	held := map[string]json.RawMessage{}
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, 4096), maxLine)
	for in.Scan() {
		var m message
		if json.Unmarshal(in.Bytes(), &m) != nil {
			continue
		}
		switch {
		case m.Bye:
			return nil, nil
		case m.Remove != "":
			delete(held, m.Remove)
		case len(m.Add) > 0:
			var id struct{ ID string }
			if json.Unmarshal(m.Add, &id) == nil && id.ID != "" {
				held[id.ID] = m.Add
			}
		}
	}
	if err := in.Err(); err != nil {
		return held, fmt.Errorf("read from the runtime: %w", err)
	}
	return held, nil
}
