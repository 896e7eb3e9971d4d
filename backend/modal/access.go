//go:build modal

package modal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	sdk "github.com/modal-labs/modal-client/go"
	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
)

// The variables that say whose account it is and where it is.
const (
	varID          = "MODAL_TOKEN_ID"
	varSecret      = "MODAL_TOKEN_SECRET"
	varServer      = "MODAL_SERVER_URL"
	varEnvironment = "MODAL_ENVIRONMENT"
	varProfile     = "MODAL_PROFILE"
	varConfig      = "MODAL_CONFIG_PATH"
)

const (
	wanted = varID + " and " + varSecret + ", or a profile in ~/.modal.toml"
	// defaultServer is the public service.
	defaultServer = "https://api.modal.com:443"
	// callTime bounds a request to the API; the longest ones wait for news for 10 seconds.
	callTime = 60 * time.Second
	// throttleTime is how long requests are put off in all where Modal asks for that.
	throttleTime = 20 * time.Second
)

// profile is a table of ~/.modal.toml: https://modal.com/docs/reference/modal.config
type profile struct {
	ID           string `toml:"token_id"`
	Secret       string `toml:"token_secret"`
	Server       string `toml:"server_url"`
	Environment  string `toml:"environment"`
	ImageBuilder string `toml:"image_builder_version"`
	V2           *bool  `toml:"sandbox_v2"`
	Active       bool   `toml:"active"`
}

// account is how an account of Modal is reached. Variables say it, else the profile.
type account struct {
	profile
	local bool // the server is this machine
}

// usable says why no sandbox can be made, as far as that can be told from here.
func usable(o environment.OpenOptions) error {
	_, err := accountOf(o.Variable)
	return err
}

func accountOf(variable func(string) string) (*account, error) {
	path, p, err := profileOf(variable)
	if err != nil {
		return nil, err
	}
	from := varServer
	if variable(varServer) == "" && p.Server != "" {
		from = "server_url of " + path
	}
	a := &account{profile: p}
	if id, secret := variable(varID), variable(varSecret); id != "" || secret != "" { // they go together: half of one account is none of another
		a.ID, a.Secret = id, secret
	}
	a.Environment = cmp.Or(variable(varEnvironment), p.Environment)
	switch {
	case a.ID == "" && a.Secret == "":
		return nil, &environment.Error{Kind: environment.ErrUnavailable, Op: "use Modal", Err: errors.New("no credentials: set " + wanted)}
	case a.ID == "":
		return nil, &environment.Error{Kind: environment.ErrUnavailable, Op: "use Modal", Err: errors.New(varSecret + " is set without " + varID)}
	case a.Secret == "":
		return nil, &environment.Error{Kind: environment.ErrUnavailable, Op: "use Modal", Err: errors.New(varID + " is set without " + varSecret)}
	}
	if err := errors.Join(cloud.Credential(varID, a.ID), cloud.Credential(varSecret, a.Secret), cloud.Credential(varEnvironment, a.Environment)); err != nil {
		return nil, err
	}
	u, err := cloud.Base(from, cmp.Or(variable(varServer), p.Server, defaultServer))
	if err == nil && u.Path != "" {
		err = &environment.Error{Kind: environment.ErrConfig, Op: from, Err: fmt.Errorf("%q holds more than a host", u.Redacted())}
	}
	if err != nil {
		return nil, err
	}
	a.Server = u.Scheme + "://" + u.Host
	if set := os.Getenv(varServer); set != "" && set != variable(varServer) { // which the client would obey
		return nil, &environment.Error{Kind: environment.ErrConfig, Op: varServer, Err: errors.New("the process's environment and hermes's own variables name two servers")}
	}
	a.local = loopback(u.Hostname()) || u.Hostname() == "172.21.0.1" // which the client takes for this machine too
	return a, nil
}

// profileOf reads the profile that is chosen by name, or marked as active.
func profileOf(variable func(string) string) (path string, p profile, err error) {
	if path = variable(varConfig); path == "" {
		home := variable("HOME")
		if home == "" {
			home, _ = os.UserHomeDir() // without one there is no file
		}
		path = filepath.Join(home, ".modal.toml")
	}
	bad := func(why error) error { return &environment.Error{Kind: environment.ErrConfig, Op: path, Err: why} }
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return path, p, bad(err)
	}
	all := map[string]profile{}
	if err := toml.Unmarshal(b, &all); err != nil {
		var at toml.ParseError
		if errors.As(err, &at) {
			return path, p, bad(fmt.Errorf("it is no TOML, from line %d on", at.Position.Line)) // what stands there may be a secret
		}
		return path, p, bad(errors.New("it holds something else than profiles"))
	}
	name := variable(varProfile)
	if name == "" {
		active := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(n string) bool { return !all[n].Active })
		switch len(active) {
		case 0:
			return path, p, nil
		case 1:
			return path, all[active[0]], nil
		}
		return path, p, bad(fmt.Errorf("the profiles %s are all active; name one by %s", strings.Join(active, ", "), varProfile))
	}
	p, ok := all[name]
	if !ok && (variable(varID) == "" || variable(varSecret) == "") {
		return path, p, bad(fmt.Errorf("it has no profile %q, which %s names", name, varProfile))
	}
	return path, p, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// dial makes a client. It connects when it is used first.
func (a *account) dial(log *slog.Logger) (*sdk.Client, error) {
	wait := throttleTime
	p := &sdk.ClientParams{
		TokenID: a.ID, TokenSecret: a.Secret, Environment: a.Environment, Logger: slog.New(warnings{log.Handler()}), MaxThrottleWait: &wait,
		GRPCUnaryInterceptors: []grpc.UnaryClientInterceptor{a.bounded},
	}
	// The client takes its server from a file of profiles, whose place is taken by this one.
	p.Config = fresh(p.Config)
	text, err := json.Marshal(map[string]any{cmp.Or(os.Getenv(varProfile), name): map[string]any{
		"ServerURL": a.Server, "ImageBuilderVersion": a.ImageBuilder, "SandboxV2": a.V2, "Active": true,
	}})
	if err == nil {
		err = json.Unmarshal(text, p.Config)
	}
	if err != nil {
		return nil, fmt.Errorf("make a profile for Modal's client: %w", err)
	}
	c, err := sdk.NewClientWithOptions(p)
	if err != nil {
		return nil, fmt.Errorf("make Modal's client: %w", err)
	}
	return c, nil
}

// fresh makes a value of a type that has no name here.
func fresh[T any](*T) *T { return new(T) }

// bounded gives each request to the API an end, and lets nobody be led to another machine without TLS.
func (a *account) bounded(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := invoke(ctx, method, req, reply, cc, opts...); err != nil || !a.local {
		return err
	}
	address := ""
	switch r := reply.(type) {
	case *pb.SandboxCreateV2Response:
		address = r.GetCommandRouterAccess().GetUrl()
	case *pb.SandboxGetCommandRouterAccessResponse:
		address = r.GetUrl()
	case *pb.TaskGetCommandRouterAccessResponse:
		address = r.GetUrl()
	}
	u, err := url.Parse(address)
	if address != "" && (err != nil || !loopback(u.Hostname())) {
		return &environment.Error{Kind: environment.ErrConfig, Op: varServer, Err: errors.New("it is this machine, and sends hermes to another one, which would be spoken to without TLS")}
	}
	return nil
}

// warnings lets through what a person is to know; below that the client logs what it runs.
type warnings struct{ slog.Handler }

// Enabled tells whether something is logged.
func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}

// WithAttrs and WithGroup keep to that.
func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
