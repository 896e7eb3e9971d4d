package cloud_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
)

func TestBase_IsHTTPSUnlessThisMachine(t *testing.T) { // CLD-5
	for address, want := range map[string]string{
		"https://api.example/v1/": "https://api.example/v1", "http://127.0.0.1:99/api": "http://127.0.0.1:99/api", "http://localhost": "http://localhost",
		"http://[::1]:9": "http://[::1]:9", "http://api.example": "", "ftp://localhost": "", "api.example": "", "https://u:secretpw@api.example": "",
		"https://api.example?x=1": "", "http://127.0.0.1.example": "", "": "", "https://%zz:secretpw@h": "",
	} {
		u, err := cloud.Base("LAB_URL", address)
		switch {
		case want == "" && (!errors.Is(err, environment.ErrConfig) || !strings.Contains(err.Error(), "LAB_URL") || strings.Contains(err.Error(), "secretpw")):
			t.Errorf("%s: %v", address, err)
		case want != "" && (err != nil || u.String() != want):
			t.Errorf("%s: %v, %v", address, u, err)
		}
	}
}

// answers is a transport that gives one after the other.
type answers struct {
	list []answer
	sent int
	last *http.Request
}

type answer struct {
	status int
	header http.Header
	body   string
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	n := a.list[min(a.sent, len(a.list)-1)]
	a.sent++
	a.last = r
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	h := n.header
	if h == nil {
		h = http.Header{}
	}
	return &http.Response{StatusCode: n.status, Header: h, Body: io.NopCloser(strings.NewReader(n.body)), Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
}

func apiOf(rt http.RoundTripper) *cloud.API {
	return &cloud.API{
		Base: &url.URL{Scheme: "https", Host: "lab.example", Path: "/api"}, Client: &http.Client{Transport: rt},
		Header: http.Header{"Authorization": {"Bearer very-secret"}},
	}
}

func TestAPI_OnlyWhatPassesIsTriedAgain(t *testing.T) { // CLD-4
	after := func(name, v string) http.Header { return http.Header{name: {v}} }
	for name, c := range map[string]struct {
		first answer
		call  cloud.Call
		sent  int
		took  time.Duration
		fails bool
	}{
		"good":                  {first: answer{status: 200}, sent: 1},
		"500":                   {first: answer{status: 500}, sent: 2, took: time.Second},
		"503":                   {first: answer{status: 503}, sent: 2, took: time.Second},
		"408":                   {first: answer{status: 408}, sent: 2, took: time.Second},
		"425":                   {first: answer{status: 425}, sent: 2, took: time.Second},
		"429":                   {first: answer{status: 429}, sent: 2, took: time.Second},
		"429, 7 s":              {first: answer{status: 429, header: after("Retry-After", "7")}, sent: 2, took: 7 * time.Second},
		"429, its own name":     {first: answer{status: 429, header: after("Retry-After-Sandbox-Create", "9")}, sent: 2, took: 9 * time.Second},
		"429, 21 s":             {first: answer{status: 429, header: after("Retry-After", "21")}, sent: 1, fails: true},
		"429, nonsense":         {first: answer{status: 429, header: after("Retry-After", "soon")}, sent: 2, took: time.Second},
		"429, by another clock": {first: answer{status: 429, header: http.Header{"Retry-After": {"Wed, 01 Jan 2031 00:00:05 GMT"}, "Date": {"Wed, 01 Jan 2031 00:00:00 GMT"}}}, sent: 2, took: 5 * time.Second},
		"400":                   {first: answer{status: 400}, sent: 1, fails: true},
		"401":                   {first: answer{status: 401}, sent: 1, fails: true},
		"404":                   {first: answer{status: 404}, sent: 1, fails: true},
		"409":                   {first: answer{status: 409}, sent: 1, fails: true},
		"500, starts something": {first: answer{status: 500}, call: cloud.Call{Once: true}, sent: 1, fails: true},
		"429, starts something": {first: answer{status: 429}, call: cloud.Call{Once: true}, sent: 1, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rt := &answers{list: []answer{c.first, {status: 200}}}
				c.call.Method, c.call.Path, c.call.Body = "POST", "/x", "body"
				began := time.Now()
				r, err := apiOf(rt).Send(t.Context(), c.call)
				if r != nil {
					_ = r.Body.Close()
				}
				if rt.sent != c.sent || (err != nil) != c.fails || time.Since(began) != c.took {
					t.Errorf("sent %d times, %v, after %v", rt.sent, err, time.Since(began))
				}
				if c.fails && cloud.Status(err) != c.first.status {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

func TestAPI_ThreeTriesAndNoMore(t *testing.T) { // CLD-4
	synctest.Test(t, func(t *testing.T) {
		rt := &answers{list: []answer{{status: 502}}}
		if err := apiOf(rt).Do(t.Context(), cloud.Call{Method: "GET", Path: "/x"}); cloud.Status(err) != 502 || rt.sent != 3 {
			t.Errorf("%d, %v", rt.sent, err)
		}
		rt.sent = 0
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond) // the pause would outlast it
		defer cancel()
		if err := apiOf(rt).Do(ctx, cloud.Call{Method: "GET", Path: "/x"}); cloud.Status(err) != 502 || rt.sent != 1 {
			t.Errorf("%d, %v", rt.sent, err)
		}
	})
}

func TestAPI_WhatWasHeardIsNotSentAgain(t *testing.T) { // CLD-4
	synctest.Test(t, func(t *testing.T) {
		rt := &answers{list: []answer{{status: 500}, {status: 200}}}
		asked := 0
		c := cloud.Call{Method: "POST", Path: "/x", Before: func(context.Context) (bool, error) { asked++; return true, nil }}
		if err := apiOf(rt).Do(t.Context(), c); !errors.Is(err, cloud.ErrHeard) || rt.sent != 1 || asked != 1 {
			t.Errorf("sent %d, asked %d, %v", rt.sent, asked, err)
		}
		rt.sent = 0
		c.Before = func(context.Context) (bool, error) { return false, errors.New("can't tell") }
		if err := apiOf(rt).Do(t.Context(), c); cloud.Status(err) != 500 || !strings.Contains(err.Error(), "can't tell") || rt.sent != 1 {
			t.Errorf("sent %d, %v", rt.sent, err)
		}
	})
}

func TestAPI_ErrorsSayWhatTheServerSaysAndNoSecret(t *testing.T) {
	for body, want := range map[string]string{
		`{"message":"no such thing","error":"Not Found","statusCode":404}`: "no such thing",
		`{"message":["a is wrong","b too"],"error":"Bad Request"}`:         "a is wrong; b too",
		`{"error":{"code":"forbidden","message":"not yours"}}`:             "not yours",
		`{"errors":["full"]}`:          "full",
		`{"error":"invalid"}`:          "invalid",
		"plain\x1b[31m text":           "plain [31m text",
		`{"message":"very-secret no"}`: "… no",
		`{"message":"cut sho`:          `{"message":"cut sho`,
	} {
		err := apiOf(&answers{list: []answer{{status: 404, body: body}}}).Do(t.Context(), cloud.Call{Method: "GET", Path: "/thing"})
		if err == nil || !strings.HasSuffix(err.Error(), ": "+want) || !strings.Contains(err.Error(), "GET /thing") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", body, err)
		}
	}
	var into struct{ A string }
	err := apiOf(&answers{list: []answer{{status: 200, body: `{"a":"b`}}}).Do(t.Context(), cloud.Call{Method: "GET", Path: "/thing", Into: &into})
	if err == nil || cloud.Refused(err) {
		t.Errorf("half an answer: %v", err)
	}
}

func TestAPI_CredentialsGoNowhereElse(t *testing.T) { // CLD-5
	var elsewhere, here atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/out", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/in", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/in", func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Organization") == "o" {
			here.Add(1)
		}
	})
	mux.HandleFunc("/near", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/in", http.StatusTemporaryRedirect) })
	server := httptest.NewServer(mux)
	defer server.Close()
	base, err := cloud.Base("LAB_URL", server.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := cloud.NewClient()
	defer client.CloseIdleConnections()
	a := &cloud.API{Base: base, Client: client, Header: http.Header{"X-Organization": {"o"}}}
	for _, method := range []string{"GET", "POST"} {
		err := a.Do(t.Context(), cloud.Call{Method: method, Path: "/out"})
		if err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(other.URL, "http://")) || cloud.Refused(err) {
			t.Errorf("%s: %v", method, err)
		}
	}
	if err := a.Do(t.Context(), cloud.Call{Method: "GET", Path: "/near"}); err != nil || here.Load() != 1 {
		t.Errorf("within the server: %v", err)
	}
	if err := a.Do(t.Context(), cloud.Call{Method: "POST", Path: "/near"}); err == nil || here.Load() != 1 {
		t.Errorf("a request that may start something was sent twice: %v", err)
	}
	if elsewhere.Load() > 0 {
		t.Error("the other host was asked")
	}
}

func TestAPI_AServerThatSaysNothingIsGivenUp(t *testing.T) {
	hold := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hold }))
	defer server.Close()
	defer close(hold)
	base, _ := cloud.Base("LAB_URL", server.URL)
	client := cloud.NewClient()
	defer client.CloseIdleConnections()
	a := &cloud.API{Base: base, Client: client, Limit: 20 * time.Millisecond}
	if err := a.Do(t.Context(), cloud.Call{Method: "GET", Path: "/x"}); err == nil || !strings.Contains(err.Error(), "did not answer within") {
		t.Errorf("%v", err)
	}
}

func TestPulse_ACommandWaitsForASignWithinBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := cloud.StartPulse(cloud.PulseOptions{Idle: 15 * time.Minute, Beat: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }})
		defer p.Stop()
		defer p.Use(t.Context())()
		time.Sleep(5*time.Minute + time.Second) // one is under way
		begun := time.Now()
		time.Sleep(4 * time.Minute)
		defer p.Use(t.Context())()
		if took := time.Since(begun); took > 4*time.Minute+5*time.Second {
			t.Errorf("it waits for %v", took)
		}
		called, cancel := context.WithCancel(t.Context())
		cancel()
		begun = time.Now()
		defer p.Use(called)()
		if took := time.Since(begun); took != 0 {
			t.Errorf("one that is called off waits for %v", took)
		}
	})
}

func TestPulse_BeatsWhileSomethingRunsAndOnlyThen(t *testing.T) { // CLD-2
	synctest.Test(t, func(t *testing.T) {
		var beats atomic.Int32
		var jobs atomic.Bool
		p := cloud.StartPulse(cloud.PulseOptions{
			Idle: 15 * time.Minute, Jobs: func(context.Context) bool { return jobs.Load() },
			Beat: func(context.Context) error { beats.Add(1); return errors.New("told, and not fatal") },
		})
		after := func(d time.Duration, want int32, when string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := beats.Load(); got != want {
				t.Errorf("%s: %d beats, want %d", when, got, want)
			}
		}
		after(time.Hour+time.Second, 0, "idle")
		done, more := p.Use(t.Context()), p.Use(t.Context())
		after(0, 1, "before the first of two commands")
		after(15*time.Minute, 4, "with two commands")
		done()
		done()
		after(5*time.Minute, 5, "with one")
		more()
		after(time.Hour, 5, "with none")
		jobs.Store(true)
		after(10*time.Minute, 7, "with a job")
		p.Stop()
		after(time.Hour, 7, "after the end")
	})
}
