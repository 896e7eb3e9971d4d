//go:build linux

package vercel_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/backend/vercel/verceltest"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud/cloudtest"
	"github.com/hermes-runtime/hermes/internal/engine/resident/residenttest"
)

type trial = cloudtest.Trial[*lab]

// What is asked of the server.
const (
	creates  = "POST $"
	looks    = "GET /hermes"
	deletes  = "DELETE /hermes"
	stops    = "POST /sessions/SESSION/stop$"
	extends  = "POST /sessions/SESSION/extend-timeout$"
	uploads  = "POST /sessions/SESSION/fs/write$"
	starts   = "POST /sessions/SESSION/cmd$"
	types    = "POST /sessions/SESSION/cmd/CMD/stdin$"
	logs     = "GET /sessions/SESSION/cmd/CMD/logs$"
	commands = "GET /sessions/SESSION/cmd/CMD$"
)

// says answers with an error of the API.
func says(status int, code string, headers ...string) cloudtest.Wrong {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		verceltest.Refuse(w, status, code, "it says "+code)
	}
}

// at has requests go wrong from the start.
func at(matches string, times int, with cloudtest.Wrong) func(*lab) {
	return func(l *lab) { l.s.Fault(matches, times, with) }
}

// late has them go wrong once the place is open.
func late(matches string, times int, with cloudtest.Wrong) func(*lab, string) {
	return func(l *lab, _ string) { l.s.Fault(matches, times, with) }
}

// stream answers with lines that nobody else says.
func stream(lines ...string) cloudtest.Wrong {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = io.WriteString(w, strings.Join(lines, "\n")+"\n") // without any it is an empty line
	}
}

// firstLine lets one line of a stream through and drops the others; the stream ends in good order, or, where it hangs, not at all.
func firstLine(hangs func(r *http.Request)) cloudtest.Wrong {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&oneLine{ResponseWriter: w}, r)
		hangs(r)
	}
}

// lines lets some lines of a stream through, and hangs up.
func lines(n int) cloudtest.Wrong {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&someLines{ResponseWriter: w, left: n}, r)
	}
}

type someLines struct {
	http.ResponseWriter
	left int
}

func (s *someLines) Unwrap() http.ResponseWriter { return s.ResponseWriter }
func (s *someLines) Write(b []byte) (int, error) {
	if s.left--; s.left >= 0 {
		return s.ResponseWriter.Write(b)
	}
	if c, _, err := http.NewResponseController(s.ResponseWriter).Hijack(); err == nil {
		_ = c.Close()
	}
	return 0, io.ErrClosedPipe
}

func ends(*http.Request) {}

func hangs(r *http.Request) { <-r.Context().Done() }

type oneLine struct {
	http.ResponseWriter
	had bool
}

func (o *oneLine) Unwrap() http.ResponseWriter { return o.ResponseWriter }
func (o *oneLine) Write(b []byte) (int, error) {
	if o.had {
		return len(b), nil
	}
	o.had = true
	return o.ResponseWriter.Write(b)
}

// uncounted answers as a sandbox that doesn't count its input.
func uncounted(w http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	_, _ = io.WriteString(w, "{}")
}

// residentPath is the binary that the engine's rows bring.
var residentPath string

// engine has the engine run there.
func engine(set func(*lab)) func(*lab) {
	return func(l *lab) {
		l.config.Resident, l.config.ResidentPath = "require", residentPath
		if set != nil {
			set(l)
		}
	}
}

// asked wants a sandbox to have been asked for so often.
func asked(n int) func(*testing.T, *lab) {
	return func(t *testing.T, l *lab) {
		t.Helper()
		if got := l.s.Heard(creates); got != n {
			t.Errorf("a sandbox was asked for %d times, want %d", got, n)
		}
	}
}

func TestFaults_EachGivesTheErrorThatItShould(t *testing.T) { // CON-2, CON-3, CLD-1, CLD-4, CLD-5, MGR-4, VRC-1
	residentPath = residenttest.Binary(t)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host was sent %s %s", r.Method, r.Header)
	}))
	t.Cleanup(elsewhere.Close)
	for _, rows := range [][]trial{credentials(), starting(elsewhere.URL), ending(), working(elsewhere.URL), underTheEngine()} {
		for _, f := range rows {
			t.Run(f.Name, func(t *testing.T) {
				t.Parallel()
				f.Run(t, newLab(t))
			})
		}
	}
}

func TestFaults_LackNothing(t *testing.T) {
	cloudtest.Complete(t, slices.Concat(credentials(), starting(""), ending(), working(""), underTheEngine()), map[string][]string{
		"expired token":                 {"a token that has expired", "a token that the server calls expired", "the token expires under a command"},
		"429 with Retry-After":          {"429 with Retry-After", "429 for an hour"},
		"429 without Retry-After":       {"429 without", "429 for a command"},
		"500 in the middle of a stream": {"500 in the middle of a stream", "500 in the middle of a stream, and of its log"},
		"sandbox gone":                  {"gone while it starts", "the sandbox is deleted under a command", "the sandbox was deleted before a command"},
		"quota reached":                 {"quota reached"},
		"slow start":                    {"slow start", "a start without an end"},
		"clock skew":                    {"429 by a clock that is wrong", "a server whose clock is a day ahead"},
		"half-open connection":          {"half-open", "a stream that falls silent"},
		"duplicate create":              {"500 although it was made", "a conflict with oneself", "a conflict with somebody else"},
		"unknown state":                 {"a state that nobody knows"},
	})
}

var unavailable = environment.ErrUnavailable

// credentials are the faults of who asks.
func credentials() []trial {
	oidc := func(claims string) func(*lab) {
		return func(l *lab) { l.vars["VERCEL_OIDC_TOKEN"] = token(claims) }
	}
	return []trial{
		{Name: "no credentials", Set: func(l *lab) { clear(l.vars) }, Opens: unavailable, Says: "VERCEL_OIDC_TOKEN", Check: asked(0)},
		{Name: "half of the credentials", Set: func(l *lab) { delete(l.vars, "VERCEL_PROJECT_ID") }, Opens: unavailable, Says: "VERCEL_PROJECT_ID not set", Check: asked(0)},
		{Name: "a token that has expired", Set: oidc(`{"owner_id":"team_test","project_id":"prj_test","exp":1000000000}`), Opens: unavailable, Says: "expired at 2001-09-09", Check: asked(0)},
		{Name: "a token that the server calls expired", Set: at("", -1, says(403, "invalidToken")), Opens: unavailable, Says: "are refused", Check: asked(1)},
		{Name: "another token", Set: func(l *lab) { l.vars["VERCEL_TOKEN"] = "vca_of_somebody_else" }, Opens: unavailable, Says: "are refused", Check: asked(1)},
		{Name: "a token of another team", Set: func(l *lab) { l.vars["VERCEL_TEAM_ID"] = "team_b" }, Opens: unavailable, Says: "are refused", Check: asked(1)},
		{Name: "another project", Set: func(l *lab) { l.vars["VERCEL_PROJECT_ID"] = "prj_b" }, Opens: unavailable, Says: "Project not found", Check: asked(1)},
		{Name: "not https", Set: func(l *lab) { l.config.URL = "http://vercel.example" }, Opens: environment.ErrConfig, Says: "vercel_api_url", Check: asked(0)},
		{Name: "the token expires under a command", Otherwise: true, In: func(l *lab, _ string) {
			l.s.Fault("", -1, says(403, "invalidToken"))
			l.s.CloseClientConnections()
		}, Runs: environment.ErrLost, Made: 1, Ran: 1, Check: func(t *testing.T, l *lab) {
			l.agree(t, 1) // it can't be ended, and stays in the ledger
			l.s.Mend()
			shut(t, l.anew(t))
			l.agree(t, 0)
		}},
	}
}

// starting are the faults before there is a place.
func starting(elsewhere string) []trial {
	return []trial{
		{Name: "429 with Retry-After", Set: at(creates, 1, says(429, "rate_limited", "Retry-After", "1")), Made: 1, Ran: 1, Check: asked(2)},
		{Name: "429 without", Set: at(creates, 1, says(429, "rate_limited")), Made: 1, Ran: 1, Check: asked(2)},
		{Name: "429 for an hour", Set: at(creates, -1, says(429, "rate_limited", "Retry-After", "3600")), Opens: unavailable, Says: "try again in 1h0m0s", Check: asked(1)},
		{Name: "429 by a clock that is wrong", Set: at(creates, 1, says(429, "rate_limited", "Date", "Wed, 01 Jan 2031 00:00:00 GMT", "Retry-After", "Wed, 01 Jan 2031 00:00:01 GMT")), Made: 1, Ran: 1, Check: asked(2)},
		{Name: "a server whose clock is a day ahead", Set: func(l *lab) { l.s.Later(24 * time.Hour) }, Made: 1, Ran: 1},
		{Name: "503 and no end", Set: at(creates, -1, says(503, "down")), Opens: unavailable, Says: "it says down", Check: asked(3)},
		{Name: "500 although it was made", Set: at(creates, 1, cloudtest.Heard(says(500, "internal"))), Made: 1, Ran: 1, Check: asked(1)},
		{Name: "no answer although it was made", Set: at(creates, 1, cloudtest.Heard(cloudtest.Cuts)), Made: 1, Ran: 1, Check: asked(1)},
		{Name: "half an answer", Set: at(creates, 1, cloudtest.Heard(cloudtest.Prints(`{"sandbox":{"na`))), Made: 1, Ran: 1, Check: asked(1)},
		{Name: "an answer without a session", Set: at(creates, 1, cloudtest.Heard(cloudtest.Prints(`{}`))), Made: 1, Ran: 1, Check: asked(1)},
		{Name: "no answer and none was made", Set: at(creates, 1, cloudtest.Cuts), Opens: unavailable, Says: "POST /v2/sandboxes", Unseen: 1, Check: asked(1)},
		{Name: "a conflict with oneself", Set: at(creates, 1, cloudtest.Heard(says(409, "conflict"))), Made: 1, Ran: 1, Check: asked(1)},
		{Name: "a conflict with somebody else", Otherwise: true, Set: func(l *lab) { l.s.Fault(creates, 1, taken(l)) }, Opens: unavailable, Says: "is taken by a sandbox", Check: func(t *testing.T, l *lab) {
			if n := len(l.s.Sandboxes()); n != 1 || l.s.Sandboxes()[0].Status != "running" || len(cloudtest.Ledger(t, l)) > 0 {
				t.Errorf("somebody else's sandbox was touched: %+v", l.s.Sandboxes())
			}
		}},
		{Name: "quota reached", Otherwise: true, Set: func(l *lab) { l.s.Quota = 1; l.s.Add(verceltest.Sandbox{Name: "x", Status: "running"}) }, Opens: unavailable, Says: "plan allows no more", Check: func(t *testing.T, l *lab) {
			if len(cloudtest.Ledger(t, l)) > 0 {
				t.Error("one that wasn't made is in the ledger")
			}
		}},
		{Name: "a state that nobody knows", Set: at(looks, 1, cloudtest.Edits(`"status":"running"`, `"status":"dreaming"`)), Opens: unavailable, Says: `"dreaming"`, Made: 1},
		{Name: "a session that failed", Set: at(looks, 1, cloudtest.Edits(`"status":"running"`, `"status":"failed"`)), Opens: unavailable, Says: "it is failed", Made: 1},
		{Name: "a session that was aborted", Set: at(looks, 1, cloudtest.Edits(`"status":"running"`, `"status":"aborted"`)), Opens: unavailable, Says: "it is aborted", Made: 1},
		{Name: "bad JSON", Set: at(looks, 1, cloudtest.Prints("<html>")), Opens: unavailable, Says: "read the answer", Made: 1},
		{Name: "slow start", Set: func(l *lab) { l.s.Slow = 4 }, Made: 1, Ran: 1},
		{Name: "a start without an end", Set: func(l *lab) { l.s.Slow, l.config.StartTimeout = 1<<30, 2*time.Second }, Opens: unavailable, Says: "within 2s", Made: 1},
		{Name: "half-open", Set: at(looks, 1, cloudtest.Hangs), Short: true, Opens: unavailable, Says: "time is up", Made: 1},
		{Name: "gone while it starts", Set: at(looks, 1, says(404, "not_found")), Opens: environment.ErrGone, Made: 1},
		{Name: "stopped while it starts", Set: at(looks, 1, cloudtest.Edits(`"status":"running"`, `"status":"stopped"`)), Opens: environment.ErrGone, Says: "its files ended with it", Made: 1},
		{Name: "redirect to another host", Set: at(creates, -1, cloudtest.Redirects(elsewhere)), Opens: unavailable, Says: "redirects to", Unseen: 1, Check: asked(1)},
		{Name: "a look is redirected to another host", Set: at(looks, 1, cloudtest.Redirects(elsewhere)), Opens: unavailable, Says: "redirects to", Made: 1},
	}
}

// taken has somebody else make a sandbox of the same name just before.
func taken(l *lab) cloudtest.Wrong {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		b, _ := io.ReadAll(r.Body)
		var in struct{ Name string }
		_ = json.Unmarshal(b, &in)
		l.s.Add(verceltest.Sandbox{Name: in.Name, Status: "running", Tags: map[string]string{"hermes_use": "another"}})
		r.Body = io.NopCloser(strings.NewReader(string(b)))
		next.ServeHTTP(w, r)
	}
}

// ending are the faults of its end.
func ending() []trial {
	bad := cloudtest.Edits(`"status":"running"`, `"status":"failed"`)
	return []trial{
		{Name: "it can't be deleted, and the next start does it", Set: func(l *lab) {
			l.s.Fault(looks, 1, bad)
			l.s.Fault(deletes, 1, says(409, "not now"))
		}, Opens: unavailable, Made: 1, Check: func(t *testing.T, l *lab) {
			l.agree(t, 0)
			if n := len(cloudtest.Ledger(t, l)); n != 1 {
				t.Errorf("%d are in the ledger", n)
			}
			shut(t, l.anew(t))
			l.agree(t, 0)
			if n := len(l.s.Sandboxes()); n != 0 {
				t.Errorf("%d are there", n)
			}
		}},
		{Name: "it can't be deleted at first", Set: at(deletes, 2, says(503, "down")), Made: 1, Ran: 1},
		{Name: "it was deleted, and nobody heard it", Set: at(deletes, 1, cloudtest.Heard(says(500, "internal"))), Made: 1, Ran: 1},
		{Name: "it is about to stop when it is stopped", Set: at(stops, 1, cloudtest.Heard(says(422, "sandbox_stopping"))), Made: 1, Ran: 1},
		{Name: "it has stopped when it is stopped", Set: at(stops, 1, cloudtest.Heard(says(410, "sandbox_stopped"))), Made: 1, Ran: 1},
	}
}

// working are the faults of a place that is used through a plain shell.
func working(elsewhere string) []trial {
	return []trial{
		{Name: "nothing", Made: 1, Ran: 1},
		{Name: "500 before a command is heard of", Late: late(starts, -1, cloudtest.Command(0, says(500, "internal"))), Made: 1, Ran: 1},
		{Name: "500 after a command was heard of", Late: late(starts, -1, cloudtest.Command(0, headOnly(says(500, "internal")))), Made: 1, Ran: 1},
		{Name: "the answer to a start is lost", Late: late(starts, -1, cloudtest.Command(0, headOnly(cloudtest.Cuts))), Made: 1, Ran: 1},
		{Name: "429 for a command", Late: late(starts, -1, cloudtest.Command(0, says(429, "rate_limited"))), Made: 1, Ran: 1},
		{Name: "a start is redirected", Late: late(starts, -1, cloudtest.Command(0, cloudtest.Redirects(elsewhere))), Made: 1, Ran: 1},
		{Name: "an answer that names no command", Late: late(starts, -1, cloudtest.Command(0, stream(`{"command":{}}`))), Made: 1, Ran: 1},
		{Name: "a stream that breaks in its first line", Late: late(starts, -1, cloudtest.Command(0, cloudtest.Breaks(700))), Made: 1, Ran: 1},
		{Name: "500 in the middle of a stream", Late: late(starts, -1, cloudtest.Command(0, lines(2))), Made: 1, Ran: 1, Check: readAgain},
		{Name: "500 in the middle of a stream, and of its log", Late: func(l *lab, _ string) {
			l.s.Fault(starts, -1, cloudtest.Command(0, lines(2)))
			l.s.Fault(logs, 1, lines(1))
		}, Made: 1, Ran: 1, Check: readAgain},
		{Name: "a stream that says that it broke", Late: late(starts, -1, cloudtest.Command(0, adds(`{"stream":"error","data":{"code":"stream_failed","message":"it broke"}}`))), Made: 1, Ran: 1},
		{Name: "a stream that ends after its first line", Late: late(starts, -1, cloudtest.Command(0, firstLine(ends))), Made: 1, Ran: 1, Check: func(t *testing.T, l *lab) {
			l.agree(t, 0)
			if l.s.Heard(commands) == 0 {
				t.Error("the exit code was not looked up")
			}
		}},
		{Name: "a stream that falls silent", Late: late(starts, -1, cloudtest.Command(0, firstLine(hangs))), Made: 1, Ran: 1},
		{Name: "a stream without its end, and a log that is gone", Late: func(l *lab, _ string) {
			l.s.Fault(starts, -1, cloudtest.Command(0, firstLine(ends)))
			l.s.Fault(logs, -1, says(404, "not_found"))
		}, Runs: environment.ErrLost, Says: "not_found", Made: 1, Ran: 1},
		{Name: "a stream without its end, an empty log and no exit code", Late: func(l *lab, _ string) {
			l.s.Fault(starts, -1, cloudtest.Command(0, firstLine(ends)))
			l.s.Fault(logs, -1, stream())
			l.s.Fault(commands, -1, cloudtest.Edits(`"exitCode":`, `"exitCode":null,"was":`))
		}, Runs: environment.ErrLost, Made: 1, Ran: 1},
		{Name: "an exit code that is none", Late: func(l *lab, _ string) {
			l.s.Fault(starts, -1, cloudtest.Command(0, firstLine(ends)))
			l.s.Fault(logs, -1, stream())
			l.s.Fault(commands, -1, cloudtest.Edits(`"exitCode":`, `"exitCode":"fine","was":`))
		}, Runs: environment.ErrLost, Made: 1, Ran: 1},
		{Name: "input that was heard, and an error", Late: late(types, 2, cloudtest.Heard(says(502, "bad_gateway"))), Made: 1, Ran: 1},
		{Name: "input that was heard, and no answer", Late: late(types, 1, cloudtest.Heard(cloudtest.Cuts)), Made: 1, Ran: 1},
		{Name: "input that wasn't heard, and no answer", Late: late(types, 1, cloudtest.Cuts), Made: 1, Ran: 1},
		{Name: "input that can't be brought at all", Late: late(types, -1, says(500, "internal")), Runs: environment.ErrLost, Made: 1},
		{Name: "input that is refused", Late: late(types, 1, says(400, "bad_request")), Made: 1, Ran: 1},
		{Name: "input that nobody counts", Late: late(types, -1, uncounted), Made: 1, Ran: 1},
		{Name: "input that nobody counts and whose answer is lost", Late: func(l *lab, _ string) {
			l.s.Fault(types, 1, cloudtest.Heard(says(502, "bad_gateway")))
			l.s.Fault(types, -1, uncounted)
		}, Runs: environment.ErrLost, Says: "count", Made: 1},
		{Name: "the sandbox is deleted under a command", In: forget, Runs: environment.ErrLost, Made: 1, Ran: 1},
		{Name: "the sandbox stops under a command", In: stopIt, Runs: environment.ErrLost, Made: 1, Ran: 1},
		{Name: "a timeout that can't be extended", Set: func(l *lab) { l.s.Fault(extends, -1, says(400, "timeout_exceeds_limit")) }, In: func(l *lab, _ string) { l.s.Later(6 * time.Minute) },
			Runs: environment.ErrLost, Made: 1, Ran: 1},
		{Name: "the sandbox was deleted before a command", Late: forget, Runs: environment.ErrGone, Made: 1},
		{Name: "the sandbox has stopped before a command", Late: stopIt, Runs: environment.ErrGone, Says: "its files ended with it", Made: 1},
	}
}

// headOnly has a command started, and answers otherwise while it runs.
func headOnly(answer cloudtest.Wrong) cloudtest.Wrong {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		b, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(strings.Replace(string(b), `"wait":true`, `"wait":false`, 1)))
		next.ServeHTTP(httptest.NewRecorder(), r)
		answer(w, r, next)
	}
}

// adds lets a stream begin, and says something in place of its end.
func adds(line string) cloudtest.Wrong {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&oneLine{ResponseWriter: w}, r)
		_, _ = io.WriteString(w, line+"\n")
	}
}

func forget(l *lab, id string) { l.s.Forget(id) }

func stopIt(l *lab, id string) {
	l.s.Change(id, func(b *verceltest.Sandbox) { b.Status = "stopped" })
}

// underTheEngine are the faults of the engine there.
func underTheEngine() []trial {
	return []trial{
		{Name: "engine: nothing", Set: engine(nil), Made: 1, Ran: 1},
		{Name: "engine: it can't be brought", Set: engine(at(uploads, -1, says(400, "no_space"))), Opens: unavailable, Says: "bring hermes to the sandbox", Made: 1},
		{Name: "engine: it can't be brought at first", Set: engine(at(uploads, 1, says(500, "internal"))), Made: 1, Ran: 1},
		{Name: "engine: it can't be brought, and a plain shell does", Set: engine(func(l *lab) {
			l.config.Resident = "auto"
			l.s.Fault(uploads, -1, says(400, "no_space"))
		}), Made: 1, Ran: 1},
		{Name: "engine: it can't be started", Set: engine(at(starts, -1, says(500, "internal"))), Opens: unavailable, Says: "start a command", Made: 1},
		{Name: "engine: its stream breaks", Set: engine(at(starts, -1, cloudtest.Breaks(1200))), Made: 1, Ran: 1, Check: readAgain},
		{Name: "engine: contact breaks under a command", Set: engine(nil), In: func(l *lab, _ string) { l.s.CloseClientConnections() }, Made: 1, Ran: 1, Check: readAgain},
		{Name: "engine: answers to what is typed are lost", Set: engine(nil), Late: late(types, 2, cloudtest.Heard(cloudtest.Cuts)), Made: 1, Ran: 1},
		{Name: "engine: 502 for what is typed", Set: engine(nil), Late: late(types, 2, cloudtest.Heard(says(502, "bad_gateway"))), Made: 1, Ran: 1},
		{Name: "engine: nothing can be typed any more", Set: engine(nil), In: func(l *lab, _ string) {
			l.s.Fault(types, -1, says(410, "sandbox_stopped"))
			l.s.Fault(logs, -1, says(410, "sandbox_stopped"))
			l.s.CloseClientConnections()
		},
			Runs: environment.ErrLost, Made: 1, Ran: 1},
		{Name: "engine: the sandbox is deleted", Set: engine(nil), In: forget, Runs: environment.ErrLost, Made: 1, Ran: 1},
		{Name: "engine: the sandbox stops", Set: engine(nil), In: stopIt, Runs: environment.ErrLost, Made: 1, Ran: 1},
	}
}

// readAgain wants the log of a command to have been read.
func readAgain(t *testing.T, l *lab) {
	t.Helper()
	l.agree(t, 0)
	if l.s.Heard(logs) == 0 {
		t.Error("the log was not read")
	}
}
