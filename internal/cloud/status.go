package cloud

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// maxSaid bounds what is told of a server's explanation, in bytes.
const maxSaid = 400

// StatusError is an answer that isn't good.
type StatusError struct {
	Op     string
	Status int
	Said   string        // what the server says for people
	Code   string        // what it says for programs
	Wait   time.Duration // how long it wants to be left alone; 0 = it doesn't say
}

// Error tells what was asked and what came back.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("%s: %d %s", e.Op, e.Status, http.StatusText(e.Status))
	if e.Said != "" {
		text += ": " + e.Said
	}
	if e.Wait > 0 {
		text += fmt.Sprintf(" (try again in %v)", e.Wait)
	}
	return text
}

// passing tells whether the same request may get another answer: CLD-4 names the codes.
func (e *StatusError) passing() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return e.Status >= 500
}

// Status gives the code of an answer that wasn't good, 0 for another error.
func Status(err error) int {
	var s *StatusError
	if errors.As(err, &s) {
		return s.Status
	}
	return 0
}

// Code gives what an answer that wasn't good says for programs.
func Code(err error) string {
	var s *StatusError
	if errors.As(err, &s) {
		return s.Code
	}
	return ""
}

// Refused tells whether the server heard a request and has not done, and will not do, what it asked for. After any other error it may
// have.
func Refused(err error) bool {
	s := Status(err)
	return s >= 300 && s < 500 && s != http.StatusRequestTimeout
}

// statusOf reads an answer that isn't good. What it repeats of the credentials is taken out.
func statusOf(op string, r *http.Response, sent http.Header) *StatusError {
	e := &StatusError{Op: op, Status: r.StatusCode, Wait: retryAfter(r.Header)}
	b, _ := io.ReadAll(io.LimitReader(r.Body, 64<<10)) // half an explanation is one too
	var body struct {
		Message json.RawMessage `json:"message"`
		Error   json.RawMessage `json:"error"`
		Errors  json.RawMessage `json:"errors"`
		Code    json.RawMessage `json:"code"`
	}
	if json.Unmarshal(b, &body) == nil {
		e.Code = words(body.Code)
		var nested struct{ Code, Message string }
		if json.Unmarshal(body.Error, &nested) == nil && nested.Message+nested.Code != "" {
			e.Said, e.Code = nested.Message, nested.Code
		}
		for _, part := range []json.RawMessage{body.Message, body.Errors, body.Error} {
			if e.Said == "" {
				e.Said = words(part)
			}
		}
	} else if !strings.Contains(r.Header.Get("Content-Type"), "html") {
		e.Said = string(b)
	}
	e.Said = clean(e.Said)
	for _, values := range sent {
		for _, v := range values {
			for _, secret := range []string{v, strings.TrimPrefix(v, "Bearer ")} {
				if len(secret) >= 8 {
					e.Said = strings.ReplaceAll(e.Said, secret, "…")
				}
			}
		}
	}
	if len(e.Said) > maxSaid {
		e.Said = strings.ToValidUTF8(e.Said[:maxSaid], "") + "…"
	}
	return e
}

// words are a text, or a list of texts, of JSON.
func words(raw json.RawMessage) string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return one
	}
	var many []string
	if json.Unmarshal(raw, &many) == nil {
		return strings.Join(many, "; ")
	}
	return ""
}

func clean(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "")))
}

// retryAfter is how long a server wants to be left alone, by whatever header of that name it has (some add what the limit is about). A
// point in time is understood by the server's own clock.
func retryAfter(h http.Header) time.Duration {
	var longest time.Duration
	for name, values := range h {
		if name != "Retry-After" && !strings.HasPrefix(name, "Retry-After-") {
			continue
		}
		for _, v := range values {
			longest = max(longest, wait(v, h.Get("Date")))
		}
	}
	return longest
}

func wait(v, date string) time.Duration {
	if n, err := strconv.Atoi(strings.TrimSpace(v)); err == nil {
		return time.Duration(min(max(n, 0), 1<<20)) * time.Second
	}
	until, err := http.ParseTime(v)
	now, derr := http.ParseTime(date)
	if derr != nil {
		now = time.Now()
	}
	if err != nil || until.Before(now) {
		return 0
	}
	return until.Sub(now)
}
