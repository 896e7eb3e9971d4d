package script

import (
	"bytes"
	"context"
	_ "embed"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/script/rpc"
	"github.com/hermes-runtime/hermes/tool"
)

//go:embed proof.py
var proofText string

const (
	proofName = "prove.py"
	proofTool = "hermes:proof"   // what the proof asks for; no tool has such a name
	proofTime = 20 * time.Second // that each part of the way may take
	markedMax = 64 << 10         // bytes before a mark that start-up files and shells may print
)

// proof shows that a script somewhere else is in touch: its child is up, both outputs arrive, and its socket leads here and back. It
// comes before the script's first line, so that nothing runs that can't be heard. The methods of a nil proof ask for none.
type proof struct {
	clock    Clock
	mark     string
	out, err *marked

	mu        sync.Mutex
	connected bool
	proven    bool
}

func newProof(c Clock) *proof {
	p := &proof{clock: c, mark: "hermes-proof-" + rpc.NewToken()}
	p.out, p.err = newMarked(p.mark), newMarked(p.mark)
	return p
}

// program is what runs before the script, in its process.
func (p *proof) program() []byte {
	return []byte(strings.NewReplacer("@MARK@", p.mark, "@TOOL@", proofTool, "@SECONDS@", strconv.Itoa(2*int(proofTime.Seconds()))).Replace(proofText))
}

// before has the proof answered, and all else by h.
func (p *proof) before(h rpc.Handler) rpc.Handler {
	if p == nil {
		return h
	}
	return func(ctx context.Context, r rpc.Request) rpc.Answer {
		if r.Tool == proofTool {
			return p.answer(ctx)
		}
		return h(ctx, r)
	}
}

// answer lets the script begin once both outputs have arrived.
func (p *proof) answer(ctx context.Context) rpc.Answer {
	p.mu.Lock()
	p.connected = true
	p.mu.Unlock()
	late := make(chan struct{})
	defer p.clock.AfterFunc(proofTime, func() { close(late) })()
	for _, m := range []*marked{p.out, p.err} {
		select {
		case <-m.seen:
		case <-late:
			return refuse(string(tool.ErrTypeInternal), "the outputs don't arrive")
		case <-ctx.Done():
			return refuse(string(tool.ErrTypeInternal), "the run has ended")
		}
	}
	p.mu.Lock()
	p.proven = true
	p.mu.Unlock()
	return rpc.Answer{Result: `{"proven":true}`}
}

// strip takes the marks out of the outputs. done passes on what is held.
func (p *proof) strip(out, errs io.Writer) (stdout, stderr io.Writer, done func()) {
	if p == nil {
		return out, errs, func() {}
	}
	p.out.to, p.err.to = out, errs
	return p.out, p.err, func() { p.out.flush(); p.err.flush() }
}

// missing says which part of the way is not there, "" if all of it is.
func (p *proof) missing(res environment.Result) string {
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := func(m *marked) bool {
		select {
		case <-m.seen:
			return true
		default:
			return false
		}
	}
	switch {
	case p.proven:
		return ""
	case !p.connected && !seen(p.out) && !seen(p.err):
		return "its interpreter did not come up there (exit code " + strconv.Itoa(res.ExitCode) + ")"
	case !p.connected:
		return "its socket there does not lead here"
	case !seen(p.out):
		return "its output does not arrive here"
	case !seen(p.err):
		return "its error output does not arrive here"
	}
	return "the answer does not arrive there"
}

// marked passes an output on, less the line that proves that it arrives.
type marked struct {
	to   io.Writer
	seen chan struct{}
	mark []byte

	mu   sync.Mutex
	held []byte
	over bool // the mark has come, or won't
}

func newMarked(mark string) *marked {
	return &marked{seen: make(chan struct{}), mark: []byte(mark + "\n")}
}

func (m *marked) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over {
		return m.to.Write(b)
	}
	m.held = append(m.held, b...)
	before, after, found := bytes.Cut(m.held, m.mark)
	switch {
	case found:
		close(m.seen)
		m.pass(before, after)
	case len(m.held) > markedMax:
		m.pass(m.held)
	}
	return len(b), nil
}

// flush passes on what is held in wait for the mark.
func (m *marked) flush() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pass(m.held)
}

// pass ends the wait. m.mu is held; m.to never fails.
func (m *marked) pass(parts ...[]byte) {
	m.over, m.held = true, nil
	for _, b := range parts {
		if len(b) > 0 {
			_, _ = m.to.Write(b)
		}
	}
}
