//go:build linux

package daytona_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/backend/daytona/daytonatest"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud/cloudtest"
	"github.com/hermes-runtime/hermes/internal/engine/resident/residenttest"
)

// says answers with an error of the API.
func says(status int, message string, headers ...string) cloudtest.Wrong {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		daytonatest.Refuse(w, r, status, http.StatusText(status), message)
	}
}

// page answers as something in between does, which is no API.
func page(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, "<html>Welcome to the network of the hotel</html>")
}

// endless answers with more than anybody reads.
func endless(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	piece := bytes.Repeat([]byte(`{"id":[`), 1<<16)
	for {
		if _, err := w.Write(piece); err != nil {
			return
		}
	}
}

type trial = cloudtest.Trial[*lab]

// residentPath is the binary that the engine's rows bring.
var residentPath string

func TestFaults_EachGivesTheErrorThatItShould(t *testing.T) { // CON-2, CON-3, CLD-1, CLD-4, CLD-5, MGR-4
	residentPath = residenttest.Binary(t)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host was sent %s %s", r.Method, r.Header)
	}))
	t.Cleanup(elsewhere.Close)
	for _, f := range slices.Concat(asking(), coming(elsewhere.URL), working()) {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			f.Run(t, newLab(t))
		})
	}
}

func TestFaults_LackNothing(t *testing.T) {
	cloudtest.Complete(t, slices.Concat(asking(), coming(""), working()), map[string][]string{
		"expired token":                 {"expired token"},
		"429 with Retry-After":          {"429 with Retry-After", "429 for an hour"},
		"429 without Retry-After":       {"429 without", "429 for a command"},
		"500 in the middle of a stream": {"500 in the middle of a stream"},
		"sandbox gone":                  {"gone while it starts", "the sandbox is deleted under a command", "the sandbox is deleted under the engine"},
		"quota reached":                 {"quota reached"},
		"slow start":                    {"slow start", "a start without an end"},
		"clock skew":                    {"429 by a clock that is wrong"},
		"half-open connection":          {"half-open"},
		"duplicate create":              {"500 although it was made", "the name is taken by its own earlier try", "the name is somebody else's"},
		"unknown state":                 {"a state that nobody knows"},
	})
}

var unavailable = environment.ErrUnavailable

// asking are the faults of asking for a place.
func asking() []trial {
	at := func(matches string, times int, with cloudtest.Wrong) func(*lab) {
		return func(l *lab) { l.s.Fault(matches, times, with) }
	}
	asked := func(n int) func(*testing.T, *lab) {
		return func(t *testing.T, l *lab) {
			if got := l.s.Heard("POST /sandbox"); got != n {
				t.Errorf("a sandbox was asked for %d times, want %d", got, n)
			}
		}
	}
	return []trial{
		{Name: "no credentials", Set: func(l *lab) { delete(l.vars, "DAYTONA_API_KEY") }, Opens: unavailable, Says: "DAYTONA_API_KEY", Check: asked(0)},
		{Name: "half of the credentials", Set: func(l *lab) { delete(l.vars, "DAYTONA_API_KEY"); l.vars["DAYTONA_JWT_TOKEN"] = "x" }, Opens: unavailable, Says: "DAYTONA_ORGANIZATION_ID"},
		{Name: "not https", Set: func(l *lab) { l.vars["DAYTONA_API_URL"] = "http://daytona.example" }, Opens: environment.ErrConfig, Says: "DAYTONA_API_URL"},
		{Name: "expired token", Set: func(l *lab) { l.vars["DAYTONA_API_KEY"] = "dtn_old_and_expired" }, Opens: unavailable, Says: "credentials", Check: asked(1)},
		{Name: "429 with Retry-After", Set: at("POST /sandbox", 1, says(429, "Rate limit exceeded", "Retry-After", "1")), Made: 1, Ran: 1, Check: asked(2)},
		{Name: "429 without", Set: at("POST /sandbox", 1, says(429, "Rate limit exceeded")), Made: 1, Ran: 1, Check: asked(2)},
		{Name: "429 for an hour", Set: at("POST /sandbox", -1, says(429, "Rate limit exceeded", "Retry-After-Sandbox-Create", "3600")), Opens: unavailable, Says: "1h0m0s", Check: asked(1)},
		{Name: "429 by a clock that is wrong", Set: at("POST /sandbox", 1, says(429, "Rate limit exceeded", "Date", "Wed, 01 Jan 2031 00:00:00 GMT", "Retry-After", "Wed, 01 Jan 2031 00:00:01 GMT")), Made: 1, Ran: 1},
		{Name: "503 and no end", Set: at("POST /sandbox", -1, says(503, "down")), Opens: unavailable, Says: "down", Check: asked(3)},
		{Name: "500 although it was made", Set: at("POST /sandbox", 1, cloudtest.Heard(says(500, "oops"))), Made: 1, Ran: 1, Check: asked(1)},
		{Name: "no answer although it was made", Set: at("POST /sandbox", 1, cloudtest.Heard(cloudtest.Cuts)), Made: 1, Ran: 1, Check: asked(1)},
		{Name: "half an answer", Set: at("POST /sandbox", 1, cloudtest.Heard(cloudtest.Prints(`{"id":"abc`))), Made: 1, Ran: 1, Check: asked(1)},
		{Name: "an answer without an id", Set: at("POST /sandbox", 1, cloudtest.Heard(cloudtest.Prints(`{}`))), Made: 1, Ran: 1, Check: asked(1)},
		{Name: "a web page although it was made", Set: at("POST /sandbox", 1, cloudtest.Heard(page)), Made: 1, Ran: 1, Check: asked(1)},
		{Name: "the name is taken by its own earlier try", Set: at("POST /sandbox", 1, cloudtest.Heard(says(409, "Sandbox with name x already exists"))), Made: 1, Ran: 1, Check: asked(1)},
		{Name: "the name is somebody else's", Otherwise: true, Set: func(l *lab) {
			l.s.Fault("POST /sandbox", 1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				b, _ := io.ReadAll(r.Body)
				var want struct{ Name string }
				_ = json.Unmarshal(b, &want)
				l.s.Add(daytonatest.Sandbox{Name: want.Name, State: "started"})
				r.Body = io.NopCloser(bytes.NewReader(b))
				next.ServeHTTP(w, r)
			})
		}, Opens: unavailable, Says: "not of this HERMES_HOME", Check: func(t *testing.T, l *lab) {
			if there := l.s.Sandboxes(); len(there) != 1 || there[0].State != "started" || len(cloudtest.Ledger(t, l)) > 0 {
				t.Errorf("somebody else's sandbox was touched, or is in the ledger: %+v", there)
			}
		}},
		{Name: "a web page for a sandbox", Set: at("GET /sandbox", 1, page), Opens: unavailable, Says: "web page", Made: 1},
		{Name: "a web page for its end, and the next start ends it", Otherwise: true, Set: func(l *lab) {
			l.s.Fault("GET /sandbox", 1, cloudtest.Prints(`{"id":"x","state":"error"}`))
			l.s.Fault("DELETE /sandbox", 1, page)
		}, Opens: unavailable, Made: 1, Check: func(t *testing.T, l *lab) {
			l.agree(t, 1)
			shut(t, l.anew(t))
			l.agree(t, 0)
		}},
		{Name: "an answer without an end", Set: at("GET /sandbox", 1, endless), Opens: unavailable, Says: "read the answer", Made: 1},
		{Name: "no answer and none was made", Set: at("POST /sandbox", 1, cloudtest.Cuts), Opens: unavailable, Says: "POST /sandbox", Unseen: 1, Check: asked(1)},
		{Name: "quota reached", Otherwise: true, Set: func(l *lab) { l.s.Quota = 1; l.s.Add(daytonatest.Sandbox{State: "started"}) }, Opens: unavailable, Says: "quota exceeded", Check: func(t *testing.T, l *lab) {
			if len(cloudtest.Ledger(t, l)) > 0 {
				t.Error("one that wasn't made is in the ledger")
			}
		}},
	}
}

// coming are the faults from then until it runs.
func coming(elsewhere string) []trial {
	at := func(matches string, times int, with cloudtest.Wrong) func(*lab) {
		return func(l *lab) { l.s.Fault(matches, times, with) }
	}
	return []trial{
		{Name: "a state that nobody knows", Set: at("GET /sandbox", 1, cloudtest.Prints(`{"id":"x","state":"hibernating"}`)), Opens: unavailable, Says: "hibernating", Made: 1},
		{Name: "state error", Set: at("GET /sandbox", 1, cloudtest.Prints(`{"id":"x","state":"error","errorReason":"no runner"}`)), Opens: unavailable, Says: "no runner", Made: 1},
		{Name: "the build failed", Set: at("GET /sandbox", 1, cloudtest.Prints(`{"id":"x","state":"build_failed","errorReason":"no such image"}`)), Opens: unavailable, Says: "no such image", Made: 1},
		{Name: "slow start", Set: func(l *lab) { l.s.Slow = 4 }, Made: 1, Ran: 1},
		{Name: "a start without an end", Set: func(l *lab) { l.s.Slow, l.config.StartTimeout = 1<<30, 2*time.Second }, Opens: unavailable, Says: "within", Made: 1},
		{Name: "half-open", Set: at("GET /sandbox", -1, cloudtest.Hangs), Short: true, Opens: unavailable, Says: "time is up", Made: 1},
		{Name: "gone while it starts", Set: at("GET /sandbox", 1, says(404, "Sandbox not found")), Opens: environment.ErrGone, Made: 1},
		{Name: "redirect to another host", Set: at("POST /sandbox", -1, cloudtest.Redirects(elsewhere)), Opens: unavailable, Says: "redirects to", Unseen: 1},
		{Name: "a toolbox without https", Set: at("GET /sandbox", -1, cloudtest.Edits(`"toolboxProxyUrl":"http://127.0.0.1`, `"toolboxProxyUrl":"http://toolbox.example`)), Opens: environment.ErrConfig, Says: "not https", Made: 1},
		{Name: "a server that names no toolbox", Set: func(l *lab) { l.s.NoURL = true }, Made: 1, Ran: 1},
		{Name: "it can't be deleted at first", Set: func(l *lab) {
			l.s.Fault("GET /sandbox", 1, cloudtest.Prints(`{"id":"x","state":"error"}`))
			l.s.Fault("DELETE /sandbox", 1, says(409, "Sandbox state change in progress"))
			l.s.Slow = 2
		}, Opens: unavailable, Made: 1},
		{Name: "it can't be deleted, and the next start does it", Otherwise: true, Set: func(l *lab) {
			l.s.Fault("GET /sandbox", 1, cloudtest.Prints(`{"id":"x","state":"error"}`))
			l.s.Fault("DELETE /sandbox", 1, says(403, "not now"))
		}, Opens: unavailable, Made: 1, Check: func(t *testing.T, l *lab) {
			l.agree(t, 1)
			shut(t, l.anew(t))
			l.agree(t, 0)
		}},
		{Name: "the engine's terminal fails", Set: func(l *lab) {
			l.config.Resident, l.config.ResidentPath = "require", "/bin/true"
			l.s.Fault("POST toolbox/process/pty", -1, says(500, "failed to start PTY session"))
		}, Opens: unavailable, Says: "PTY", Made: 1},
	}
}

// working are the faults of a place.
func working() []trial {
	at := func(matches string, times int, with cloudtest.Wrong) func(*lab) {
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
	return []trial{
		{Name: "500 in the middle of a stream", Set: at("GET toolbox/process/session", 2, cloudtest.Breaks(300)), Made: 1, Ran: 1},
		{Name: "the log can't be reached", Set: func(l *lab) {
			l.s.Fault("GET toolbox/process/session", 3, func(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) })
			l.s.Fault("GET toolbox/process/session", 1, says(502, "bad gateway"))
		}, Made: 1, Ran: 1},
		{Name: "the log hangs up", Set: func(l *lab) {
			l.s.Fault("GET toolbox/process/session", 3, func(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) })
			l.s.Fault("GET toolbox/process/session", 1, cloudtest.Cuts)
		}, Made: 1, Ran: 1},
		{Name: "500 before a command is heard of", Set: func(l *lab) { atCommand(l, says(500, "oops")) }, Made: 1, Ran: 1},
		{Name: "500 after a command was heard of", Set: func(l *lab) {
			atCommand(l, cloudtest.Heard(says(500, "oops")))
		}, Made: 1, Ran: 1},
		{Name: "429 for a command", Set: func(l *lab) { atCommand(l, says(429, "slow down")) }, Made: 1, Ran: 1},
		{Name: "half an answer to a command", Set: func(l *lab) {
			atCommand(l, cloudtest.Heard(cloudtest.Prints(`{"cmdI`)))
		}, Made: 1, Ran: 1},
		{Name: "the sandbox is deleted under a command", In: forget, Runs: environment.ErrLost, Made: 1, Ran: 1},
		{Name: "the sandbox stops under a command", In: stopIt, Runs: environment.ErrLost, Made: 1, Ran: 1},
		{Name: "the sandbox is deleted under the engine", Set: engine(nil), In: forget, Runs: environment.ErrLost, Made: 1, Ran: 1},
		{Name: "the sandbox stops under the engine", Set: engine(nil), In: stopIt, Runs: environment.ErrLost, Made: 1, Ran: 1},
	}
}

// atCommand has the request go wrong that starts the command.
func atCommand(l *lab, with cloudtest.Wrong) {
	command := cloudtest.Command(1, with) // the first looks around
	l.s.Fault("POST toolbox/process/session/", -1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if strings.HasSuffix(r.URL.Path, "/exec") {
			command(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	})
}
