package envtest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// tableVariable names a directory that takes what each run of the suite has shown: a file a place, a line an ability, its fields
// apart by tabs: place, ability, checks passed, checks run, and why it is missing.
const tableVariable = "HERMES_TEST_TABLE"

// tally counts what one run of the suite shows.
type tally struct {
	mu      sync.Mutex
	place   string
	missing map[string]string
	counts  map[Ability]*[2]int // passed, run
}

func newTally() *tally { return &tally{counts: map[Ability]*[2]int{}} }

// of says what place the results are about.
func (y *tally) of(place string, missing map[string]string) { y.place, y.missing = place, missing }

func (y *tally) add(a Ability, passed bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	c := y.counts[a]
	if c == nil {
		c = &[2]int{}
		y.counts[a] = c
	}
	if c[1]++; passed {
		c[0]++
	}
}

// write leaves the results where they are asked for.
func (y *tally) write(t *testing.T) {
	t.Helper()
	dir := os.Getenv(tableVariable)
	if dir == "" || len(y.counts) == 0 { // nothing was asked, or only a part of the suite ran
		return
	}
	var b strings.Builder
	for _, a := range slices.Sorted(maps.Keys(y.counts)) {
		fmt.Fprintf(&b, "%s\t%s\t%d\t%d\t\n", y.place, a, y.counts[a][0], y.counts[a][1])
	}
	for _, a := range slices.Sorted(maps.Keys(y.missing)) {
		fmt.Fprintf(&b, "%s\t%s\t0\t0\t%s\n", y.place, a, strings.NewReplacer("\t", " ", "\n", " ").Replace(y.missing[a]))
	}
	name := filepath.Join(dir, strings.Map(func(r rune) rune {
		if r == '/' || r == ' ' {
			return '-'
		}
		return r
	}, y.place)+".tsv")
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		t.Errorf("the results: %v", err)
	}
}
