package anthropic

import (
	"fmt"
	"strings"
)

// maxID is how long an id may be, in bytes.
const maxID = 64

// ids fits the ids of calls to what the API takes: letters, digits, _ and -, each once in a request. Results are told of under the id
// that the call before them with theirs was given. What the model answers has ids of its own, which need no fitting.
type ids struct {
	given map[string]bool
	now   map[string][]string // of calls without a result, by their own id
}

func (s *ids) call(id string) string {
	if s.given == nil {
		s.given, s.now = map[string]bool{}, map[string][]string{}
	}
	base := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, id)
	base = base[:min(len(base), maxID)]
	fit := base
	for n := 2; fit == "" || s.given[fit]; n++ {
		end := fmt.Sprintf("_%d", n)
		fit = base[:min(len(base), maxID-len(end))] + end
	}
	s.given[fit] = true
	s.now[id] = append(s.now[id], fit)
	return fit
}

func (s *ids) result(id string) string {
	list := s.now[id]
	if len(list) == 0 {
		return id // the history is valid: this doesn't happen
	}
	s.now[id] = list[1:]
	return list[0]
}
