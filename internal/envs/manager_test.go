package envs_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/envs"
)

func TestManager_TasksShareOneEnvironment_MGR1(t *testing.T) {
	l := &lab{}
	m := l.manager(t, envs.Options{})
	at(t, m, "a")
	at(t, m, "b")
	if got := l.keys(); got != envs.DefaultKey {
		t.Fatalf("opened %q, want the shared one only", got)
	}
	for _, key := range []string{"docker_image", "modal_image", "singularity_image", "daytona_image"} {
		if err := m.Override("b", envs.Override{key: "x"}); err != nil {
			t.Fatal(err)
		}
		if got := m.Key("b"); got != "b" {
			t.Errorf("with %s the task works in %q, want its own", key, got)
		}
	}
	at(t, m, "b")
	if err := m.Override("b", nil); err != nil {
		t.Fatal(err)
	}
	at(t, m, "b")
	if got := l.keys(); got != "default b" {
		t.Errorf("opened %q, want the shared one again after the override is taken back", got)
	}
	if err := m.Override("b", envs.Override{"colour": "red"}); err == nil || !strings.Contains(err.Error(), "colour") {
		t.Errorf("unknown override: error %v, want one that names it", err)
	}
}

func TestManager_BackendOverrideIsUsedOrFails_MGR4(t *testing.T) { // CON-7
	l := &lab{}
	m := l.manager(t, envs.Options{})
	if err := m.Override("a", envs.Override{envs.KeyBackend: "nowhere"}); err != nil {
		t.Fatal(err)
	}
	_, err := m.Place(t.Context(), "a")
	if !errors.Is(err, environment.ErrConfig) || !strings.Contains(err.Error(), "nowhere") || !strings.Contains(err.Error(), "lab-") {
		t.Errorf("error %v, want a configuration error with the name and the known ones", err)
	}
	if l.keys() != "" {
		t.Errorf("opened %q: a call never runs in another backend", l.keys())
	}
}

func TestManager_CarriedDirectory_MGR2(t *testing.T) {
	l := &lab{}
	base, over := t.TempDir(), t.TempDir()
	m := l.manager(t, envs.Options{Cwd: base})
	if got := m.Dir("a"); got != base {
		t.Errorf("directory before any use %q, want the configured %q", got, base)
	}
	p := at(t, m, "a")
	if p.State.Dir() != environment.Path(base) {
		t.Errorf("first directory %q, want %q", p.State.Dir(), base)
	}
	p.State.SetDir("/elsewhere")
	if err := m.Override("a", envs.Override{"cwd": over}); err != nil {
		t.Fatal(err)
	}
	if got := m.Dir("a"); got != over {
		t.Errorf("directory right after the override %q, want %q", got, over)
	}
	if got := at(t, m, "a").State.Dir(); got != environment.Path(over) {
		t.Errorf("directory %q, want the override %q", got, over)
	}
	p.State.SetDir("/elsewhere")
	if err := m.Override("a", envs.Override{}); err != nil {
		t.Fatal(err)
	}
	if got := at(t, m, "a").State.Dir(); got != "/elsewhere" {
		t.Errorf("an override without cwd moved the task to %q", got)
	}
	if got := l.keys(); got != envs.DefaultKey {
		t.Errorf("opened %q, want one environment: a directory is no reason for another", got)
	}
}

func TestManager_ConcurrentFirstUsesMakeOne_MGR3(t *testing.T) {
	l := &lab{gate: make(chan struct{}), fail: errors.New("no room")}
	m := l.manager(t, envs.Options{})
	const n = 20
	errs := make(chan error, n)
	for range n {
		go func() {
			_, err := m.Place(t.Context(), "a")
			errs <- err
		}()
	}
	close(l.gate)
	for range n {
		if err := <-errs; err == nil || !strings.Contains(err.Error(), "no room") {
			t.Errorf("error %v, want the reason of the failure for all who waited", err)
		}
	}
	l.mu.Lock()
	l.fail = nil
	l.mu.Unlock()
	at(t, m, "a")
}

func TestManager_OnlyOneIsMade_MGR3(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{gate: make(chan struct{})}
		m := l.manager(t, envs.Options{})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { at(t, m, "a") })
		}
		synctest.Wait()
		close(l.gate)
		wg.Wait()
		if got := l.keys(); got != envs.DefaultKey {
			t.Errorf("opened %q, want one", got)
		}
		_ = m.Close(t.Context())
	})
}

func TestManager_WaiterThatGivesUpLeavesTheOthers_MGR3(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{gate: make(chan struct{})}
		m := l.manager(t, envs.Options{})
		ctx, giveUp := context.WithCancel(t.Context())
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { _, err := m.Place(ctx, "a"); first <- err }()
		synctest.Wait()
		go func() { _, err := m.Place(t.Context(), "a"); second <- err }()
		synctest.Wait()
		giveUp()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("the one who gave up got %v", err)
		}
		close(l.gate)
		if err := <-second; err != nil {
			t.Errorf("the other got %v", err)
		}
		if got := l.keys(); got != envs.DefaultKey {
			t.Errorf("opened %q, want one", got)
		}
		_ = m.Close(t.Context())
	})
}

func TestManager_OpeningThatNobodyWaitsForIsGivenUp_MGR3(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{gate: make(chan struct{})}
		m := l.manager(t, envs.Options{})
		ctx, giveUp := context.WithCancel(t.Context())
		first := make(chan error, 1)
		go func() { _, err := m.Place(ctx, "a"); first <- err }()
		synctest.Wait()
		giveUp()
		<-first
		close(l.gate)
		at(t, m, "a")
		if got := l.keys(); got != "default default" {
			t.Errorf("opened %q, want a second one", got)
		}
		_ = m.Close(t.Context())
	})
}

func TestManager_IdleEnvironmentsAreClosed_MGR5(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{}
		var mu sync.Mutex
		busy := false
		m := l.manager(t, envs.Options{Lifetime: 300 * time.Second, Busy: func(string) bool { mu.Lock(); defer mu.Unlock(); return busy }})
		p := at(t, m, "a")
		p.State.SetDir("/somewhere")
		time.Sleep(299 * time.Second)
		synctest.Wait()
		if l.ended() != "[]" {
			t.Fatalf("closed %s before its time", l.ended())
		}

		ctx, done := context.WithCancel(t.Context())
		if _, err := m.Place(ctx, "a"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if l.ended() != "[]" {
			t.Fatalf("closed %s while a call holds it", l.ended())
		}
		mu.Lock()
		busy = true
		mu.Unlock()
		done()
		time.Sleep(time.Hour)
		synctest.Wait()
		if l.ended() != "[]" {
			t.Fatalf("closed %s while a job runs in it", l.ended())
		}
		mu.Lock()
		busy = false
		mu.Unlock()
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if l.ended() != "[1]" {
			t.Fatalf("closed %s, want the idle one", l.ended())
		}
		if got := at(t, m, "a").State.Dir(); got != "/somewhere" {
			t.Errorf("directory %q after the environment was made again, want the carried one", got)
		}
		time.Sleep(400 * time.Second)
		synctest.Wait()
		if l.ended() != "[1 2]" {
			t.Errorf("closed %s, want the second one reaped too", l.ended())
		}
		_ = m.Close(t.Context())
	})
}

func TestManager_RenewReplacesOnlyTheOldOne_MGR6(t *testing.T) {
	l := &lab{}
	m := l.manager(t, envs.Options{})
	old := at(t, m, "a").Environment
	first, err := m.Renew(t.Context(), "a", old)
	if err != nil {
		t.Fatal(err)
	}
	second, err := m.Renew(t.Context(), "b", old)
	if err != nil {
		t.Fatal(err)
	}
	if first.Environment == old || first.Environment != second.Environment {
		t.Errorf("want one new environment for both who found the old one gone")
	}
}

func TestManager_APlaceThatIsGoneIsReplacedAtTheNextUse_MGR6(t *testing.T) {
	l := &lab{}
	m := l.manager(t, envs.Options{})
	old := at(t, m, "a").Environment.(*place)
	old.gone = true
	if now := at(t, m, "a").Environment.(*place); now == old || now != at(t, m, "b").Environment || !now.replaces || old.replaces {
		t.Errorf("want one new environment that says so: %+v", now)
	}
}

func TestManager_ResetThrowsAway_MGR6(t *testing.T) {
	l := &lab{}
	m := l.manager(t, envs.Options{})
	if err := m.Reset(t.Context(), envs.DefaultKey); err != nil {
		t.Fatalf("reset of nothing: %v", err)
	}
	at(t, m, "a").State.SetDir("/kept")
	if err := m.Reset(t.Context(), envs.DefaultKey); err != nil {
		t.Fatal(err)
	}
	if l.ended() != "[1]" {
		t.Errorf("closed %s", l.ended())
	}
	if got := at(t, m, "a").State.Dir(); got != "/kept" {
		t.Errorf("directory %q, want the carried one", got)
	}
}

func TestManager_NoKeyWaitsForAnother_MGR7(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{gate: make(chan struct{}), slow: make(chan struct{})}
		m := l.manager(t, envs.Options{})
		if err := m.Override("own", envs.Override{"docker_image": "x"}); err != nil {
			t.Fatal(err)
		}
		opening := make(chan error, 1)
		go func() { _, err := m.Place(t.Context(), "own"); opening <- err }()
		synctest.Wait()
		l.mu.Lock()
		gate := l.gate
		l.gate = nil
		l.mu.Unlock()
		at(t, m, "a") // while the other is being made
		go func() { _ = m.Reset(t.Context(), envs.DefaultKey) }()
		synctest.Wait()
		close(gate)
		if err := <-opening; err != nil { // while the first is being closed
			t.Fatal(err)
		}
		close(l.slow)
		_ = m.Close(t.Context())
	})
}

func TestManager_CloseIsBoundedAndNamesTheRest_MGR7(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{slow: make(chan struct{})}
		m := l.manager(t, envs.Options{})
		at(t, m, "a")
		begin := time.Now()
		err := m.Close(t.Context())
		if took := time.Since(begin); took > 8*time.Second {
			t.Errorf("closing took %v", took)
		}
		if err == nil || !strings.Contains(err.Error(), envs.DefaultKey) || !strings.Contains(err.Error(), "lab 1") {
			t.Errorf("error %v, want one that names what was not closed", err)
		}
		close(l.slow)
		synctest.Wait()
		if err := m.Close(t.Context()); err != nil {
			t.Errorf("second close: %v", err)
		}
		if _, err := m.Place(t.Context(), "a"); !errors.Is(err, environment.ErrUnavailable) {
			t.Errorf("a place after close: %v", err)
		}
	})
}
