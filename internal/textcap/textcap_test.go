package textcap_test

import (
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/textcap"
)

func TestFilter_DecodesStripsRedactsInOrder(t *testing.T) { // ENG-18
	c := textcap.NewCollector(textcap.CollectorOptions{})
	f, err := textcap.NewFilter(c, textcap.FilterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	key := "sk-" + strings.Repeat("a", 20)
	for _, b := range []byte("\xff key s\x1b[1mk-" + key[3:] + "\n") {
		f.Write([]byte{b})
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	got := c.Result().Head
	if !strings.HasPrefix(got, "\uFFFD key [redacted:") || strings.Contains(got, "aaaa") {
		t.Errorf("got %q", got)
	}
}
