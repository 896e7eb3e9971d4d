package match

import (
	"slices"
	"strings"
	"testing"
)

// What is looked for by a rare byte is found where it is found by any, also where the beginning of a text deceives about the rest.
func TestOccurrences_AreThose(t *testing.T) {
	texts := []string{
		strings.Repeat("line one\nline two\n", 50), strings.Repeat("a", 3000) + "b", strings.Repeat("x", 5000) + strings.Repeat("ab", 2000) + "c",
		"é à é", "", "needle", strings.Repeat("needl", 300) + "needle",
	}
	olds := []string{"line two\n", "a", "aab", "ab", "bc", "abababc", "é", "needle", "e two\nline o", strings.Repeat("a", 2000) + "b", "nowhere"}
	for _, s := range texts {
		for _, old := range olds {
			for _, apart := range []bool{true, false} {
				var want []int
				for at := 0; ; {
					i := strings.Index(s[at:], old)
					if i < 0 || !apart && len(want) > maxCounted {
						break
					}
					want = append(want, at+i)
					at += i + 1
					if apart {
						at += len(old) - 1
					}
				}
				if got := occurrences(s, old, apart); !slices.Equal(got, want) {
					t.Errorf("%.20q in %.20q: %d places, not %d", old, s, len(got), len(want))
				}
			}
		}
	}
}
