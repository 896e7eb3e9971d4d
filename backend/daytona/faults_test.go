//go:build linux

package daytona_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/backend/daytona/daytonatest"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/resident/residenttest"
)

type wrong = func(w http.ResponseWriter, r *http.Request, next http.Handler)

// says answers with an error of the API.
func says(status int, message string, headers ...string) wrong {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		daytonatest.Refuse(w, r, status, http.StatusText(status), message)
	}
}

// heard does what was asked for, and answers something else.
func heard(answer wrong) wrong {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(httptest.NewRecorder(), r)
		answer(w, r, next)
	}
}

// cuts hangs up without an answer.
func cuts(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = c.Close()
	}
}

// prints answers with a text.
func prints(text string) wrong {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { _, _ = io.WriteString(w, text) }
}

// edits changes a text of the answer.
func edits(from, to string) wrong {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		w.WriteHeader(rec.Code)
		_, _ = io.WriteString(w, strings.ReplaceAll(rec.Body.String(), from, to))
	}
}

// hangs says nothing until it is hung up on.
func hangs(_ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() }

// breaks lets a stream go on for some bytes.
func breaks(after int) wrong {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&breaking{ResponseWriter: w, left: after}, r)
	}
}

type breaking struct {
	http.ResponseWriter
	left int
}

func (b *breaking) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := b.ResponseWriter.(http.Hijacker).Hijack()
	return &brittle{Conn: c, left: b.left}, rw, err
}

type brittle struct {
	net.Conn
	left int
}

func (b *brittle) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		_ = b.Conn.Close()
		return 0, io.ErrClosedPipe
	}
	return b.Conn.Write(p)
}

// fault is something that goes wrong, and what is to come of it.
type fault struct {
	name string
	set  func(l *lab)
	// opens and runs are the kinds of the errors of opening a place and of a command; nil = none.
	opens, runs error
	says        string                  // in that error
	in          func(l *lab, id string) // done while the command runs
	made        int                     // sandboxes
	ran         int                     // times that the command began
	short       bool                    // time for opening is short
	check       func(t *testing.T, l *lab)
}

func (f fault) run(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	if f.set != nil {
		f.set(l)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("the test is over"))
	if f.short {
		ctx, cancel = context.WithTimeoutCause(t.Context(), 3*time.Second, errors.New("time is up"))
	}
	defer cancel()
	e, err := l.try(ctx)
	id := ""
	if f.expect(t, "open", err, f.opens) && err == nil {
		id = e.Info().ID
		err = f.command(t, l, e)
		f.expect(t, "run", err, f.runs)
		shut(t, e)
	}
	if l.s.Made() != f.made {
		t.Errorf("%d sandboxes were made, want %d", l.s.Made(), f.made)
	}
	if id != "" {
		b, _ := os.ReadFile(filepath.Join(l.s.Home(id), "ran"))
		if n := strings.Count(string(b), "x"); n != f.ran {
			t.Errorf("the command began %d times, want %d", n, f.ran)
		}
	}
	if f.check != nil {
		f.check(t, l)
	} else {
		l.agree(t, 0)
	}
	if _, err := os.Stat("/root/ran"); err == nil {
		t.Error("it ran on this machine")
	}
}

// expect compares an error with its kind.
func (f fault) expect(t *testing.T, what string, err, want error) bool {
	t.Helper()
	ok := err == nil == (want == nil) && (want == nil || errors.Is(err, want) && strings.Contains(err.Error(), f.says))
	if !ok {
		t.Errorf("%s: %v, want %v: %s", what, err, want, f.says)
	}
	if err != nil && strings.Contains(err.Error(), daytonatest.Key) {
		t.Errorf("%s shows the key: %v", what, err)
	}
	return ok
}

// command runs one that says that it began, waits where something is to happen meanwhile, and prints two lines.
func (f fault) command(t *testing.T, l *lab, e environment.Environment) error {
	t.Helper()
	script := "echo x >>~/ran; echo one; echo two"
	done := make(chan struct{})
	if f.in != nil {
		script = "echo x >>~/ran; while ! [ -e ~/go ]; do sleep 0.05; done; echo one; echo two"
		go func() {
			defer close(done)
			id := e.Info().ID
			eventually(t, func() bool { b, _ := os.ReadFile(filepath.Join(l.s.Home(id), "ran")); return string(b) == "x\n" })
			f.in(l, id)
			_ = os.WriteFile(filepath.Join(l.s.Home(id), "go"), nil, 0o600)
		}()
	} else {
		close(done)
	}
	var out bytes.Buffer
	res, err := e.Run(t.Context(), environment.Command{Script: script, Output: &out, Timeout: time.Minute})
	<-done
	if err == nil && (res.ExitCode != 0 || out.String() != "one\ntwo\n") {
		t.Errorf("%+v, %q", res, out.String())
	}
	return err
}

func eventually(t testing.TB, true func() bool) {
	for end := time.Now().Add(time.Minute); !true(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Error("it doesn't come about")
			return
		}
	}
}

// residentPath is the binary that the engine's rows bring.
var residentPath string

func TestFaults_EachGivesTheErrorThatItShould(t *testing.T) { // CON-2, CON-3, CLD-1, CLD-4, CLD-5, MGR-4
	residentPath = residenttest.Binary(t)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host was sent %s %s", r.Method, r.Header)
	}))
	t.Cleanup(elsewhere.Close)
	for _, f := range append(starting(elsewhere.URL), working()...) {
		t.Run(f.name, f.run)
	}
}

var unavailable = environment.ErrUnavailable

// starting are the faults before there is a place.
func starting(elsewhere string) []fault {
	at := func(matches string, times int, with wrong) func(*lab) {
		return func(l *lab) { l.s.Fault(matches, times, with) }
	}
	asked := func(n int) func(*testing.T, *lab) {
		return func(t *testing.T, l *lab) {
			l.agree(t, 0)
			if got := l.s.Heard("POST /sandbox"); got != n {
				t.Errorf("a sandbox was asked for %d times, want %d", got, n)
			}
		}
	}
	return []fault{
		{name: "no credentials", set: func(l *lab) { delete(l.vars, "DAYTONA_API_KEY") }, opens: unavailable, says: "DAYTONA_API_KEY", check: asked(0)},
		{name: "half of the credentials", set: func(l *lab) { delete(l.vars, "DAYTONA_API_KEY"); l.vars["DAYTONA_JWT_TOKEN"] = "x" }, opens: unavailable, says: "DAYTONA_ORGANIZATION_ID"},
		{name: "not https", set: func(l *lab) { l.vars["DAYTONA_API_URL"] = "http://daytona.example" }, opens: environment.ErrConfig, says: "DAYTONA_API_URL"},
		{name: "expired token", set: func(l *lab) { l.vars["DAYTONA_API_KEY"] = "dtn_old_and_expired" }, opens: unavailable, says: "credentials", check: asked(1)},
		{name: "429 with Retry-After", set: at("POST /sandbox", 1, says(429, "Rate limit exceeded", "Retry-After", "1")), made: 1, ran: 1, check: asked(2)},
		{name: "429 without", set: at("POST /sandbox", 1, says(429, "Rate limit exceeded")), made: 1, ran: 1, check: asked(2)},
		{name: "429 for an hour", set: at("POST /sandbox", -1, says(429, "Rate limit exceeded", "Retry-After-Sandbox-Create", "3600")), opens: unavailable, says: "1h0m0s", check: asked(1)},
		{name: "429 by a clock that is wrong", set: at("POST /sandbox", 1, says(429, "Rate limit exceeded", "Date", "Wed, 01 Jan 2031 00:00:00 GMT", "Retry-After", "Wed, 01 Jan 2031 00:00:01 GMT")), made: 1, ran: 1},
		{name: "503 and no end", set: at("POST /sandbox", -1, says(503, "down")), opens: unavailable, says: "down", check: asked(3)},
		{name: "500 although it was made", set: at("POST /sandbox", 1, heard(says(500, "oops"))), made: 1, ran: 1, check: asked(1)},
		{name: "no answer although it was made", set: at("POST /sandbox", 1, heard(cuts)), made: 1, ran: 1, check: asked(1)},
		{name: "half an answer", set: at("POST /sandbox", 1, heard(prints(`{"id":"abc`))), made: 1, ran: 1, check: asked(1)},
		{name: "an answer without an id", set: at("POST /sandbox", 1, heard(prints(`{}`))), made: 1, ran: 1, check: asked(1)},
		{name: "no answer and none was made", set: at("POST /sandbox", 1, cuts), opens: unavailable, says: "POST /sandbox", check: asked(1)},
		{name: "quota reached", set: func(l *lab) { l.s.Quota = 1; l.s.Add(daytonatest.Sandbox{State: "started"}) }, opens: unavailable, says: "quota exceeded", check: func(t *testing.T, l *lab) {
			if len(l.ledger(t)) > 0 {
				t.Error("one that wasn't made is in the ledger")
			}
		}},
		{name: "a state that nobody knows", set: at("GET /sandbox", 1, prints(`{"id":"x","state":"hibernating"}`)), opens: unavailable, says: "hibernating", made: 1},
		{name: "state error", set: at("GET /sandbox", 1, prints(`{"id":"x","state":"error","errorReason":"no runner"}`)), opens: unavailable, says: "no runner", made: 1},
		{name: "the build failed", set: at("GET /sandbox", 1, prints(`{"id":"x","state":"build_failed","errorReason":"no such image"}`)), opens: unavailable, says: "no such image", made: 1},
		{name: "slow start", set: func(l *lab) { l.s.Slow = 4 }, made: 1, ran: 1},
		{name: "a start without an end", set: func(l *lab) { l.s.Slow, l.config.StartTimeout = 1<<30, 2*time.Second }, opens: unavailable, says: "within", made: 1},
		{name: "half-open", set: at("GET /sandbox", -1, hangs), short: true, opens: unavailable, says: "time is up", made: 1},
		{name: "gone while it starts", set: at("GET /sandbox", 1, says(404, "Sandbox not found")), opens: environment.ErrGone, made: 1},
		{name: "redirect to another host", set: at("POST /sandbox", -1, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
		}), opens: unavailable, says: "redirects to"},
		{name: "a toolbox without https", set: at("GET /sandbox", -1, edits(`"toolboxProxyUrl":"http://127.0.0.1`, `"toolboxProxyUrl":"http://toolbox.example`)), opens: environment.ErrConfig, says: "not https", made: 1},
		{name: "a server that names no toolbox", set: func(l *lab) { l.s.NoURL = true }, made: 1, ran: 1},
		{name: "it can't be deleted at first", set: func(l *lab) {
			l.s.Fault("GET /sandbox", 1, prints(`{"id":"x","state":"error"}`))
			l.s.Fault("DELETE /sandbox", 1, says(409, "Sandbox state change in progress"))
			l.s.Slow = 2
		}, opens: unavailable, made: 1},
		{name: "it can't be deleted, and the next start does it", set: func(l *lab) {
			l.s.Fault("GET /sandbox", 1, prints(`{"id":"x","state":"error"}`))
			l.s.Fault("DELETE /sandbox", 1, says(403, "not now"))
		}, opens: unavailable, made: 1, check: func(t *testing.T, l *lab) {
			l.agree(t, 1)
			shut(t, l.anew(t))
			l.agree(t, 0)
		}},
		{name: "the engine's terminal fails", set: func(l *lab) {
			l.config.Resident, l.config.ResidentPath = "require", "/bin/true"
			l.s.Fault("POST toolbox/process/pty", -1, says(500, "failed to start PTY session"))
		}, opens: unavailable, says: "PTY", made: 1},
	}
}

// working are the faults of a place.
func working() []fault {
	at := func(matches string, times int, with wrong) func(*lab) {
		return func(l *lab) { l.s.Fault(matches, times, with) }
	}
	engine := func(set func(*lab)) func(*lab) {
		return func(l *lab) {
			l.config.Resident, l.config.ResidentPath = "require", residentPath
			if set != nil {
				set(l)
			}
		}
	}
	stopIt := func(l *lab, id string) {
		l.s.Change(id, func(b *daytonatest.Sandbox) { b.State = "stopped" })
	}
	forget := func(l *lab, id string) { l.s.Forget(id) }
	return []fault{
		{name: "500 in the middle of a stream", set: at("GET toolbox/process/session", 2, breaks(300)), made: 1, ran: 1},
		{name: "the log can't be reached", set: func(l *lab) {
			l.s.Fault("GET toolbox/process/session", 3, func(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) })
			l.s.Fault("GET toolbox/process/session", 1, says(502, "bad gateway"))
		}, made: 1, ran: 1},
		{name: "500 before a command is heard of", set: func(l *lab) { passing(l, "POST toolbox/process/session/", "/exec", 2, says(500, "oops")) }, made: 1, ran: 1},
		{name: "500 after a command was heard of", set: func(l *lab) { passing(l, "POST toolbox/process/session/", "/exec", 2, heard(says(500, "oops"))) }, made: 1, ran: 1},
		{name: "429 for a command", set: func(l *lab) { passing(l, "POST toolbox/process/session/", "/exec", 2, says(429, "slow down")) }, made: 1, ran: 1},
		{name: "half an answer to a command", set: func(l *lab) { passing(l, "POST toolbox/process/session/", "/exec", 2, heard(prints(`{"cmdI`))) }, made: 1, ran: 1},
		{name: "the sandbox is deleted under a command", in: forget, runs: environment.ErrLost, made: 1, ran: 1},
		{name: "the sandbox stops under a command", in: stopIt, runs: environment.ErrLost, made: 1, ran: 1},
		{name: "the sandbox is deleted under the engine", set: engine(nil), in: forget, runs: environment.ErrLost, made: 1, ran: 1},
		{name: "the sandbox stops under the engine", set: engine(nil), in: stopIt, runs: environment.ErrLost, made: 1, ran: 1},
	}
}

// passing lets some requests pass that end in a text, and has the next one go wrong.
func passing(l *lab, matches, end string, pass int32, with wrong) {
	var seen atomic.Int32
	l.s.Fault(matches, -1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if strings.HasSuffix(r.URL.Path, end) {
			if seen.Add(1) == pass+1 {
				with(w, r, next)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
