//go:build modal

package modaltest

import (
	"context"
	"sync"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
)

// Unary is what happens to a request instead of what should: next does that. A stream has no req, and next gives no answer.
type Unary = func(ctx context.Context, req any, next func(context.Context) (any, error)) (any, error)

type fault struct {
	method string
	times  int
	with   Unary
	after  int // messages of a stream
	err    error
}

// Fault has requests of a method go wrong, as often as is said (below 0 = always).
func (s *Server) Fault(method string, times int, with Unary) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &fault{method: method, times: times, with: with})
}

// Break has streams of a method end with an error after some messages, as often as is said (below 0 = always).
func (s *Server) Break(method string, times, after int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &fault{method: method, times: times, after: after, err: err})
}

// Mend forgets all faults.
func (s *Server) Mend() { s.mu.Lock(); defer s.mu.Unlock(); s.faults = nil }

// take gives the fault that a request meets.
func (s *Server) take(method string, stream bool) *fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, method)
	for _, f := range s.faults {
		if f.method == method && f.times != 0 && (stream || f.with != nil) {
			f.times--
			return f
		}
	}
	return nil
}

// shatter has a stream break, at its end if that comes with the last message that passes.
func (f *fault) shatter(ss grpc.ServerStream, receives bool, handle func(grpc.ServerStream) error) error {
	b := &brittle{ServerStream: ss, receives: receives, left: f.after, err: f.err}
	if err := handle(b); b.left > 0 {
		return err
	}
	return f.err
}

// brittle is a stream that breaks after some messages, of those that the client sends or of those that it is sent.
type brittle struct {
	grpc.ServerStream
	receives bool
	left     int
	err      error
}

func (b *brittle) holds(receives bool) bool {
	if receives == b.receives {
		b.left--
	}
	return b.left >= 0
}

// SendMsg sends while the stream holds.
func (b *brittle) SendMsg(m any) error {
	if !b.holds(false) {
		return b.err
	}
	return b.ServerStream.SendMsg(m)
}

// RecvMsg receives while the stream holds.
func (b *brittle) RecvMsg(m any) error {
	if !b.holds(true) {
		return b.err
	}
	return b.ServerStream.RecvMsg(m)
}

// Refuse answers with an error, and does nothing.
func Refuse(code codes.Code, message string, details ...protoadapt.MessageV1) Unary {
	return func(context.Context, any, func(context.Context) (any, error)) (any, error) {
		s, err := status.New(code, message).WithDetails(details...)
		if err != nil {
			return nil, err
		}
		return nil, s.Err()
	}
}

// Throttle asks for another try after a time: «client.go», getServerRetryPolicy. The client obeys as often as it hears that.
func Throttle(after time.Duration) Unary {
	policy := pb.RPCRetryPolicy_builder{RetryAfterSecs: float32(after.Seconds())}.Build()
	return Refuse(codes.ResourceExhausted, "rate limit exceeded", protoadapt.MessageV1Of(policy))
}

// Lost does what it should, and answers with an error all the same.
func Lost(code codes.Code) Unary {
	return func(ctx context.Context, _ any, next func(context.Context) (any, error)) (any, error) {
		if _, err := next(ctx); err != nil {
			return nil, err
		}
		return nil, status.Error(code, "the answer was lost")
	}
}

// Change does what it should, and answers with something that was changed.
func Change[T proto.Message](change func(T)) Unary {
	return func(ctx context.Context, _ any, next func(context.Context) (any, error)) (any, error) {
		answer, err := next(ctx)
		if m, ok := answer.(T); ok && err == nil {
			m, _ = proto.Clone(m).(T)
			change(m)
			return m, nil
		}
		return answer, err
	}
}

// Gate holds requests until the test lets them go.
type Gate struct {
	came, open chan struct{}
	once, last sync.Once
}

// NewGate makes a gate, which is shut.
func NewGate() *Gate { return &Gate{came: make(chan struct{}), open: make(chan struct{})} }

// Came is closed when the first request is held.
func (g *Gate) Came() <-chan struct{} { return g.came }

// Open lets all requests go.
func (g *Gate) Open() { g.last.Do(func() { close(g.open) }) }

func (g *Gate) wait(ctx context.Context) error {
	g.once.Do(func() { close(g.came) })
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// Before holds requests before anything is done.
func (g *Gate) Before(ctx context.Context, _ any, next func(context.Context) (any, error)) (any, error) {
	if err := g.wait(ctx); err != nil {
		return nil, err
	}
	return next(ctx)
}

// After does what it should, and holds the answer.
func (g *Gate) After(ctx context.Context, _ any, next func(context.Context) (any, error)) (any, error) {
	answer, err := next(ctx)
	if err := g.wait(ctx); err != nil {
		return nil, err
	}
	return answer, err
}
