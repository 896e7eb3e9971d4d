//go:build linux

package docker_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/hermes-runtime/hermes/backend/docker/dockertest"
	"github.com/hermes-runtime/hermes/environment"
)

// attach runs a program through the engine's API alone, as the docker command does.
func (l *lab) attach(b *testing.B, id, script string, out io.Writer) {
	ctx := context.Background()
	e, err := l.api.ExecCreate(ctx, id, client.ExecCreateOptions{Cmd: []string{"bash", "-c", script}, AttachStdout: true, AttachStderr: true})
	if err != nil {
		b.Fatal(err)
	}
	a, err := l.api.ExecAttach(ctx, e.ID, client.ExecAttachOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	if _, err := stdcopy.StdCopy(out, out, a.Reader); err != nil {
		b.Fatal(err)
	}
}

// both measures a script through the place and through the engine's API.
func both(b *testing.B, script string, bytes int64) {
	l := newLab(b)
	e := l.open(b)
	run(b, e, "head -c 10000000 /dev/zero | tr '\\0' x >/root/ten")
	for name, do := range map[string]func(){
		"place": func() {
			if res, err := e.Run(context.Background(), environment.Command{Script: script, Output: io.Discard}); err != nil || res.ExitCode != 0 {
				b.Fatalf("%+v, %v", res, err)
			}
		},
		"exec": func() { l.attach(b, e.Info().ID, script, io.Discard) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(bytes)
			for b.Loop() {
				do()
			}
		})
	}
}

func BenchmarkEcho(b *testing.B) { both(b, "echo hi", 0) }

func BenchmarkFlood(b *testing.B) { both(b, "head -c 100000000 /dev/zero", 100_000_000) }

func BenchmarkReadFile(b *testing.B) {
	l := newLab(b)
	e := l.open(b)
	run(b, e, "head -c 10000000 /dev/zero | tr '\\0' x >/root/ten; head -c 10000 /root/ten >/root/small")
	for name, size := range map[string]int64{"small": 10_000, "ten": 10_000_000} {
		b.Run(name+"/place", func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				r, err := e.Files().Read(context.Background(), environment.Path("/root/"+name), 0, -1)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, r)
				r.Close()
			}
		})
		b.Run(name+"/exec", func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				l.attach(b, e.Info().ID, "cat /root/"+name, io.Discard)
			}
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	l := newLab(b)
	l.config.Persist = false
	b.Run("place", func(b *testing.B) { // made, started and greeted
		for b.Loop() {
			e, err := l.try(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			shut(b, e)
			b.StartTimer()
		}
	})
	b.Run("run", func(b *testing.B) { // as docker run -d does
		for b.Loop() {
			yes := true
			c, err := l.api.ContainerCreate(context.Background(), client.ContainerCreateOptions{
				Config: &container.Config{Image: dockertest.Bash, Cmd: strings.Fields("sleep 1000")}, HostConfig: &container.HostConfig{Init: &yes}})
			if err == nil {
				_, err = l.api.ContainerStart(context.Background(), c.ID, client.ContainerStartOptions{})
			}
			if err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			_, _ = l.api.ContainerRemove(context.Background(), c.ID, client.ContainerRemoveOptions{Force: true})
			b.StartTimer()
		}
	})
	l.config.Persist = true
	shut(b, l.open(b))
	b.Run("again", func(b *testing.B) { // a container that is there
		for b.Loop() {
			e, err := l.try(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			shut(b, e)
			b.StartTimer()
		}
	})
}
