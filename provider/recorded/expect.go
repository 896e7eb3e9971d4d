package recorded

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/provider"
)

// Expect holds conditions on the request that a line answers. What is empty is not looked at.
type Expect struct {
	Model   string            `json:"model,omitempty"`   // the name of the model
	User    string            `json:"user,omitempty"`    // is in the last text of the user
	Results map[string]string `json:"results,omitempty"` // by tool: is in one of its results since the last reply
	Tools   []string          `json:"tools,omitempty"`   // are offered, among others
}

// differs says where a request is not as expected, by path; "" = it is.
func (e *Expect) differs(r provider.Request, model string, redact func(string) string) string {
	if e == nil {
		return ""
	}
	if e.Model != "" && e.Model != model {
		return fmt.Sprintf("model: %q instead of %q", model, e.Model)
	}
	if at, text := lastUser(r); e.User != "" && !strings.Contains(redact(text), e.User) {
		return fmt.Sprintf("messages[%d].text: %.200q, in which %.200q is missing", at, text, e.User)
	}
	names := make([]string, 0, len(e.Results))
	for name := range e.Results {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if diff := e.result(r, name, redact); diff != "" {
			return diff
		}
	}
	for _, name := range e.Tools {
		if !offers(r.Tools, name) {
			return fmt.Sprintf("tools: %s is not offered", name)
		}
	}
	return ""
}

func (e *Expect) result(r provider.Request, name string, redact func(string) string) string {
	diff := fmt.Sprintf("messages: no result of %s since the last reply", name)
	for i := len(r.Messages) - 1; i >= 0 && r.Messages[i].Role != provider.Assistant; i-- {
		m := r.Messages[i]
		if m.Role != provider.Tool || m.Name != name {
			continue
		}
		if strings.Contains(redact(m.Text), e.Results[name]) {
			return ""
		}
		diff = fmt.Sprintf("messages[%d].text: %.200q, in which %.200q is missing", i, m.Text, e.Results[name])
	}
	return diff
}

func lastUser(r provider.Request) (int, string) {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == provider.User {
			return i, r.Messages[i].Text
		}
	}
	return 0, ""
}

// offers tells whether definitions, in whatever form, have a tool.
func offers(definitions, name string) bool {
	var list []struct {
		Name     string `json:"name"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if definitions == "" || json.Unmarshal([]byte(definitions), &list) != nil {
		return false
	}
	for _, d := range list {
		if d.Name == name || d.Function.Name == name {
			return true
		}
	}
	return false
}

// Fingerprint is a request by the hashes of its parts. Of the messages only those are listed that the request before didn't have.
type Fingerprint struct {
	System   string   `json:"system"`
	Tools    string   `json:"tools"`
	From     int      `json:"from"` // place of the first message listed
	Messages []string `json:"messages"`
}

// prints makes the hashes of a request. Ids of calls are left out, and redact goes over all before it is hashed.
func prints(r provider.Request, redact func(string) string) (system, tools string, messages []string) {
	messages = make([]string, len(r.Messages))
	for i, m := range r.Messages {
		m.CallID, m.Opaque, m.Reasoning = "", nil, ""
		m.Calls = slices.Clone(m.Calls)
		for j := range m.Calls {
			m.Calls[j].ID = ""
			m.Calls[j].Arguments = canonical(m.Calls[j].Arguments)
		}
		text, err := encode(m)
		if err != nil {
			text = []byte(m.Text)
		}
		messages[i] = hash(redact(string(text)))
	}
	return hash(redact(r.System)), hash(redact(canonical(r.Tools))), messages
}

// canonical is JSON with sorted keys and without spaces; what is no JSON stays as it is.
func canonical(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	out, err := encode(v)
	if err != nil {
		return text
	}
	return string(out)
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// common is how many messages two lists begin with alike.
func common(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// differs compares a request with the recorded one: before are the hashes of the messages that the line before had. It returns those that
// this line has, too.
func (f *Fingerprint) differs(r provider.Request, before []string, redact func(string) string) (string, []string) {
	if f == nil {
		return "request: the line has no hashes, which a strict tape needs", before
	}
	system, tools, messages := prints(r, redact)
	want := append(slices.Clone(before[:min(max(f.From, 0), len(before))]), f.Messages...)
	at := common(want, messages)
	switch {
	case system != f.System:
		return "system: another text", want
	case tools != f.Tools:
		return "tools: other definitions", want
	case at == len(want) && at == len(messages):
		return "", want
	case at == len(messages):
		return fmt.Sprintf("messages[%d]: is missing; %d were recorded", at, len(want)), want
	case at == len(want):
		return fmt.Sprintf("messages[%d]: one more than the %d recorded, from %s: %.200q", at, len(want), r.Messages[at].Role, r.Messages[at].Text), want
	}
	return fmt.Sprintf("messages[%d]: another one from %s: %.200q", at, r.Messages[at].Role, r.Messages[at].Text), want
}
