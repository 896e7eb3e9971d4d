// Package sandbox is the life of a sandbox of a cloud as an environment, the same for every cloud: it is found or made, never without an
// end and never twice; the engine is brought there, or a plain shell does; who uses it last ends it.
package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
	"github.com/hermes-runtime/hermes/internal/engine/brought"
	"github.com/hermes-runtime/hermes/internal/engine/contact"
	"github.com/hermes-runtime/hermes/internal/engine/resident"
)

// Cloud is what a backend asks of its cloud. Errors that have a kind of package environment keep it; all others make the place
// unavailable.
type Cloud interface {
	// Find looks for a sandbox by its id, or by its name where that is empty. ErrGone says that there is none.
	Find(ctx context.Context, r cloud.Record) (Box, error)
	// Make asks for a sandbox, never twice. begun says that there may be one all the same where it fails.
	Make(ctx context.Context, o Order) (b Box, begun bool, err error)
	// Up waits until a sandbox runs, and starts it if it sleeps. anew says that what ran in it before is gone. ErrSpoiled says that it
	// can't be started from what was kept of it, ever.
	Up(ctx context.Context, b Box, limit time.Duration) (up Box, anew bool, err error)
	// End ends a sandbox that nobody uses any more: one that is kept costs as little as it can from then on, another is deleted. ErrGone
	// says that nothing is left of it.
	End(ctx context.Context, r cloud.Record) error
	// Remove deletes a sandbox, whether it is kept or not. ErrGone is an answer like any other.
	Remove(ctx context.Context, r cloud.Record) error
	// Touch is a sign that a sandbox is in use.
	Touch(ctx context.Context, b Box) error
	// Machine makes contact with what runs programs in a sandbox that is ready.
	Machine(ctx context.Context, b Box) (Machine, error)
	// List gives the sandboxes of a HERMES_HOME.
	List(ctx context.Context, owner string) ([]Box, error)
	// Explain adds what a person can do about an error of the API.
	Explain(err error) error
	// Close lets go of connections.
	Close()
}

// Forgetter is a Cloud that keeps something of a sandbox beyond its end.
type Forgetter interface {
	// Forget deletes that, of a sandbox that is there no more.
	Forget(ctx context.Context, r cloud.Record) error
}

// Box is what a cloud says of a sandbox.
type Box struct {
	ID, Name string
	Use      string // Order.Use of who asked for it
	State    State
	Says     string   // the state in the cloud's own words
	Address  string   // where its programs are reached, as the backend understands it
	Session  string   // one run of the sandbox, where the cloud tells them apart: of what ran in another nothing is left
	Notes    []string // what the user is to know about it
}

// State is what a state of a sandbox means here.
type State int

// The states.
const (
	Unknown State = iota
	Ready
	Coming  // it will be something else without being asked
	Leaving // likewise, and not for good
	Asleep
	Broken
	Gone
)

// ErrSpoiled is a sandbox of which nothing was kept that it could be started from.
var ErrSpoiled = errors.New("what was kept of the sandbox is of no use any more")

// Order is what a sandbox is asked for with.
type Order struct {
	Name  string // that nobody else has, or that the same task of the same HERMES_HOME has for the same kind of sandbox
	Task  string // as far as it may stand in names
	Owner string // the HERMES_HOME
	Use   string // stands for one asking, or for all of a HERMES_HOME where sandboxes are kept
}

// Machine runs programs in one sandbox, for as long as one contact lasts.
type Machine interface {
	// Become runs script with sh, and gives what it reads and prints as one stream of bytes, without an echo. Closing it hangs up.
	Become(ctx context.Context, script string) (io.ReadWriteCloser, error)
	// Upload writes a file of this machine there.
	Upload(ctx context.Context, from, to string) error
	// Exec is an Exec of package plain.
	Exec(ctx context.Context, script string, stdin io.Reader, stdout, stderr io.Writer) (int, error)
	// Done is closed when Exec can't start anything any more.
	Done() <-chan struct{}
	// Close ends what Exec left.
	Close(ctx context.Context) error
}

// Options says which sandbox it is and how it is used.
type Options struct {
	Cloud  Cloud
	Open   environment.OpenOptions
	Title  string // of the cloud, for people
	HowEnd string // tells people how to end what hermes can't
	Ends   string // tells people what ends it by itself: "stopped by Daytona 15m after its last use"

	Backend     string
	At, Account string // see cloud.Record
	Owner       string // the HERMES_HOME on this machine
	Kept        bool
	Leaves      string        // tells people what becomes of one that is kept, when it is let go of; "" = it rests
	MadeOf      string        // what it is made of: of something else it is another sandbox
	Idle        time.Duration // after which the cloud stops it without a sign of use
	Lifetime    time.Duration // after which the cloud deletes it, counted as the cloud does
	Pulse       time.Duration // Touch is called within a third of it; 0 = it isn't needed
	Start       time.Duration // may pass until a new one runs
	Max         int           // may run at once; 0 = cloud.MaxPlaces

	Resident, ResidentPath string // terminal.resident, terminal.resident_path
	Text                   bool   // the streams of Become carry lines of text only
	Traits                 environment.Traits
	Notes                  []string
}

// wakeTime is how long a sandbox that is there may take to start.
const wakeTime = 60 * time.Second

// sweepTime bounds the ends of what earlier runs left, before the first use.
const sweepTime = 20 * time.Second

// place is a sandbox as an environment.
type place struct {
	Options
	ledger *cloud.Ledger
	log    *slog.Logger
	order  Order
	base   environment.Info

	use   *cloud.Use // nil for somebody who only looks
	pulse *cloud.Pulse
	box   Box
	anew  bool  // the sandbox was made for this place
	doubt doubt // what is to be done about it where the start fails

	plain string               // why the engine can't run there, where a plain shell has to do
	live  atomic.Pointer[link] // the engine there
}

// newPlace makes what opens, finds and probes places.
func newPlace(o Options) (*place, error) {
	l, err := cloud.OpenLedger(o.Open.HermesHome, o.Owner)
	if err != nil {
		return nil, err
	}
	p := &place{Options: o, ledger: l, log: cmp.Or(o.Open.Log, slog.New(slog.DiscardHandler))}
	p.order = orderOf(o)
	p.base = environment.Info{Backend: o.Backend, Namespace: environment.NamespaceOwn, Traits: o.Traits, Notes: o.Notes}
	return p, nil
}

// Open finds or makes the sandbox and makes contact with it. For somebody who only looks (OpenOptions.Find) it is neither made nor
// started, kept awake or ended.
func Open(ctx context.Context, o Options) (environment.Environment, error) {
	p, err := newPlace(o)
	if err != nil {
		o.Cloud.Close()
		return nil, err
	}
	enter := p.enter
	if o.Open.Find {
		enter = p.find
	}
	e, err := enter(ctx)
	if err != nil {
		o.Cloud.Close()
	}
	return e, err
}

func (p *place) enter(ctx context.Context) (environment.Environment, error) {
	p.sweep(ctx)
	if err := p.obtain(ctx); err != nil {
		return nil, p.failed("get sandbox "+p.order.Name, err)
	}
	p.known(p.box)
	if p.Pulse > 0 {
		p.pulse = cloud.StartPulse(cloud.PulseOptions{
			Idle: p.Pulse, Log: p.log, Jobs: p.busy,
			Beat: func(ctx context.Context) error { return p.Cloud.Touch(ctx, Box{ID: p.base.ID, Name: p.order.Name}) },
		})
	}
	e, err := p.contact(ctx)
	if err != nil {
		p.rest()
		p.giveUp(ctx)
		return nil, err
	}
	for _, n := range p.base.Notes {
		p.log.Warn(n)
	}
	return e, nil
}

// known fills in what the cloud says of the sandbox.
func (p *place) known(b Box) {
	p.box = b
	p.base.ID = b.ID
	p.base.Notes = append(p.base.Notes[:len(p.base.Notes):len(p.base.Notes)], b.Notes...)
}

// rest stops keeping the sandbox awake.
func (p *place) rest() {
	if p.pulse != nil {
		p.pulse.Stop()
	}
}

// find opens the sandbox that is there and runs.
func (p *place) find(ctx context.Context) (environment.Environment, error) {
	if !p.Kept {
		return nil, &environment.Error{Kind: environment.ErrGone, Op: "find a sandbox", Err: errors.New("sandboxes aren't kept (terminal.container_persistent)")}
	}
	b, err := p.Cloud.Find(ctx, cloud.Record{Name: p.order.Name})
	if err != nil {
		return nil, p.failed("find sandbox "+p.order.Name, err)
	}
	if b.State != Ready {
		return nil, &environment.Error{Kind: environment.ErrUnavailable, Op: "look into sandbox " + p.order.Name, Err: fmt.Errorf("it is %s, and is not set going for that", b.Says)}
	}
	p.known(b)
	p.Resident = brought.Require // a plain shell knows of no jobs
	return p.contact(ctx)
}

// failed gives an error of the API its kind, and says what can be done about it.
func (p *place) failed(op string, err error) error {
	var known *environment.Error
	if errors.As(err, &known) {
		return err
	}
	return &environment.Error{Kind: environment.ErrUnavailable, Op: op, Err: p.Cloud.Explain(err)}
}

func (p *place) sweeping() cloud.Sweeping {
	return cloud.Sweeping{Backend: p.Backend, At: p.At, Account: p.Account, End: p.Cloud.End}
}

// sweep ends what runtimes left that are gone. Where there is nothing of the kind it asks nobody.
func (p *place) sweep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	ended, errs := p.ledger.Sweep(ctx, p.sweeping())
	for _, r := range ended {
		p.log.Info("a sandbox that nobody used any more was ended", "sandbox", r.Name)
	}
	for _, err := range errs {
		p.log.Warn("a sandbox that nobody uses can't be ended", "error", err)
	}
}

// Probe tells doctor what works, what there is, and what of it nobody knows.
func Probe(ctx context.Context, o Options) []string {
	if o.Open.GuardArgv == nil {
		if self, err := os.Executable(); err == nil { // without it the configured binary is looked at only
			o.Open.GuardArgv = []string{self}
		}
	}
	defer o.Cloud.Close()
	p, err := newPlace(o)
	if err != nil {
		return []string{err.Error()}
	}
	lines := slices.Concat([]string{p.guards()}, p.ledger.Lines(p.sweeping(), o.HowEnd), o.Notes)
	all, err := o.Cloud.List(ctx, o.Owner)
	if err != nil {
		return append(lines, p.failed("ask "+o.Title, err).Error())
	}
	lines = append([]string{fmt.Sprintf("%s answers at %s; sandboxes of this HERMES_HOME there: %d", o.Title, o.At, len(all))}, lines...)
	recorded, _ := p.ledger.List() // Lines tells what is wrong with it
	names := map[string]bool{}
	for _, r := range recorded {
		names[r.Name] = true
	}
	for _, b := range all {
		if !names[b.Name] && b.State != Gone {
			lines = append(lines, fmt.Sprintf("sandbox %s is %s and not in the ledger %s; to end it: %s", b.Name, b.Says, p.ledger.Path(), o.HowEnd))
		}
	}
	return lines
}

// guards tells what bounds the costs.
func (p *place) guards() string {
	end := "deleted when it is let go of"
	if p.Kept {
		end = cmp.Or(p.Leaves, "kept, at rest") + " when it is let go of"
	}
	most := p.Max
	if most <= 0 {
		most = cloud.MaxPlaces
	}
	return fmt.Sprintf("a sandbox is %s, and %s; at most %d run at once; all are in %s", p.Ends, end, most, p.ledger.Path())
}

// contact makes an environment of the sandbox.
func (p *place) contact(ctx context.Context) (environment.Environment, error) {
	return contact.Open(ctx, contact.Options{
		What: "sandbox " + p.order.Name, Info: p.base, Anew: p.Open.Replaces, Dial: p.dial, Variables: p.Open.LetThrough, Release: p.release, Destroy: p.destroy,
	})
}

// release lets go of the sandbox: the last of its users ends it.
func (p *place) release(ctx context.Context) error {
	defer p.Cloud.Close()
	if p.use == nil {
		return nil
	}
	p.rest()
	return p.use.Leave(ctx, p.Cloud.End)
}

// destroy deletes the sandbox, whether it is to be kept or not.
func (p *place) destroy(ctx context.Context) error {
	defer p.Cloud.Close()
	if p.use == nil {
		return nil
	}
	p.rest()
	return p.use.Throw(ctx, func(ctx context.Context, r cloud.Record) error {
		err := p.Cloud.Remove(ctx, r)
		if f, ok := p.Cloud.(Forgetter); ok && (err == nil || errors.Is(err, environment.ErrGone)) {
			if ferr := f.Forget(ctx, r); ferr != nil {
				return ferr
			}
		}
		return err
	})
}

// settings are what the engine there is told.
func (p *place) settings() resident.Options {
	return resident.Options{Text: p.Text, Settings: resident.Settings{Grace: p.Open.KillGrace, Limits: p.Open.Limits, Jobs: p.order.Name}}
}
