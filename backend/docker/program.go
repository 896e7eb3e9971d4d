package docker

import (
	"context"
	"fmt"
	"os"

	"github.com/moby/moby/client"

	"github.com/hermes-runtime/hermes/internal/engine/brought"
)

// program is the hermes binary that is brought into containers.
type program struct {
	path string // "" = there is none that runs there
	id   string // stands for its content in the digest of a plan
	why  string // there is none
}

// findBinary looks for a hermes that runs in containers of an image.
func (p *place) findBinary(ctx context.Context, image string) (program, error) {
	f := brought.Finder{Mode: p.config.Resident, Path: expandHome(p.config.ResidentPath), Self: p.o.GuardArgv}
	path, err := f.Find(func() (brought.Machine, error) { return p.d.machine(ctx, image) })
	if why, none := brought.None(err); none {
		return program{why: why}, nil
	}
	if err != nil {
		return program{}, err
	}
	return identify(path)
}

// machine is what programs in containers of an image are made for. The engine's own is asked for where the image isn't there yet, which
// takes ten times as long.
func (d *daemon) machine(ctx context.Context, image string) (brought.Machine, error) {
	if i, err := d.ImageInspect(ctx, image); err == nil && i.Os != "" && i.Architecture != "" {
		return brought.Machine{OS: i.Os, Arch: i.Architecture}, nil
	}
	v, err := d.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return brought.Machine{}, fmt.Errorf("ask the container engine what machine it runs on: %w", err)
	}
	return brought.Machine{OS: v.Os, Arch: v.Arch}, nil
}

// identify tells one build from another without reading it whole.
func identify(path string) (program, error) {
	i, err := os.Stat(path)
	if err != nil {
		return program{}, fmt.Errorf("look at the hermes binary: %w", err)
	}
	return program{path: path, id: fmt.Sprintf("%s %d %d", path, i.Size(), i.ModTime().UnixNano())}, nil
}
