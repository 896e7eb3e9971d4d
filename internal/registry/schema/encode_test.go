package schema_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/hermes-runtime/hermes/internal/registry/schema"
)

func standard(v any) string {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "error"
	}
	return string(bytes.TrimSuffix(buf.Bytes(), []byte{'\n'}))
}

// Encode writes what the standard encoder writes, strings of any bytes included.
func FuzzEncode(f *testing.F) {
	for _, s := range []string{"", "plain", "<&>\"\\/\b\f\n\r\t\x00\x1f\x7f", "é✗😀\u2028\u2029", "\xff\xc3", "a\xe2\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, v := range []any{s, map[string]any{s: s, "z": nil, "a": []any{s, true, false, json.Number("1.0")}}, []any{}, map[string]any(nil), []any(nil), map[string]string{"k": s}, 1.5} {
			got, err := schema.Encode(v)
			if err != nil || string(got) != standard(v) {
				t.Fatalf("%#v: %s, %v; want %s", v, got, err, standard(v))
			}
		}
	})
}

func TestEncode_RefusesWhatHasNoForm(t *testing.T) {
	for _, v := range []any{make(chan int), map[string]any{"a": json.Number("x")}, []any{func() {}}, json.RawMessage("{")} {
		if got, err := schema.Encode(v); err == nil {
			t.Errorf("%#v became %s", v, got)
		}
	}
}
