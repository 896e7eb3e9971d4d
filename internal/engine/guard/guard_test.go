package guard

import (
	"strings"
	"testing"
)

func TestFollow_HoldsWhatWasAddedAndNotRemoved(t *testing.T) { // ENG-22
	for text, want := range map[string]string{
		"":                   "",
		`{"add":{"id":"a"}}`: "a",
		`{"add":{"id":"a"}}` + "\n" + `{"add":{"id":"b"}}` + "\n" + `{"remove":"a"}`:  "b",
		`{"add":{"id":"a"}}` + "\nnonsense\n{}\n" + `{"add":{"id":""}}`:               "a",
		`{"add":{"id":"a"}}` + "\n" + `{"bye":true}` + "\n" + `{"add":{"id":"late"}}`: "",
	} {
		held, err := follow(strings.NewReader(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		var ids []string
		for id := range held {
			ids = append(ids, id)
		}
		if got := strings.Join(ids, ","); got != want {
			t.Errorf("%q holds %q, want %q", text, got, want)
		}
	}
}

func TestFollow_ALineWithoutEndIsAnErrorAndTheRestIsHeld(t *testing.T) {
	held, err := follow(strings.NewReader(`{"add":{"id":"a"}}` + "\n" + strings.Repeat("x", maxLine+1)))
	if err == nil || len(held) != 1 {
		t.Errorf("%d held, error %v", len(held), err)
	}
}

func FuzzFollow(f *testing.F) {
	f.Add(`{"add":{"id":"a"}}` + "\n" + `{"remove":"a"}`)
	f.Add("{")
	f.Fuzz(func(t *testing.T, text string) {
		if held, _ := follow(strings.NewReader(text)); held[""] != nil {
			t.Error("a group without a name is held")
		}
	})
}
