//go:build linux

package vercel_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/backend/vercel"
	"github.com/hermes-runtime/hermes/backend/vercel/verceltest"
	"github.com/hermes-runtime/hermes/environment"
)

func TestLife_OneThatIsKeptIsStoppedAndFoundAgain(t *testing.T) { // CLD-1, MGR-5
	l := newLab(t)
	l.config.Kept = true
	e := l.anew(t)
	run(t, e, "echo mine >~/f")
	l.agree(t, 1)
	shut(t, e)
	l.agree(t, 0)
	e = l.anew(t)
	if out := run(t, e, "cat ~/f"); out != "mine\n" || l.s.Made() != 1 {
		t.Errorf("%q, %d made", out, l.s.Made())
	}
	if s := l.s.Sandboxes()[0]; !s.Persistent || s.Timeout != 300000 || !strings.Contains(string(s.Keep), `"count":1`) {
		t.Errorf("%+v", s)
	}
	if err := e.(environment.Destroyer).Destroy(t.Context()); err != nil || len(l.s.Sandboxes()) != 0 {
		t.Errorf("%v, %d are there", err, len(l.s.Sandboxes()))
	}
}

func TestLife_OneThatExpiredIsStartedAgainAndSaysSo(t *testing.T) { // CLD-2, MGR-6
	l := newLab(t)
	l.config.Kept = true
	e := l.anew(t)
	run(t, e, "echo mine >~/f")
	l.s.Later(11 * time.Minute)
	l.agree(t, 0)
	for _, again := range []bool{true, false} {
		res, err := e.Run(t.Context(), environment.Command{Script: "[ -e ~/f ]"})
		if err != nil || res.ExitCode != 0 || res.Recreated != again {
			t.Errorf("%+v, %v", res, err)
		}
	}
	shut(t, e)
	l.agree(t, 0)
}

// token is one of a login.
func token(claims string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".sig"
}

func TestCredentials_WhatIsWrongIsSaid(t *testing.T) { // CLD-5
	b, _ := environment.Lookup("vercel_sandbox")
	for want, vars := range map[string]map[string]string{
		"set VERCEL_OIDC_TOKEN":                {},
		"VERCEL_TEAM_ID and VERCEL_PROJECT_ID": {"VERCEL_TOKEN": "vca_secret"},
		"expired at 2001-09-09":                {"VERCEL_OIDC_TOKEN": token(`{"owner_id":"t","project_id":"p","exp":1000000000}`)},
		"names no team":                        {"VERCEL_OIDC_TOKEN": token(`{"exp":99999999999}`)},
		"no token of the form":                 {"VERCEL_OIDC_TOKEN": "vca_secret"},
	} {
		err := b.Check(t.Context(), environment.OpenOptions{HermesHome: t.TempDir(), Getenv: func(n string) string { return vars[n] }})
		if !errors.Is(err, environment.ErrUnavailable) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v, want %q", err, want)
		}
	}
	good := map[string]string{"VERCEL_OIDC_TOKEN": token(`{"owner_id":"t","project_id":"p","exp":99999999999}`)}
	if err := b.Check(t.Context(), environment.OpenOptions{HermesHome: t.TempDir(), Getenv: func(n string) string { return good[n] }}); err != nil {
		t.Error(err)
	}
}

func TestSettings_WhatCannotBeHadIsRefused(t *testing.T) { // VRC-1
	l := newLab(t)
	b, _ := environment.Lookup("vercel_sandbox")
	for key, change := range map[string]func(c *vercel.Config){
		"container_disk": func(c *vercel.Config) { c.DiskMB = 1 }, "vercel_runtime": func(c *vercel.Config) { c.Runtime = "node8" },
		"resident": func(c *vercel.Config) { c.Resident = "maybe" }, "vercel_api_url": func(c *vercel.Config) { c.URL = "http://example.com" },
	} {
		c := l.config
		change(&c)
		o := l.o
		o.Config = &c
		if err := b.Check(t.Context(), o); !errors.Is(err, environment.ErrConfig) || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
	l.config.CPU, l.config.Network = 3.9, false
	e := l.anew(t)
	if s := l.s.Sandboxes()[0]; s.CPUs != 2 || !strings.Contains(string(s.Network), "deny-all") {
		t.Errorf("%+v", s)
	}
	shut(t, e)
}

func TestProbe_TellsOfAllSandboxesPageByPage(t *testing.T) { // CLD-3: doctor
	l := newLab(t)
	e := l.anew(t)
	defer shut(t, e)
	tags := l.s.Sandboxes()[0].Tags
	l.s.Page = 4
	for i := range 10 {
		l.s.Add(verceltest.Sandbox{Name: fmt.Sprint("hermes-lost-", i), Status: "stopped", Tags: tags})
	}
	l.s.Add(verceltest.Sandbox{Name: "hermes-of-another", Status: "running"})
	b, _ := environment.Lookup("vercel_sandbox")
	o, c := l.o, l.config
	o.Config = &c
	lines := strings.Join(b.Probe(t.Context(), o), "\n")
	for _, want := range []string{"sandboxes of this HERMES_HOME there: 11", e.Info().ID, "in use", "hermes-lost-9", "not in the ledger"} {
		if !strings.Contains(lines, want) {
			t.Errorf("it doesn't say %q:\n%s", want, lines)
		}
	}
	if strings.Contains(lines, "hermes-of-another") {
		t.Error(lines)
	}
}

type wrong = func(w http.ResponseWriter, r *http.Request, next http.Handler)

// says answers with an error of the API.
func says(status int, code string, headers ...string) wrong {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		verceltest.Refuse(w, status, code, "it says "+code)
	}
}

// heard does what was asked for, and answers something else.
func heard(answer wrong) wrong {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&deaf{h: http.Header{}}, r)
		answer(w, r, next)
	}
}

// deaf takes an answer that nobody hears.
type deaf struct{ h http.Header }

func (d *deaf) Header() http.Header         { return d.h }
func (d *deaf) Write(b []byte) (int, error) { return len(b), nil }
func (d *deaf) WriteHeader(int)             {}
func (d *deaf) Flush()                      {}

// cuts hangs up without an answer.
func cuts(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
		_ = c.Close()
	}
}

// first lets one line of the stream of a command through, and hangs up when it has ended.
func first(w http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(&oneLine{ResponseWriter: w}, r)
	panic(http.ErrAbortHandler)
}

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

const (
	cmds   = "POST /sessions/SESSION/cmd"
	create = "POST "
)

func TestFaults_AreToldAsWhatTheyAre(t *testing.T) { // CLD-1, CLD-4, CLD-5, VRC-1
	for _, f := range []struct {
		name        string
		set         func(l *lab)
		late        func(l *lab) // once the place is open
		opens, runs error
		says        string
		made, ran   int
	}{
		{name: "nothing", made: 1, ran: 1},
		{name: "a slow start", set: func(l *lab) { l.s.Slow = 3 }, made: 1, ran: 1},
		{name: "another token", set: func(l *lab) { l.vars["VERCEL_TOKEN"] = "vca_of_somebody" }, opens: environment.ErrUnavailable, says: "are refused"},
		{name: "another team", set: func(l *lab) { l.vars["VERCEL_TEAM_ID"] = "team_b" }, opens: environment.ErrUnavailable, says: "are refused"},
		{name: "another project", set: func(l *lab) { l.vars["VERCEL_PROJECT_ID"] = "prj_b" }, opens: environment.ErrUnavailable, says: "Project not found"},
		{name: "a quota", set: func(l *lab) { l.s.Quota = 1; l.s.Add(verceltest.Sandbox{Name: "x", Status: "running"}) }, opens: environment.ErrUnavailable, says: "plan allows no more"},
		{name: "busy for a second", set: func(l *lab) { l.s.Fault(create, 1, says(429, "rate_limited", "Retry-After", "1")) }, made: 1, ran: 1},
		{name: "busy for an hour", set: func(l *lab) { l.s.Fault(create, -1, says(429, "rate_limited", "Retry-After", "3600")) }, opens: environment.ErrUnavailable, says: "try again in"},
		{name: "busy without a time", set: func(l *lab) { l.s.Fault(create, 1, says(429, "rate_limited")) }, made: 1, ran: 1},
		{name: "made, and an error", set: func(l *lab) { l.s.Fault(create, 1, heard(says(500, "internal"))) }, made: 1, ran: 1},
		{name: "made, and cut off", set: func(l *lab) { l.s.Fault(create, 1, heard(cuts)) }, made: 1, ran: 1},
		{name: "a state nobody knows", set: func(l *lab) {
			l.s.Fault("GET /hermes", -1, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
				_, _ = w.Write([]byte(`{"sandbox":{"name":"n","currentSessionId":"s","status":"dreaming"}}`))
			})
		}, opens: environment.ErrUnavailable, says: `"dreaming"`, made: 1},
		{name: "no JSON", set: func(l *lab) {
			l.s.Fault("GET /hermes", -1, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { _, _ = w.Write([]byte("<html>")) })
		}, opens: environment.ErrUnavailable, says: "read the answer", made: 1},
		{name: "a stream that ends after its first line", late: func(l *lab) { l.s.Fault(cmds, 1, first) }, made: 1, ran: 1},
	} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			if f.set != nil {
				f.set(l)
			}
			e, err := l.try(t.Context())
			expect(t, err, f.opens, f.says)
			if err == nil {
				if f.late != nil {
					f.late(l)
				}
				id := e.Info().ID
				_, err = e.Run(t.Context(), environment.Command{Script: "echo x >>~/ran", Timeout: time.Minute})
				expect(t, err, f.runs, f.says)
				b, _ := os.ReadFile(filepath.Join(l.s.Home(id), "ran"))
				if n := strings.Count(string(b), "x"); n != f.ran {
					t.Errorf("the command began %d times, want %d", n, f.ran)
				}
				shut(t, e)
			}
			if l.s.Made() != f.made {
				t.Errorf("%d sandboxes were made, want %d", l.s.Made(), f.made)
			}
			if _, err := os.Stat("/root/ran"); err == nil {
				t.Error("it ran on this machine")
			}
		})
	}
}

func expect(t *testing.T, err, want error, says string) {
	t.Helper()
	if (err == nil) != (want == nil) || want != nil && (!errors.Is(err, want) || !strings.Contains(err.Error(), says)) {
		t.Errorf("%v, want %v: %s", err, want, says)
	}
	if err != nil && strings.Contains(err.Error(), verceltest.Token) {
		t.Errorf("it shows the token: %v", err)
	}
}
