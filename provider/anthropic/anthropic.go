// Package anthropic speaks the messages API, Anthropic's own and that of servers that offer it.
package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/hermes-runtime/hermes/internal/model/wire"
	"github.com/hermes-runtime/hermes/provider"
)

const (
	name    = "anthropic" // also of the form of tool definitions
	version = "2023-06-01"
)

// maxPauses bounds how often one reply is continued after the API paused it.
const maxPauses = 16

func init() {
	provider.Register(provider.Descriptor{
		Name: name, Description: "Anthropic, or another server that ANTHROPIC_BASE_URL names", Mode: "anthropic_messages", BaseURL: "https://api.anthropic.com",
		KeyEnv: "ANTHROPIC_API_KEY", BaseURLEnv: "ANTHROPIC_BASE_URL", Rank: 20, New: newModel,
	})
}

type model struct {
	options provider.Options
	url     string
	client  *wire.Client
}

func newModel(o provider.Options) (provider.Model, error) {
	o.Provider = cmp.Or(o.Provider, name)
	u, err := wire.Address(o, "http://127.0.0.1:8080")
	if err != nil {
		return nil, err
	}
	path := strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/messages")
	u.Path = strings.TrimSuffix(path, "/v1") + "/v1/messages"
	return &model{options: o, url: u.String(), client: wire.NewClient(o.Bounds)}, nil
}

func (m *model) Info() provider.Info {
	return provider.Info{Provider: m.options.Provider, Model: m.options.Model, Dialect: name, Context: m.options.Context, MaxTools: m.options.MaxTools}
}

func (m *model) Stream(ctx context.Context, r provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		d := &decoder{provider: m.options.Provider, model: m.options.Model}
		for range maxPauses {
			again, ok := m.once(ctx, r, d, yield)
			if !ok {
				return
			}
			if !again {
				break
			}
			d.resume()
		}
		for _, ev := range d.end() {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// once makes one request and hands on what streams. It tells whether the API paused the reply, and, false, that all is said.
func (m *model) once(ctx context.Context, r provider.Request, d *decoder, yield func(provider.Event, error) bool) (again, ok bool) {
	reply, err := m.post(ctx, r, d.content())
	if err != nil {
		yield(provider.Event{}, err)
		return false, false
	}
	defer reply.Close()
	for !d.over {
		ev, err := reply.Next()
		switch {
		case err == nil:
			err = d.event(ev)
		case d.reason != "" && ctx.Err() == nil: // only the mark of the end is missing
			d.over, err = true, nil
		case errors.Is(err, io.EOF):
			err = reply.Cut()
		}
		if err != nil {
			var bad *malformed
			if errors.As(err, &bad) {
				err = reply.Protocol(err)
			}
			yield(provider.Event{}, err)
			return false, false
		}
		if d.progress {
			reply.Content()
		}
		if d.reason != "" {
			reply.Ending()
		}
		for _, out := range d.take() {
			if !yield(out, nil) {
				return false, false
			}
		}
	}
	reply.Finish()
	return d.reason == "pause_turn", true
}

func (m *model) post(ctx context.Context, r provider.Request, paused []json.RawMessage) (*wire.Reply, error) {
	body, err := m.body(r, paused)
	if err != nil {
		return nil, &provider.Error{Kind: provider.ErrSetup, Provider: m.options.Provider, Model: m.options.Model, Message: "the request can't be written as JSON", Hint: "check model.extra_body", Err: err}
	}
	header := http.Header{"Anthropic-Version": {version}}
	if m.options.Key != "" {
		header.Set("X-Api-Key", m.options.Key)
	}
	return m.client.Post(ctx, wire.Exchange{
		Provider: m.options.Provider, Model: m.options.Model, URL: m.url, Header: header, Body: body, Key: m.options.Key,
	})
}

// malformed is a reply that is not in the form of the API.
type malformed struct{ err error }

func (m *malformed) Error() string { return m.err.Error() }
func (m *malformed) Unwrap() error { return m.err }

func decode(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return &malformed{err}
	}
	return nil
}
