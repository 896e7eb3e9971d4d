package ssh

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/hermes-runtime/hermes/environment"
)

// machine is what a program has to be made for.
type machine struct{ os, arch string }

func (m machine) String() string { return m.os + "/" + m.arch }

// here is this machine.
func here() machine { return machine{runtime.GOOS, runtime.GOARCH} }

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

// noProgramError says why there is none to bring.
type noProgramError struct{ why string }

func (e *noProgramError) Error() string { return e.why }

// finder looks for the binary.
type finder struct {
	config *Config
	self   []string // starts this program; nil = hermes is part of another one
	home   func(string) string
}

// find gives the binary for a machine: the one that is configured, one that was built for it beside this program, this program itself.
func (f finder) find(m machine) (program, error) {
	if f.config.Resident == residentOff {
		return program{}, &noProgramError{"terminal.resident is off"}
	}
	if p := f.config.ResidentPath; p != "" {
		prog, err := identify(f.home(p))
		if err != nil {
			return prog, &environment.Error{Kind: environment.ErrConfig, Op: "terminal.resident_path", Err: err}
		}
		return prog, nil
	}
	if len(f.self) == 0 {
		return program{}, &noProgramError{"hermes is part of another program here; set terminal.resident_path to a hermes binary for " + m.String()}
	}
	beside := filepath.Join(filepath.Dir(f.self[0]), "hermes-resident-"+m.os+"-"+m.arch)
	if _, err := os.Stat(beside); err == nil {
		return identify(beside)
	}
	if m == here() {
		return identify(f.self[0])
	}
	return program{}, &noProgramError{fmt.Sprintf("this hermes is for %s and the host is %s: put a build for that beside it as %s", here(), m, filepath.Base(beside))}
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
func (f finder) begin(m machine) *found {
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
