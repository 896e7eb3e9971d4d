package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hermes-runtime/hermes/provider"
)

// valid says what is wrong with a history by the rules that providers hold requests to, "" if nothing is.
func valid(history []provider.Message) string {
	var before provider.Role
	for i := 0; i < len(history); i++ {
		m := history[i]
		switch m.Role {
		case provider.User:
			if strings.TrimSpace(m.Text) == "" || before == provider.User {
				return fmt.Sprintf("%d: a user's message is empty or follows another", i)
			}
		case provider.Assistant:
			if before == "" || before == provider.Assistant || strings.TrimSpace(m.Text) == "" && len(m.Calls) == 0 {
				return fmt.Sprintf("%d: a reply is empty, first, or follows another", i)
			}
			ids := map[string]bool{}
			for k, c := range m.Calls {
				at := i + 1 + k
				if c.ID == "" || ids[c.ID] || c.Name == "" || !isObject(c.Arguments) {
					return fmt.Sprintf("%d: call %d is %+v", i, k, c)
				}
				if at >= len(history) || history[at].Role != provider.Tool || history[at].CallID != c.ID || history[at].Text == "" {
					return fmt.Sprintf("%d: call %d has no result at %d", i, k, at)
				}
				ids[c.ID] = true
			}
			if i += len(m.Calls); len(m.Calls) > 0 {
				before = provider.Tool
				continue
			}
		default:
			return fmt.Sprintf("%d: a %s that answers nothing", i, m.Role)
		}
		before = m.Role
	}
	return ""
}

func messages(t *rapid.T) []provider.Message {
	id := rapid.SampledFrom([]string{"", "a", "b", "c", "a"})
	text := rapid.SampledFrom([]string{"", " ", "hello", "and more"})
	args := rapid.SampledFrom([]string{`{}`, `{"a":1}`, ``, `null`, `"{\"a\":1}"`, `{"a":[1,2`, `{"a":"x`, `[1]`, `nonsense`, `{"a":`, `{"a":1,`, `}{`})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) provider.Message {
		m := provider.Message{Text: text.Draw(t, "text"), Role: rapid.SampledFrom([]provider.Role{provider.User, provider.Assistant, provider.Tool, "system", ""}).Draw(t, "role")}
		switch m.Role {
		case provider.Assistant:
			m.Calls = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) provider.Call {
				return provider.Call{ID: id.Draw(t, "id"), Name: rapid.SampledFrom([]string{"", "x"}).Draw(t, "name"), Arguments: args.Draw(t, "args")}
			}), 0, 3).Draw(t, "calls")
		case provider.Tool:
			m.CallID = id.Draw(t, "call")
		}
		return m
	}), 0, 12).Draw(t, "messages")
}

// LOOP-2: whatever is loaded becomes a history that every provider takes, and mending it again changes nothing.
func TestMend_AnythingBecomesValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		given := messages(t)
		mended := Mend(given)
		if says := valid(mended); says != "" {
			t.Fatalf("%s\n%+v\n%+v", says, given, mended)
		}
		if diff := cmp.Diff(mended, Mend(mended)); diff != "" {
			t.Fatalf("mended twice:\n%s", diff)
		}
	})
}

// LOOP-2: what is valid stays as it is, and a part of it becomes valid without losing a result that is there.
func TestMend_ValidStays(t *testing.T) {
	whole := []provider.Message{
		{Role: provider.User, Text: "do it"},
		{Role: provider.Assistant, Text: "so", Calls: []provider.Call{{ID: "a", Name: "x", Arguments: `{"n": 1}`}, {ID: "b", Name: "y", Arguments: `{}`}}},
		{Role: provider.Tool, CallID: "a", Name: "x", Text: "1"},
		{Role: provider.Tool, CallID: "b", Name: "y", Text: "2", Failed: true},
		{Role: provider.User, Text: "steered"},
		{Role: provider.Assistant, Calls: []provider.Call{{ID: "a", Name: "x", Arguments: `{}`}}},
		{Role: provider.Tool, CallID: "a", Name: "x", Text: "3"},
		{Role: provider.Assistant, Text: "done", Opaque: &provider.Opaque{Provider: "p"}},
	}
	if diff := cmp.Diff(whole, Mend(whole)); diff != "" {
		t.Fatal(diff)
	}
	for from := range whole {
		for to := from; to <= len(whole); to++ {
			if says := valid(Mend(whole[from:to])); says != "" {
				t.Errorf("[%d:%d] %s", from, to, says)
			}
		}
	}
	swapped := []provider.Message{whole[0], whole[1], whole[3], whole[2]}
	if diff := cmp.Diff(whole[:4], Mend(swapped)); diff != "" {
		t.Error(diff)
	}
}

// LOOP-3: arguments that were cut are closed by a stack that knows strings; what can't be mended is marked as lost.
func TestMend_Arguments(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":[1,2`: `{"a":[1,2]}`, `{"a":{"b":["x}","y`: `{"a":{"b":["x}","y"]}}`, `{"a":"\`: `{"a":""}`, `{"a":`: `{"a":null}`, `{"a":1,`: `{"a":1}`,
		``: `{}`, `"{\"a\":1}"`: `{"a":1}`, `{"a":1}`: `{"a":1}`,
	} {
		if got, whole := objectText(text); got != want || !whole {
			t.Errorf("%s becomes %s, %v", text, got, whole)
		}
	}
	for _, text := range []string{`nonsense`, `[1]`, `{"a":tru`, `{"a"]`, `}`} {
		if got, whole := objectText(text); got != "{}" || whole {
			t.Errorf("%s becomes %s, %v", text, got, whole)
		}
	}
}

// LOOP-3: the mark that arguments were lost is a member of the result, which is one JSON object with it, whatever it was.
func TestMend_LostArgumentsAreMarkedWithinTheResult(t *testing.T) {
	for result, want := range map[string]string{
		`{"error":"Invalid JSON"}`: `{"error":"Invalid JSON","arguments_lost":"WHY"}`, "{ }\n": `{"arguments_lost":"WHY"}`, `[1]`: `{"result":[1],"arguments_lost":"WHY"}`,
		"just text, \"so\"": `{"result":"just text, \"so\"","arguments_lost":"WHY"}`, "": `{"result": null,"arguments_lost":"WHY"}`,
	} {
		m := Mend([]provider.Message{
			{Role: provider.User, Text: "go"}, {Role: provider.Assistant, Calls: []provider.Call{{ID: "a", Name: "x", Arguments: `nonsense`}}}, {Role: provider.Tool, CallID: "a", Text: result},
		})
		if got := m[2].Text; got != strings.Replace(want, "WHY", lostArguments, 1) || !isObject(got) {
			t.Errorf("%q becomes %s", result, got)
		}
	}
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{"a":[1,2`, `{"a":"\u12`, `{"a":{"b":[`, `"{`, `{`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, _ := objectText(text); !isObject(got) {
			t.Errorf("%q becomes %q", text, got)
		}
	})
}
