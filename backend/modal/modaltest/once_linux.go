//go:build modal

package modaltest

import (
	"context"

	"google.golang.org/grpc/status"
)

// call is a request that was heard.
type call struct {
	done   chan struct{}
	answer any
	err    error
}

// once does a request once that is sent again under the same key: «client.go», retryInterceptor. One that failed is done again.
func (s *Server) once(ctx context.Context, method string, do func() (any, error)) (any, error) {
	key := first(ctx, "x-idempotency-key")
	if key == "" {
		return do()
	}
	key = method + " " + key
	for {
		s.mu.Lock()
		c, again := s.calls[key]
		if !again {
			c = &call{done: make(chan struct{})}
			s.calls[key] = c
		}
		s.mu.Unlock()
		if !again {
			c.answer, c.err = do()
			if c.err != nil {
				s.mu.Lock()
				delete(s.calls, key)
				s.mu.Unlock()
			}
			close(c.done)
			return c.answer, c.err
		}
		select {
		case <-c.done:
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
		if c.err == nil {
			return c.answer, nil
		}
	}
}
