package vercel

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/hermes-runtime/hermes/internal/cloud"
)

const (
	// inputTime is how long a command may leave input lying.
	inputTime = 24 * time.Hour
	// typings is how often something is asked whose answer is lost.
	typings = 3
	// askAgain is the pause before the API is asked again what arrived.
	askAgain = 500 * time.Millisecond
)

// typing brings input to a command. The API counts what arrived, so that nothing arrives twice: before anything is sent again the API is
// asked how much it has. It is not safe for concurrent use.
type typing struct {
	m    *machine
	id   string
	sent int // bytes
}

// input is the body of a request that types.
type input struct {
	Data   string `json:"data,omitempty"`
	Offset int    `json:"offset"`
	Close  bool   `json:"close,omitempty"`
}

// send types. The API says with a 504 that the command doesn't read just now, which it may do for as long as it likes.
func (y *typing) send(ctx context.Context, in input) error {
	in.Offset = y.sent
	slow := *y.m.a.api
	slow.Limit = inputTime
	c := y.m.about(y.id, "/stdin", cloud.Call{Method: http.MethodPost, Body: in})
	c.Before = func(ctx context.Context) (bool, error) { return y.arrived(ctx, len(in.Data)) }
	for try := 1; ; {
		err := slow.Do(ctx, c)
		if err == nil || errors.Is(err, cloud.ErrHeard) {
			y.sent += len(in.Data)
			return nil
		}
		switch status := cloud.Status(err); {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case status == http.StatusGatewayTimeout:
		case status != 0 || try == typings:
			return err
		default:
			try++
		}
		heard, aerr := y.arrived(ctx, len(in.Data))
		switch {
		case aerr != nil:
			return errors.Join(err, aerr)
		case heard:
			y.sent += len(in.Data)
			return nil
		}
	}
}

// arrived asks whether the next n bytes are with the command. A request without data types nothing.
func (y *typing) arrived(ctx context.Context, n int) (bool, error) {
	for try := 1; ; try++ {
		var answer struct {
			Written *int `json:"bytesWritten"`
		}
		err := y.m.a.api.Do(ctx, y.m.about(y.id, "/stdin", cloud.Call{Method: http.MethodPost, Body: struct{}{}, Into: &answer}))
		switch {
		case err != nil && cloud.Status(err) == 0 && try < typings && cloud.Rest(ctx, askAgain) == nil: // contact broke
		case err != nil:
			return false, fmt.Errorf("ask how much of the input arrived: %w", err)
		case answer.Written == nil:
			return false, errors.New("the sandbox doesn't count its input, which therefore can't be sent again")
		default:
			return n > 0 && *answer.Written >= y.sent+n, nil
		}
	}
}
