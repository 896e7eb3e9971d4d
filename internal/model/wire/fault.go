package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/provider"
)

// Fault makes an error of a reply with an error status, or of an error object that came with another.
func (x *Exchange) Fault(status int, header http.Header, body []byte) *provider.Error {
	f := readFault(body)
	e := &provider.Error{Provider: x.Provider, Model: x.Model, Status: status, Message: x.clean(f.message), RetryAfter: retryAfter(header, time.Now())}
	e.Kind, e.Hint = classify(status, f)
	if e.Kind == provider.ErrContext {
		e.Limit = limitIn(f)
	}
	if status/100 == 3 {
		e.Hint = "the address has moved; set model.base_url to the one that it leads to"
	}
	return e
}

// InBand finds the error object that some servers send in place of a reply or an event.
func (x *Exchange) InBand(data []byte) *provider.Error {
	if !bytes.Contains(data, []byte(`"error"`)) {
		return nil
	}
	var in struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(data, &in) != nil || len(in.Error) == 0 || string(in.Error) == "null" {
		return nil
	}
	return x.Fault(readFault(data).status, nil, data)
}

// fault is what an error's body says.
type fault struct {
	message string
	words   string // type, code and message, in lower case
	status  int    // a code that is a status; 0 = none
	context int    // the size of the context, where a field tells it
}

func readFault(body []byte) fault {
	body = bytes.TrimSpace(body)
	if len(body) > 0 && body[0] == '[' { // some servers wrap it in a list
		var list []json.RawMessage
		if json.Unmarshal(body, &list) == nil && len(list) > 0 {
			body = list[0]
		}
	}
	type object struct {
		Message  string          `json:"message"`
		Type     string          `json:"type"`
		Code     json.RawMessage `json:"code"`
		Param    json.RawMessage `json:"param"`
		Status   json.RawMessage `json:"status"`
		Context  int             `json:"n_ctx"`
		Metadata struct {
			Raw json.RawMessage `json:"raw"`
		} `json:"metadata"`
	}
	var outer struct {
		object
		Error  json.RawMessage `json:"error"`
		Detail json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &outer) != nil && len(outer.Error) == 0 {
		return plainFault(string(body))
	}
	in := outer.object
	if len(outer.Error) > 0 && outer.Error[0] == '{' {
		in = object{}
		_ = json.Unmarshal(outer.Error, &in) // what is of another type stays empty
	} else if text, ok := text(outer.Error); ok {
		in.Message = text
	}
	f := fault{message: in.Message, context: in.Context}
	if f.message == "" {
		f.message, _ = text(outer.Detail)
	}
	if f.message == "" {
		f.message = cmp.Or(string(outer.Detail), string(outer.Error), string(body))
	}
	if raw := string(in.Metadata.Raw); raw != "" { // what the provider behind a router said
		if s, ok := text(in.Metadata.Raw); ok {
			raw = s
		}
		f.message += ": " + raw
	}
	f.status, _ = strconv.Atoi(strings.Trim(string(in.Code), `"`))
	if f.status < 400 || f.status > 599 {
		f.status = 0
	}
	f.words = strings.ToLower(strings.Join([]string{in.Type, string(in.Code), string(in.Param), string(in.Status), f.message}, " "))
	return f
}

func text(raw json.RawMessage) (string, bool) {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// plainFault is a body that is no JSON: a page of a proxy is told by its beginning.
func plainFault(body string) fault {
	if strings.HasPrefix(body, "<") {
		body = strings.Join(strings.Fields(tag().ReplaceAllString(body, " ")), " ")
		body = body[:min(len(body), 200)]
	}
	return fault{message: body, words: strings.ToLower(body)}
}

var tag = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)<(script|style).*?</(script|style)>|<[^>]*>`)
})

// byWords says what an error is by its words where the status alone would mislead, or where there is none (0): an object in place of an
// event. The first row that fits counts.
var byWords = []struct {
	kind     provider.ErrorKind
	hint     string
	statuses []int
	words    []string
}{
	{
		provider.ErrAuth, "the account has no credit left: see the provider's billing page", []int{0, 400, 403, 429},
		[]string{"insufficient_quota", "billing_error", "insufficient credits", "credit balance", "payment required"},
	},
	{
		provider.ErrAuth, "check the key", []int{0, 400},
		[]string{"invalid_api_key", "authentication_error", "api key not valid", "incorrect api key", "invalid api key", "permission_error"},
	},
	{
		provider.ErrRefused, "the provider declines the content of this conversation", []int{0, 400, 403, 422},
		[]string{"content_filter", "content_policy", "content management policy", "flagged", "moderation"},
	},
	{provider.ErrRateLimit, "", []int{0}, []string{"rate_limit", "rate limit", "too many requests", "resource_exhausted"}},
	{provider.ErrSchema, "the API has no such model: check its name", []int{0, 400}, []string{"not_found_error", "model_not_found", "is not a valid model"}},
	{provider.ErrSchema, "", []int{0}, []string{"invalid_request", "invalid_argument", "unsupported"}},
	{provider.ErrOverloaded, "", []int{0}, []string{""}}, // a server that says nothing of the kind has trouble of its own
}

// byStatus says what a status means that isn't 4xx for the request or 5xx for the server.
var byStatus = map[int]struct {
	kind provider.ErrorKind
	hint string
}{
	401: {provider.ErrAuth, "check the key"},
	402: {provider.ErrAuth, "the account has no credit left: see the provider's billing page"},
	403: {provider.ErrAuth, "the key may not use this model"},
	404: {provider.ErrSchema, "the API has no such model or address: check the model's name and model.base_url"},
	405: {provider.ErrSchema, "is model.base_url the address of the API?"},
	408: {provider.ErrNetwork, ""},
	409: {provider.ErrOverloaded, ""},
	413: {provider.ErrContext, "the request is too large"},
	425: {provider.ErrOverloaded, ""},
	429: {provider.ErrRateLimit, "wait, or ask the provider for a higher limit"},
	501: {provider.ErrSchema, "the server can't do this"},
}

func classify(status int, f fault) (provider.ErrorKind, string) {
	if overflows(f) && !slices.Contains([]int{401, 403, 429}, status) {
		return provider.ErrContext, "the conversation is larger than the model's context"
	}
	for _, row := range byWords {
		if slices.Contains(row.statuses, status) && slices.ContainsFunc(row.words, func(w string) bool { return strings.Contains(f.words, w) }) {
			return row.kind, row.hint
		}
	}
	if s, ok := byStatus[status]; ok {
		return s.kind, s.hint
	}
	switch {
	case status >= 500:
		return provider.ErrOverloaded, "the server has trouble of its own"
	case status >= 400:
		return provider.ErrSchema, "the API does not take the request as it is"
	}
	return provider.ErrProtocol, "is model.base_url the address of the API?"
}

// retryAfter is how long a server asks to wait; 0 = it doesn't say.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if d := waitOf(h.Get("Retry-After-Ms"), time.Millisecond); d > 0 {
		return d
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if d := waitOf(v, time.Second); d > 0 {
		return d
	}
	if at, err := http.ParseTime(v); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// mostWait is what a longer wait counts as: no number of seconds is so large that it is taken for none.
const mostWait = 100 * 365 * 24 * time.Hour

// waitOf reads a number of units; 0 = it is none above 0.
func waitOf(number string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || !(n > 0) {
		return 0
	}
	return time.Duration(min(n*float64(unit), float64(mostWait)))
}
