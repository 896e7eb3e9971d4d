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

// findBinary looks for a hermes that runs in containers of the daemon: the one that is configured, one that was built for it beside
// this program, this program itself. In the program of somebody else who uses hermes as a library there is no itself.
func findBinary(ctx context.Context, d *daemon, c *Config, guard []string) (program, error) {
	if c.Resident == residentOff {
		return program{why: "terminal.resident is off"}, nil
	}
	if c.ResidentPath != "" {
		return identify(c.ResidentPath)
	}
	v, err := d.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return program{}, fmt.Errorf("ask the container engine what machine it runs on: %w", err)
	}
	if len(guard) == 0 {
		return program{why: "hermes is part of another program here; set terminal.resident_path to a hermes binary for " + v.Os + "/" + v.Arch}, nil
	}
	beside := filepath.Join(filepath.Dir(guard[0]), "hermes-resident-"+v.Os+"-"+v.Arch)
	if _, err := os.Stat(beside); err == nil {
		return identify(beside)
	}
	if v.Os == runtime.GOOS && v.Arch == runtime.GOARCH {
		return identify(guard[0])
	}
	return program{why: fmt.Sprintf("this hermes is for %s/%s and containers run on %s/%s: put a build for those beside it as %s", runtime.GOOS, runtime.GOARCH, v.Os, v.Arch, filepath.Base(beside))}, nil
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
