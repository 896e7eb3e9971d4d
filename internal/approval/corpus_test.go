package approval_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

// entry is one line of the corpus: a command and what has to be found in it.
type entry struct {
	Command string   `json:"command"`
	Dir     string   `json:"cwd"`
	Verdict string   `json:"verdict"` // allow, ask, deny (on a host)
	IDs     []string `json:"ids"`
}

func corpus(t testing.TB) []entry {
	t.Helper()
	f, err := os.Open("testdata/corpus.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var all []entry
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var e entry
		if err := json.Unmarshal(s.Bytes(), &e); err != nil {
			t.Fatalf("line %d: %v", len(all)+1, err)
		}
		if e.Dir == "" {
			e.Dir = "/data/app"
		}
		all = append(all, e)
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func (e entry) report() *approval.Report {
	return approval.Analyze(e.Command, analysis.Input{Dir: e.Dir, Home: "/home/ann"})
}

func verdict(r *approval.Report) (v string, ids []string) {
	v = "allow"
	if len(r.Findings) > 0 {
		v = "ask"
	}
	if r.Floor() {
		v = "deny"
	}
	for _, f := range r.Findings {
		ids = append(ids, f.Row.ID)
	}
	slices.Sort(ids)
	return v, slices.Compact(ids)
}

// A89, as far as the families go: nothing of the corpus is missed, nothing harmless is asked.
func TestCorpus_EveryVerdict(t *testing.T) {
	all := corpus(t)
	if len(all) < 300 {
		t.Fatalf("%d commands", len(all))
	}
	wrong := 0
	for _, e := range all {
		v, ids := verdict(e.report())
		slices.Sort(e.IDs)
		if v != e.Verdict || !slices.Equal(ids, e.IDs) {
			wrong++
			t.Errorf("%q in %s: %s %v, want %s %v", e.Command, e.Dir, v, ids, e.Verdict, e.IDs)
		}
	}
	t.Logf("%d commands, %d wrong", len(all), wrong)
}
