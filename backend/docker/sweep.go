package docker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/hermes-runtime/hermes/internal/engine/hold"
)

const (
	// deadFor is how long a container may be half made or dead before it counts as left behind.
	deadFor = 120 * time.Second
	// stopTime is how long a container may take to stop by itself.
	stopTime = 10
)

// sweeper ends what earlier runs left behind.
type sweeper struct {
	d       *daemon
	holds   hold.Holds
	home    string // the label
	unused  time.Duration
	persist bool
	keep    time.Duration
	now     func() time.Time
	log     *slog.Logger
}

func newSweeper(d *daemon, c *Config, l labels, h hold.Holds) *sweeper {
	return &sweeper{
		d: d, holds: h, home: l.home, unused: 2 * max(time.Minute, c.Lifetime), persist: c.Persist,
		keep: time.Duration(c.KeepDays) * 24 * time.Hour, now: time.Now, log: slog.New(slog.DiscardHandler),
	}
}

// listed gives the containers of one HERMES_HOME.
func (d *daemon) listed(ctx context.Context, home string) ([]container.Summary, error) {
	r, err := d.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", labelMine+"=1", labelHome+"="+home)})
	return r.Items, err
}

// sweep looks at all once. What fails for one container is logged and stops nothing.
func (s *sweeper) sweep(ctx context.Context) {
	all, err := s.d.listed(ctx, s.home)
	if err != nil {
		s.log.Warn("containers that were left behind can't be looked for", "error", err)
		return
	}
	for _, c := range all {
		if ctx.Err() != nil {
			return
		}
		if err := s.one(ctx, c); err != nil {
			s.log.Warn("a container that was left behind can't be ended", "container", nameOf(c), "error", err)
		}
	}
}

func nameOf(c container.Summary) string {
	if len(c.Names) == 0 {
		return c.ID
	}
	return c.Names[0][1:] // the daemon's names begin with a slash
}

func (s *sweeper) one(ctx context.Context, c container.Summary) error {
	used, known := s.holds.Used(nameOf(c))
	if !known {
		if c.Created <= 0 {
			return nil // nothing is known of its age
		}
		used = time.Unix(c.Created, 0)
	}
	idle := s.now().Sub(used)
	var act func(context.Context, string) error
	switch {
	case c.State == container.StateCreated || c.State == container.StateDead:
		if idle > deadFor {
			act = s.d.remove
		}
	case c.State == container.StateExited:
		if s.persist && idle > s.keep || !s.persist && idle > s.unused {
			act = s.d.remove
		}
	case idle > s.unused:
		act = s.d.end
		if s.persist {
			act = s.d.stop
		}
	}
	if act == nil {
		return nil
	}
	if busy, err := s.d.busy(ctx, c); busy || err != nil {
		return err
	}
	done, ok := s.holds.Seize(nameOf(c))
	if !ok {
		return nil
	}
	err := act(ctx, c.ID)
	done(err == nil && !(s.persist && c.State == container.StateRunning))
	return err
}

// busy reports whether jobs run in a container: their keeper ends soon after the last of them.
func (d *daemon) busy(ctx context.Context, c container.Summary) (bool, error) {
	if c.State != container.StateRunning && c.State != container.StatePaused {
		return false, nil
	}
	r, err := d.ContainerTop(ctx, c.ID, client.ContainerTopOptions{Arguments: []string{"-o", "pid,args"}})
	if err := unlessGone(err); err != nil {
		return false, fmt.Errorf("look for background processes: %w", err)
	}
	return slices.ContainsFunc(r.Processes, func(p []string) bool { return strings.Contains(strings.Join(p, " "), keeping) }), nil
}

// stop stops a container and leaves it there.
func (d *daemon) stop(ctx context.Context, id string) error {
	limit := stopTime
	_, err := d.ContainerStop(ctx, id, client.ContainerStopOptions{Timeout: &limit})
	return unlessGone(err)
}

// remove removes a container with what it alone had, whatever state it is in.
func (d *daemon) remove(ctx context.Context, id string) error {
	_, err := d.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if errdefs.IsConflict(err) { // somebody else is removing it
		return nil
	}
	return unlessGone(err)
}

// end stops a container and removes it.
func (d *daemon) end(ctx context.Context, id string) error {
	return errors.Join(d.stop(ctx, id), d.remove(ctx, id))
}

func unlessGone(err error) error {
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}
