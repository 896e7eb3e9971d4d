package provider

import (
	"fmt"
	"strings"
	"time"
)

// ErrorKind says what kind of fault an Error is.
type ErrorKind string

// The kinds of error.
const (
	ErrAuth       ErrorKind = "auth"
	ErrRateLimit  ErrorKind = "rate_limit"
	ErrOverloaded ErrorKind = "overloaded" // 5xx, 529: the same request may work later
	ErrContext    ErrorKind = "context_overflow"
	ErrSchema     ErrorKind = "schema"   // the API doesn't take the request as it is
	ErrRefused    ErrorKind = "refused"  // for its content
	ErrNetwork    ErrorKind = "network"  // broken, silent or never established
	ErrProtocol   ErrorKind = "protocol" // the reply makes no sense
	ErrSetup      ErrorKind = "setup"    // no key, no model, an address that is none
	ErrReplay     ErrorKind = "replay"   // a recorded conversation goes on otherwise
)

// Error is how a request fails.
type Error struct {
	Kind       ErrorKind
	Provider   string
	Model      string
	Status     int           // of HTTP; 0 = none was received
	Message    string        // what the API says, without keys
	Hint       string        // what to do about it
	RetryAfter time.Duration // as the API asks; 0 = it doesn't say
	Limit      int           // ErrContext: the size of the context in tokens, if the API tells it
	Err        error         // the cause; nil = none
}

// Error says which model failed how, and what to do.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s: %s", e.Provider, e.Model, strings.ReplaceAll(string(e.Kind), "_", " "))
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	for _, s := range []string{e.Message, e.Hint} {
		if s != "" {
			b.WriteString(": " + s)
		}
	}
	if e.Err != nil && e.Message == "" {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Passing tells whether the same request may work if it is made again.
func (e *Error) Passing() bool {
	return e.Kind == ErrRateLimit || e.Kind == ErrOverloaded || e.Kind == ErrNetwork
}
