//go:build linux

package docker_test

import (
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/backend/docker"
)

func TestSweep_EndsWhatNobodyHolds(t *testing.T) { // DKR-6
	l := newLab(t)
	states := func() map[string]string {
		m := map[string]string{}
		for _, c := range l.containers(t) {
			m[c.Labels["hermes-task-id"]] = string(c.State)
		}
		return m
	}
	l.o.Key = "held"
	l.open(t)
	l.o.Key = "left"
	shut(t, l.open(t))
	sweep := func(later time.Duration) {
		docker.SweepAt(t, l.o.Getenv, &l.config, l.o.HermesHome, later)
	}
	for _, row := range []struct {
		later time.Duration
		want  string // what became of the one that nobody holds; "" = removed
	}{{time.Minute, "running"}, {11 * time.Minute, "exited"}, {24 * time.Hour, "exited"}, {8 * 24 * time.Hour, ""}} {
		sweep(row.later)
		if s := states(); s["left"] != row.want || s["held"] != "running" {
			t.Errorf("after %v: %v, want %q", row.later, s, row.want)
		}
	}
	shut(t, l.open(t))
	l.config.Persist = false
	sweep(11 * time.Minute)
	if s := states(); s["left"] != "" || s["held"] != "running" {
		t.Errorf("where nothing is kept: %v", s)
	}
}
