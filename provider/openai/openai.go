// Package openai speaks the chat completions API: OpenAI's own, OpenRouter's, and that of any server that offers it, such as llama.cpp,
// Ollama, vLLM or LM Studio.
package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/internal/model/wire"
	"github.com/hermes-runtime/hermes/provider"
)

// Dialect is the form of tool definitions that the API takes.
const dialect = "openai"

// mode is what configurations call the API.
const mode = "chat_completions"

func init() {
	for _, d := range []provider.Descriptor{
		{
			Name: "openai", Description: "OpenAI, or another server that OPENAI_BASE_URL names", BaseURL: officialURL,
			KeyEnv: "OPENAI_API_KEY", BaseURLEnv: "OPENAI_BASE_URL", Rank: 10,
		},
		{Name: "openrouter", Description: "OpenRouter, many models of many makers", BaseURL: "https://openrouter.ai/api/v1", KeyEnv: "OPENROUTER_API_KEY", Rank: 30},
		{Name: "custom", Description: "any server with this API at model.base_url", Rank: 90, Keyless: true},
	} {
		d.Mode = mode
		d.New = func(o provider.Options) (provider.Model, error) {
			o.Provider = cmp.Or(o.Provider, d.Name)
			return newModel(o)
		}
		provider.Register(d)
	}
}

const officialURL = "https://api.openai.com/v1"

type model struct {
	options provider.Options
	url     string
	client  *wire.Client

	mu     sync.Mutex
	quirks quirks
}

func newModel(o provider.Options) (provider.Model, error) {
	u, err := wire.Address(o, "http://127.0.0.1:8080/v1")
	if err != nil {
		return nil, err
	}
	u.Path = strings.TrimRight(u.Path, "/")
	if u.Path == "" { // servers of one's own are often given without it
		u.Path = "/v1"
	}
	u.Path = strings.TrimSuffix(u.Path, "/chat/completions") + "/chat/completions"
	m := &model{options: o, url: u.String(), client: wire.NewClient(o.Bounds)}
	m.quirks.oldLimit = !strings.HasPrefix(o.BaseURL, officialURL)
	return m, nil
}

func (m *model) Info() provider.Info {
	return provider.Info{Provider: m.options.Provider, Model: m.options.Model, Dialect: dialect, Context: m.options.Context, MaxTools: m.options.MaxTools}
}

func (m *model) Stream(ctx context.Context, r provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		reply, err := m.post(ctx, r)
		if err != nil {
			yield(provider.Event{}, err)
			return
		}
		defer reply.Close()
		d := &decoder{model: m}
		for !d.over {
			ev, err := reply.Next()
			switch {
			case err == nil:
				err = d.event(ev)
			case d.finished() && ctx.Err() == nil: // what is still missing tells only numbers
				d.over, err = true, nil
			case errors.Is(err, io.EOF):
				err = reply.Cut()
			}
			if err != nil {
				yield(provider.Event{}, m.typed(reply, err))
				return
			}
			if d.content {
				reply.Content()
			}
			if d.finished() {
				reply.Ending()
			}
			for _, out := range d.take() {
				if !yield(out, nil) {
					return
				}
			}
		}
		for _, out := range d.end() {
			if !yield(out, nil) {
				return
			}
		}
		reply.Finish()
	}
}

// typed makes what the decoder objects to an error of the contract.
func (m *model) typed(reply *wire.Reply, err error) error {
	var bad *malformed
	if errors.As(err, &bad) {
		return reply.Protocol(err)
	}
	return err
}

// post makes the request, again without what the server turns out not to take.
func (m *model) post(ctx context.Context, r provider.Request) (*wire.Reply, error) {
	for {
		m.mu.Lock()
		q := m.quirks
		m.mu.Unlock()
		body, err := m.body(r, q)
		if err != nil {
			return nil, err
		}
		header := http.Header{}
		if m.options.Key != "" {
			header.Set("Authorization", "Bearer "+m.options.Key)
		}
		reply, err := m.client.Post(ctx, wire.Exchange{
			Provider: m.options.Provider, Model: m.options.Model, URL: m.url, Header: header, Body: body, Key: m.options.Key,
		})
		var refused *provider.Error
		if !errors.As(err, &refused) || refused.Kind != provider.ErrSchema || !m.learn(q, refused.Message, body) {
			return reply, err
		}
	}
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
