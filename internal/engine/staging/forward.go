package staging

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/peer"
)

// Forward makes the directory of one run with its files, and listens in it.
func (a *Area) Forward(files map[string][]byte) (*Socket, error) {
	d, err := a.Make()
	if err != nil {
		return nil, err
	}
	s := &Socket{dir: d, log: a.o.Log}
	if err := s.listen(files); err != nil {
		return nil, errors.Join(err, d.Remove())
	}
	return s, nil
}

// Socket is the socket of one run, in its directory.
type Socket struct {
	dir *Dir
	ln  listener
	log *slog.Logger

	closing sync.Once
	err     error
}

type listener interface {
	AcceptUnix() (*net.UnixConn, error)
	Close() error
}

// acceptPause is how long accepting rests after a failure: out of descriptors, it passes.
const acceptPause = 10 * time.Millisecond

var _ environment.Forwarding = (*Socket)(nil)

func (s *Socket) listen(files map[string][]byte) error {
	for name, content := range files {
		if err := s.dir.Write(name, content); err != nil {
			return err
		}
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.dir.Socket, Net: "unix"})
	if err != nil {
		return fmt.Errorf("listen on the socket of a run: %w", err)
	}
	if err := os.Chmod(s.dir.Socket, 0o600); err != nil {
		return errors.Join(fmt.Errorf("make the socket of a run private: %w", err), ln.Close())
	}
	s.ln = ln
	return nil
}

// Dir is the directory of the run.
func (s *Socket) Dir() environment.Path { return environment.Path(s.dir.Path) }

// Temp is the directory for its temporary files.
func (s *Socket) Temp() environment.Path { return environment.Path(s.dir.Temp) }

// Socket is the path that it listens on.
func (s *Socket) Socket() environment.Path { return environment.Path(s.dir.Socket) }

// Accept waits for the next connection of this user's. It goes on after failures that pass: its error is the last, and matches
// net.ErrClosed.
func (s *Socket) Accept() (io.ReadWriteCloser, error) {
	for failed := false; ; {
		c, err := s.ln.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return nil, err
		}
		if err != nil {
			if !failed {
				s.log.Warn("accept a connection of a script", "error", err)
			}
			failed = true
			time.Sleep(acceptPause)
			continue
		}
		if err := peer.SameUser(c); err != nil {
			s.log.Warn("a connection to a script's socket was closed", "reason", err)
			_ = c.Close()
			continue
		}
		return c, nil
	}
}

// Close listens no more and removes the directory.
func (s *Socket) Close() error {
	s.closing.Do(func() { s.err = errors.Join(s.ln.Close(), s.dir.Remove()) })
	return s.err
}
