package secret

import "strings"

// own is the list of variables that no command gets: credentials and addresses of the runtime itself, which commands of a model
// have no business with. A name that ends in * stands for all that begin so. The general AWS chain (AWS_ACCESS_KEY_ID, AWS_PROFILE, …)
// is not on it: people's own tools live by it.
var own = []string{
	// model providers: keys and base addresses
	"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_ORG_ID", "OPENAI_ORGANIZATION", "OPENAI_PROJECT",
	"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN",
	"OPENROUTER_API_KEY", "OPENROUTER_BASE_URL", "GOOGLE_API_KEY", "GEMINI_API_KEY", "GEMINI_BASE_URL",
	"AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "AZURE_FOUNDRY_API_KEY", "AZURE_FOUNDRY_BASE_URL",
	"MISTRAL_API_KEY", "GROQ_API_KEY", "DEEPSEEK_API_KEY", "DEEPSEEK_BASE_URL", "XAI_API_KEY", "XAI_BASE_URL", "TOGETHER_API_KEY",
	"FIREWORKS_API_KEY", "PERPLEXITY_API_KEY", "COHERE_API_KEY", "CEREBRAS_API_KEY", "NVIDIA_API_KEY", "NVIDIA_BASE_URL",
	"DASHSCOPE_API_KEY", "DASHSCOPE_BASE_URL", "GLM_API_KEY", "GLM_BASE_URL", "ZAI_API_KEY", "Z_AI_API_KEY", "KIMI_API_KEY", "KIMI_BASE_URL",
	"MOONSHOT_API_KEY", "MINIMAX_API_KEY", "MINIMAX_BASE_URL", "NOUS_API_KEY", "NOUS_BASE_URL", "HF_TOKEN", "HUGGINGFACE_API_KEY",
	"HUGGING_FACE_HUB_TOKEN", "REPLICATE_API_TOKEN", "OLLAMA_API_KEY", "OLLAMA_BASE_URL", "LM_API_KEY", "LM_BASE_URL",
	"AI_GATEWAY_API_KEY", "AI_GATEWAY_BASE_URL", "AWS_BEARER_TOKEN_BEDROCK", "LLM_MODEL",
	// messaging
	"TELEGRAM_*", "DISCORD_*", "SLACK_*", "WHATSAPP_*", "SIGNAL_*", "MATRIX_*", "MATTERMOST_*", "TWILIO_*", "TEAMS_*", "DINGTALK_*",
	"FEISHU_*", "WECOM_*", "EMAIL_ADDRESS", "EMAIL_PASSWORD", "EMAIL_IMAP_HOST", "EMAIL_SMTP_HOST", "EMAIL_HOME_ADDRESS",
	"HASS_TOKEN", "HASS_URL",
	// tools
	"TAVILY_API_KEY", "EXA_API_KEY", "FIRECRAWL_API_KEY", "FIRECRAWL_API_URL", "BRAVE_SEARCH_API_KEY", "SERP_API_KEY", "PARALLEL_API_KEY",
	"FAL_KEY", "ELEVENLABS_API_KEY", "VOICE_TOOLS_OPENAI_KEY", "BROWSERBASE_API_KEY", "BROWSERBASE_PROJECT_ID", "BROWSER_USE_API_KEY",
	"HONCHO_API_KEY", "MEM0_API_KEY", "WANDB_API_KEY", "TINKER_API_KEY", "LANGFUSE_SECRET_KEY", "LANGFUSE_PUBLIC_KEY",
	// gateway
	"GATEWAY_*", "API_SERVER_*", "WEBHOOK_*", "HERMES_GATEWAY_*", "HERMES_API_KEY", "HERMES_SERVER_KEY", "HERMES_DASHBOARD_*",
	// places and forges
	"GH_TOKEN", "GITHUB_TOKEN", "GITHUB_APP_*", "MODAL_TOKEN_*", "DAYTONA_API_KEY", "DAYTONA_JWT_TOKEN", "VERCEL_TOKEN", "VERCEL_OIDC_TOKEN",
	"VERCEL_PROJECT_ID", "VERCEL_TEAM_ID",
	// this machine
	"SUDO_PASSWORD", "HERMES_SUDO_PASSWORD",
}

var ownNames, ownPrefixes = index(own)

func index(rows []string) (map[string]bool, []string) {
	names, prefixes := map[string]bool{}, []string(nil)
	for _, r := range rows {
		if p, ok := strings.CutSuffix(r, "*"); ok {
			prefixes = append(prefixes, p)
		} else {
			names[r] = true
		}
	}
	return names, prefixes
}

// IsOwn reports whether a variable is a credential or an address of the runtime itself: no command gets it unless the user names it.
func IsOwn(name string) bool {
	if ownNames[name] {
		return true
	}
	for _, p := range ownPrefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
