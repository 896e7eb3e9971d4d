//go:build linux || darwin

package resident_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine"
	"github.com/hermes-runtime/hermes/internal/engine/jobs"
)

const clientRole = "role-client"

// crew is how many jobs a client has running at once.
const crew = 20

// clientMain is a runtime that has jobs running until it is killed.
func clientMain(home string) {
	k := client(home)
	var wg sync.WaitGroup
	for worker := range crew {
		wg.Go(func() {
			for n := worker; ; n++ {
				p, err := k.Start(context.Background(), jobs.Spec{
					Job: short(n), Base: engine.Base{Environ: append(os.Environ(), "HERMES_TEST_HOME="+home), Home: home, Temp: home},
				})
				if err == nil {
					_ = p.Wait(context.Background()) // the keeper may be killed
				}
				if err != nil && !errors.Is(err, environment.ErrLost) {
					_, _ = fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
			}
		})
	}
	wg.Wait()
}

// short is a job that takes up to 90 ms.
func short(n int) environment.Job {
	j := script(fmt.Sprintf("echo begin; sleep 0.0%d; echo end; exit %d", n%10, n%7))
	j.Notify = true
	j.Labels = map[string]string{"n": strconv.Itoa(n)}
	return j
}

// rounds is how often something is killed: fewer with the race detector, which takes its time.
func rounds(all, few int) int {
	if raceEnabled || testing.Short() {
		return few
	}
	return all
}

// meanwhile lets a client work for a random time of a round. It grows with the rounds, so that on a machine that is busy some of them see
// jobs too.
func meanwhile(least, spread, round int) {
	time.Sleep(time.Duration((least+rand.IntN(spread))*(1+round/20)) * time.Millisecond) // when, is what the test is about
}

// enough reports whether the rounds are over: as many as there are to be, and more until they brought about what the test looks at.
func enough(round, all int, seen func() bool) bool { return round >= all && seen() || round >= 10*all }

// killClient starts a client, lets it work for a random time, and kills it.
func killClient(t *testing.T, home string, round int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], clientRole, home)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	meanwhile(30, 50, round)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// settled waits until every job has ended and gives all of them.
func settled(t *testing.T, home string) []environment.JobInfo {
	t.Helper()
	k := keeperOf(t, home)
	var list []environment.JobInfo
	until(t, "all have ended", func() bool {
		var err error
		if list, err = k.Jobs(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		for _, i := range list {
			if i.Labels["n"] != "" && i.Status == environment.JobRunning || len(i.StillRunning) > 0 {
				return false
			}
		}
		return true
	})
	return list
}

// told takes all events and checks that each job has one.
func told(t *testing.T, home string, list []environment.JobInfo) {
	t.Helper()
	k := keeperOf(t, home)
	n, missing := map[string]int{}, map[string]bool{}
	for _, i := range list {
		missing[i.ID] = i.End != environment.EndFailedStart
	}
	for {
		patience := 100 * time.Millisecond // for one too many
		for id, is := range missing {
			if is && n[id] == 0 {
				patience = waitTime
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		events, err := k.Events(ctx, nil)
		cancel()
		if err != nil {
			break
		}
		for _, e := range events {
			n[e.Job]++
			if err := k.Taken(t.Context(), e.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, i := range list {
		if i.End != environment.EndFailedStart && n[i.ID] != 1 {
			t.Errorf("job %s (%s) was told %d times", i.ID, i.End, n[i.ID])
		}
	}
}

// JOB-3, LOG-3, NTF-2: a runtime that is killed at random, with twenty jobs at once, leaves no orphan, loses no receipt, no line
// and no event, and doubles none; a job that is meant to live does, and the next runtime has it.
func TestKeeper_ClientKilledAtRandom(t *testing.T) {
	home := newHome(t, "30s")
	first := keeperOf(t, home)
	lives := infoOf(t, startJob(t, first, script("exec sleep 600")))
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	crewSeen := func() bool {
		list, err := keeperOf(t, home).Jobs(t.Context(), 0)
		return err == nil && len(list) > crew
	}
	for n := 0; !enough(n, rounds(100, 15), crewSeen); n++ {
		killClient(t, home, n)
	}
	list := slices.DeleteFunc(settled(t, home), func(i environment.JobInfo) bool { return i.ID == lives.ID })
	if len(list) < crew {
		t.Errorf("only %d jobs were started", len(list))
	}
	for _, i := range list {
		if i.End == environment.EndFailedStart && i.PID == 0 {
			continue // its client was killed before it was given its go
		}
		n, _ := strconv.Atoi(i.Labels["n"])
		if i.End != environment.EndExited || i.ExitCode == nil || *i.ExitCode != n%7 || i.Preview != "begin\nend\n" {
			t.Errorf("%+v", i)
		}
	}
	told(t, home, list)
	p, err := keeperOf(t, home).Attach(t.Context(), lives.ID)
	if err != nil {
		t.Fatal(err)
	}
	if i := infoOf(t, p); i.Status != environment.JobRunning || i.PID != lives.PID || i.Detached {
		t.Errorf("%+v", i)
	}
	until(t, "no orphan is left", func() bool { return len(marked(home)) == 0 })
}

// KPR-6: a keeper that is killed at random leaves no orphan; every job is adopted or lost, and told once.
func TestKeeper_KilledAtRandom(t *testing.T) {
	home := newHome(t, "30s")
	var killed int
	some := func() bool {
		list, err := keeperOf(t, home).Jobs(t.Context(), 0)
		return err == nil && len(list) > 0 && killed > 0
	}
	for n := 0; !enough(n, rounds(10, 5), some); n++ {
		cmd := exec.Command(os.Args[0], clientRole, home)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			meanwhile(80, 120, 4*n)
			for _, pid := range keepers(home) {
				p, _ := os.FindProcess(pid)
				if p.Kill() == nil {
					killed++
				}
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	list := settled(t, home)
	ends := map[environment.JobEnd]int{}
	for _, i := range list {
		ends[i.End]++
		if i.End == environment.EndLost && i.ExitCode != nil {
			t.Errorf("a code that nobody saw: %+v", i)
		}
	}
	if killed == 0 || len(list) == 0 {
		t.Errorf("%d keepers killed, %d jobs", killed, len(list))
	}
	told(t, home, list)
	until(t, "no orphan is left", func() bool { return len(marked(home)) == 0 })
	t.Logf("%d keepers killed, ends: %v", killed, ends)
}

// marked lists processes that still carry the mark of a job of this home: its directory is their home.
func marked(home string) []string {
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var left []string
	for _, d := range dirs {
		if _, err := strconv.Atoi(d.Name()); err != nil {
			continue
		}
		env, err := os.ReadFile("/proc/" + d.Name() + "/environ")
		if err == nil && bytes.Contains(env, []byte("HERMES_GROUP=")) && bytes.Contains(env, []byte("HERMES_TEST_HOME="+home+"\x00")) {
			left = append(left, d.Name())
		}
	}
	return left
}
