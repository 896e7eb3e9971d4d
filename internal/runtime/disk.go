package runtime

import (
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/hermes-runtime/hermes/internal/approval"
)

// hostDisk looks at this machine's files for the gate. A look that takes longer than lookTime, as on a network file system that hangs,
// is left to end by itself and knows nothing.
type hostDisk struct{}

const lookTime = 5 * time.Millisecond

// look bounds one look.
func look[T any](f func() (T, bool)) (T, bool) {
	type seen struct {
		v  T
		ok bool
	}
	done := make(chan seen, 1)
	go func() {
		v, ok := f()
		done <- seen{v, ok}
	}()
	timer := time.NewTimer(lookTime)
	defer timer.Stop()
	select {
	case s := <-done:
		return s.v, s.ok
	case <-timer.C:
		var none T
		return none, false
	}
}

// Identify implements approval.Disk.
func (hostDisk) Identify(path string) (approval.Identity, bool) {
	return look(func() (approval.Identity, bool) {
		info, err := os.Lstat(path)
		if os.IsNotExist(err) {
			return approval.Identity{}, true
		}
		if err != nil {
			return approval.Identity{}, false
		}
		id := approval.Identity{Exists: true}
		id.Device, id.Inode = number(info)
		if info.Mode()&os.ModeSymlink != 0 {
			id.Link, _ = os.Readlink(path)
		}
		return id, true
	})
}

// Resolve implements approval.Disk.
func (hostDisk) Resolve(path string) string {
	real, ok := look(func() (string, bool) {
		rest := ""
		for at := filepath.Clean(path); ; at = filepath.Dir(at) {
			if r, err := filepath.EvalSymlinks(at); err == nil {
				return filepath.Join(r, rest), true
			}
			if at == filepath.Dir(at) {
				return path, true
			}
			rest = filepath.Join(filepath.Base(at), rest)
		}
	})
	if !ok {
		return path
	}
	return real
}

// Text implements approval.Disk.
func (hostDisk) Text(path string, most int) (string, bool) {
	return look(func() (string, bool) {
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > int64(most) {
			return "", false
		}
		f, err := os.Open(path)
		if err != nil {
			return "", false
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
		return string(text), err == nil && len(text) <= most
	})
}
