package openai

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"strings"

	"github.com/hermes-runtime/hermes/provider"
)

// fragment is a piece of a call as it streams.
type fragment struct {
	ID       string   `json:"id"`
	Index    *int     `json:"index"`
	Function function `json:"function"`
}

type function struct {
	Name      string    `json:"name"`
	Arguments arguments `json:"arguments"`
}

// arguments are JSON text in a string, or, of servers that take it less exactly, the JSON itself.
type arguments string

// UnmarshalJSON takes both forms.
func (a *arguments) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		var s string
		err := json.Unmarshal(raw, &s)
		*a = arguments(s)
		return err
	}
	if string(raw) == "null" {
		return nil
	}
	var b bytes.Buffer
	err := json.Compact(&b, raw)
	*a = arguments(b.String())
	return err
}

// call is one that is being put together.
type call struct {
	id, name  string
	index     *int
	arguments strings.Builder
}

// complete tells whether the arguments that are there make a whole.
func (c *call) complete() bool {
	text := c.arguments.String()
	return strings.HasSuffix(text, "}") && json.Valid([]byte(text))
}

func (c *call) whole() *provider.Call {
	if c.id == "" {
		c.id = "call_" + rand.Text()
	}
	return &provider.Call{ID: c.id, Name: c.name, Arguments: c.arguments.String()}
}

// calls puts fragments together: by id where one is given, else by index, else by order of arrival.
type calls struct{ list []*call }

func (s *calls) begin(f fragment) *call {
	c := &call{id: f.ID, index: f.Index, name: f.Function.Name}
	c.arguments.WriteString(string(f.Function.Arguments))
	s.list = append(s.list, c)
	return c
}

func (s *calls) add(f fragment) {
	c := s.owner(f)
	if c == nil {
		s.begin(f)
		return
	}
	if c.id == "" {
		c.id = f.ID
	}
	if c.arguments.Len() == 0 && f.Function.Name != c.name {
		c.name = joined(c.name, f.Function.Name)
	}
	c.arguments.WriteString(string(f.Function.Arguments))
}

// joined is a name whose next piece has come: another piece, or, of servers that repeat it, more of it.
func joined(name, next string) string {
	if strings.HasPrefix(next, name) {
		return next
	}
	return name + next
}

// owner finds the call that a fragment continues; nil = it begins one.
func (s *calls) owner(f fragment) *call {
	for i := len(s.list) - 1; i >= 0; i-- {
		c := s.list[i]
		switch {
		case f.ID != "" && c.id == f.ID:
			if f.Index != nil && c.index != nil && *f.Index != *c.index && f.Function.Name != "" {
				continue // another call under an id that was used already
			}
			return c
		case f.ID != "" && c.id != "":
			continue
		case f.Index != nil && c.index != nil:
			if *f.Index == *c.index && !s.another(c, f) {
				return c
			}
		case f.ID == "" && f.Index == nil:
			if s.another(c, f) {
				return nil
			}
			return c
		}
	}
	return nil
}

// another tells whether a fragment names a call other than the one that has been put together: servers repeat the name in every
// fragment, or give every call the same index.
func (s *calls) another(c *call, f fragment) bool {
	name := f.Function.Name
	if name == "" || c.name == "" {
		return false
	}
	if c.arguments.Len() == 0 { // the name itself may come in pieces
		return name != c.name && f.Index == nil
	}
	return name != c.name || c.complete()
}
