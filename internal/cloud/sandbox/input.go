package sandbox

import (
	"context"
	"encoding/base64"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hermes-runtime/hermes/internal/cloud"
)

const (
	// typedLine and typedAtOnce are how many bytes go on a line of input, and with one request.
	typedLine, typedAtOnce = 24 << 10, 48 << 10
	// endOfInput is the line behind the last.
	endOfInput = "."
	// starveTime is how long a script may take to say that it has ended, once it takes no input.
	starveTime = 5 * time.Second
)

// Input brings a script what it reads by requests of an API, which carry text only: lines of base64, and one that says that it is over.
type Input struct {
	send func(ctx context.Context, lines string) error
	life context.Context

	busy    chan struct{} // held while something is sent
	ended   bool          // the last line was sent; guarded by busy
	reached atomic.Bool   // the script may have got something
	failed  chan error    // why nothing can be sent any more
}

// NewInput makes the input of one script. send is one request, in which errors of package cloud say whether it was refused; it isn't called
// twice at once, nor after life has ended.
func NewInput(life context.Context, send func(ctx context.Context, lines string) error) *Input {
	return &Input{send: send, life: life, busy: make(chan struct{}, 1), failed: make(chan error, 1)}
}

// Feed sends what is read from stdin until ctx ends. A script that stops reading early is no failure.
func (i *Input) Feed(ctx context.Context, stdin io.Reader) {
	buf := make([]byte, typedAtOnce)
	for {
		n, err := stdin.Read(buf)
		var lines strings.Builder
		for at := 0; at < n; at += typedLine {
			lines.WriteString(base64.StdEncoding.EncodeToString(buf[at:min(n, at+typedLine)]) + "\n")
		}
		last := err != nil
		if last {
			lines.WriteString(endOfInput + "\n")
		}
		if gerr := i.give(ctx, lines.String(), last); gerr != nil || last {
			if gerr != nil {
				i.failed <- gerr
			}
			return
		}
	}
}

// give sends once, unless the script is over.
func (i *Input) give(ctx context.Context, lines string, last bool) error {
	select {
	case i.busy <- struct{}{}:
		defer func() { <-i.busy }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if i.ended {
		return nil
	}
	err := i.send(i.life, lines) // also where ctx ends meanwhile: half of it would be worse than none
	if err == nil || !cloud.Refused(err) {
		i.reached.Store(true)
	}
	if err == nil {
		i.ended = last
	}
	return err
}

// End says that the input is over, so that what takes it ends, and whether that was heard.
func (i *Input) End(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, starveTime)
	defer cancel()
	select {
	case i.busy <- struct{}{}: // what is on its way has arrived
		defer func() { <-i.busy }()
	case <-ctx.Done():
		return false
	}
	if !i.ended {
		i.ended = i.send(ctx, endOfInput+"\n") == nil
	}
	return i.ended
}

// Starve gives the script up where its input can't be brought: one that has ended says so soon, and another waits in vain.
func (i *Input) Starve(ctx context.Context, giveUp context.CancelCauseFunc) {
	select {
	case err := <-i.failed:
		t := time.NewTimer(starveTime)
		defer t.Stop()
		select {
		case <-t.C:
			giveUp(err)
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
}

// Stop has nothing sent any more, and tells whether the script may have got something.
func (i *Input) Stop() (reached bool) {
	select {
	case i.busy <- struct{}{}: // for good
		return i.reached.Load()
	default: // it is just being given something
		return true
	}
}
