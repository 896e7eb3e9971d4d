// Package model chooses a model by what the user says, what is configured and which keys there are, and sees to what all of them have in
// common: further attempts, histories that others began, sizes of contexts, and counts where an API gives none.
package model

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/provider"
)

// Options is what Choose goes by.
type Options struct {
	Settings  Settings
	Getenv    func(string) string
	Providers []provider.Descriptor // nil = those that are linked in
	Redact    func(string) string   // for what is recorded; nil = as it is
	Warn      func(error)           // told of what is dangerous in a choice; nil = nobody is
	Log       *slog.Logger          // nil = nothing is logged
}

// Choose makes the model that name says: [PROVIDER/]MODEL, replay:FILE, or record:FILE=[PROVIDER/]MODEL. "" is the configured one. What
// name leaves open is taken from the settings, then from the variables that are set. Nothing is opened but a tape. An error is a
// *provider.Error that says what to set.
func Choose(name string, o Options) (provider.Model, error) {
	if o.Providers == nil {
		o.Providers = provider.Registered()
	}
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	c := &chooser{o}
	given := name
	if name == "" {
		name = o.Settings.Default
	}
	if prefix, rest, ok := strings.Cut(name, ":"); ok {
		if d := c.find(prefix); d != nil && (d.Play != nil || d.Around != nil) {
			return c.tape(d, rest)
		}
	}
	return c.live(name, given == "")
}

type chooser struct{ Options }

// find returns a provider by name; nil = there is none.
func (c *chooser) find(name string) *provider.Descriptor {
	if i := slices.IndexFunc(c.Providers, func(d provider.Descriptor) bool { return d.Name == name }); i >= 0 {
		return &c.Providers[i]
	}
	return nil
}

// tape makes a model that plays or writes a file.
func (c *chooser) tape(d *provider.Descriptor, rest string) (provider.Model, error) {
	options := provider.Options{Context: c.Settings.ContextLength, Redact: c.Redact, Log: c.Log}
	if d.Play != nil {
		m, err := d.Play(rest, options)
		if err != nil {
			return nil, err
		}
		return &steady{Model: m}, nil // what went wrong on the tape is what happens: it isn't tried again
	}
	at := strings.LastIndexByte(rest, '=')
	if at <= 0 || at == len(rest)-1 {
		return nil, &provider.Error{
			Kind: provider.ErrSetup, Provider: d.Name, Model: rest,
			Message: "it isn't said which model is used", Hint: "write " + d.Name + ":FILE=[PROVIDER/]MODEL",
		}
	}
	inner, err := c.live(rest[at+1:], false)
	if err != nil {
		return nil, err
	}
	return d.Around(rest[:at], inner, options)
}

// choice is a provider and how it is reached.
type choice struct {
	model      string
	provider   *provider.Descriptor
	configured bool // the settings of provider, address and key are about it
}

// live makes a model that an API serves. A configured name is a model of the configured provider as it stands.
func (c *chooser) live(name string, configured bool) (provider.Model, error) {
	ch, err := c.choose(name, configured)
	if err != nil {
		return nil, err
	}
	if ch.model == "" {
		return nil, &provider.Error{
			Kind: provider.ErrSetup, Provider: ch.provider.Name, Model: "?", Message: "no model is chosen",
			Hint: "say -m MODEL, or set one with `hermes config set model.default MODEL`",
		}
	}
	d := ch.provider
	options := provider.Options{
		Provider: d.Name, Model: ch.model, BaseURL: cmp.Or(c.env(d.BaseURLEnv), d.BaseURL), MaxTokens: c.Settings.MaxTokens,
		Context: cmp.Or(c.Settings.ContextLength, contextOf(ch.model)), MaxTools: c.Settings.MaxTools, ExtraBody: c.Settings.ExtraBody,
		Bounds: c.Settings.bounds(), Redact: c.Redact, Log: c.Log,
	}
	keyEnv := d.KeyEnv
	maker := d
	if ch.configured {
		options.BaseURL = cmp.Or(c.Settings.BaseURL, options.BaseURL)
		keyEnv = cmp.Or(c.Settings.KeyEnv, keyEnv)
		if maker, err = c.speaker(d); err != nil {
			return nil, err
		}
	}
	if options.BaseURL == "" {
		return nil, c.noAddress(d, ch.model)
	}
	options.Key = strings.TrimSpace(c.env(keyEnv))
	if options.Key == "" && (!d.Keyless && options.BaseURL == d.BaseURL || ch.configured && c.Settings.KeyEnv != "") {
		return nil, c.noKey(d, ch.model, keyEnv)
	}
	c.warnOpen(options)
	m, err := maker.New(options)
	if err != nil {
		return nil, err
	}
	return &steady{Model: m, retries: c.Settings.Retries}, nil
}

func (c *chooser) env(name string) string {
	if name == "" {
		return ""
	}
	return c.Getenv(name)
}

// choose finds the provider of a model.
func (c *chooser) choose(name string, configured bool) (choice, error) {
	own, err := c.configured()
	if err != nil {
		return choice{}, err
	}
	if prefix, rest, ok := strings.Cut(name, "/"); ok && !(configured && c.Settings.Provider != "") {
		d := c.find(prefix)
		if d != nil && d.New == nil {
			return choice{}, &provider.Error{Kind: provider.ErrSetup, Provider: d.Name, Model: rest, Message: "a tape is named by its file", Hint: "say -m " + d.Name + ":FILE, or another model"}
		}
		if d != nil {
			return choice{rest, d, own != nil && own.Name == d.Name}, nil
		}
	}
	if own != nil {
		return choice{name, own, true}, nil
	}
	for i := range c.Providers {
		d := &c.Providers[i]
		if d.New != nil && (c.env(d.KeyEnv) != "" || c.env(d.BaseURLEnv) != "") {
			return choice{name, d, false}, nil
		}
	}
	return choice{}, c.nothing(name)
}

// configured is the provider that the settings are about; nil = they name none.
func (c *chooser) configured() (*provider.Descriptor, error) {
	s := c.Settings
	if s.Provider != "" {
		if d := c.find(s.Provider); d != nil && d.New != nil {
			return d, nil
		}
		return nil, &provider.Error{
			Kind: provider.ErrSetup, Provider: s.Provider, Model: cmp.Or(s.Default, "?"), Message: "there is no provider of this name",
			Hint: "set one of " + strings.Join(c.names(), ", ") + " with `hermes config set model.provider NAME`",
		}
	}
	if s.BaseURL != "" { // a server of one's own
		return ownServer(c.Providers), nil
	}
	return nil, nil
}

// ownServer is who makes requests of a server that has no provider's name; nil = nobody does.
func ownServer(list []provider.Descriptor) *provider.Descriptor {
	for i := range list {
		if d := &list[i]; d.New != nil && d.BaseURL == "" {
			return d
		}
	}
	return nil
}

// Elsewhere are the settings for a model at another address than the configured one, whose key and API are none of its business.
// via is the provider; "" is a server of one's own.
func (s Settings) Elsewhere(name, via, address string) Settings {
	if d := ownServer(provider.Registered()); via == "" && d != nil {
		via = d.Name
	}
	s.Default, s.Provider, s.BaseURL, s.KeyEnv, s.Mode = name, via, address, "", ""
	return s
}

// speaker is who makes the requests: the provider itself, or the first that speaks the API that is configured for its address.
func (c *chooser) speaker(d *provider.Descriptor) (*provider.Descriptor, error) {
	mode := c.Settings.Mode
	if mode == "" || mode == d.Mode {
		return d, nil
	}
	for i := range c.Providers {
		if s := &c.Providers[i]; s.New != nil && s.Mode == mode {
			return s, nil
		}
	}
	return nil, &provider.Error{Kind: provider.ErrSetup, Provider: d.Name, Model: cmp.Or(c.Settings.Default, "?"), Message: "nothing in this build speaks " + mode, Hint: "change model.api_mode"}
}

// names are the providers that may be chosen.
func (c *chooser) names() []string {
	var out []string
	for _, d := range c.Providers {
		if d.New != nil {
			out = append(out, d.Name)
		}
	}
	return out
}

func (c *chooser) nothing(name string) error {
	var keys []string
	for _, d := range c.Providers {
		if d.New != nil && d.KeyEnv != "" {
			keys = append(keys, d.KeyEnv)
		}
	}
	if len(c.names()) == 0 {
		return &provider.Error{
			Kind: provider.ErrSetup, Provider: "model", Model: cmp.Or(name, "?"), Message: "no provider is linked into this program",
			Hint: "import github.com/hermes-runtime/hermes/provider/all, or single ones below provider",
		}
	}
	message := "no provider is chosen and no key is set"
	if prefix, _, ok := strings.Cut(name, "/"); ok {
		message = fmt.Sprintf("%s is no provider (there are %s), %s", prefix, strings.Join(c.names(), ", "), message)
	}
	return &provider.Error{
		Kind: provider.ErrSetup, Provider: "model", Model: cmp.Or(name, "?"), Message: message,
		Hint: "set " + strings.Join(keys, ", ") + " in the environment, or name a server with `hermes config set model.base_url http://127.0.0.1:8080/v1`",
	}
}

func (c *chooser) noKey(d *provider.Descriptor, model, keyEnv string) error {
	return &provider.Error{
		Kind: provider.ErrSetup, Provider: d.Name, Model: model, Message: keyEnv + " is not set",
		Hint: "put the key there, or say which variable holds it with `hermes config set model.api_key_env NAME`",
	}
}

func (c *chooser) noAddress(d *provider.Descriptor, model string) error {
	return &provider.Error{
		Kind: provider.ErrSetup, Provider: d.Name, Model: model, Message: "the address of the server is not set",
		Hint: "set it with `hermes config set model.base_url http://127.0.0.1:8080/v1`",
	}
}

// warnOpen warns of a connection that others can read.
func (c *chooser) warnOpen(o provider.Options) {
	u, err := url.Parse(o.BaseURL)
	if err != nil || u.Scheme != "http" || loopback(u.Hostname()) || c.Warn == nil {
		return
	}
	what := "the conversation"
	if o.Key != "" {
		what += " and the key"
	}
	c.Warn(fmt.Errorf("the model's address %s://%s is not encrypted: %s can be read on the way; use https", u.Scheme, u.Host, what))
}

func loopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
