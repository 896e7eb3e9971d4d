package all_test

import (
	"encoding/json"
	"testing"

	"github.com/hermes-runtime/hermes/internal/registry"
	"github.com/hermes-runtime/hermes/internal/script/stub"
)

// XT-1: what scripts can call takes the parameters that the tools declare, no more and no fewer.
func TestStub_TakesWhatTheToolsDeclare(t *testing.T) {
	r := registry.New(registry.Options{})
	compared := 0
	for _, f := range stub.Functions {
		e, ok := r.Lookup(f.Name)
		if !ok {
			continue // not built yet
		}
		compared++
		var parameters map[string]any
		if err := json.Unmarshal(e.Schema.Own(), &parameters); err != nil {
			t.Fatal(err)
		}
		for _, line := range stub.Compare(f.Name, parameters) {
			t.Error(line)
		}
	}
	if compared < 5 {
		t.Errorf("only %d tools were compared", compared)
	}
}
