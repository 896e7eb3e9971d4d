// Package wire makes one request to a model's API and reads its reply, streamed or whole, within bounds and with typed errors.
package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/provider"
)

// Bounds of what is read, in bytes.
const (
	maxReply = 64 << 20 // all of one reply: no model says so much, and all of it is kept
	maxWhole = 64 << 20 // a reply that isn't streamed
	maxFault = 64 << 10 // of what comes with an error status
)

const (
	endWait   = 3 * time.Second        // for what follows the content: usage, the mark of the end
	drainWait = 100 * time.Millisecond // for the end of the body, so that the connection can serve again
)

// Client makes requests of one model. It is safe for concurrent use. Connections that are idle close after half a minute.
type Client struct {
	transport http.RoundTripper
	bounds    provider.Bounds
}

// NewClient returns a client that waits as b says. It speaks HTTP/1.1, where ending a request closes its connection.
func NewClient(b provider.Bounds) *Client {
	c := &Client{bounds: withDefaults(b)}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	c.transport = &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: c.bounds.Connect}).DialContext,
		TLSHandshakeTimeout: c.bounds.Connect, Protocols: protocols, DisableCompression: true,
		MaxIdleConnsPerHost: 8, IdleConnTimeout: 30 * time.Second,
	}
	return c
}

// Exchange is one request.
type Exchange struct {
	Provider, Model string // for errors
	URL             string
	Header          http.Header
	Body            []byte // JSON
	Key             string // taken out of everything that is told
}

// Reply is what comes back. It belongs to one goroutine and must be closed.
type Reply struct {
	Header http.Header

	x      Exchange
	ctx    context.Context // of the request: ended by its bounds, its caller and Close
	outer  context.Context
	watch  watch
	body   io.ReadCloser
	buf    *bufio.Reader
	events *EventReader // nil until it is known that the reply is a stream
	read   int64
	over   bool
	stop   context.CancelFunc
}

// Address reads the address of an API; example is one.
func Address(o provider.Options, example string) (*url.URL, error) {
	u, err := url.Parse(o.BaseURL)
	if err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") {
		return u, nil
	}
	shown := o.BaseURL
	if _, after, ok := strings.Cut(shown, "@"); ok { // in front may be a password
		shown = "…@" + after
	}
	return nil, &provider.Error{
		Kind: provider.ErrSetup, Provider: o.Provider, Model: o.Model, Message: fmt.Sprintf("%q is no address of an API", shown),
		Hint: "it looks like " + example + "; set it with `hermes config set model.base_url URL`, or in the variable that it comes from",
	}
}

// Post makes a request and returns when a reply begins. An error is a *provider.Error, or the cause of ctx.
func (c *Client) Post(ctx context.Context, x Exchange) (*Reply, error) {
	inner, cancel := context.WithCancelCause(ctx)
	r := &Reply{x: x, ctx: inner, outer: ctx, watch: watch{cancel: cancel, bounds: c.bounds}, stop: func() { cancel(context.Canceled) }}
	req, err := http.NewRequestWithContext(inner, http.MethodPost, x.URL, bytes.NewReader(x.Body))
	if err != nil {
		r.stop()
		return nil, &provider.Error{Kind: provider.ErrSetup, Provider: x.Provider, Model: x.Model, Message: "the address of the API is none", Hint: "check model.base_url"}
	}
	req.Header = x.Header.Clone()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream, application/json")
	client := http.Client{Transport: c.transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	var resp *http.Response
	r.watch.during(func() { resp, err = client.Do(req) }) //nolint:bodyclose // Reply.Close does
	if err != nil {
		defer r.stop()
		return nil, r.broken(err)
	}
	r.Header, r.body = resp.Header, resp.Body
	r.buf = bufio.NewReaderSize(r, 16<<10)
	if resp.StatusCode/100 == 2 {
		return r, nil
	}
	defer r.Close()
	body, err := io.ReadAll(io.LimitReader(r.buf, maxFault))
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, x.Fault(resp.StatusCode, resp.Header, body)
}

// Read reads the body within the bounds. It is for the readers that stand on it.
func (r *Reply) Read(p []byte) (n int, err error) {
	if r.read > maxReply {
		return 0, fmt.Errorf("a reply of more than %d bytes", maxReply)
	}
	r.watch.during(func() { n, err = r.body.Read(p) })
	r.read += int64(n)
	return n, err
}

// Next returns the next event of a stream, or the whole of a reply that is none, once. At the end it is io.EOF; any other error is a
// *provider.Error or the cause of the caller's context. An error object that comes instead of an event is an error.
func (r *Reply) Next() (Event, error) {
	ev, err := r.next()
	switch {
	case err == nil:
	case errors.Is(err, io.EOF) && r.ctx.Err() == nil:
		return Event{}, io.EOF
	default:
		return Event{}, r.broken(err)
	}
	r.watch.event()
	if fault := r.x.InBand(ev.Data); fault != nil {
		return Event{}, fault
	}
	return ev, nil
}

func (r *Reply) next() (Event, error) {
	if r.events != nil {
		return r.events.Next()
	}
	if r.over {
		return Event{}, io.EOF
	}
	first, err := r.peek()
	if err != nil {
		return Event{}, err
	}
	if first == '<' {
		return Event{}, errPage
	}
	if first != '{' && first != '[' {
		r.events = NewEventReader(r.buf)
		return r.events.Next()
	}
	r.over = true
	body, err := io.ReadAll(io.LimitReader(r.buf, maxWhole+1))
	if err == nil && len(body) > maxWhole {
		err = fmt.Errorf("%w: an unstreamed reply of more than %d bytes", ErrTooLong, maxWhole)
	}
	return Event{Data: body, Whole: true}, err
}

// errPage is what stands at addresses that are no API's.
var errPage = errors.New("it is a page for people, not an API's answer")

// peek tells the first byte of the reply that is no white space.
func (r *Reply) peek() (byte, error) {
	for {
		b, err := r.buf.ReadByte()
		if err != nil {
			return 0, err
		}
		if b != ' ' && b != '\n' && b != '\r' && b != '\t' {
			return b, r.buf.UnreadByte()
		}
	}
}

// Content says that the last event carried content, which is what model.stall_timeout waits for.
func (r *Reply) Content() { r.watch.content() }

// Ending says that the content is complete: what may still follow is waited for shortly.
func (r *Reply) Ending() {
	if r.watch.ending == 0 {
		r.watch.ending = endWait
	}
}

// Finish says that nothing more is expected. It gives the connection a moment to come to the end of the body, so that it can be used
// again.
func (r *Reply) Finish() {
	r.watch.ending = drainWait
	_, _ = io.CopyN(io.Discard, r.buf, 4<<10) // what is there has no meaning
}

// Close ends the request and closes its connection, unless the body was read to its end.
func (r *Reply) Close() {
	_ = r.body.Close() // there is nothing that its error would change
	r.stop()
}

// Protocol is the error of a reply that makes no sense.
func (r *Reply) Protocol(cause error) error {
	return &provider.Error{
		Kind: provider.ErrProtocol, Provider: r.x.Provider, Model: r.x.Model, Message: "the reply makes no sense: " + r.x.clean(cause.Error()), Err: cause,
		Hint: "is model.base_url the address of an API of this kind, and model.api_mode the right one?",
	}
}

// Cut is the error of a reply that ends before its end.
func (r *Reply) Cut() error { return r.x.network("the reply was cut off", io.ErrUnexpectedEOF) }

// broken makes an error of what reading or connecting failed with.
func (r *Reply) broken(err error) error {
	if r.outer.Err() != nil {
		return context.Cause(r.outer)
	}
	var b *bounded
	if errors.As(context.Cause(r.ctx), &b) {
		return r.x.network(b.text, b)
	}
	if errors.Is(err, ErrTooLong) || errors.Is(err, errPage) {
		return r.Protocol(err)
	}
	var u *url.Error
	if errors.As(err, &u) { // its text holds the whole address
		err = u.Err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return r.Cut()
	}
	e := r.x.network(err.Error(), err)
	if u, err := url.Parse(r.x.URL); err == nil && r.body == nil {
		e.Hint = "is " + u.Host + " reachable, and does the server run?"
	}
	return e
}

func (x *Exchange) network(message string, cause error) *provider.Error {
	return &provider.Error{Kind: provider.ErrNetwork, Provider: x.Provider, Model: x.Model, Message: x.clean(message), Err: cause}
}

// minKey is how long a key is at least, in bytes; what servers of one's own are given for one may be a word.
const minKey = 8

// maxMessage is how much of a server's message is told, in bytes.
const maxMessage = 2000

// clean makes a server's text fit to be shown: no key, no control characters, not too long.
func (x *Exchange) clean(text string) string {
	if len(x.Key) >= minKey {
		text = strings.ReplaceAll(text, x.Key, "[key]")
	}
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(strings.TrimSpace(text), "\ufffd"))
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}
	return text
}
