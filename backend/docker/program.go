package docker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/moby/moby/client"

	"github.com/hermes-runtime/hermes/environment"
)

// program is the hermes binary that is brought into containers.
type program struct {
	path string // "" = there is none that runs there
	id   string // stands for its content in the digest of a plan
	why  string // there is none
}

// findBinary looks for a hermes that runs in containers of an image: the one that is configured, one that was built for it beside
// this program, this program itself. In the program of somebody else who uses hermes as a library there is no itself.
func (p *place) findBinary(ctx context.Context, image string) (program, error) {
	c, guard := p.config, p.o.GuardArgv
	if c.Resident == residentOff {
		return program{why: "terminal.resident is off"}, nil
	}
	if c.ResidentPath != "" {
		return identify(c.ResidentPath)
	}
	system, arch, err := p.d.machine(ctx, image)
	if err != nil {
		return program{}, err
	}
	if len(guard) == 0 {
		return program{why: "hermes is part of another program here; set terminal.resident_path to a hermes binary for " + system + "/" + arch}, nil
	}
	beside := filepath.Join(filepath.Dir(guard[0]), "hermes-resident-"+system+"-"+arch)
	if _, err := os.Stat(beside); err == nil {
		return identify(beside)
	}
	if system == runtime.GOOS && arch == runtime.GOARCH {
		return identify(guard[0])
	}
	return program{why: fmt.Sprintf("this hermes is for %s/%s and containers run on %s/%s: put a build for those beside it as %s", runtime.GOOS, runtime.GOARCH, system, arch, filepath.Base(beside))}, nil
}

// machine is what programs in containers of an image are made for. The engine's own is asked for where the image isn't there yet, which
// takes ten times as long.
func (d *daemon) machine(ctx context.Context, image string) (system, arch string, err error) {
	if i, err := d.ImageInspect(ctx, image); err == nil && i.Os != "" && i.Architecture != "" {
		return i.Os, i.Architecture, nil
	}
	v, err := d.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return "", "", fmt.Errorf("ask the container engine what machine it runs on: %w", err)
	}
	return v.Os, v.Arch, nil
}

// identify tells one build from another without reading it whole.
func identify(path string) (program, error) {
	path, err := filepath.Abs(expandHome(path))
	if err != nil {
		return program{}, err
	}
	i, err := os.Stat(path)
	if err != nil {
		return program{}, &environment.Error{Kind: environment.ErrConfig, Op: "terminal.resident_path", Err: err}
	}
	return program{path: path, id: fmt.Sprintf("%s %d %d", path, i.Size(), i.ModTime().UnixNano())}, nil
}
