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
	"path"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
	"github.com/hermes-runtime/hermes/internal/engine/brought"
	"github.com/hermes-runtime/hermes/internal/engine/resident"
)

const (
	// greetTime is how long the engine there may take to answer its first greeting.
	greetTime = 30 * time.Second
	// carryTime bounds bringing the binary.
	carryTime = 10 * time.Minute
	// maxTyped bounds one message to a terminal; servers refuse those above 64 KiB.
	maxTyped = 16 << 10
	// maxSaid bounds what a shell may print before the engine is there.
	maxSaid = 64 << 10
)

// toolbox is what runs programs in one sandbox, and keeps its files.
type toolbox struct{ api *cloud.API }

// pty is a terminal in the sandbox as a stream of bytes.
type pty struct {
	s    *socket
	left []byte
}

// terminal starts a shell on a terminal.
func (t *toolbox) terminal(ctx context.Context) (*pty, error) {
	id := "hermes-" + token()
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

// cellars are where the binary may lie, as a shell there reads it. In those that others can write to the directory has to be the user's.
var cellars = []string{`"$HOME/.cache/hermes"`, `"/tmp/hermes-$(id -u)"`, `"/dev/shm/hermes-$(id -u)"`}

// The words that a shell there says about the binary, each behind a mark that doesn't stand so in the line it was told to run.
const (
	wordBegins  = "begins"      // it becomes the binary
	wordMissing = "missing"     // it isn't there; the machine and the directory follow
	wordFails   = "fails"       // it can't be run
	says        = "hermes-says" // with a dash behind it, before each word
)

// launch is the line that becomes the binary, if it is in a cellar. fetched is a file that was just brought, to be verified and put in
// its place. A shell whose last word it was stays a while, since servers drop what is printed right before the end. There is no single
// quote in it, and no ! that a shell might take for history.
func launch(hash, cellar, fetched string) string {
	take := ""
	if fetched != "" {
		take = fmt.Sprintf(`f=$d/%s; s=$(sha256sum <"$f"); if [ "${s%%%% *}" = %s ]; then chmod 700 "$f" && mv -f "$f" "$b"; else rm -f "$f"; say %s 2 "$s"; fi; "$b" version >/dev/null 2>&1 || { rm -f "$b"; say %s 3 "$d"; }; `+
			`find "$d" -name "resident-*" -mtime +30 -exec rm -f {} +; `, fetched, hash, wordFails, wordFails)
	}
	script := fmt.Sprintf(`stty raw -echo; say() { printf "\n%%s%%s%%s\n" %s - "$*"; [ "$1" = %s ] || { sleep 3; exit; }; }; u=$(umask); umask 077; d=%s; b=$d/resident-%s; mkdir -p "$d" && [ -O "$d" ] && chmod 700 "$d" || say %s 1 "$d"; %s`+
		`[ -e "$b" ] || say %s "$(uname -s) $(uname -m) $d"; touch "$b"; umask "$u"; say %s; exec "$b" resident --text`,
		says, wordBegins, cellar, hash, wordFails, take, wordMissing, wordBegins)
	return " exec sh -c '" + script + "'\n"
}

// engine makes contact with the engine in the sandbox. The binary is brought where it isn't there.
func (p *place) engine(ctx context.Context, t *toolbox) (*link, error) {
	prog, err := p.finder().Program(brought.Machine{OS: "linux", Arch: brought.Here().Arch})
	if err != nil {
		return nil, err
	}
	for _, cellar := range cellars {
		r, ferr := p.greet(ctx, t, launch(prog.Hash, cellar, ""))
		if ferr != nil && ferr.word == wordMissing {
			if prog, err = p.bring(ctx, t, prog, ferr); err != nil {
				return nil, err
			}
			r, ferr = p.greet(ctx, t, launch(prog.Hash, cellar, partOf(prog)))
		}
		if ferr == nil {
			return &link{r, p}, nil
		}
		err = ferr
		if ferr.word != wordFails {
			break
		}
		p.log.Info("hermes can't be run from a directory of the sandbox", "sandbox", p.name, "error", ferr)
	}
	return nil, err
}

// partOf is what the binary is called while it isn't known to be whole.
func partOf(prog brought.Program) string { return ".part-" + prog.Hash[:16] }

// said is a shell that doesn't become the engine.
type said struct {
	word, rest string
	err        error
}

func (s *said) Error() string {
	if s.err != nil {
		return s.err.Error()
	}
	return fmt.Sprintf("the shell there says: %s %s", s.word, s.rest)
}

func (s *said) Unwrap() error { return s.err }

// greet types a line that becomes the engine, and greets that.
func (p *place) greet(ctx context.Context, t *toolbox, line string) (*resident.Place, *said) {
	ctx, cancel := context.WithTimeoutCause(ctx, greetTime, fmt.Errorf("hermes in the sandbox did not answer within %v", greetTime))
	defer cancel()
	term, err := t.terminal(ctx)
	if err != nil {
		return nil, &said{err: err}
	}
	stop := context.AfterFunc(ctx, func() { term.s.hangUp(context.Cause(ctx)) })
	_, err = io.WriteString(term, line)
	w := &said{err: err}
	if err == nil {
		w = term.listen()
	}
	if !stop() || w.word != wordBegins {
		_ = term.Close()
		return nil, w
	}
	r, err := resident.Connect(ctx, term, p.base, p.settings())
	if err != nil {
		return nil, &said{err: err}
	}
	return r, nil
}

// listen waits for the shell's word.
func (p *pty) listen() *said {
	var seen []byte
	mark := []byte(says + "-")
	for {
		if i := bytes.Index(seen, mark); i >= 0 {
			if word, after, whole := bytes.Cut(seen[i+len(mark):], []byte("\n")); whole {
				p.left = append(bytes.Clone(after), p.left...)
				w, rest, _ := strings.Cut(strings.TrimSpace(string(word)), " ")
				return &said{word: w, rest: rest}
			}
		}
		if len(seen) > maxSaid {
			return &said{err: errors.New("start-up files there print more than 64 KiB")}
		}
		b := make([]byte, 4096)
		n, err := p.Read(b)
		if seen = append(seen, b[:n]...); err != nil {
			return &said{err: fmt.Errorf("the shell there ended before hermes could begin: %w; it says: %q", err, tail(seen))}
		}
	}
}

func tail(b []byte) []byte { return b[max(0, len(b)-300):] }

// bring puts the binary into the directory that the shell named, under the name of a part.
func (p *place) bring(ctx context.Context, t *toolbox, prog brought.Program, w *said) (brought.Program, error) {
	words := strings.SplitN(w.rest, " ", 3)
	m, ok := brought.Told(strings.Join(words[:min(2, len(words))], " "))
	if !ok || len(words) < 3 || !path.IsAbs(words[2]) {
		return prog, fmt.Errorf("the sandbox doesn't say what machine it is, but %q", w.rest)
	}
	prog, err := p.finder().Program(m)
	if err != nil {
		return prog, err
	}
	if p.o.Stderr != nil {
		fmt.Fprintf(p.o.Stderr, "hermes is brought to sandbox %s\n", p.name)
	}
	if err := t.upload(ctx, prog.Path, path.Join(words[2], partOf(prog))); err != nil {
		return prog, fmt.Errorf("bring hermes to the sandbox: %w", err)
	}
	return prog, nil
}

// upload writes a file of this machine there.
func (t *toolbox) upload(ctx context.Context, from, to string) error {
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

var _ environment.Environment = (*link)(nil)
