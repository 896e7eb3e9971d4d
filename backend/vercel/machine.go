package vercel

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"sync"
	"syscall"
	"time"

	"github.com/hermes-runtime/hermes/internal/cloud"
	"github.com/hermes-runtime/hermes/internal/cloud/sandbox"
)

const (
	// killTime bounds the end of commands that somebody hung up on.
	killTime = 10 * time.Second
	// carryTime bounds bringing the binary.
	carryTime = 10 * time.Minute
)

// machine runs programs in one session of a sandbox.
type machine struct {
	*sandbox.Contact
	a       *access
	session string
	life    context.Context // ends with Close
	end     context.CancelFunc

	mu   sync.Mutex
	held map[string]bool // commands that somebody hung up on
}

func newMachine(a *access, b sandbox.Box) *machine {
	m := &machine{Contact: sandbox.NewContact(b.Name), a: a, session: b.Session, held: map[string]bool{}}
	m.life, m.end = context.WithCancel(context.Background())
	return m
}

var _ sandbox.Machine = (*machine)(nil)

// Close ends the commands that somebody hung up on.
func (m *machine) Close(ctx context.Context) error {
	m.end()
	m.mu.Lock()
	held := m.held
	m.held = nil
	m.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, killTime)
	defer cancel()
	for id := range held {
		_ = m.a.api.Do(ctx, m.about(id, "/kill", cloud.Call{Method: http.MethodPost, Once: true, Body: map[string]int{"signal": int(syscall.SIGKILL)}})) // it ends with the session at the latest
	}
	return nil
}

// about completes a request that is about one command.
func (m *machine) about(id, below string, c cloud.Call) cloud.Call {
	c.Path, c.Query = session(m.session)+"/cmd/"+url.PathEscape(id)+below, m.a.query()
	return c
}

// starting is the request that starts a command, and is answered with all that becomes of it.
func (m *machine) starting(args []string, input bool) cloud.Call {
	return cloud.Call{
		Method: http.MethodPost, Path: session(m.session) + "/cmd", Query: m.a.query(), Once: true,
		Body: map[string]any{"command": "sh", "args": args, "wait": true, "logs": true, "attachStdin": input},
	}
}

// hold remembers a command that somebody hung up on, to end it with the contact.
func (m *machine) hold(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if id != "" && m.held != nil {
		m.held[id] = true
	}
}

// Upload writes a file of this machine there.
func (m *machine) Upload(ctx context.Context, from, to string) error {
	slow := *m.a.api
	slow.Limit = carryTime
	var packing sync.WaitGroup
	defer packing.Wait()
	return slow.Do(ctx, cloud.Call{
		Method: http.MethodPost, Path: session(m.session) + "/fs/write", Query: m.a.query(), Header: http.Header{"X-Cwd": {path.Dir(to)}},
		Stream: func() cloud.Upload {
			r, w := io.Pipe() // whoever sends it closes it
			packing.Go(func() { _ = w.CloseWithError(pack(w, from, path.Base(to))) })
			return cloud.Upload{Type: "application/gzip", Body: r}
		},
	})
}

// pack writes an archive of one file.
func pack(w io.Writer, from, name string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	i, err := f.Stat()
	if err != nil {
		return err
	}
	z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
	t := tar.NewWriter(z)
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: i.Size(), Mode: 0o700, ModTime: time.Now()}); err != nil {
		return fmt.Errorf("pack %s: %w", from, err)
	}
	if _, err := io.Copy(t, f); err != nil {
		return fmt.Errorf("pack %s: %w", from, err)
	}
	if err := t.Close(); err != nil {
		return fmt.Errorf("pack %s: %w", from, err)
	}
	return z.Close()
}
