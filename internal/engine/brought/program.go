package brought

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// systems and processors are what `uname -s` and `uname -m` say, in Go's words.
var (
	systems    = map[string]string{"Linux": "linux", "Darwin": "darwin", "FreeBSD": "freebsd", "NetBSD": "netbsd", "OpenBSD": "openbsd"}
	processors = map[string]string{
		"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64", "armv6l": "arm", "armv7l": "arm", "armv8l": "arm", "i386": "386",
		"i686": "386", "ppc64le": "ppc64le", "riscv64": "riscv64", "s390x": "s390x", "loongarch64": "loong64",
	}
)

// Told reads what `uname -s` and `uname -m` say, apart by a blank. It is false for a machine that isn't known.
func Told(said string) (Machine, bool) {
	system, processor, _ := strings.Cut(said, " ")
	m := Machine{OS: systems[system], Arch: processors[processor]}
	return m, m.OS != "" && m.Arch != ""
}

// Program is a hermes binary of this machine's files.
type Program struct {
	Path string
	Hash string // SHA-256 of its content, in hexadecimal
}

// Program is Find for one machine, with the hash of what was found.
func (f Finder) Program(m Machine) (Program, error) {
	path, err := f.Find(func() (Machine, error) { return m, nil })
	if err != nil {
		return Program{}, err
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
func identify(path string) (Program, error) {
	f, err := os.Open(path)
	if err != nil {
		return Program{}, fmt.Errorf("read the hermes binary: %w", err)
	}
	defer f.Close()
	i, err := f.Stat()
	if err != nil {
		return Program{}, fmt.Errorf("read the hermes binary: %w", err)
	}
	id := identity{path, i.Size(), i.ModTime().UnixNano()}
	if h, ok := hashes.Load(id); ok {
		return Program{path, h.(string)}, nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return Program{}, fmt.Errorf("read the hermes binary: %w", err)
	}
	h := hex.EncodeToString(sum.Sum(nil))
	hashes.Store(id, h)
	return Program{path, h}, nil
}
