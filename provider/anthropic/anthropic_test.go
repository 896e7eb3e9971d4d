package anthropic

import (
	"testing"

	"github.com/hermes-runtime/hermes/provider/providertest"
)

const tools = `[{"name":"f","input_schema":{"type":"object","properties":{}}},{"name":"g","input_schema":{"type":"object","properties":{}}}]`

func TestAnthropic_Suite(t *testing.T) {
	providertest.Run(t, providertest.Subject{Server: providertest.Anthropic, Tools: tools, New: newModel})
}
