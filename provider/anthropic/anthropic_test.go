package anthropic

import (
	"testing"

	"github.com/hermes-runtime/hermes/provider/providertest"
)

const tools = `[{"name":"f","input_schema":{"type":"object","properties":{}}},{"name":"g","input_schema":{"type":"object","properties":{}}}]`

func TestAnthropic_Suite(t *testing.T) {
	providertest.Run(t, providertest.Subject{Server: providertest.Anthropic, Tools: tools, New: newModel})
}

// PRV-1, PRV-6: replies as the public formats have them, byte for byte.
func TestAnthropic_Transcripts(t *testing.T) {
	providertest.Transcripts(t, newModel)
}
