//go:build modal

// Package modaltest is a Modal for tests: a local server that answers as the public service does, whose sandboxes are real processes in
// namespaces of their own. Modal documents its API by its clients: beside each behaviour stands where it is described or relied upon.
// «sandbox.go» and the like are files of https://github.com/modal-labs/modal-client/tree/main/go, v0.11.1, «proto» the comments in its
// proto/modal_proto, «Sandboxes» is https://modal.com/docs/guide/sandboxes.
package modaltest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net"
	"os"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/hermes-runtime/hermes/internal/cloud/cloudtest"
)

// maxMessage is the largest message that is taken: «client.go», maxMessageSize.
const maxMessage = 100 << 20

// Server is one account. Its fields are set before it is used.
type Server struct {
	URL       string        // of the control plane
	Quota     int           // sandboxes that may run at once; 0 = any number
	Slow      int           // looks for the task of a sandbox before it has one
	Pieces    int           // sandboxes on a page of a list; 0 = 100
	Direct    bool          // the answer to SandboxCreateV2 brings the task and its router along: «sandbox.go», ExperimentalCreate
	Building  int           // streams about the making of an image that end before it is made: «image.go», waitForBuildIteration
	TokenLife time.Duration // of tokens for routers; 0 = 10 minutes

	dir            string
	key            []byte // that tokens are signed with
	control, tasks *wire
	work           sync.WaitGroup // of programs in sandboxes

	mu      sync.Mutex
	later   time.Duration // by which the clock was put forward
	skew    time.Duration // by which the clock that routers' tokens are told by is ahead of that
	issued  int64         // tokens
	oldest  [2]int64      // token that counts, by the service that it is for
	made    time.Time     // the newest sandbox
	apps    map[string]string
	boxes   []*box
	images  map[string]*image
	shots   map[string]*shot
	secrets map[string]map[string]string
	faults  []*fault
	log     []string
	calls   map[string]*call
}

// New starts a server, which ends with the test. The test is left out where no sandbox can be made.
func New(t testing.TB) *Server {
	t.Helper()
	cloudtest.Able(t)
	dir, err := os.MkdirTemp("/var/tmp", "hermes-modal-")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{
		dir: dir, key: []byte(random(16)), apps: map[string]string{}, images: map[string]*image{}, shots: map[string]*shot{},
		secrets: map[string]map[string]string{}, calls: map[string]*call{},
	}
	control := s.serve(t, &s.control, func(g *grpc.Server) { pb.RegisterModalClientServer(g, &api{s: s}) })
	tasks := s.serve(t, &s.tasks, func(g *grpc.Server) { pb.RegisterTaskCommandRouterServer(g, &router{s: s}) })
	s.URL = "http://" + s.control.Addr().String()
	t.Cleanup(func() {
		s.mu.Lock()
		for _, b := range s.boxes {
			b.end(terminated)
		}
		s.mu.Unlock()
		control()
		tasks()
		s.work.Wait()
		_ = os.RemoveAll(dir)
	})
	return s
}

// serve listens, and gives what ends that.
func (s *Server) serve(t testing.TB, w **wire, register func(*grpc.Server)) (stop func()) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	*w = &wire{Listener: l, conns: map[*conn]bool{}}
	g := grpc.NewServer(
		grpc.UnaryInterceptor(s.unary), grpc.StreamInterceptor(s.stream), grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage),
		// The client asks every 30 seconds whether somebody is there: «client.go», newClient.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	)
	register(g)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = g.Serve(*w)
	}()
	return func() {
		g.Stop()
		<-served
	}
}

// Main makes the program a part of a sandbox, if it was started as one. TestMain calls it first.
func Main() { cloudtest.Main() }

// Heard counts the requests of a method, each try of one.
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

// unary lets in whom it should, and does a request.
func (s *Server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	f := s.take(methodOf(info.FullMethod), false)
	if err := s.admits(ctx, info.FullMethod, true); err != nil {
		return nil, err
	}
	s.Later(0)
	next := func(ctx context.Context) (any, error) {
		return s.once(ctx, info.FullMethod, func() (any, error) { return handle(ctx, req) })
	}
	if f != nil {
		return f.with(ctx, req, next)
	}
	return next(ctx)
}

// stream does the same for streams, which the client doesn't send its auth token with: «client.go», headerInjectorStreamInterceptor.
func (s *Server) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	f := s.take(methodOf(info.FullMethod), true)
	if err := s.admits(ss.Context(), info.FullMethod, false); err != nil {
		return err
	}
	switch {
	case f == nil:
		return handle(srv, ss)
	case f.with == nil:
		return f.shatter(ss, info.IsClientStream, func(ss grpc.ServerStream) error { return handle(srv, ss) })
	}
	_, err := f.with(ss.Context(), nil, func(context.Context) (any, error) { return nil, handle(srv, ss) })
	return err
}

func methodOf(full string) string { return full[strings.LastIndexByte(full, '/')+1:] }

func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

func (s *Server) fresh(name string) string { return path.Join(s.dir, name) }
