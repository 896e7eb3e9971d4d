package wire

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// overflowWords are in the errors of requests that are larger than a model's context, by server. The numbers that some name beside it
// are found by limits.
var overflowWords = []string{
	"context_length_exceeded", "maximum context length", // hosted OpenAI, vLLM, routers
	"exceed_context_size", "exceeds the available context size", "exceeds context size", // llama.cpp
	"prompt is too long", "input is too long", "exceed context limit", // Anthropic, Bedrock
	"context window", "context length", "max_model_len", // Mistral, LM Studio, TGI, vLLM
	"input token count", "exceeds the maximum number of tokens", // Gemini
	"reduce the length",
	"`inputs` tokens + `max_new_tokens` must be", // TGI
}

// limits find the size of the context in the text of such an error.
var limits = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`maximum context length (?:is|of) (\d[\d,_]*)`),
		regexp.MustCompile(`tokens? ?> ?(\d[\d,_]*)`),
		regexp.MustCompile(`context limit:? .*?> ?(\d[\d,_]*)`),
		regexp.MustCompile(`available context size \((\d[\d,_]*)`),
		regexp.MustCompile(`n_ctx["' :=]+(\d[\d,_]*)`),
		regexp.MustCompile(`max_model_len["' :=(]+(\d[\d,_]*)`),
		regexp.MustCompile(`context (?:length|window|size)[^0-9]{0,40}?(\d[\d,_]*)`),
		regexp.MustCompile(`maximum (?:number of tokens|allowed)[^0-9]{0,30}(\d[\d,_]*)`),
		regexp.MustCompile(`must be <= (\d[\d,_]*)`),
		regexp.MustCompile(`(\d[\d,_]*)[- ]tokens? (?:context|limit)`),
	}
})

func overflows(f fault) bool {
	if f.context > 0 {
		return true
	}
	for _, w := range overflowWords {
		if strings.Contains(f.words, w) {
			return true
		}
	}
	return false
}

// limitIn is the size of the context that an error names, in tokens; 0 = it names none.
func limitIn(f fault) int {
	if f.context > 0 {
		return f.context
	}
	for _, re := range limits() {
		if m := re.FindStringSubmatch(f.words); m != nil {
			n, err := strconv.Atoi(strings.NewReplacer(",", "", "_", "").Replace(m[1]))
			if err == nil && n >= 256 && n <= 100_000_000 { // no model's context is outside
				return n
			}
		}
	}
	return 0
}
