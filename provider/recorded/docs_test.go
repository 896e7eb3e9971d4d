package recorded

import (
	"os"
	"strings"
	"testing"
)

// The tape that the page shows is one.
func TestDocs_TheTapeShownIsOne(t *testing.T) {
	page, err := os.ReadFile("../../docs/models.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "```jsonl\n")
	text, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatal("the page shows no tape")
	}
	tp, err := parse([]byte(text))
	if err != nil || len(tp.tracks) != 2 || len(tp.tracks[0].lines) != 3 {
		t.Errorf("%+v %v", tp, err)
	}
	for _, kind := range faults[:8] {
		if !strings.Contains(string(page), "`"+string(kind)+"`") {
			t.Errorf("the page leaves out errors of type %s", kind)
		}
	}
}
