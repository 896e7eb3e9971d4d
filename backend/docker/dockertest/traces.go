//go:build linux

package dockertest

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/hermes-runtime/hermes/internal/envs"
)

// Of gives the containers that a HERMES_HOME has.
func (d *Daemon) Of(tb testing.TB, home string) []container.Summary {
	tb.Helper()
	all, err := d.client(tb).ContainerList(context.Background(), client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", "hermes-agent=1", "hermes-home="+envs.Owner(home))})
	if err != nil {
		tb.Fatal(err)
	}
	return all.Items
}

// RemoveOf removes the containers that a HERMES_HOME has.
func (d *Daemon) RemoveOf(tb testing.TB, home string) {
	tb.Helper()
	c := d.client(tb)
	for _, one := range d.Of(tb, home) {
		_, _ = c.ContainerRemove(context.Background(), one.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	}
}

// Seen is what there is to be seen from outside of the containers that a HERMES_HOME has: where their files lie, and what the engine tells
// of them and has of their output.
func (d *Daemon) Seen(tb testing.TB, home string) (roots []string, told string) {
	tb.Helper()
	c, ctx := d.client(tb), context.Background()
	for _, one := range d.Of(tb, home) {
		i, err := c.ContainerInspect(ctx, one.ID, client.ContainerInspectOptions{})
		if err != nil {
			tb.Fatal(err)
		}
		logs, err := c.ContainerLogs(ctx, one.ID, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true})
		if err != nil {
			tb.Fatal(err)
		}
		said, err := io.ReadAll(logs)
		logs.Close()
		if err != nil {
			tb.Fatal(err)
		}
		roots = append(roots, fmt.Sprintf("/proc/%d/root/", i.Container.State.Pid)) // what is mounted there, too
		told += string(i.Raw) + string(said)
	}
	return roots, told
}

func (d *Daemon) client(tb testing.TB) *client.Client {
	tb.Helper()
	c, err := d.Client()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}
