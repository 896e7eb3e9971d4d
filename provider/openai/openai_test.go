package openai

import (
	"testing"

	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/provider/providertest"
)

const tools = `[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}},{"type":"function","function":{"name":"g","parameters":{"type":"object","properties":{}}}}]`

func newCustom(o provider.Options) (provider.Model, error) {
	o.Provider = "custom"
	return newModel(o)
}

func TestOpenAI_Suite(t *testing.T) {
	providertest.Run(t, providertest.Subject{
		Server: providertest.OpenAI, Tools: tools,
		New: newCustom,
	})
}

// PRV-1, PRV-6: replies as the public formats have them, byte for byte.
func TestOpenAI_Transcripts(t *testing.T) {
	providertest.Transcripts(t, newCustom)
}
