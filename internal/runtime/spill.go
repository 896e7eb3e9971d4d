package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/tool"
)

// spillDir is the directory of an environment's temp that holds what was too long for a result.
const spillDir = "hermes-results"

// spills keeps what is too long for a result where read_file can read it: in the task's environment, else on this machine under
// HERMES_HOME.
type spills struct {
	place func(ctx context.Context) (environment.Place, error) // nil = no environment
	host  string                                               // directory on this machine
	sweep func(dir string)                                     // throws old files away; called when something is kept there
}

// errStrange is why a directory isn't used: somebody else could change or read what lies in it.
var errStrange = errors.New("the directory belongs to somebody else")

// SpillText writes the whole of a text.
func (s *spills) SpillText(ctx context.Context, call, text string) (string, error) {
	name := fileName(call)
	p, err := s.inEnvironment(ctx, name, strings.NewReader(text))
	if err == nil {
		return string(p), nil
	}
	f, hostErr := s.onHost(name)
	if hostErr != nil {
		return "", errors.Join(err, hostErr)
	}
	_, werr := io.WriteString(f, text)
	if err := errors.Join(werr, f.Close()); err != nil {
		return "", fmt.Errorf("keep a long result: %w", err)
	}
	return f.Name(), nil
}

// fileName makes a name of a call id: nothing in it can be a path.
func fileName(call string) string {
	clean := strings.Map(func(r rune) rune {
		if r < 128 && (r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return '_'
	}, call)
	if len(clean) > 120 {
		clean = clean[:120]
	}
	return clean + ".txt"
}

func (s *spills) inEnvironment(ctx context.Context, name string, r io.Reader) (environment.Path, error) {
	if s.place == nil {
		return "", environment.ErrUnavailable
	}
	place, err := s.place(ctx)
	if err != nil {
		return "", err
	}
	files := place.Files()
	dir := environment.Path(path.Join(string(place.Info().Temp), spillDir))
	if err := files.MkdirAll(ctx, dir, 0o700); err != nil {
		return "", fmt.Errorf("make %s: %w", dir, err)
	}
	info, err := files.Stat(ctx, dir)
	if err != nil {
		return "", err
	}
	if !info.Mode.IsDir() || info.Mode.Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s: %w", dir, errStrange)
	}
	if host, ok := place.Info().HostPath(dir); ok && s.sweep != nil {
		s.sweep(host)
	}
	file := environment.Path(path.Join(string(dir), name))
	written, err := files.Replace(ctx, file, r, environment.ReplaceOptions{Mode: 0o600})
	if err == nil && written.UID != info.UID {
		_ = files.Remove(ctx, file)
		err = fmt.Errorf("%s: %w", dir, errStrange)
	}
	return file, err
}

func (s *spills) onHost(name string) (*os.File, error) {
	if s.sweep != nil {
		s.sweep(s.host)
	}
	if err := os.MkdirAll(s.host, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory for long results: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(s.host, name), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("keep a long result: %w", err)
	}
	return f, nil
}

// Open begins a file that is written while a command runs. It goes to the environment when it is closed.
func (s *spills) Open(ctx context.Context, call string) (tool.SpillFile, error) {
	name := fileName(call)
	if s.place != nil {
		if place, err := s.place(ctx); err == nil && place.Info().Namespace == environment.NamespaceHost {
			if f, err := s.openLocal(ctx, place, name); err == nil {
				return f, nil
			}
		}
	}
	f, err := s.onHost(name)
	if err != nil {
		return nil, err
	}
	if s.place == nil {
		return &hostFile{f: f}, nil
	}
	return &movedFile{hostFile: hostFile{f: f}, spills: s, ctx: context.WithoutCancel(ctx), name: name}, nil
}

// openLocal makes the file through the environment, then writes it directly: both are this machine.
func (s *spills) openLocal(ctx context.Context, place environment.Place, name string) (*hostFile, error) {
	p, err := s.inEnvironment(ctx, name, bytes.NewReader(nil))
	if err != nil {
		return nil, err
	}
	host, ok := place.Info().HostPath(p)
	if !ok {
		return nil, environment.ErrUnsupported
	}
	f, err := os.OpenFile(host, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, err
	}
	return &hostFile{f: f}, nil
}

// hostFile is a spill file on this machine.
type hostFile struct{ f *os.File }

func (h *hostFile) Write(p []byte) (int, error) { return h.f.Write(p) }
func (h *hostFile) Close() error                { return h.f.Close() }
func (h *hostFile) Path() string                { return h.f.Name() }

// movedFile is gathered on this machine and moved into an environment of its own namespace when it is whole.
type movedFile struct {
	hostFile
	spills *spills
	ctx    context.Context
	name   string
	path   string
}

func (m *movedFile) Close() error {
	if err := m.f.Close(); err != nil {
		return err
	}
	f, err := os.Open(m.f.Name())
	if err != nil {
		return err
	}
	defer f.Close()
	if p, err := m.spills.inEnvironment(m.ctx, m.name, f); err == nil {
		m.path = string(p)
		return os.Remove(m.f.Name())
	}
	return nil
}

func (m *movedFile) Path() string {
	if m.path != "" {
		return m.path
	}
	return m.hostFile.Path()
}

// sweeper throws away spill files of former sessions: those older than keep, and the oldest above total bytes. It looks into a
// directory once.
func sweeper(keep time.Duration, total int64) func(dir string) {
	var looked sync.Map
	return func(dir string) {
		if _, again := looked.LoadOrStore(dir, true); again {
			return
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return
		}
		var files []fs.FileInfo
		for _, e := range entries {
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				files = append(files, info)
			}
		}
		slices.SortFunc(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
		left := total
		for _, f := range files {
			if left -= f.Size(); left < 0 || time.Since(f.ModTime()) > keep {
				_ = os.Remove(filepath.Join(dir, f.Name()))
			}
		}
	}
}
