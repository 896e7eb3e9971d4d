//go:build modal

// Package modaltest is a Modal for tests: a local server that answers as the public service does, whose sandboxes are real processes in
// namespaces of their own. Modal documents its API by its clients: beside each behaviour stands where it is described or relied upon.
// «sandbox.go» and the like are files of https://github.com/modal-labs/modal-client, «Sandboxes», «Snapshots» and the like pages below
// https://modal.com/docs/guide.
package modaltest

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/hermes-runtime/hermes/internal/cloud/cloudtest"
)

// ID and Secret are the credentials that the server takes.
const (
	ID     = "ak-0123456789abcdefABCDEF"
	Secret = "as-0123456789abcdefABCDEF"
)

// Server is one account. Its fields are set before it is used.
type Server struct {
	URL    string
	Quota  int // sandboxes that may run at once; 0 = any number
	Slow   int // looks for the task of a sandbox before it has one
	Pieces int // sandboxes on a page of a list; 0 = 100

	dir  string
	grpc *grpc.Server

	mu     sync.Mutex
	later  time.Duration // by which the server's clock was put forward
	skew   time.Duration // by which the client's clock is behind, for tokens of sandboxes
	boxes  []*box
	images map[string]string // id of an image → directory of its files; "" = one of a registry
	app    string
	faults []*fault
	log    []string
	done   map[string]any // idempotency key → answer, of calls that were heard
}

// Unary is what happens to a request instead of what should: next does that.
type Unary = func(ctx context.Context, req any, next func(context.Context) (any, error)) (any, error)

type fault struct {
	method string
	times  int
	with   Unary
	after  int // messages of a stream
	err    error
}

// New starts a server, which ends with the test. The test is left out where no sandbox can be made.
func New(t testing.TB) *Server {
	t.Helper()
	cloudtest.Able(t)
	dir, err := os.MkdirTemp("/var/tmp", "hermes-modal-")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{URL: "http://" + l.Addr().String(), dir: dir, images: map[string]string{}, done: map[string]any{}}
	s.grpc = grpc.NewServer(grpc.UnaryInterceptor(s.unary), grpc.StreamInterceptor(s.stream), grpc.MaxRecvMsgSize(100<<20))
	pb.RegisterModalClientServer(s.grpc, &api{s: s})
	pb.RegisterTaskCommandRouterServer(s.grpc, &router{s: s})
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.grpc.Serve(l)
	}()
	t.Cleanup(func() {
		s.mu.Lock()
		for _, b := range s.boxes {
			b.end(terminated)
		}
		s.mu.Unlock()
		s.grpc.Stop()
		<-served
		_ = os.RemoveAll(dir)
	})
	return s
}

// Main makes the program a part of a sandbox, if it was started as one. TestMain calls it first.
func Main() { cloudtest.Main() }

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

// Heard counts the requests of a method.
func (s *Server) Heard(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, m := range s.log {
		if m == method {
			n++
		}
	}
	return n
}

// Skew has tokens for sandboxes end too early by this, although they say otherwise: what a client sees whose clock is wrong.
func (s *Server) Skew(by time.Duration) { s.mu.Lock(); defer s.mu.Unlock(); s.skew = by }

// Later puts the server's clock forward.
func (s *Server) Later(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.later += d
	for _, b := range s.boxes {
		b.age(s.now())
	}
}

func (s *Server) now() time.Time { return time.Now().Add(s.later) }

// take gives the fault that a request meets.
func (s *Server) take(method string, stream bool) *fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, method)
	for _, f := range s.faults {
		if f.method == method && f.times != 0 && stream == (f.with == nil) {
			f.times--
			return f
		}
	}
	return nil
}

func methodOf(full string) string { return full[strings.LastIndexByte(full, '/')+1:] }

// unary lets in whom it should, and does a request once that is sent again under the same key: «client.go», retryInterceptor.
func (s *Server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	method := methodOf(info.FullMethod)
	f := s.take(method, false)
	if err := s.admits(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	next := func(ctx context.Context) (any, error) {
		key := first(ctx, "x-idempotency-key")
		s.mu.Lock()
		answer, again := s.done[key]
		s.mu.Unlock()
		if again && key != "" {
			return answer, nil
		}
		answer, err := handle(ctx, req)
		if err == nil {
			s.mu.Lock()
			s.done[key] = answer
			s.mu.Unlock()
		}
		return answer, err
	}
	if f != nil {
		return f.with(ctx, req, next)
	}
	return next(ctx)
}

func (s *Server) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if err := s.admits(ss.Context(), info.FullMethod); err != nil {
		return err
	}
	if f := s.take(methodOf(info.FullMethod), true); f != nil {
		return handle(srv, &brittle{ss, f})
	}
	return handle(srv, ss)
}

// brittle is a stream that breaks.
type brittle struct {
	grpc.ServerStream
	f *fault
}

// SendMsg sends while the stream holds.
func (b *brittle) SendMsg(m any) error {
	if b.f.after--; b.f.after < 0 {
		return b.f.err
	}
	return b.ServerStream.SendMsg(m)
}

func first(ctx context.Context, key string) string {
	md, _ := metadata.FromIncomingContext(ctx)
	if v := md.Get(key); len(v) > 0 {
		return v[0]
	}
	return ""
}

// admits checks credentials: «client.go», injectRequiredHeaders and authTokenInterceptor; routers have tokens of their own.
func (s *Server) admits(ctx context.Context, full string) error {
	if strings.Contains(full, "TaskCommandRouter") {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, b := range s.boxes {
			if first(ctx, "authorization") == "Bearer "+b.jwt && b.expires.After(s.now().Add(s.skew)) {
				return nil
			}
		}
		return status.Error(codes.Unauthenticated, "JWT is expired or invalid")
	}
	if first(ctx, "x-modal-token-id") != ID || first(ctx, "x-modal-token-secret") != Secret {
		return status.Error(codes.Unauthenticated, "Token ID or secret is invalid: "+first(ctx, "x-modal-token-secret"))
	}
	if methodOf(full) != "AuthTokenGet" && first(ctx, "x-modal-auth-token") == "" && !strings.HasSuffix(full, "Streaming") {
		return status.Error(codes.Unauthenticated, "no auth token")
	}
	return nil
}

// token makes a JWT that tells when it ends: «task_command_router_client.go», parseJwtExpiration.
func token(until time.Time) string {
	b64 := base64.RawURLEncoding.EncodeToString
	return b64([]byte(`{"alg":"none"}`)) + "." + b64(fmt.Appendf(nil, `{"exp":%d,"jti":"%s"}`, until.Unix(), random(8))) + "." + b64([]byte("signed"))
}

func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

func (s *Server) fresh(name string) string { return path.Join(s.dir, name) }
