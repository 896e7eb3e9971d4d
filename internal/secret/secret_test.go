package secret_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/hermes-runtime/hermes/internal/secret"
)

func TestSet_ValuesUnderEightCharactersDoNotCount(t *testing.T) { // RED-1
	var s secret.Set
	for value, want := range map[string]bool{
		"":           false,
		"1234567":    false,
		"12345678":   true,
		"  1234567 ": false,
		"ключключ":   true,
		"ключик":     false, // 12 bytes, 6 characters
	} {
		if got := s.Add("V", value); got != want {
			t.Errorf("Add(%q) = %v, want %v", value, got, want)
		}
	}
	if got := len(s.Values()); got != 2 {
		t.Errorf("%d values known, want 2", got)
	}
}

func TestSet_GenerationGrowsOnlyWithChanges(t *testing.T) {
	var s secret.Set
	if g := s.Generation(); g != 0 {
		t.Fatalf("generation of an empty set is %d", g)
	}
	s.Add("A", "value-one")
	s.Add("A", "value-one\n")
	if g := s.Generation(); g != 1 {
		t.Errorf("generation %d after the same value twice, want 1", g)
	}
	s.Remove("A", "another value")
	if g := s.Generation(); g != 1 {
		t.Errorf("generation %d after removing what isn't there, want 1", g)
	}
	s.Remove("A", "value-one")
	if g, n := s.Generation(), len(s.Values()); g != 2 || n != 0 {
		t.Errorf("generation %d with %d values, want 2 with 0", g, n)
	}
}

func TestSet_OneNameMayHaveSeveralValues(t *testing.T) {
	var s secret.Set
	s.Add("COOKIE", "first-run-cookie")
	s.Add("COOKIE", "second-run-cookie")
	s.Remove("COOKIE", "first-run-cookie")
	if v := s.Values(); len(v) != 1 || v[0].Text != "second-run-cookie" {
		t.Errorf("values %v, want the second only", v)
	}
	s.Remove("COOKIE", "second-run-cookie")
	if v := s.Values(); len(v) != 0 {
		t.Errorf("values %v, want none", v)
	}
}

func TestSet_SnapshotIsLongestFirstAndStays(t *testing.T) {
	var s secret.Set
	s.Add("A", "12345678")
	s.Add("B", "1234567890")
	before := s.Snapshot()
	s.Add("C", "123456789012")
	if len(before.Values) != 2 || before.Values[0].Name != "B" {
		t.Errorf("snapshot %v, want B before A and nothing else", before.Values)
	}
}

func TestSet_NilIsEmpty(t *testing.T) {
	var s *secret.Set
	if len(s.Values()) != 0 || s.Generation() != 0 {
		t.Error("a nil set isn't empty")
	}
}

func TestSet_ConcurrentChangesLoseNothing(t *testing.T) {
	var s secret.Set
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 50 {
				s.Add(fmt.Sprintf("N%d", i), fmt.Sprintf("value-%d-%d", i, j))
				s.Values()
			}
		})
	}
	wg.Wait()
	if n, g := len(s.Values()), s.Generation(); n != 800 || g != 800 {
		t.Errorf("%d values at generation %d, want 800 at 800", n, g)
	}
}

func TestIsSecretName_WordsCountAnywhereInAnyCase(t *testing.T) { // XE-2
	for name, want := range map[string]bool{
		"OPENAI_API_KEY": true, "github_token": true, "mySecretThing": true, "PGPASSWORD": true,
		"GOOGLE_APPLICATION_CREDENTIALS": true, "DB_PASSWD": true, "AUTHORIZATION": true, "SENTRY_DSN": true,
		"SLACK_WEBHOOK_URL": true, "KEYBOARD": true,
		"PATH": false, "HOME": false, "LANG": false, "TZ": false, "": false, "HERMES_RPC_COOKIE": false,
	} {
		if got := secret.IsSecretName(name); got != want {
			t.Errorf("IsSecretName(%q) = %v, want %v", name, got, want)
		}
	}
}

func BenchmarkSetSnapshot(b *testing.B) {
	var s secret.Set
	s.Add("A", "12345678")
	for b.Loop() {
		s.Snapshot()
	}
}
