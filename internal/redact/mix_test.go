package redact_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/redact"
)

// TestWriter_MixturesHoldTheRules joins pieces of all cases at random, where a fuzzer seldom gets: secrets in secrets,
// cut ones, and marks among them.
func TestWriter_MixturesHoldTheRules(t *testing.T) { // RED-4, ENG-18
	pieces := append(everything(), "token=", `"password": "`, `"`, `\"`, "'", `\\`, "\n", `\n`, " ", "[redacted:", "]", "@", "://u:", "Bearer ",
		"-----BEGIN PRIVATE "+"KEY-----", "-----END PRIVATE "+"KEY-----", "sk-", "=", ": ", "{", "}", ",", "é")
	known := redact.New(values())
	r := rand.New(rand.NewPCG(3, 4))
	for range 1500 {
		var b strings.Builder
		for range 1 + r.IntN(6) {
			p := pieces[r.IntN(len(pieces))]
			if r.IntN(3) == 0 && p != "" {
				p = p[:r.IntN(len(p))]
			}
			b.WriteString(p)
		}
		s := b.String()
		if r.IntN(3) == 0 {
			quoted, _ := json.Marshal(map[string]string{"password": s[:len(s)/3], "text": s})
			s = string(quoted)
		}
		for _, red := range []*redact.Redactor{nil, known} {
			want := red.All(s)
			if json.Valid([]byte(s)) && !json.Valid([]byte(want)) {
				t.Fatalf("%s is JSON, %s isn't", s, want)
			}
			if twice := red.All(want); twice != want {
				t.Fatalf("%q\nonce  %q\ntwice %q", s, want, twice)
			}
			i := r.IntN(len(s) + 1)
			j := i + r.IntN(len(s)-i+1)
			if got := through(t, red, redact.ModeAll, s[:i], s[i:j], s[j:]); got != want {
				t.Fatalf("%q split at %d, %d\n got %q\nwant %q", s, i, j, got, want)
			}
		}
	}
}
