//go:build linux || darwin

package jobs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/jobs"
)

func page(t testing.TB, p environment.Process, offset, limit int) environment.LogPage {
	t.Helper()
	l, err := p.Log(t.Context(), offset, limit)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// PRT-4: lines are counted from 0 over the whole life; an unfinished last line counts.
func TestLog_Pages(t *testing.T) {
	table := openTable(t, jobs.Options{})
	p := start(t, table, script("seq 0 9999; printf end"))
	ended(t, p)
	for _, c := range []struct {
		offset, limit, first, count int
		begins, ends                string
	}{
		{-1, 2, 9999, 2, "9999\n", "end"},
		{0, 3, 0, 3, "0\n", "2\n"},
		{1, 1, 1, 1, "1\n", "1\n"},
		{4999, 2, 4999, 2, "4999\n", "5000\n"},
		{5001, 3, 5001, 3, "5001\n", "5003\n"},
		{9999, 50, 9999, 2, "9999\n", "end"},
		{10000, 50, 10000, 1, "end", "end"},
		{10001, 50, 10001, 0, "", ""},
		{20000, 50, 10001, 0, "", ""},
		{-1, 100000, 0, 10001, "0\n", "end"},
	} {
		l := page(t, p, c.offset, c.limit)
		if l.First != c.first || l.Count != c.count || l.Total != 10001 || !strings.HasPrefix(l.Text, c.begins) || !strings.HasSuffix(l.Text, c.ends) {
			t.Errorf("%d, %d: first %d, count %d, total %d, %.20q", c.offset, c.limit, l.First, l.Count, l.Total, l.Text)
		}
	}
}

// LOG-4: the beginning and the end are kept, whole lines between are dropped and counted, and numbers stay what they were; also after
// a restart, and where the keeper died without a receipt.
func TestLog_DropsWholeLinesInTheMiddle(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	o := jobs.Options{Dir: dir, LogHead: 10 << 10, LogTail: 100 << 10}
	table := openTable(t, o)
	const lines = 200_000
	p := start(t, table, script(fmt.Sprintf("seq 0 %d", lines-1)))
	i := ended(t, p)
	check := func(p environment.Process) {
		t.Helper()
		i := info(t, p)
		if i.Lines != lines || i.Dropped < lines/2 {
			t.Fatalf("%d lines, %d dropped", i.Lines, i.Dropped)
		}
		head := page(t, p, 0, 100)
		if !strings.HasPrefix(head.Text, "0\n1\n2\n") || head.Count != 100 || head.Total != lines || head.Dropped != i.Dropped {
			t.Errorf("head %+v", head)
		}
		tail := page(t, p, -1, 3)
		if tail.Text != "199997\n199998\n199999\n" || tail.First != lines-3 {
			t.Errorf("tail %+v", tail)
		}
		middle := page(t, p, lines/2, 2)
		if want := fmt.Sprintf("%d\n%d\n", middle.First, middle.First+1); middle.Text != want || middle.First < i.Dropped {
			t.Errorf("from the gap: %+v, want %q", middle, want)
		}
		last := page(t, p, 0, 1<<30) // up to the gap, not over it
		if n := strings.Count(last.Text, "\n"); n != last.Count || last.Count+i.Dropped != middle.First {
			t.Errorf("the beginning has %d lines (%d), %d dropped, then %d", last.Count, n, i.Dropped, middle.First)
		}
		if all := page(t, p, 199_000, 500); all.Text[:7] != "199000\n" || all.Count != 500 {
			t.Errorf("%.30q", all.Text)
		}
	}
	check(p)
	if st, err := os.Stat(string(i.Log)); err != nil || st.Size() > 150<<10 {
		t.Errorf("%v, %v", st, err)
	}
	if err := table.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"receipt.json", "nothing"} {
		table = openTable(t, o)
		again, err := table.Attach(t.Context(), i.ID)
		if err != nil {
			t.Fatal(err)
		}
		check(again)
		if err := table.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(filepath.Join(dir, i.ID, name))
	}
}

// A line without end is broken, so that memory and log stay bounded.
func TestLog_LineWithoutEnd(t *testing.T) {
	table := openTable(t, jobs.Options{LogHead: 1 << 20, LogTail: 1 << 20})
	i := ended(t, start(t, table, script(`head -c 5000000 /dev/zero | tr '\0' 'ä' | tr '\0' x; printf '\nlast\n'`)))
	if i.Lines < 5 || !strings.HasSuffix(i.Preview, "\nlast\n") || i.Dropped == 0 {
		t.Errorf("%d lines, %d dropped, %.50q", i.Lines, i.Dropped, i.Preview)
	}
}

// PRT-5: a character and a sequence that straddle two writes are treated as one.
func TestLog_FilterIsAStream(t *testing.T) {
	table := openTable(t, jobs.Options{})
	i := ended(t, start(t, table, script(`printf '\303'; sleep 0.05; printf '\244\033['; sleep 0.05; printf '31mred\033]0;ti'; sleep 0.05; printf 'tle\007.\377\n'`)))
	if i.Preview != "äred.\uFFFD\n" {
		t.Errorf("%q", i.Preview)
	}
}
