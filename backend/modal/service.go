//go:build modal

package modal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	sdk "github.com/modal-labs/modal-client/go"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
	"github.com/hermes-runtime/hermes/internal/cloud/sandbox"
	"github.com/hermes-runtime/hermes/internal/envs"
)

const (
	// appName is the app that all sandboxes are of.
	appName = "hermes-agent"
	// minIdle is the shortest time without use after which Modal is told to end a sandbox.
	minIdle = 300 * time.Second
	// lookTime bounds the look for a sandbox of which it isn't known whether it was made.
	lookTime = 20 * time.Second
	// maxTold bounds what is told of a server's explanation, in bytes.
	maxTold = 400
	// howToEnd tells people how to end what hermes can't.
	howToEnd = "stop it in Modal's dashboard, or all of them with: modal app stop " + appName
)

// service is Modal as a cloud that sandboxes live in.
type service struct {
	*account
	client *sdk.Client
	c      *Config
	image  string // that sandboxes of this task are made from, unless there is a snapshot
	task   string
	files  *cloud.Snapshots
	log    *slog.Logger
	say    func(string) // tells a person at work; nil = nobody is there
}

var (
	_ sandbox.Cloud     = (*service)(nil)
	_ sandbox.Forgetter = (*service)(nil)
)

func open(ctx context.Context, o environment.OpenOptions) (environment.Environment, error) {
	s, err := optionsOf(o)
	if err != nil {
		return nil, err
	}
	return sandbox.Open(ctx, s)
}

func probe(ctx context.Context, o environment.OpenOptions) []string {
	s, err := optionsOf(o)
	if err != nil {
		return []string{err.Error()}
	}
	return append(sandbox.Probe(ctx, s), left(o.HermesHome)...)
}

// optionsOf decides what a sandbox is made of and how long it may live.
func optionsOf(o environment.OpenOptions) (sandbox.Options, error) {
	c := configOf(o.Config)
	if err := c.check(o.Overrides); err != nil {
		return sandbox.Options{}, err
	}
	a, err := accountOf(o.Variable)
	if err != nil {
		return sandbox.Options{}, err
	}
	s := &service{account: a, c: c, image: c.image(o.Overrides), task: o.Key, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler))}
	s.files = snapshots(o.HermesHome)
	if o.Stderr != nil {
		s.say = func(text string) { fmt.Fprintln(o.Stderr, text) }
	}
	if s.client, err = a.dial(s.log); err != nil {
		return sandbox.Options{}, err
	}
	return sandbox.Options{
		Cloud: s, Open: o, Title: "Modal", HowEnd: howToEnd, Leaves: "ended, and its files kept as a snapshot,",
		Ends:    fmt.Sprintf("ended by Modal %v after its last use, and %v after it was made at the latest", c.idle(), c.Timeout),
		Backend: name, At: a.Server, Account: cloud.Account(a.ID + " " + a.Environment), Owner: envs.Owner(o.HermesHome), Kept: c.Kept,
		MadeOf: fmt.Sprintf("%q %v %d %v %q %q", s.image, c.CPU, c.MemoryMB, c.Network, c.GPU, c.Region),
		Idle:   c.idle(), Lifetime: c.Timeout, Start: c.StartTimeout, Max: c.MaxPlaces,
		Resident: c.Resident, ResidentPath: c.ResidentPath, Traits: traits(c),
	}, nil
}

// idle is the time without use after which Modal ends a sandbox.
func (c *Config) idle() time.Duration { return max(c.Lifetime, minIdle) }

// Close lets go of connections.
func (s *service) Close() { s.client.Close() }

// Touch has nothing to do: what runs counts as use.
func (s *service) Touch(context.Context, sandbox.Box) error { return nil }

// Explain says whose fault refused credentials are.
func (s *service) Explain(err error) error {
	switch status.Code(err) {
	case codes.Unauthenticated:
		return fmt.Errorf("%w; the credentials (%s) are refused", s.told(err), wanted)
	case codes.PermissionDenied:
		return fmt.Errorf("%w; the account isn't allowed that", s.told(err))
	case codes.ResourceExhausted:
		return fmt.Errorf("%w; Modal allows no more at the moment", s.told(err))
	}
	return s.told(err)
}

// told is an error in the server's words, without what these repeat of the credentials.
func (s *service) told(err error) error {
	text := err.Error()
	for { // how gRPC says that a server answers with an error
		before, rest, found := strings.Cut(text, "rpc error: code = ")
		code, said, whole := strings.Cut(rest, " desc = ")
		if !found || !whole {
			break
		}
		text = before + "Modal answers " + code + ": " + said
	}
	for _, secret := range []string{s.ID, s.Secret} {
		text = strings.ReplaceAll(text, secret, "…")
	}
	if len(text) > maxTold {
		text = strings.ToValidUTF8(text[:maxTold], "") + "…"
	}
	return &told{text, err}
}

type told struct {
	text string
	err  error
}

// Error gives the text.
func (t *told) Error() string { return t.text }

// Unwrap gives what it was told of.
func (t *told) Unwrap() error { return t.err }

// isMissing tells whether the server says that something isn't there.
func isMissing(err error) bool {
	var missing sdk.NotFoundError
	return errors.As(err, &missing) || status.Code(err) == codes.NotFound
}

// passing are the codes after which nobody knows whether the server did what it was asked for.
var passing = map[codes.Code]bool{codes.DeadlineExceeded: true, codes.Unavailable: true, codes.Canceled: true, codes.Internal: true, codes.Unknown: true}

// refused tells whether a server heard a request and will not do it.
func refused(err error) bool {
	s, ok := status.FromError(err)
	return ok && !passing[s.Code()]
}

// The codes with which Modal says how a sandbox ended.
const (
	codeTimeout    = 124
	codeTerminated = 137
)

// goneError is the error for a sandbox that is there no more.
func goneError(id, why string) error {
	return &environment.Error{Kind: environment.ErrGone, Op: "reach sandbox " + id, Err: errors.New(why)}
}

// ended says how a sandbox ended.
func ended(id string, code int) error {
	switch code {
	case codeTimeout:
		return goneError(id, "Modal ended it: its time was over (terminal.modal_timeout)")
	case codeTerminated:
		return goneError(id, "it was terminated")
	}
	return goneError(id, fmt.Sprintf("it ended by itself, or Modal ended it because nobody used it (exit code %d)", code))
}
