package approval_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

// The bars of A89 and the times of A90.
const (
	minEntries       = 2000
	minLookAlikes    = 900
	minRecall        = 0.97 // of the dangerous, found with every row that the entry names
	maxFalsePositive = 0.02 // of the harmless, asked
)

// wrong lists every entry that isn't judged as recorded: what to work from when a bar is near.
var wrong = flag.Bool("corpus.wrong", false, "list the entries of the corpus that are judged wrongly")

// entry is one line of the corpus: a command and what has to be found in it.
type entry struct {
	Command string   `json:"command"`
	Dir     string   `json:"cwd"`
	Verdict string   `json:"verdict"` // allow, ask, deny (on a host)
	IDs     []string `json:"ids"`     // rows that have to be among the findings
	Family  string   `json:"family"`
}

// corpora reads every file once: several tests walk through all of them.
var corpora = sync.OnceValues(func() ([]entry, error) {
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil {
		return nil, err
	}
	var all []entry
	for _, name := range files {
		if all, err = readCorpus(all, name); err != nil {
			return nil, err
		}
	}
	return all, nil
})

func readCorpus(all []entry, name string) ([]entry, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		e := entry{Dir: "/data/app"}
		if err := json.Unmarshal(s.Bytes(), &e); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, s.Err()
}

func corpus(t testing.TB) []entry {
	t.Helper()
	all, err := corpora()
	if err != nil {
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

// tally counts the entries of one family, or of all.
type tally struct {
	dangerous, found   int
	floor, denied      int
	harmless, asked    int
	refused, tooStrict int // harmless ones denied, askable ones denied
	times              []time.Duration
}

func (n *tally) add(e entry, v string, ids []string, d time.Duration) (ok bool) {
	n.times = append(n.times, d)
	if e.Verdict == "allow" {
		n.harmless++
		n.asked += count(v != "allow")
		n.refused += count(v == "deny")
		return v == "allow"
	}
	ok = v != "allow"
	for _, id := range e.IDs {
		ok = ok && slices.Contains(ids, id)
	}
	n.dangerous++
	n.found += count(ok)
	if e.Verdict == "deny" {
		n.floor++
		n.denied += count(v == "deny")
		return ok && v == "deny"
	}
	n.tooStrict += count(v == "deny")
	return ok && v == "ask"
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

func share(n, of int, otherwise float64) float64 {
	if of == 0 {
		return otherwise
	}
	return float64(n) / float64(of)
}

func (n *tally) log(t *testing.T, name string) {
	t.Helper()
	slices.Sort(n.times)
	at := func(p float64) time.Duration { return n.times[int(p*float64(len(n.times)-1))] }
	t.Logf("%-10s dangerous %4d found %5.1f %% · floor %3d denied %5.1f %% · harmless %4d asked %4.1f %% denied %d · too strict %d · p50 %v p99 %v",
		name, n.dangerous, 100*share(n.found, n.dangerous, 1), n.floor, 100*share(n.denied, n.floor, 1),
		n.harmless, 100*share(n.asked, n.harmless, 0), n.refused, n.tooStrict,
		at(0.5).Round(time.Microsecond/10), at(0.99).Round(time.Microsecond))
}

// A89: what the corpus holds is found, what only looks like it is not, and the numbers of it are printed by family. A line that is
// judged wrongly stays as it is: a verdict is never changed to please the rules.
func TestCorpus_Quality(t *testing.T) {
	all := corpus(t)
	families, total := map[string]*tally{}, &tally{}
	for _, e := range all {
		start := time.Now()
		r := e.report()
		d := time.Since(start)
		v, ids := verdict(r)
		n := families[e.Family]
		if n == nil {
			n = &tally{}
			families[e.Family] = n
		}
		n.add(e, v, ids, d)
		if !total.add(e, v, ids, d) && *wrong {
			t.Logf("%q in %s: %s %v, want %s %v (%s)", e.Command, e.Dir, v, ids, e.Verdict, e.IDs, e.Family)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(families)) {
		families[name].log(t, name)
	}
	total.log(t, "all")
	if len(all) < minEntries || total.harmless < minLookAlikes {
		t.Errorf("the corpus holds %d commands, %d of them harmless; want %d and %d", len(all), total.harmless, minEntries, minLookAlikes)
	}
	if got := share(total.found, total.dangerous, 0); got < minRecall {
		t.Errorf("%.2f %% of the dangerous commands are found, want %.0f %%", 100*got, 100*minRecall)
	}
	if got := share(total.asked, total.harmless, 1); got > maxFalsePositive {
		t.Errorf("%.2f %% of the harmless commands are asked about, want at most %.0f %%", 100*got, 100*maxFalsePositive)
	}
	if total.denied < total.floor {
		t.Errorf("%d of %d catastrophic commands are denied, want all", total.denied, total.floor)
	}
	if total.refused > 0 {
		t.Errorf("%d harmless commands are denied, want none", total.refused)
	}
}

// Every row has commands in the corpus that it has to be found in.
func TestCorpus_EveryFamilyOnBothSides(t *testing.T) {
	dangerous, harmless := map[string]int{}, map[string]int{}
	for i, e := range corpus(t) {
		switch {
		case e.Family == "" || e.Command == "" && e.Verdict != "allow":
			t.Errorf("entry %d: %+v", i, e)
		case e.Verdict == "allow":
			harmless[e.Family]++
		case e.Verdict == "ask" || e.Verdict == "deny":
			dangerous[e.Family]++
		default:
			t.Errorf("entry %d: the verdict %q", i, e.Verdict)
		}
	}
	for family, n := range dangerous {
		if n < 5 || harmless[family] < 5 {
			t.Errorf("%s: %d dangerous commands, %d harmless; want 5 of each at least", family, n, harmless[family])
		}
	}
}
