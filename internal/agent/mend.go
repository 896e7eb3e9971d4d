package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hermes-runtime/hermes/internal/registry/schema"
	"github.com/hermes-runtime/hermes/provider"
)

// What stands in a mended history where something is missing.
const (
	lostResult    = `{"error": "the result of this call is not available: the conversation was cut off before it came. Whether the call had an effect is unknown; check before you repeat it."}`
	lostArguments = "what this call was made with is no JSON object and can't be shown: {} stands in its place"
	lostBeginning = "[The beginning of this conversation is not available.]"
)

// Mend makes a history that every provider takes: each call has exactly one result, right behind its message and in the order of the
// calls; each result has a call; arguments are a JSON object; ids are unique within a message; no message is empty, none has an
// unknown role, and a user begins. What it is given stays as it is. Mending a mended history changes nothing.
func Mend(history []provider.Message) []provider.Message {
	m := mender{}
	for i := 0; i < len(history); i++ {
		msg := history[i]
		switch {
		case msg.Role == provider.User && strings.TrimSpace(msg.Text) != "":
			m.user(msg)
		case msg.Role == provider.Assistant && len(msg.Calls) > 0:
			m.calls(msg, history[i+1:])
		case msg.Role == provider.Assistant && strings.TrimSpace(msg.Text) != "":
			m.assistant(msg)
		}
	}
	return m.out
}

type mender struct{ out []provider.Message }

func (m *mender) last() *provider.Message {
	if len(m.out) == 0 {
		return nil
	}
	return &m.out[len(m.out)-1]
}

// user adds what a user said; two messages in a row are one.
func (m *mender) user(msg provider.Message) {
	msg = provider.Message{Role: provider.User, Text: msg.Text}
	if last := m.last(); last != nil && last.Role == provider.User {
		last.Text += "\n\n" + msg.Text
		return
	}
	m.out = append(m.out, msg)
}

// begin has a user begin.
func (m *mender) begin() {
	if len(m.out) == 0 {
		m.out = append(m.out, provider.Message{Role: provider.User, Text: lostBeginning})
	}
}

func (m *mender) assistant(msg provider.Message) {
	m.begin()
	if last := m.last(); last.Role == provider.Assistant { // one without calls: results stand behind one that has some
		last.Text += "\n\n" + msg.Text
		last.Opaque = nil // it belonged to the half alone
		return
	}
	m.out = append(m.out, msg)
}

// calls adds a message with calls and behind it the result of each.
func (m *mender) calls(msg provider.Message, behind []provider.Message) {
	m.begin()
	if last := m.last(); last.Role == provider.Assistant {
		msg.Text = strings.TrimSpace(last.Text + "\n\n" + msg.Text)
		m.out = m.out[:len(m.out)-1]
	}
	calls := make([]provider.Call, len(msg.Calls))
	answers := make([]provider.Message, len(msg.Calls))
	results := resultsOf(behind)
	taken := map[string]bool{}
	for i, c := range msg.Calls {
		calls[i] = provider.Call{ID: unique(c.ID, i, taken), Name: c.Name, Arguments: c.Arguments}
		if c.Name == "" {
			calls[i].Name = "unknown"
		}
		answer := provider.Message{Text: lostResult, Failed: true}
		if found := results[c.ID]; len(found) > 0 {
			answer, results[c.ID] = found[0], found[1:]
		}
		answers[i] = provider.Message{Role: provider.Tool, CallID: calls[i].ID, Name: calls[i].Name, Text: answer.Text, Failed: answer.Failed}
		args, whole := objectText(c.Arguments)
		calls[i].Arguments = args
		if strings.TrimSpace(answers[i].Text) == "" {
			answers[i].Text = `{"result": null}`
		}
		if !whole {
			answers[i].Text = withMember(answers[i].Text, "arguments_lost", lostArguments)
		}
	}
	msg.Calls = calls
	m.out = append(append(m.out, msg), answers...)
}

// withMember adds a member to a result. What is no JSON object becomes the member result of one.
func withMember(text, name, value string) string {
	body := strings.TrimSpace(text)
	if !isObject(body) {
		if !json.Valid([]byte(body)) {
			body = string(schema.AppendText(nil, text))
		}
		body = `{"result":` + body + `}`
	}
	body = strings.TrimSpace(strings.TrimSuffix(body, "}"))
	if body != "{" {
		body += ","
	}
	return body + `"` + name + `":` + string(schema.AppendText(nil, value)) + `}`
}

// resultsOf finds the results between a message and the next of the model's, by the id of their call.
func resultsOf(behind []provider.Message) map[string][]provider.Message {
	out := map[string][]provider.Message{}
	for _, msg := range behind {
		if msg.Role == provider.Assistant {
			break
		}
		if msg.Role == provider.Tool {
			out[msg.CallID] = append(out[msg.CallID], msg)
		}
	}
	return out
}

// unique makes an id of the call number i of a message, different from those taken.
func unique(id string, i int, taken map[string]bool) string {
	if id == "" {
		id = fmt.Sprintf("call_%d", i+1)
	}
	out := id
	for n := 2; taken[out]; n++ {
		out = fmt.Sprintf("%s_%d", id, n)
	}
	taken[out] = true
	return out
}

// objectText gives arguments as the text of a JSON object; false if they were lost.
func objectText(text string) (string, bool) {
	if isObject(text) {
		return text, true
	}
	if strings.TrimSpace(text) == "" || strings.TrimSpace(text) == "null" {
		return "{}", true
	}
	var inner string // an object within a string
	if json.Unmarshal([]byte(text), &inner) == nil && isObject(inner) {
		return inner, true
	}
	if closed := closeJSON(text); isObject(closed) {
		return closed, true
	}
	return "{}", false
}

func isObject(text string) bool {
	var object map[string]any // also what no double can hold, such as 1e999, is refused by APIs
	return json.Unmarshal([]byte(text), &object) == nil && object != nil
}

// closeJSON closes what text leaves open, innermost first, and leaves out what a comma or a colon at its end was to introduce.
func closeJSON(text string) string {
	var open []byte
	inString, escaped := false, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped, inString = c == '\\', c != '"'
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			open = append(open, c+2) // the closer of each stands two further
		case c == '}' || c == ']':
			if len(open) == 0 || open[len(open)-1] != c {
				return text
			}
			open = open[:len(open)-1]
		}
	}
	if escaped {
		text = text[:len(text)-1]
	}
	if inString {
		text += `"`
	}
	text = strings.TrimRight(text, " \t\r\n")
	text = strings.TrimSuffix(text, ",")
	if strings.HasSuffix(text, ":") {
		text += "null"
	}
	var b strings.Builder
	b.WriteString(text)
	for i := len(open) - 1; i >= 0; i-- {
		b.WriteByte(open[i])
	}
	return b.String()
}
