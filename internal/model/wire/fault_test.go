package wire

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/provider"
)

// PRV-2: what servers say, in their forms.
func TestFault_KindsOfServersErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		kind   provider.ErrorKind
		limit  int
		says   string
	}{
		{"hosted: key", 401, `{"error":{"message":"Incorrect API key provided: sk-abc.","type":"invalid_request_error","code":"invalid_api_key"}}`, provider.ErrAuth, 0, "Incorrect"},
		{"hosted: no credit comes as too many requests", 429, `{"error":{"message":"You exceeded your current quota.","type":"insufficient_quota","code":"insufficient_quota"}}`, provider.ErrAuth, 0, "quota"},
		{"hosted: rate", 429, `{"error":{"message":"Rate limit reached for tokens","type":"tokens","code":"rate_limit_exceeded"}}`, provider.ErrRateLimit, 0, ""},
		{"hosted: context", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, provider.ErrContext, 8192, ""},
		{"hosted: filter", 400, `{"error":{"message":"Filtered by the content management policy","type":"","param":"prompt","code":"content_filter"}}`, provider.ErrRefused, 0, ""},
		{"vLLM: context", 400, `{"object":"error","message":"This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion).","type":"BadRequestError","param":null,"code":400}`, provider.ErrContext, 16384, ""},
		{"llama.cpp: context", 500, `{"error":{"code":500,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":1407,"n_ctx":256}}`, provider.ErrContext, 256, ""},
		{"llama.cpp: loading", 503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, provider.ErrOverloaded, 0, "Loading"},
		{"llama-cpp-python: context", 500, `{"error":{"message":"Requested tokens (2285) exceed context window of 2048","type":"internal_server_error","code":null}}`, provider.ErrContext, 2048, ""},
		{"LM Studio: context", 400, `{"error":"Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}`, provider.ErrContext, 4096, ""},
		{"Gemini: context, in a list", 400, `[{"error":{"code":400,"message":"The input token count (314175) exceeds the maximum number of tokens allowed (131072).","status":"INVALID_ARGUMENT"}}]`, provider.ErrContext, 131072, ""},
		{"Gemini: key", 400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, provider.ErrAuth, 0, ""},
		{"TGI: context", 422, "{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000\",\"error_type\":\"validation\"}", provider.ErrContext, 4096, ""},
		{"OpenRouter: context", 400, `{"error":{"message":"This endpoint's maximum context length is 32768 tokens. However, you requested about 42832 tokens (42832 of text input).","code":400}}`, provider.ErrContext, 32768, ""},
		{"OpenRouter: what is behind it", 502, `{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"upstream says no","provider_name":"X"}}}`, provider.ErrOverloaded, 0, "upstream says no"},
		{"OpenRouter: moderation", 403, `{"error":{"message":"Your input was flagged","code":403}}`, provider.ErrRefused, 0, ""},
		{"OpenRouter: credit", 402, `{"error":{"message":"Insufficient credits","code":402}}`, provider.ErrAuth, 0, ""},
		{"Anthropic: context", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 203212 tokens > 200000 maximum"}}`, provider.ErrContext, 200000, ""},
		{"Anthropic: context with the reply", 400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 197000 + 8192 > 200000\"}}", provider.ErrContext, 200000, ""},
		{"Anthropic: credit", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`, provider.ErrAuth, 0, ""},
		{"Anthropic: overloaded", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, provider.ErrOverloaded, 0, ""},
		{"Anthropic: size", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, provider.ErrContext, 0, ""},
		{"Ollama: model", 404, `{"error":{"message":"model \"x\" not found, try pulling it first","type":"api_error"}}`, provider.ErrSchema, 0, "not found"},
		{"Ollama: tools", 400, `{"error":{"message":"x does not support tools","type":"api_error"}}`, provider.ErrSchema, 0, "support tools"},
		{"FastAPI: fields", 422, `{"detail":[{"loc":["body","x"],"msg":"extra fields not permitted"}]}`, provider.ErrSchema, 0, "extra fields"},
		{"a proxy's page", 502, "<html><head><style>x{}</style></head><body><h1>502 Bad Gateway</h1></body></html>", provider.ErrOverloaded, 0, "502 Bad Gateway"},
		{"nothing", 500, "", provider.ErrOverloaded, 0, ""},
		{"text", 400, "bad", provider.ErrSchema, 0, "bad"},
		{"a teapot", 418, "{}", provider.ErrSchema, 0, ""},
		{"moved", 301, "", provider.ErrProtocol, 0, ""},
		{"an error that is a number", 500, `{"error":5}`, provider.ErrOverloaded, 0, "5"},
		{"timeout", 408, `{}`, provider.ErrNetwork, 0, ""},
		{"not built in", 501, `{}`, provider.ErrSchema, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := Exchange{Provider: "p", Model: "m"}
			e := x.Fault(c.status, nil, []byte(c.body))
			if e.Kind != c.kind || e.Limit != c.limit || e.Status != c.status || !strings.Contains(e.Message, c.says) {
				t.Errorf("%+v", e)
			}
		})
	}
}

// PRV-6: an error that comes with a success, and what only looks like one.
func TestInBand(t *testing.T) {
	for body, want := range map[string]provider.ErrorKind{
		`{"error":{"message":"slow down","code":429}}`:                                      provider.ErrRateLimit,
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`:       provider.ErrOverloaded,
		`{"type":"error","error":{"type":"authentication_error","message":"no"}}`:           provider.ErrAuth,
		`{"type":"error","error":{"type":"rate_limit_error","message":"no"}}`:               provider.ErrRateLimit,
		`{"error":{"message":"something broke"}}`:                                           provider.ErrOverloaded,
		`{"error":{"type":"invalid_request_error","message":"no"}}`:                         provider.ErrSchema,
		`{"error":{"message":"context length exceeded","code":"context_length_exceeded"}}`:  provider.ErrContext,
		`{"id":"x","error":null,"choices":[]}`:                                              "",
		`{"choices":[{"delta":{"content":"say \"error\": {}"}}]}`:                           "",
		`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":{"error":"x"}}}]}}]}`: "",
		`[DONE]`: "",
	} {
		e := (&Exchange{}).InBand([]byte(body))
		if (e == nil) != (want == "") || e != nil && e.Kind != want {
			t.Errorf("%s: %+v, want %q", body, e, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"7": 7 * time.Second, " 1.5 ": 1500 * time.Millisecond, "0": 0, "-3": 0, "": 0, "soon": 0, "NaN": 0,
		"100000001": 100000001 * time.Second, "9999999999999": mostWait, "1e99": mostWait, "1e999": mostWait, "Inf": mostWait, "-Inf": 0,
		"Fri, 02 Jan 2026 03:04:35 GMT": 30 * time.Second, "Fri, 02 Jan 2026 03:00:00 GMT": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
	if got := retryAfter(http.Header{"Retry-After-Ms": {"250"}, "Retry-After": {"1"}}, now); got != 250*time.Millisecond {
		t.Errorf("milliseconds: %v", got)
	}
}

// PRV-10: what is told of a server's text has no key, no control characters and an end.
func TestClean(t *testing.T) {
	x := Exchange{Key: "sk-planted"}
	got := x.clean("bad key sk-planted\x1b[31m\r\n" + strings.Repeat("é", 3000))
	if strings.Contains(got, "planted") || strings.ContainsAny(got, "\x1b\r\n") || len(got) > maxMessage+len("…") || !strings.HasPrefix(got, "bad key [key]") {
		t.Errorf("%q", got)
	}
}
