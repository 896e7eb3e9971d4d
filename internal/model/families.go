package model

import "strings"

// families are the sizes of contexts in tokens, by how the names of models begin, as their makers publish them. The longest beginning
// counts. Models served by one's own server often have less: model.context_length says so.
var families = map[string]int{
	"gpt-5": 400_000, "gpt-5-chat": 128_000, "gpt-4.1": 1_047_576, "gpt-4o": 128_000, "gpt-4-turbo": 128_000, "gpt-4": 8_192,
	"gpt-3.5-turbo": 16_385, "gpt-oss": 131_072, "o1": 200_000, "o1-mini": 128_000, "o3": 200_000, "o4-mini": 200_000,
	"claude-": 200_000, "claude-2.0": 100_000, "claude-instant": 100_000,
	"gemini-1.5-pro": 2_097_152, "gemini-1.5": 1_048_576, "gemini-2": 1_048_576, "gemini-3": 1_048_576,
	"deepseek": 128_000, "kimi-k2": 262_144, "glm-4.5": 131_072, "glm-4.6": 202_752, "grok-3": 131_072, "grok-4": 256_000,
	"mistral-large": 131_072, "mistral-medium": 131_072, "mistral-small": 131_072, "codestral": 256_000, "devstral": 131_072,
	"qwen3-coder": 262_144, "qwen3": 131_072, "qwen2.5": 32_768, "llama-3.1": 131_072, "llama-3.2": 131_072, "llama-3.3": 131_072,
	"llama-3": 8_192, "command-r": 131_072, "command-a": 262_144, "minimax-m2": 204_800,
}

// contextOf is the size of a model's context; 0 = unknown. Names of routers have the maker's before the last slash.
func contextOf(model string) int {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	best, size := -1, 0
	for prefix, n := range families {
		if len(prefix) > best && strings.HasPrefix(name, prefix) {
			best, size = len(prefix), n
		}
	}
	return size
}
