package openai

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/provider/providertest"
)

// picky is a server that refuses requests with some fields, as servers do that don't know them.
type picky struct {
	fields []string
	says   string // %s is the field

	mu       sync.Mutex
	requests []string
}

func (p *picky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	p.requests = append(p.requests, string(body))
	p.mu.Unlock()
	for _, f := range p.fields {
		if strings.Contains(string(body), `"`+f+`"`) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error"}}`, fmt.Sprintf(p.says, f))
			return
		}
	}
	fmt.Fprint(w, `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`)
}

func modelAt(t *testing.T, h http.Handler) provider.Model {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	m, err := newModel(provider.Options{Provider: "custom", Model: "m", BaseURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// PRV-11: a field that a server doesn't take is left out from then on, and asked about once.
func TestLearn_RejectedFieldsAreDroppedOnce(t *testing.T) {
	thought := provider.Message{
		Role: provider.Assistant, Calls: []provider.Call{{ID: "a", Name: "f", Arguments: "{}"}},
		Opaque: &provider.Opaque{Provider: "custom", Model: "m", Data: json.RawMessage(`{"reasoning_content":"hm"}`)},
	}
	r := provider.Request{MaxTokens: 5, Messages: []provider.Message{{Role: provider.User, Text: "hi"}, thought, {Role: provider.Tool, CallID: "a", Text: "x"}}}
	for _, c := range []struct {
		fields []string
		says   string
		want   []int // requests of the first and of the second conversation
	}{
		{nil, "", []int{1, 1}},
		{[]string{"stream_options"}, "Unrecognized request argument supplied: %s", []int{2, 1}},
		{[]string{"max_tokens"}, "Unsupported parameter: '%s' is not supported with this model. Use 'max_completion_tokens' instead.", []int{2, 1}},
		{[]string{"reasoning_content"}, "body.messages.1.%s: Extra inputs are not permitted", []int{2, 1}},
		{[]string{"stream_options", "max_tokens", "reasoning_content"}, "unknown field %s", []int{4, 1}},
	} {
		t.Run(fmt.Sprint(c.fields), func(t *testing.T) {
			p := &picky{fields: c.fields, says: c.says}
			m := modelAt(t, p)
			for _, want := range c.want {
				before := len(p.requests)
				if h, err := providertest.Hear(t.Context(), m, r); err != nil || h.Text != "ok" {
					t.Fatalf("%+v, %v", h, err)
				}
				if n := len(p.requests) - before; n != want {
					t.Errorf("%d requests, want %d", n, want)
				}
			}
		})
	}
}

// A server that objects for ever is not asked for ever, and a value that is refused is not a field that is unknown.
func TestLearn_OtherRefusalsAreErrors(t *testing.T) {
	for says, want := range map[string]int{
		"unknown field %s":                      3, // both names of the limit, and without stream_options
		"%s is too large: at most 16384 can be": 1,
	} {
		p := &picky{fields: []string{"stream_options", "max_tokens", "max_completion_tokens"}, says: says}
		_, err := providertest.Hear(t.Context(), modelAt(t, p), provider.Request{MaxTokens: 5, Messages: []provider.Message{{Role: provider.User, Text: "hi"}}})
		if err == nil || len(p.requests) != want {
			t.Errorf("%s: %d requests, want %d; %v", says, len(p.requests), want, err)
		}
	}
}

// The hosted API takes the newer name of the limit, others mostly the older.
func TestLimit_NameByServer(t *testing.T) {
	for base, want := range map[string]string{officialURL: "max_completion_tokens", "http://127.0.0.1:1/v1": "max_tokens"} {
		m, err := newModel(provider.Options{Provider: "openai", Model: "m", BaseURL: base})
		if err != nil {
			t.Fatal(err)
		}
		body, err := m.(*model).body(provider.Request{MaxTokens: 5}, m.(*model).quirks)
		if err != nil || !strings.Contains(string(body), `"`+want+`":5`) {
			t.Errorf("%s: %s, %v", base, body, err)
		}
	}
}

// PRV-11: reasoning goes back within the turn, in the fields it came in, and not after it.
func TestReasoning_GoesBackWithinTheTurn(t *testing.T) {
	for field, value := range map[string]string{
		"reasoning_content": `"I think: <b>"`, "reasoning": `"so"`, "reasoning_details": `[{"type":"reasoning.encrypted","data":"q=="},{"index":0}]`,
	} {
		reply := fmt.Sprintf(`{"choices":[{"message":{"content":null,%q:%s,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, field, value)
		var bodies []string
		m := modelAt(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			bodies = append(bodies, string(body))
			fmt.Fprint(w, reply)
		}))
		r := provider.Request{Messages: []provider.Message{{Role: provider.User, Text: "hi"}}}
		for range 2 {
			h, err := providertest.Hear(t.Context(), m, r)
			if err != nil {
				t.Fatal(err)
			}
			r.Messages = append(r.Messages, h.Message(), provider.Message{Role: provider.Tool, CallID: "a", Text: "x"})
		}
		r.Messages = append(r.Messages, provider.Message{Role: provider.User, Text: "and?"})
		if _, err := providertest.Hear(t.Context(), m, r); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, body := range bodies {
			var sent struct {
				Messages []map[string]json.RawMessage `json:"messages"`
			}
			if err := json.Unmarshal([]byte(body), &sent); err != nil {
				t.Fatal(err)
			}
			found := ""
			for _, m := range sent.Messages {
				if v, ok := m[field]; ok {
					var plain any
					_ = json.Unmarshal(v, &plain) // compared below
					want := any(nil)
					_ = json.Unmarshal([]byte(value), &want)
					found = "changed"
					if cmp.Equal(plain, want) {
						found = "there"
					}
				}
			}
			got = append(got, found)
		}
		if diff := cmp.Diff([]string{"", "there", ""}, got); diff != "" {
			t.Errorf("%s: %s", field, diff)
		}
	}
}

// Addresses are taken as people write them.
func TestAddress(t *testing.T) {
	for base, want := range map[string]string{
		"http://localhost:11434":                       "http://localhost:11434/v1/chat/completions",
		"http://localhost:11434/":                      "http://localhost:11434/v1/chat/completions",
		"http://localhost:8080/v1":                     "http://localhost:8080/v1/chat/completions",
		"https://h/api/v1/":                            "https://h/api/v1/chat/completions",
		"https://h/openai/v1/chat/completions":         "https://h/openai/v1/chat/completions",
		"https://h/openai/deployments/d?api-version=5": "https://h/openai/deployments/d/chat/completions?api-version=5",
		"localhost:8080":                               "", "ftp://h/v1": "", "": "", "://": "",
	} {
		m, err := newModel(provider.Options{Provider: "custom", Model: "m", BaseURL: base})
		if want == "" {
			if err == nil {
				t.Errorf("%q is taken", base)
			}
			continue
		}
		if err != nil || m.(*model).url != want {
			t.Errorf("%q: %v %v, want %s", base, m, err, want)
		}
	}
}
