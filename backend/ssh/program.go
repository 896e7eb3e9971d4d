package ssh

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/hermes-runtime/hermes/internal/engine/brought"
)

// systems and processors are what `uname -s` and `uname -m` say, in this program's words.
var (
	systems    = map[string]string{"Linux": "linux", "Darwin": "darwin", "FreeBSD": "freebsd", "NetBSD": "netbsd", "OpenBSD": "openbsd"}
	processors = map[string]string{
		"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64", "armv6l": "arm", "armv7l": "arm", "armv8l": "arm", "i386": "386",
		"i686": "386", "ppc64le": "ppc64le", "riscv64": "riscv64", "s390x": "s390x", "loongarch64": "loong64",
	}
)

// program is the hermes binary that is brought to a host.
type program struct {
	path string
	hash string // of its content, in hexadecimal
}

// finder looks for the binary.
type finder struct{ brought.Finder }

// find gives the binary for a machine.
func (f finder) find(m brought.Machine) (program, error) {
	path, err := f.Find(func() (brought.Machine, error) { return m, nil })
	if err != nil {
		return program{}, err
	}
	return identify(path)
}

// hashes remembers what files were read: a binary is tens of megabytes.
var hashes sync.Map // identity → hash

type identity struct {
	path string
	size int64
	time int64
}

// identify reads a binary and gives its hash.
func identify(path string) (program, error) {
	f, err := os.Open(path)
	if err != nil {
		return program{}, fmt.Errorf("read the hermes binary: %w", err)
	}
	defer f.Close()
	i, err := f.Stat()
	if err != nil {
		return program{}, fmt.Errorf("read the hermes binary: %w", err)
	}
	id := identity{path, i.Size(), i.ModTime().UnixNano()}
	if h, ok := hashes.Load(id); ok {
		return program{path, h.(string)}, nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return program{}, fmt.Errorf("read the hermes binary: %w", err)
	}
	h := hex.EncodeToString(sum.Sum(nil))
	hashes.Store(id, h)
	return program{path, h}, nil
}

// found is a search for a binary that goes on beside something else.
type found struct {
	program
	err  error
	done chan struct{}
}

// begin starts looking. Whoever asks for the outcome waits for it.
func (f finder) begin(m brought.Machine) *found {
	r := &found{done: make(chan struct{})}
	go func() { // ends with the file
		defer close(r.done)
		r.program, r.err = f.find(m)
	}()
	return r
}

func (r *found) wait(ctx context.Context) (program, error) {
	select {
	case <-r.done:
		return r.program, r.err
	case <-ctx.Done():
		return program{}, context.Cause(ctx)
	}
}
