package openai

import (
	"testing"

	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/provider/providertest"
)

const tools = `[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}},{"type":"function","function":{"name":"g","parameters":{"type":"object","properties":{}}}}]`

func TestOpenAI_Suite(t *testing.T) {
	providertest.Run(t, providertest.Subject{
		Server: providertest.OpenAI, Tools: tools,
		New: func(o provider.Options) (provider.Model, error) { return newModel("custom", o) },
	})
}
