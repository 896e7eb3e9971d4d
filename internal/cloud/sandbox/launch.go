package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/internal/engine/brought"
	"github.com/hermes-runtime/hermes/internal/engine/resident"
)

const (
	// greetTime is how long the engine there may take to answer its first greeting.
	greetTime = 30 * time.Second
	// maxSaid bounds what a shell may print before the engine is there.
	maxSaid = 64 << 10
)

// cellars are where the binary may lie, as a shell there reads it. In those that others can write to the directory has to be the user's.
var cellars = []string{`"$HOME/.cache/hermes"`, `"/tmp/hermes-$(id -u)"`, `"/dev/shm/hermes-$(id -u)"`}

// The words that a shell there says about the binary, each behind a mark that doesn't stand so in the line it was told to run.
const (
	wordBegins  = "begins"      // it becomes the binary
	wordMissing = "missing"     // it isn't there; the machine and the directory follow
	wordFails   = "fails"       // it can't be run
	says        = "hermes-says" // with a dash behind it, before each word
)

// launch is the script that becomes the binary, if it is in a cellar. fetched is a file that was just brought, to be verified and put in
// its place. A shell whose last word it was stays a while, since servers drop what is printed right before the end. There is no single
// quote in it, and no ! that a shell might take for history.
func (p *place) launch(hash, cellar, fetched string) string {
	take, role := "", "resident"
	if p.Text {
		role = "resident --text"
	}
	if fetched != "" {
		take = fmt.Sprintf(`f=$d/%s; s=$(sha256sum <"$f"); if [ "${s%%%% *}" = %s ]; then chmod 700 "$f" && touch "$f" && mv -f "$f" "$b"; else rm -f "$f"; say %s 2 "$s"; fi; "$b" version >/dev/null 2>&1 || { rm -f "$b"; say %s 3 "$d"; }; `+
			`find "$d" -name "resident-*" -mtime +30 -exec rm -f {} +; `, fetched, hash, wordFails, wordFails)
	}
	return fmt.Sprintf(`say() { printf "\n%%s%%s%%s\n" %s - "$*"; [ "$1" = %s ] || { sleep 3; exit; }; }; u=$(umask); umask 077; d=%s; b=$d/resident-%s; mkdir -p "$d" && [ -O "$d" ] && chmod 700 "$d" || say %s 1 "$d"; %s`+
		`[ -e "$b" ] || say %s "$(uname -s) $(uname -m) $d"; touch "$b"; umask "$u"; say %s; exec "$b" %s`,
		says, wordBegins, cellar, hash, wordFails, take, wordMissing, wordBegins, role)
}

// engine makes contact with the engine in the sandbox. The binary is brought where it isn't there.
func (p *place) engine(ctx context.Context, m Machine) (*resident.Place, error) {
	prog, err := p.finder().Program(brought.Machine{OS: "linux", Arch: brought.Here().Arch})
	if err != nil {
		return nil, err
	}
	for _, cellar := range cellars {
		r, ferr := p.greet(ctx, m, p.launch(prog.Hash, cellar, ""))
		if ferr != nil && ferr.word == wordMissing {
			if prog, err = p.bring(ctx, m, prog, ferr); err != nil {
				return nil, err
			}
			r, ferr = p.greet(ctx, m, p.launch(prog.Hash, cellar, partOf(prog)))
		}
		if ferr == nil {
			return r, nil
		}
		err = ferr
		if ferr.word != wordFails {
			break
		}
		p.log.Info("hermes can't be run from a directory of the sandbox", "sandbox", p.order.Name, "error", ferr)
	}
	return nil, err
}

// finder looks for the hermes binary that is brought there.
func (p *place) finder() brought.Finder {
	return brought.Finder{Mode: p.Resident, Path: expandHome(p.ResidentPath), Self: p.Open.GuardArgv}
}

// expandHome makes ~ the home directory of who runs hermes.
func expandHome(path string) string {
	home, err := os.UserHomeDir()
	if err == nil && (path == "~" || strings.HasPrefix(path, "~/")) {
		return filepath.Join(home, path[1:])
	}
	return path
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

// greet runs a script that becomes the engine, and greets that.
func (p *place) greet(ctx context.Context, m Machine, script string) (*resident.Place, *said) {
	ctx, cancel := context.WithTimeoutCause(ctx, greetTime, fmt.Errorf("hermes in the sandbox did not answer within %v", greetTime))
	defer cancel()
	rw, err := m.Become(ctx, script)
	if err != nil {
		return nil, &said{err: err}
	}
	s := &stream{ReadWriteCloser: rw}
	stop := context.AfterFunc(ctx, func() { _ = rw.Close() })
	w := s.listen()
	if !stop() {
		w.err = context.Cause(ctx)
	}
	if w.err != nil || w.word != wordBegins {
		_ = rw.Close()
		return nil, w
	}
	r, err := resident.Connect(ctx, s, p.base, p.settings())
	if err != nil {
		return nil, &said{err: err}
	}
	return r, nil
}

// stream is a stream of which something was read already.
type stream struct {
	io.ReadWriteCloser
	left []byte
}

// Read gives what is left first.
func (s *stream) Read(b []byte) (int, error) {
	if len(s.left) > 0 {
		n := copy(b, s.left)
		s.left = s.left[n:]
		return n, nil
	}
	return s.ReadWriteCloser.Read(b)
}

// listen waits for the shell's word.
func (s *stream) listen() *said {
	var seen []byte
	mark := []byte(says + "-")
	b := make([]byte, 4096)
	for {
		if i := bytes.Index(seen, mark); i >= 0 {
			if word, after, whole := bytes.Cut(seen[i+len(mark):], []byte("\n")); whole {
				s.left = bytes.Clone(after)
				w, rest, _ := strings.Cut(strings.TrimSpace(string(word)), " ")
				return &said{word: w, rest: rest}
			}
		}
		if len(seen) > maxSaid {
			return &said{err: errors.New("start-up files there print more than 64 KiB")}
		}
		n, err := s.ReadWriteCloser.Read(b)
		if seen = append(seen, b[:n]...); err != nil && n == 0 {
			return &said{err: fmt.Errorf("the shell there ended before hermes could begin: %w; it says: %q", err, tail(seen))}
		}
	}
}

func tail(b []byte) []byte { return b[max(0, len(b)-300):] }

// bring puts the binary into the directory that the shell named, under the name of a part.
func (p *place) bring(ctx context.Context, m Machine, prog brought.Program, w *said) (brought.Program, error) {
	words := strings.SplitN(w.rest, " ", 3)
	machine, ok := brought.Told(strings.Join(words[:min(2, len(words))], " "))
	if !ok || len(words) < 3 || !path.IsAbs(words[2]) {
		return prog, fmt.Errorf("the sandbox doesn't say what machine it is, but %q", w.rest)
	}
	prog, err := p.finder().Program(machine)
	if err != nil {
		return prog, err
	}
	if p.Open.Stderr != nil {
		fmt.Fprintf(p.Open.Stderr, "hermes is brought to sandbox %s\n", p.order.Name)
	}
	if err := m.Upload(ctx, prog.Path, path.Join(words[2], partOf(prog))); err != nil {
		return prog, fmt.Errorf("bring hermes to the sandbox: %w", err)
	}
	return prog, nil
}
