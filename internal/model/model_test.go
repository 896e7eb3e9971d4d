package model

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/config"
	"github.com/hermes-runtime/hermes/provider"
	_ "github.com/hermes-runtime/hermes/provider/all"
	"github.com/hermes-runtime/hermes/provider/providertest"
)

// settings reads `model:` as a file would give it.
func settings(t *testing.T, yaml string) Settings {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := config.Load(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	var s Settings
	if err := d.Decode(s.Section(), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func getenv(vars ...string) func(string) string {
	return func(name string) string {
		for _, v := range vars {
			if value, ok := strings.CutPrefix(v, name+"="); ok && name != "" {
				return value
			}
		}
		return ""
	}
}

// What is said wins over the configuration, which wins over what the keys imply.
func TestChoose_Order(t *testing.T) {
	const openai, anthropic, router = "OPENAI_API_KEY=sk-o-12345678", "ANTHROPIC_API_KEY=sk-a-12345678", "OPENROUTER_API_KEY=sk-r-12345678"
	for _, c := range []struct {
		name, say, yaml string
		env             []string
		want            string // PROVIDER MODEL, or a part of the error
	}{
		{"the only key", "x", "", []string{anthropic}, "anthropic x"},
		{"the first of several keys", "x", "", []string{router, anthropic, openai}, "openai x"},
		{"an address implies its provider", "x", "", []string{"OPENAI_BASE_URL=http://127.0.0.1:1/v1"}, "openai x"},
		{"configured", "", "model: {default: m, provider: anthropic}", []string{openai, anthropic}, "anthropic m"},
		{"configured, another model said", "x", "model: {default: m, provider: anthropic}", []string{openai, anthropic}, "anthropic x"},
		{"configured, another provider said", "openai/x", "model: {default: m, provider: anthropic, base_url: 'http://127.0.0.1:1'}", []string{openai, anthropic}, "openai x"},
		{"configured by prefix", "", "model: {default: openrouter/maker/m}", []string{openai, router}, "openrouter maker/m"},
		{"a configured name is the provider's own", "", "model: {default: anthropic/m, provider: openrouter}", []string{anthropic, router}, "openrouter anthropic/m"},
		{"a slash that is no provider", "maker/x", "", []string{router}, "openrouter maker/x"},
		{"a colon that is no tape", "qwen:8b", "model: {base_url: 'http://127.0.0.1:1'}", nil, "custom qwen:8b"},
		{"an address alone", "x", "model: {base_url: 'http://127.0.0.1:1'}", []string{openai}, "custom x"},
		{"another API at an address", "x", "model: {base_url: 'http://127.0.0.1:1', api_mode: anthropic_messages}", nil, "custom x"},
		{"nothing at all", "", "", nil, "OPENAI_API_KEY, ANTHROPIC_API_KEY, OPENROUTER_API_KEY"},
		{"nothing at all: the command", "x", "", nil, "hermes config set model.base_url"},
		{"a prefix that is no provider", "foo/bar", "", nil, "foo is no provider (there are openai, anthropic, openrouter, custom)"},
		{"no model", "", "", []string{openai}, "hermes config set model.default"},
		{"no key", "anthropic/x", "", nil, "ANTHROPIC_API_KEY is not set"},
		{"no key: the command", "anthropic/x", "", nil, "hermes config set model.api_key_env"},
		{"no key in the variable named", "x", "model: {provider: anthropic, api_key_env: MY}", []string{anthropic}, "MY is not set"},
		{"a key in the variable named", "x", "model: {provider: anthropic, api_key_env: MY}", []string{"MY=k"}, "anthropic x"},
		{"no address", "custom/x", "", nil, "hermes config set model.base_url"},
		{"an address that is none", "x", "model: {provider: custom, base_url: 'localhost:8080'}", nil, "looks like http://127.0.0.1:8080/v1"},
		{"what was read is shown", "x", "model: {provider: custom, base_url: 'localhost:8080'}", nil, `"localhost:8080" is no address`},
		{"but no password", "x", "model: {provider: custom, base_url: 'ftp://me:pass@host/v1'}", nil, `"…@host/v1" is no address`},
		{"no such provider", "x", "model: {provider: opanai}", nil, "hermes config set model.provider"},
		{"no tape", "replay:/nowhere/x.jsonl", "", nil, "the tape can't be played"},
		{"a tape without its file", "replay/x", "", []string{openai}, "-m replay:FILE"},
		{"a tape of nothing", "record:/tmp/x", "", nil, "record:FILE=[PROVIDER/]MODEL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Choose(c.say, Options{Settings: settings(t, c.yaml), Getenv: getenv(c.env...)})
			got := ""
			if err != nil {
				var e *provider.Error
				if !errors.As(err, &e) || e.Kind != provider.ErrSetup && e.Kind != provider.ErrReplay {
					t.Errorf("not a setup error: %v", err)
				}
				got = err.Error()
			} else {
				got = m.Info().Provider + " " + m.Info().Model
			}
			if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

// What is configured reaches the requests: address, key, limits, fields.
func TestChoose_SettingsReachTheServer(t *testing.T) {
	for mode, start := range map[string]func(testing.TB, providertest.Answer) *providertest.Server{"chat_completions": providertest.OpenAI, "anthropic_messages": providertest.Anthropic} {
		s := start(t, func(providertest.Seen) providertest.Reply { return providertest.Reply{Text: "ok"} })
		s.Key = "key-of-my-server"
		m, err := Choose("", Options{
			Settings: settings(t, "model: {default: claude-sonnet-4, provider: custom, base_url: '"+s.URL()+"', api_mode: "+mode+", api_key_env: MY_KEY, max_tokens: 77, max_tools: 3, extra_body: {temperature: 0.25}}"),
			Getenv:   getenv("MY_KEY=" + s.Key + "\n"), // as files have it
		})
		if err != nil {
			t.Fatal(err)
		}
		if i := m.Info(); i.Provider != "custom" || i.Context != 200_000 || i.MaxTools != 3 {
			t.Errorf("%+v", i)
		}
		h, err := providertest.Hear(t.Context(), m, provider.Request{Messages: []provider.Message{{Role: provider.User, Text: "hi"}}})
		if err != nil || h.Text != "ok" {
			t.Fatalf("%s: %+v %v", mode, h, err)
		}
		if seen := s.Requests()[0]; seen.MaxTokens != 77 || !strings.Contains(string(seen.Body), `"temperature":0.25`) {
			t.Errorf("%s", seen.Body)
		}
	}
}

// PRV-10: a key of one server is not sent to another.
func TestChoose_KeysStayWithTheirServers(t *testing.T) {
	s := providertest.OpenAI(t, func(providertest.Seen) providertest.Reply { return providertest.Reply{Text: "ok"} })
	env := getenv("OPENAI_API_KEY=sk-of-another-place", "MY_KEY=sk-of-mine-12345")
	for _, c := range []struct{ say, yaml string }{
		{"x", "model: {base_url: '" + s.URL() + "'}"},
		{"custom/x", "model: {provider: custom, base_url: '" + s.URL() + "'}"},
	} {
		m, err := Choose(c.say, Options{Settings: settings(t, c.yaml), Getenv: env})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := providertest.Hear(t.Context(), m, provider.Request{Messages: []provider.Message{{Role: provider.User, Text: "hi"}}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, seen := range s.Requests() {
		if h := seen.Header.Get("Authorization"); h != "" {
			t.Errorf("a key was sent: %s", h)
		}
	}
	// neither the configured address nor its key is used for another provider
	_, err := Choose("anthropic/x", Options{Settings: settings(t, "model: {provider: custom, base_url: '"+s.URL()+"', api_key_env: MY_KEY}"), Getenv: env})
	if err == nil || !strings.Contains(err.Error(), "ANTHROPIC_API_KEY") {
		t.Errorf("%v", err)
	}
}

// PRV-10
func TestChoose_OpenConnectionsAreWarnedOf(t *testing.T) {
	for address, want := range map[string]bool{
		"http://10.0.0.5:8080/v1": true, "http://example.org": true, "http://localhost:1": false, "http://127.0.0.1:1": false, "http://[::1]:1": false,
		"http://llm.localhost": false, "https://example.org": false, "http://127.0.0.1.example.org": true, "http://127.9.9.9": false,
	} {
		warned := ""
		_, err := Choose("x", Options{Settings: settings(t, "model: {base_url: '"+address+"', api_key_env: MY}"), Getenv: getenv("MY=planted-key-1234"), Warn: func(err error) { warned = err.Error() }})
		if err != nil || (warned != "") != want || strings.Contains(warned, "planted") {
			t.Errorf("%s: %q, %v", address, warned, err)
		}
	}
}

func TestContextOf_LongestBeginningCounts(t *testing.T) {
	for name, want := range map[string]int{
		"gpt-4o-mini": 128_000, "gpt-4.1-nano": 1_047_576, "gpt-4-0613": 8_192, "GPT-5": 400_000, "anthropic/claude-sonnet-4.5": 200_000,
		"claude-2.0": 100_000, "meta-llama/Llama-3.1-8B": 131_072, "qwen3-coder:30b": 262_144, "gemini-1.5-pro-002": 2_097_152, "my-model": 0, "": 0,
	} {
		if got := contextOf(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

// A program that has linked no provider in is told what to import.
func TestChoose_WithoutProvidersSaysWhatToImport(t *testing.T) {
	if err := (&chooser{}).nothing("openai/one"); !strings.Contains(err.Error(), "import github.com/hermes-runtime/hermes/provider/all") {
		t.Error(err)
	}
}
