package runtime

import (
	"context"
	"strings"
	"testing"
)

// PRV-10: a key that goes over the network in the clear is told to the person, not only kept as a problem for the doctor.
func TestModel_AnOpenConnectionIsToldToThePerson(t *testing.T) {
	for address, told := range map[string]bool{"http://models.example:99/v1": true, "https://models.example/v1": false, "http://127.0.0.1:99/v1": false} {
		var said strings.Builder
		r, err := Open(t.Context(), Options{
			Home: t.TempDir(), Progress: &said, Environ: []string{"OPENAI_API_KEY=sk-not-a-key-0123456789", "OPENAI_BASE_URL=" + address},
		})
		must(t, err)
		_, err = r.Model("openai/any")
		must(t, err)
		must(t, r.Close(context.Background()))
		if strings.Contains(said.String(), "is not encrypted") != told || strings.Contains(said.String(), "sk-not") {
			t.Errorf("%s: %q", address, said.String())
		}
	}
}
