// Package resident brings the engine to where it is needed: a server that stands beside it, and a client that is an environment like
// any other. Between them lies one stream of bytes, which the backend provides.
package resident

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine"
	"github.com/hermes-runtime/hermes/internal/engine/files"
	"github.com/hermes-runtime/hermes/internal/engine/resident/wire"
	"github.com/hermes-runtime/hermes/internal/engine/search"
	"github.com/hermes-runtime/hermes/internal/engine/staging"
)

// closeTime bounds the end of what runs when the other side is gone.
const closeTime = 10 * time.Second

// Settings is what the client wants of the engine there. It goes over with the hello.
type Settings struct {
	Grace          time.Duration      `json:"grace,omitempty"` // between TERM and KILL
	Limits         environment.Limits `json:"limits"`
	ShellInitFiles []string           `json:"shell_init_files,omitempty"`
	ReadsLogin     bool               `json:"reads_login,omitempty"` // read the user's shell files once
	Environ        map[string]string  `json:"environ,omitempty"`     // on top of the variables that are there
	Home           string             `json:"home,omitempty"`        // "" = the user's
	Temp           string             `json:"temp,omitempty"`        // "" = as the variables there say, else /tmp
	Jobs           string             `json:"jobs,omitempty"`        // name that sets its jobs apart where places share a home; "" = none do
}

// ServeOptions says where a server stands. The zero value works.
type ServeOptions struct {
	Build   string   // of this program, for messages
	Text    bool     // the transport carries lines of text
	Environ []string // nil = the process's
	Guard   []string // starts the guard of what runs; nil = none
	Keeper  []string // starts the keeper of jobs; nil = none: jobs end with the server
	Log     *slog.Logger
}

// server serves one connection.
type server struct {
	o      ServeOptions
	engine *engine.Engine
	files  *files.FS
	search *search.Searcher
	area   *staging.Area
	conn   *wire.Conn
	want   Settings
	base   engine.Base

	mu    sync.Mutex
	login *engine.Login

	keeping keeping
}

// Serve runs the engine for whoever is at the other end of rw, until they leave. What runs by then is ended. The error is nil if they
// took their leave.
func Serve(ctx context.Context, rw io.ReadWriteCloser, o ServeOptions) error {
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &server{o: o, search: search.New(search.Options{})}
	ready := make(chan struct{})
	s.base = engine.Base{Environ: o.Environ, Home: home(o.Environ), Temp: temp(o.Environ)}
	probe := engine.New(engine.Options{})
	self, err := json.Marshal(about{
		OS: runtime.GOOS, Arch: runtime.GOARCH, UID: os.Getuid(), Home: environment.Path(s.base.Home), Temp: environment.Path(s.base.Temp),
		Shell: probe.Shell(), Memory: engine.MemoryMB(), Lacking: probe.Lacking(), Notes: probe.Describe(),
	})
	if err != nil {
		return fmt.Errorf("describe this machine: %w", err)
	}
	conn, err := wire.New(ctx, rw, wire.Options{Hello: wire.Hello{Build: o.Build, Body: self}, Text: o.Text, Accept: func(st *wire.Stream) {
		<-ready
		s.accept(st)
	}})
	if err != nil {
		return err
	}
	if err := s.settle(conn.Peer().Body); err != nil {
		close(ready)
		_ = conn.Close()
		return err
	}
	s.conn = conn
	close(ready)
	select {
	case <-conn.Done():
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	err = errors.Join(s.engine.Close(end), s.endJobs(end))
	_ = conn.Close()
	err = errors.Join(err, s.area.Close())
	if cause := conn.Err(); !errors.Is(cause, io.EOF) && !errors.Is(cause, wire.ErrClosed) {
		err = errors.Join(cause, err)
	}
	return err
}

// settle makes the engine as the client wants it.
func (s *server) settle(body json.RawMessage) error {
	if len(body) > 0 {
		if err := json.Unmarshal(body, &s.want); err != nil {
			return fmt.Errorf("read what the client wants: %w", err)
		}
	}
	if s.want.Home != "" {
		s.base.Home = s.want.Home
	}
	if s.want.Temp != "" {
		s.base.Temp = s.want.Temp
	}
	s.base.Environ = with(s.base.Environ, s.want.Environ)
	s.engine = engine.New(engine.Options{Grace: s.want.Grace, Limits: s.want.Limits, Subreaper: true, Guard: s.o.Guard, Log: s.o.Log})
	s.area = staging.New(staging.Options{
		Runtime: variable(s.base.Environ, "XDG_RUNTIME_DIR"), Home: filepath.Join(s.base.Home, ".cache", "hermes"), Temp: s.base.Temp, Log: s.o.Log,
	})
	s.files = files.New(files.Options{Home: s.base.Home, Temp: s.base.Temp})
	return nil
}

// accept serves one stream.
func (s *server) accept(st *wire.Stream) {
	defer func() { _ = st.Finish() }()
	op, t := asked(st)
	serve, ok := map[string]func(*wire.Stream, *talk) error{
		opRun: s.run, opFile: s.file, opSearch: s.find, opEnviron: s.environ, opJob: s.job, opForward: s.forward,
	}[op]
	if !ok {
		st.Reset(fmt.Sprintf("the operation %.50q is not known", op))
		return
	}
	if err := serve(st, t); err != nil {
		s.o.Log.Debug("a request was not served", "op", op, "error", err)
		st.Reset(err.Error())
	}
}

// baseFor is what every command gets, the user's shell files read once.
func (s *server) baseFor(ctx context.Context) engine.Base {
	b := s.base
	if !s.want.ReadsLogin && len(s.want.ShellInitFiles) == 0 {
		return b
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.login
	if l == nil {
		l = s.engine.LoginEnviron(ctx, b, s.want.ShellInitFiles)
		if ctx.Err() == nil { // one that was interrupted leaves it to the next
			s.login = l
		}
	}
	b.Login, b.Environ = l, l.Over(b.Environ)
	return b
}

func (s *server) environ(st *wire.Stream, t *talk) error {
	var snap snapshot
	if err := t.hear(&snap); err != nil {
		return err
	}
	return t.say(s.baseFor(st.Context()).Variables(snap.state()))
}

// run runs one command.
func (s *server) run(st *wire.Stream, t *talk) error {
	var req runRequest
	if err := t.hear(&req); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(st.Context())
	defer cancel(nil)
	go s.obey(st, cancel) // ends with the stream
	c := req.Command
	var say sync.Mutex
	event := func(e runEvent) error { say.Lock(); defer say.Unlock(); return t.say(e) }
	c.OnStart = func(pid int) { _ = event(runEvent{PID: pid}) }
	c.Output = st.Writer(chBytes)
	if req.Stderr {
		c.Stderr = st.Writer(chErrors)
	}
	if req.Stdin {
		c.Stdin = st.Reader(chBytes)
	}
	if req.Sudo {
		c.SudoSecret = func(context.Context) (string, error) {
			if err := event(runEvent{Sudo: true}); err != nil {
				return "", err
			}
			var a secretAnswer
			if err := t.hear(&a); err != nil {
				return "", err
			}
			if a.Error != "" {
				return "", errors.New(a.Error)
			}
			return a.Secret, nil
		}
	}
	c.State = req.State.state()
	res, err := s.engine.Run(ctx, c, s.baseFor(ctx))
	_ = st.Writer(chBytes).Close()
	_ = st.Writer(chErrors).Close()
	return event(runEvent{Result: &res, State: snapshotOf(c.State), Error: failureOf(err)})
}

// obey ends a command when the client wants it ended.
func (s *server) obey(st *wire.Stream, cancel context.CancelCauseFunc) {
	var c control
	if json.NewDecoder(st.Reader(chControl)).Decode(&c) != nil {
		return // the stream is over
	}
	if c.End == endTimedOut {
		cancel(context.DeadlineExceeded)
		return
	}
	cancel(context.Canceled)
}

// judge asks the client's guard.
func judge(t *talk, wrap func(*judgement) any) func(environment.Path, *environment.FileInfo, environment.Operation) error {
	n := 0
	return func(p environment.Path, i *environment.FileInfo, op environment.Operation) error {
		n++
		if err := t.say(wrap(&judgement{n, p, i, op})); err != nil {
			return err
		}
		var v verdict
		if err := t.hear(&v); err != nil {
			return err
		}
		if v.Refused != "" {
			return &judgedError{n, v.Refused}
		}
		return nil
	}
}

// find searches a tree.
func (s *server) find(st *wire.Stream, t *talk) error {
	var req struct {
		Query   environment.Query
		Guarded bool
	}
	if err := t.hear(&req); err != nil {
		return err
	}
	if req.Guarded {
		ask := judge(t, func(j *judgement) any { return searchAnswer{Judge: j} })
		var one sync.Mutex // the searcher asks from several goroutines
		req.Query.Skip = func(p environment.Path) bool { one.Lock(); defer one.Unlock(); return ask(p, nil, "") != nil }
	}
	m, err := s.search.Search(st.Context(), req.Query)
	if err != nil {
		return t.say(searchAnswer{Error: failureOf(err)})
	}
	return t.say(searchAnswer{Matches: &m})
}
