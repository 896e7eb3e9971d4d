//go:build linux || darwin

package resident_test

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
)

// LOG-5: a job that has nothing new to tell says the same again, and what is new is told by the next look, after looks at others too.
func TestKeeper_LooksAgain(t *testing.T) {
	k := keeperOf(t, newHome(t, "5s"))
	j := script("read x; echo $x; exit 3")
	j.KeepStdin = true
	p, other := startJob(t, k, j), startJob(t, k, script("exec sleep 600"))
	first := infoOf(t, p)
	for range 3 {
		if again := infoOf(t, p); !reflect.DeepEqual(again, first) {
			t.Errorf("nothing happened, and %+v became %+v", first, again)
		}
	}
	if x := infoOf(t, other); x.ID == first.ID || x.PID == first.PID {
		t.Errorf("another job is %+v", x)
	}
	if _, err := p.Write(t.Context(), []byte("new\n")); err != nil {
		t.Fatal(err)
	}
	if i := endOf(t, p); i.Preview != "new\n" || *i.ExitCode != 3 || i.Status != environment.JobExited {
		t.Errorf("%+v", i)
	}
	if _, err := other.Kill(t.Context(), "test"); err != nil {
		t.Error(err)
	}
}

// LOG-5: many who look at once get their own answers, long ones and short ones, whichever way they take to the keeper.
func TestKeeper_ManyLookAtOnce(t *testing.T) {
	k := keeperOf(t, newHome(t, "5s"))
	jobs := make([]environment.Process, 4)
	for i := range jobs {
		jobs[i] = startJob(t, k, script(fmt.Sprintf("seq %d 14000; exec sleep 600", i)))
	}
	for i, p := range jobs {
		until(t, "it has printed", func() bool { return infoOf(t, p).Lines == 14001-i })
	}
	var wg sync.WaitGroup
	for n := range 16 {
		i, p := n%len(jobs), jobs[n%len(jobs)]
		wg.Go(func() {
			for range 5 {
				if x, err := p.Info(t.Context(), 100); err != nil || x.Lines != 14001-i || !strings.HasSuffix(x.Preview, "14000\n") {
					t.Errorf("%d: %+v, %v", i, x, err)
				}
				if l, err := p.Log(t.Context(), 0, 20000); err != nil || !strings.HasPrefix(l.Text, fmt.Sprintf("%d\n%d\n", i, i+1)) || l.Count != 14001-i {
					t.Errorf("%d: %d lines from %.20q, %v", i, l.Count, l.Text, err)
				}
			}
		})
	}
	wg.Wait()
	for _, p := range jobs {
		if _, err := p.Kill(t.Context(), "test"); err != nil {
			t.Error(err)
		}
	}
}
