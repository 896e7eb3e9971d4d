package redact

import "testing"

func TestShapes_FitTheTableOfPairs(t *testing.T) {
	if len(table().candidates) > 1<<8 {
		t.Fatalf("%d lists of candidates don't fit into a byte", len(table().candidates))
	}
	for _, s := range shapes {
		if s.gram < 0 || s.gram+gramLen > len(s.literal) {
			t.Errorf("%q has no three bytes at %d", s.literal, s.gram)
		}
		if s.fold && len(s.literal) > len(history{}) {
			t.Errorf("%q is longer than what is remembered", s.literal)
		}
	}
}

func TestClosing_TellsTheQuotesOfNestedStrings(t *testing.T) {
	for _, c := range []struct {
		n, escapes, own int
		ok              bool
	}{
		{0, 0, 0, true}, {1, 0, 1, false}, {2, 0, 0, true}, {3, 0, 3, false},
		{1, 1, 1, true}, {3, 1, 3, false}, {5, 1, 1, true}, {0, 1, 0, true}, {2, 1, 0, true},
		{3, 3, 3, true}, {7, 3, 7, false}, {11, 3, 3, true},
	} {
		own, ok := closing(c.n, c.escapes)
		if ok != c.ok || ok && own != c.own {
			t.Errorf("closing(%d, %d) = %d, %v", c.n, c.escapes, own, ok)
		}
	}
}
