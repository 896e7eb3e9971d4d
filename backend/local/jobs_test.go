//go:build linux || darwin

package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/resident"
)

const keeperRole = "role-keeper"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == keeperRole {
		err := resident.ServeKeeper(context.Background(), resident.KeeperServeOptions{Home: os.Getenv("HERMES_HOME"), Idle: 200 * time.Millisecond})
		if err != nil && !errors.Is(err, resident.ErrKept) {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func openJobs(t *testing.T, o environment.OpenOptions) *place {
	t.Helper()
	o.Environ, o.Getenv, o.KillGrace = os.Environ, os.Getenv, 300*time.Millisecond
	o.Config = &Config{HomeMode: homeReal}
	e, err := open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	return e.(*place)
}

func sleeper(t *testing.T, p *place) (environment.Process, environment.JobInfo) {
	t.Helper()
	j, err := p.Start(t.Context(), environment.Job{Command: environment.Command{Script: "sleep 60"}})
	if err != nil {
		t.Fatal(err)
	}
	i, err := j.Info(t.Context(), 0)
	if err != nil || i.Status != environment.JobRunning {
		t.Fatalf("%+v, %v", i, err)
	}
	return j, i
}

// KPR-7: without a program to start jobs are kept here: Info says so, every place of the home sees them, and the last one ends them.
func TestJobs_InThisProcess(t *testing.T) {
	for name, home := range map[string]string{"with a home": t.TempDir(), "without": ""} {
		t.Run(name, func(t *testing.T) {
			a := openJobs(t, environment.OpenOptions{HermesHome: home})
			if !slices.Contains(a.Info().Notes, endWithUs) {
				t.Errorf("notes %q", a.Info().Notes)
			}
			_, i := sleeper(t, a)
			b := openJobs(t, environment.OpenOptions{HermesHome: home})
			if list, err := b.Jobs(t.Context()); err != nil || home != "" && (len(list) != 1 || list[0].Detached) {
				t.Errorf("%+v, %v", list, err)
			}
			if err := a.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if err := b.Close(t.Context()); err != nil {
				t.Error(err)
			}
			for end := time.Now().Add(time.Minute); syscall.Kill(i.PID, 0) == nil; time.Sleep(5 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("it runs on")
				}
			}
		})
	}
}

// KPR-1: kept by a process of its own, a job outlives the place, and another one finds it.
func TestJobs_OutliveThePlace(t *testing.T) {
	o := environment.OpenOptions{HermesHome: t.TempDir(), KeeperArgv: []string{os.Args[0], keeperRole}}
	a := openJobs(t, o)
	if slices.Contains(a.Info().Notes, endWithUs) {
		t.Errorf("notes %q", a.Info().Notes)
	}
	_, i := sleeper(t, a)
	if err := a.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := a.Jobs(t.Context()); !errors.Is(err, environment.ErrUnavailable) {
		t.Errorf("after Close: %v", err)
	}
	b := openJobs(t, o)
	p, err := b.Attach(t.Context(), i.ID)
	if err != nil {
		t.Fatal(err)
	}
	if now, err := p.Info(t.Context(), 0); err != nil || now.PID != i.PID || now.Status != environment.JobRunning {
		t.Errorf("%+v, %v", now, err)
	}
	if left, err := p.Kill(t.Context(), "test"); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
	lock := filepath.Join(o.HermesHome, "run", "keeper-1.sock")
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(lock); err != nil {
			return // the keeper has gone, and its socket with it; or the path was too long for one
		}
		if time.Now().After(end) {
			t.Fatal("the keeper stays")
		}
	}
}
