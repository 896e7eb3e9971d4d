package runtime

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
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

// spillExt ends the name of each file there.
const spillExt = ".txt"

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
	p, err := s.inEnvironment(ctx, call, strings.NewReader(text))
	if err == nil {
		return string(p), nil
	}
	f, hostErr := s.onHost(call)
	if hostErr != nil {
		return "", errors.Join(err, hostErr)
	}
	_, werr := io.WriteString(f, text)
	if err := errors.Join(werr, f.Close()); err != nil {
		return "", fmt.Errorf("keep a long result: %w", err)
	}
	return f.Name(), nil
}

// fileNames makes names of a call id: nothing in them can be a path. The second is for when there is a file of the first: ids come
// from outside and are given again, in another session or turn, and what a result has pointed to must not change.
func fileNames(call string) [2]string {
	clean := strings.Map(func(r rune) rune {
		if r < 128 && (r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return '_'
	}, call)
	if len(clean) > 120 {
		clean = clean[:120]
	}
	var other [6]byte
	_, _ = rand.Read(other[:]) // never fails
	return [2]string{clean + spillExt, clean + "-" + hex.EncodeToString(other[:]) + spillExt}
}

func (s *spills) inEnvironment(ctx context.Context, call string, r io.ReadSeeker) (environment.Path, error) {
	if s.place == nil {
		return "", environment.ErrUnavailable
	}
	place, err := s.place(ctx)
	if err != nil {
		return "", err
	}
	files, info := place.Files(), place.Info()
	dir := environment.Path(path.Join(string(info.Temp), spillDir))
	if err := files.MkdirAll(ctx, dir, 0o700); err != nil {
		return "", fmt.Errorf("make %s: %w", dir, err)
	}
	owner, err := private(ctx, files, dir)
	if err != nil {
		return "", err
	}
	host, onHost := info.HostPath(dir)
	if me := os.Geteuid(); onHost && me >= 0 && owner != me {
		return "", fmt.Errorf("%s: %w", dir, errStrange)
	}
	if onHost && s.sweep != nil {
		s.sweep(host)
	}
	var file environment.Path
	var written environment.FileInfo
	for _, name := range fileNames(call) {
		file = environment.Path(path.Join(string(dir), name))
		if _, err := r.Seek(0, io.SeekStart); err != nil {
			return "", fmt.Errorf("keep a long result: %w", err)
		}
		if written, err = files.Replace(ctx, file, r, environment.ReplaceOptions{Mode: 0o600, Exclusive: true}); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err == nil && written.UID != owner {
		_ = files.Remove(ctx, file)
		err = fmt.Errorf("%s: %w", dir, errStrange)
	}
	return file, err
}

// private gives the owner of a directory that nobody else can look into. It must not be a link: others may make one in a temp
// directory, and it would send files, and the sweep of old ones, to where they chose.
func private(ctx context.Context, files environment.FS, dir environment.Path) (owner int, err error) {
	parent, err := files.Resolve(ctx, path.Dir(string(dir)), "/")
	if err != nil {
		return 0, err
	}
	real, err := files.Resolve(ctx, string(dir), "/")
	if err != nil {
		return 0, err
	}
	info, err := files.Stat(ctx, dir)
	if err != nil {
		return 0, err
	}
	if string(real) != path.Join(string(parent), path.Base(string(dir))) || !info.Mode.IsDir() || info.Mode.Perm()&0o077 != 0 {
		return 0, fmt.Errorf("%s: %w", dir, errStrange)
	}
	return info.UID, nil
}

func (s *spills) onHost(call string) (f *os.File, err error) {
	if s.sweep != nil {
		s.sweep(s.host)
	}
	if err := os.MkdirAll(s.host, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory for long results: %w", err)
	}
	for _, name := range fileNames(call) {
		f, err = os.OpenFile(filepath.Join(s.host, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("keep a long result: %w", err)
	}
	return f, nil
}

// Open begins a file that is written while a command runs. It goes to the environment when it is closed.
func (s *spills) Open(ctx context.Context, call string) (tool.SpillFile, error) {
	if s.place != nil {
		if place, err := s.place(ctx); err == nil && place.Info().Namespace == environment.NamespaceHost {
			if f, err := s.openLocal(ctx, place, call); err == nil {
				return f, nil
			}
		}
	}
	f, err := s.onHost(call)
	if err != nil {
		return nil, err
	}
	if s.place == nil {
		return &hostFile{f: f}, nil
	}
	return &movedFile{hostFile: hostFile{f: f}, spills: s, ctx: context.WithoutCancel(ctx), call: call}, nil
}

// openLocal makes the file through the environment, then writes it directly: both are this machine.
func (s *spills) openLocal(ctx context.Context, place environment.Place, call string) (*hostFile, error) {
	p, err := s.inEnvironment(ctx, call, bytes.NewReader(nil))
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
	call   string
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
	if p, err := m.spills.inEnvironment(m.ctx, m.call, f); err == nil {
		m.path = string(p)
		_ = os.Remove(m.f.Name()) // what stays is swept
	}
	return nil
}

func (m *movedFile) Path() string {
	if m.path != "" {
		return m.path
	}
	return m.hostFile.Path()
}

// sweepEvery is how often a directory is looked through for old files.
const sweepEvery = time.Hour

// sweeper throws away spill files that are older than keep, and the oldest above total bytes. It looks into a directory when a file
// is to be put there, but not more often than every. It is safe for concurrent use.
type sweeper struct {
	keep  time.Duration
	total int64
	every time.Duration

	mu     sync.Mutex
	looked map[string]time.Time
}

func (s *sweeper) due(dir string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, ok := s.looked[dir]; ok && time.Since(last) < s.every {
		return false
	}
	if s.looked == nil {
		s.looked = map[string]time.Time{}
	}
	s.looked[dir] = time.Now()
	return true
}

func (s *sweeper) sweep(dir string) {
	if !s.due(dir) {
		return
	}
	root, err := os.OpenRoot(dir) // what takes the directory's place meanwhile is left alone
	if err != nil {
		return
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && strings.HasSuffix(info.Name(), spillExt) {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	left := s.total
	for _, f := range files {
		if left -= f.Size(); left < 0 || time.Since(f.ModTime()) > s.keep {
			_ = root.Remove(f.Name()) // the next look finds it again
		}
	}
}
