package sandbox

import (
	"context"
	"errors"
	"net/http"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
)

// Making is a request that makes a sandbox whose name nobody else has.
type Making struct {
	API    *cloud.API
	Call   cloud.Call
	Order  Order
	Answer func() (Box, error)                    // reads what Call.Into holds
	Find   func(ctx context.Context) (Box, error) // looks for the sandbox by its name
}

// Do sends it. Where it isn't known whether it was heard the sandbox is looked for: it is never made twice. begun says that there may be
// one all the same where it fails.
func (m Making) Do(ctx context.Context) (b Box, begun bool, err error) {
	m.Call.Before = func(ctx context.Context) (bool, error) {
		_, err := m.Find(ctx)
		if errors.Is(err, environment.ErrGone) {
			return false, nil
		}
		return err == nil, err
	}
	if err = m.API.Do(ctx, m.Call); err == nil {
		if b, err = m.Answer(); err == nil {
			return b, true, nil
		}
	}
	if cloud.Refused(err) && cloud.Status(err) != http.StatusConflict {
		return Box{}, false, err
	}
	answered := cloud.Status(err) != 0 && cloud.Status(err) != http.StatusRequestTimeout && cloud.Status(err) != http.StatusGatewayTimeout
	found, gerr := m.Find(context.WithoutCancel(ctx))
	switch {
	case gerr != nil:
		return Box{}, !answered || !errors.Is(gerr, environment.ErrGone), err // unanswered, it may come later
	case found.Use != m.Order.Use:
		return Box{}, false, Taken(m.Order.Name)
	}
	return found, true, nil
}
