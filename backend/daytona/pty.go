package daytona

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"time"

	"github.com/coder/websocket"

	"github.com/hermes-runtime/hermes/internal/cloud"
)

const (
	// carryTime bounds bringing the binary.
	carryTime = 10 * time.Minute
	// maxTyped bounds one message to a terminal; servers refuse those above 64 KiB.
	maxTyped = 16 << 10
	// maxSaid bounds what a shell may print before the engine is there.
	maxSaid = 64 << 10
)

// pty is a terminal in the sandbox as a stream of bytes.
type pty struct {
	s    *socket
	left []byte
}

// terminal starts a shell on a terminal.
func (t *toolbox) terminal(ctx context.Context) (*pty, error) {
	id := "hermes-" + cloud.Token()
	body := map[string]any{"id": id, "cols": 80, "rows": 24}
	if err := t.api.Do(ctx, cloud.Call{Method: http.MethodPost, Path: "/process/pty", Body: body, Once: true}); err != nil {
		return nil, fmt.Errorf("start a terminal: %w", err)
	}
	s, err := dialSocket(ctx, t.api, "/process/pty/"+id+"/connect", nil)
	if err != nil {
		return nil, fmt.Errorf("reach the terminal: %w", err)
	}
	p := &pty{s: s}
	if err := p.connected(ctx); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("reach the terminal: %w", err)
	}
	return p, nil
}

// connected waits for the server's word that the terminal is there.
func (p *pty) connected(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { p.s.hangUp(context.Cause(ctx)) })()
	for {
		kind, b, err := p.s.next()
		if err != nil {
			return err
		}
		var word struct{ Type, Status, Error string }
		switch {
		case kind != websocket.MessageText || json.Unmarshal(b, &word) != nil || word.Type != "control":
			p.left = append(p.left, b...) // it may print before
			if len(p.left) > maxSaid {
				return errors.New("it says too much")
			}
		case word.Status == "connected":
			return nil
		default:
			return errors.New(word.Error)
		}
	}
}

// Read gives what is printed.
func (p *pty) Read(b []byte) (int, error) {
	for len(p.left) == 0 {
		_, m, err := p.s.next()
		if websocket.CloseStatus(err) != -1 {
			return 0, io.EOF
		}
		if err != nil {
			return 0, err
		}
		p.left = m
	}
	n := copy(b, p.left)
	p.left = p.left[n:]
	return n, nil
}

// Write types.
func (p *pty) Write(b []byte) (int, error) {
	for sent := 0; sent < len(b); {
		n := min(len(b)-sent, maxTyped)
		if err := p.s.write(websocket.MessageText, b[sent:sent+n]); err != nil {
			return sent, err
		}
		sent += n
	}
	return len(b), nil
}

// Close hangs up.
func (p *pty) Close() error { return p.s.Close() }

// Become types a line that becomes the script.
func (t *toolbox) Become(ctx context.Context, script string) (io.ReadWriteCloser, error) {
	term, err := t.terminal(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(term, " exec sh -c 'stty raw -echo; "+script+"'\n"); err != nil {
		_ = term.Close()
		return nil, fmt.Errorf("type into the terminal: %w", err)
	}
	return term, nil
}

// Upload writes a file of this machine there.
func (t *toolbox) Upload(ctx context.Context, from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	slow := *t.api
	slow.Limit = carryTime
	var boundary [16]byte
	_, _ = rand.Read(boundary[:])
	return slow.Do(ctx, cloud.Call{Method: http.MethodPost, Path: "/files/bulk-upload", Stream: func() cloud.Upload {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return cloud.Upload{Body: &failing{err}}
		}
		var head, foot bytes.Buffer
		w := multipart.NewWriter(&head)
		_ = w.SetBoundary(hex.EncodeToString(boundary[:]))
		_ = w.WriteField("files[0].path", to)
		_, _ = w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="files[0].file"; filename="hermes"`}, "Content-Type": {"application/octet-stream"}})
		fmt.Fprintf(&foot, "\r\n--%s--\r\n", w.Boundary())
		return cloud.Upload{Type: w.FormDataContentType(), Body: io.MultiReader(&head, f, &foot)}
	}})
}

// failing is a body that can't be read.
type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }
