package file

import (
	"encoding/json"
	"strings"
	"testing"
)

func FuzzDecodeLong(f *testing.F) {
	f.Add(`{"path":"a","content":"x\ny \"q\" \\ \u00e9 \ud83d\ude00 \/"}`)
	f.Add(`{"content" : "", "path": "\"content\":\"no\""}`)
	f.Add(`{"x":{"content":"inner"},"content":"outer"}`)
	f.Add(`{"content":"\ud83d alone"}`)
	f.Fuzz(func(t *testing.T, raw string) {
		var want, got writeArgs
		wantErr := json.Unmarshal([]byte(raw), &want)
		if strings.Count(strings.ToLower(raw), "content") > 1 || !json.Valid([]byte(raw)) || strings.Contains(raw, `\u`) && strings.Count(raw, `"`) > 8 {
			return // a name given twice, or written in another way, never comes through the door
		}
		gotErr := decodeLong(json.RawMessage(raw), "content", &got, &got.Content)
		if (wantErr == nil) != (gotErr == nil) || wantErr == nil && got != want {
			t.Fatalf("%q: %+v, %v; want %+v, %v", raw, got, gotErr, want, wantErr)
		}
	})
}
