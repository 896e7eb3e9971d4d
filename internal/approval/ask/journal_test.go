package ask

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzReadJournal holds the reader to its word: no text makes it fail, an end never changes, and what it gives can be written again.
func FuzzReadJournal(f *testing.F) {
	for _, s := range []string{
		"", "\n\n", `{"id":"a","status":"pending"}` + "\n" + `{"id":"a","status":"approved","choice":"once"}` + "\n" + `{"id":"a","status":"denied"}`,
		`{"id":"a","status":"pending"` + "\n" + `{"id":"a"}`, `{"id":"a","status":"whatever"}`, `[1]`, "null", strings.Repeat("x", lineMost+5) + "\n" + `{"id":"b","status":"denied"}`,
		`{"id":"a","receipts":{"x":"y"}}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		all, err := readJournal(strings.NewReader(s))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		var again strings.Builder
		for _, r := range all {
			if r.ID == "" || !r.Status.valid() || seen[r.ID] {
				t.Errorf("%+v", r)
			}
			seen[r.ID] = true
			b, err := json.Marshal(r)
			if err != nil {
				t.Skip("a time that JSON can't hold")
			}
			again.Write(append(b, '\n'))
		}
		if strings.Count(again.String(), "\n") != len(all) {
			t.Error("a line break came into a line")
		}
	})
}

func TestReadJournal_PassesOverWhatIsTooLong(t *testing.T) {
	all, err := readJournal(strings.NewReader(strings.Repeat("x", 3*lineMost) + "\n" + `{"id":"b","status":"denied"}` + "\n" + strings.Repeat("y", 2*lineMost)))
	if err != nil || len(all) != 1 || all[0].ID != "b" || all[0].Status != Denied {
		t.Errorf("%+v, %v", all, err)
	}
}
