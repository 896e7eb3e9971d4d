package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

const (
	// tries is how often a request is sent at most.
	tries = 3
	// maxRetryAfter is the longest pause that a server is granted.
	maxRetryAfter = 20 * time.Second
	// callTime bounds a request whose answer is no stream.
	callTime = 60 * time.Second
	// maxAnswer bounds an answer that is read whole.
	maxAnswer = 16 << 20
	// maxHops bounds the redirects within one host.
	maxHops = 5
)

// Base reads the address of an API. It is https, or http on this machine alone, and holds no credentials; key is where it comes from.
func Base(key, address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		err = errors.New("it is no URL") // what was parsed may hold a secret
	case u.Host == "":
		err = fmt.Errorf("%q names no host; write https://HOST/PATH", u.Redacted())
	case u.User != nil:
		err = errors.New("it holds credentials, which belong into variables of their own")
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())):
		err = fmt.Errorf("%q is not https, which only this machine itself may do without", u.Redacted())
	case u.RawQuery != "" || u.Fragment != "":
		err = fmt.Errorf("%q holds more than a host and a path", u.Redacted())
	}
	if err != nil {
		return nil, &environment.Error{Kind: environment.ErrConfig, Op: key, Err: err}
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// API is what one account asks of one server. Credentials in Header go to that server alone.
type API struct {
	Base   *url.URL
	Header http.Header
	Client *http.Client  // nil = NewClient's; one of another making may follow redirects elsewhere
	Limit  time.Duration // of a request whose answer is no stream; 0 = 60 s
}

// NewClient makes a client that follows redirects to where it was sent only, and has no limit of its own: commands may run for long.
func NewClient() *http.Client {
	return &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone(), CheckRedirect: stay}
}

// stay refuses redirects that lead elsewhere, or that would send something twice.
func stay(r *http.Request, via []*http.Request) error {
	from := via[0].URL
	switch {
	case r.URL.Scheme != from.Scheme || r.URL.Host != from.Host:
		return fmt.Errorf("it redirects to %s, where credentials for %s are not sent", r.URL.Host, from.Host)
	case r.Method != http.MethodGet || via[0].Method != http.MethodGet:
		return errors.New("it redirects a request that is sent once only")
	case len(via) > maxHops:
		return fmt.Errorf("more than %d redirects", maxHops)
	}
	return nil
}

// Call is one request.
type Call struct {
	Method, Path string
	Query        url.Values
	Header       http.Header
	Body         any           // sent as JSON; nil = none
	Stream       func() Upload // sent instead of Body, asked for anew with each try
	Into         any           // takes the answer, which is JSON; nil = it doesn't matter
	Once         bool          // it starts something: it is never sent twice
	// Before is asked before the request is sent again: whether the first one was heard after all, so that it isn't. nil = sending it
	// again does no harm.
	Before func(context.Context) (heard bool, err error)
}

// Upload is a body that isn't JSON.
type Upload struct {
	Type string
	Body io.Reader
}

// ErrHeard is what Do gives where Before found that an earlier try was heard.
var ErrHeard = errors.New("an earlier try was heard")

// Do sends a request and reads the answer.
func (a *API) Do(ctx context.Context, c Call) error {
	limit := a.Limit
	if limit <= 0 {
		limit = callTime
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s did not answer within %v", a.Base.Host, limit))
	defer cancel()
	r, err := a.Send(ctx, c)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if strings.Contains(r.Header.Get("Content-Type"), "text/html") { // of something in between, or another server: nobody knows whether it was heard
		return fmt.Errorf("read the answer to %s %s: it is a web page, which no API gives", c.Method, c.Path)
	}
	b, err := io.ReadAll(io.LimitReader(r.Body, maxAnswer))
	if err == nil && c.Into != nil {
		err = json.Unmarshal(b, c.Into)
	}
	if err != nil {
		return fmt.Errorf("read the answer to %s %s: %w", c.Method, c.Path, causeOf(ctx, err))
	}
	return nil
}

// Send sends a request and gives the answer while it comes: it is the caller's to close, and good (2xx, or 101 that was asked for).
// Another one is a *StatusError.
func (a *API) Send(ctx context.Context, c Call) (*http.Response, error) {
	var body []byte
	if c.Body != nil {
		var err error
		if body, err = json.Marshal(c.Body); err != nil {
			return nil, fmt.Errorf("encode %s %s: %w", c.Method, c.Path, err)
		}
	}
	for try := 1; ; try++ {
		r, err := a.send(ctx, c, body)
		var status *StatusError
		if err == nil || c.Once || try == tries || !errors.As(err, &status) || !status.passing() {
			return r, err
		}
		if !pause(ctx, status.Wait, try) {
			return nil, err
		}
		if c.Before != nil {
			switch heard, berr := c.Before(ctx); {
			case berr != nil:
				return nil, errors.Join(err, berr)
			case heard:
				return nil, ErrHeard
			}
		}
	}
}

// pause waits before the next try, and says whether there is to be one.
func pause(ctx context.Context, asked time.Duration, try int) bool {
	d := asked
	if d == 0 {
		d = time.Second << (try - 1)
	}
	if end, ok := ctx.Deadline(); d > maxRetryAfter || ok && time.Until(end) < d {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (a *API) send(ctx context.Context, c Call, body []byte) (*http.Response, error) {
	op := c.Method + " " + c.Path
	u := *a.Base
	u.RawPath = u.EscapedPath() + c.Path
	var err error
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	u.RawQuery = c.Query.Encode()
	var content io.Reader
	header := a.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	switch {
	case c.Stream != nil:
		up := c.Stream()
		content = up.Body
		header.Set("Content-Type", up.Type)
	case body != nil:
		content = bytes.NewReader(body)
		header.Set("Content-Type", "application/json")
	}
	req, err := http.NewRequestWithContext(ctx, c.Method, u.String(), content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	for n, v := range c.Header {
		header[n] = v
	}
	req.Header = header
	client := a.Client
	if client == nil {
		client = NewClient()
	}
	r, err := client.Do(req)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err // its text repeats the address
		}
		return nil, fmt.Errorf("%s at %s: %w", op, a.Base.Host, causeOf(ctx, err))
	}
	if r.StatusCode/100 == 2 || r.StatusCode == http.StatusSwitchingProtocols && header.Get("Upgrade") != "" {
		return r, nil
	}
	defer r.Body.Close()
	return nil, statusOf(op, r, header)
}

// causeOf prefers the reason of a context that has ended to what came of it.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
