package cloudtest

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// Wrong answers a request otherwise than next would.
type Wrong = func(w http.ResponseWriter, r *http.Request, next http.Handler)

// Faults is what a server hears, and what goes wrong there. The zero value has nothing go wrong.
type Faults struct {
	mu     sync.Mutex
	faults []*fault
	log    []string
}

type fault struct {
	matches string
	times   int
	with    Wrong
}

// Fault has requests go wrong, as often as is said (below 0 = always). matches is the beginning of METHOD and path, as the server calls it;
// with a $ at its end it is the whole.
func (f *Faults) Fault(matches string, times int, with Wrong) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, &fault{matches, times, with})
}

// Mend has nothing go wrong any more.
func (f *Faults) Mend() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = nil
}

// Heard counts the requests that matched.
func (f *Faults) Heard(matches string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, said := range f.log {
		if match(matches, said) {
			n++
		}
	}
	return n
}

func match(matches, said string) bool {
	if whole, ok := strings.CutSuffix(matches, "$"); ok {
		return said == whole
	}
	return strings.HasPrefix(said, matches)
}

// Serve answers a request that the server calls said, unless something goes wrong with it.
func (f *Faults) Serve(said string, w http.ResponseWriter, r *http.Request, next http.Handler) {
	with := Wrong(passes)
	f.mu.Lock()
	f.log = append(f.log, said)
	for _, one := range f.faults {
		if one.times != 0 && match(one.matches, said) {
			one.times--
			with = one.with
			break
		}
	}
	f.mu.Unlock()
	with(w, r, next)
}

// passes does nothing wrong.
func passes(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) }

// Heard does what was asked for, and answers something else.
func Heard(answer Wrong) Wrong {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(httptest.NewRecorder(), r)
		answer(w, r, next)
	}
}

// Cuts hangs up without an answer.
func Cuts(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
		_ = c.Close()
	}
}

// Hangs says nothing until it is hung up on.
func Hangs(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	_, _ = io.Copy(io.Discard, r.Body) // so that the end of the connection is noticed
	<-r.Context().Done()
}

// Prints answers with a text.
func Prints(text string) Wrong {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { _, _ = io.WriteString(w, text) }
}

// Edits changes a text of the answer.
func Edits(from, to string) Wrong {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		w.WriteHeader(rec.Code)
		_, _ = io.WriteString(w, strings.ReplaceAll(rec.Body.String(), from, to))
	}
}

// Redirects leads elsewhere.
func Redirects(elsewhere string) Wrong {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
	}
}

// Breaks lets an answer, or what comes on a connection that was taken over, go on for some bytes, and hangs up.
func Breaks(after int) Wrong {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&breaking{ResponseWriter: w, left: after}, r)
	}
}

type breaking struct {
	http.ResponseWriter
	left int
}

func (b *breaking) Unwrap() http.ResponseWriter { return b.ResponseWriter }

func (b *breaking) Write(p []byte) (int, error) {
	if len(p) < b.left {
		b.left -= len(p)
		return b.ResponseWriter.Write(p)
	}
	rc := http.NewResponseController(b.ResponseWriter)
	_, _ = b.ResponseWriter.Write(p[:b.left])
	b.left = 0
	_ = rc.Flush()
	if c, _, err := rc.Hijack(); err == nil {
		_ = c.Close()
	}
	return 0, io.ErrClosedPipe
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

// Command lets requests pass that don't start the command of a place, and has the next one go wrong: starts has those that a plain shell
// sends, and the one that watches over commands is not meant. pass of the others pass as well.
func Command(pass int, with Wrong) Wrong {
	var mu sync.Mutex
	seen := 0
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		b, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(b))
		mu.Lock()
		if !bytes.Contains(b, []byte(watches)) {
			seen++
		}
		now := seen == pass+1
		if now {
			seen++
		}
		mu.Unlock()
		if now {
			with(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	}
}

// watches is in the script of the shell that watches over the commands of a plain shell, and of no other.
const watches = "HUP INT TERM; IFS= read"
