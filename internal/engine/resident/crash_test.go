//go:build linux || darwin

package resident_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine"
	"github.com/hermes-runtime/hermes/internal/engine/jobs"
)

const clientRole = "role-client"

// clientMain is a runtime that starts jobs until it is killed.
func clientMain(home string) {
	k := client(home)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for n := 0; ; n++ {
				j := script("sleep 0.0" + strconv.Itoa(n%10) + "; exit " + strconv.Itoa(n%7))
				j.Notify = true
				j.Labels = map[string]string{"n": fmt.Sprint(worker, n)}
				if _, err := k.Start(context.Background(), jobs.Spec{Job: j, Base: engine.Base{Environ: append(os.Environ(), "HERMES_TEST_HOME="+home), Home: home, Temp: home}}); err != nil {
					_, _ = fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
			}
		})
	}
	wg.Wait()
}

// rounds is how often something is killed: few in a normal run, as many as HERMES_TEST_KILLS says in one at night.
func rounds(few int) int {
	if n, err := strconv.Atoi(os.Getenv("HERMES_TEST_KILLS")); err == nil && n > 0 {
		return n
	}
	return few
}

// killClient starts a client, lets it work for a random time, and kills it.
func killClient(t *testing.T, home string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], clientRole, home)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Duration(30+rand.IntN(50)) * time.Millisecond) // when, is what the test is about
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
		if list, err = k.Jobs(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		for _, i := range list {
			if i.Status == environment.JobRunning || len(i.StillRunning) > 0 {
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

// Targets of §11: a runtime that is killed at random leaves no orphan, loses no receipt and no event, and doubles none.
func TestKeeper_ClientKilledAtRandom(t *testing.T) {
	home := newHome(t, "30s")
	for range rounds(20) {
		killClient(t, home)
	}
	list := settled(t, home)
	if len(list) < 20 {
		t.Errorf("only %d jobs were started", len(list))
	}
	for _, i := range list {
		if i.End == environment.EndFailedStart && i.PID == 0 {
			continue // its client was killed before it was given its go
		}
		if i.End != environment.EndExited || i.ExitCode == nil {
			t.Errorf("%+v", i)
		}
	}
	told(t, home, list)
	if left := marked(home); len(left) > 0 {
		t.Errorf("orphans: %v", left)
	}
}

// KPR-6: a keeper that is killed at random leaves no orphan; every job is adopted or lost, and told once.
func TestKeeper_KilledAtRandom(t *testing.T) {
	home := newHome(t, "30s")
	var killed int
	for range rounds(5) {
		cmd := exec.Command(os.Args[0], clientRole, home)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			time.Sleep(time.Duration(40+rand.IntN(60)) * time.Millisecond) // when, is what the test is about
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
	if left := marked(home); len(left) > 0 {
		t.Errorf("orphans: %v", left)
	}
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
