// Package contact keeps a place usable whose contact may end: it makes contact anew, once it is needed, and never runs anything twice.
package contact

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"

	"github.com/hermes-runtime/hermes/environment"
)

// Link is one contact with a place: an environment that tells when contact is over. Its operations fail with ErrUnavailable or
// ErrNotStarted where nothing was told to the far side, and with ErrLost after that.
type Link interface {
	environment.Environment
	Done() <-chan struct{}
}

// Options says how contact is made.
type Options struct {
	What string           // the place, for messages: "host example"
	Info environment.Info // what is known before the first contact
	Anew bool             // the place replaces one that is gone, which is to be said with the first command
	// Dial makes contact. The former one, if there was one, is closed by then. anew says that what ran in the place is gone. Every
	// contact has the abilities of the first. Once it says ErrGone it isn't asked again.
	Dial func(ctx context.Context, d Dialing) (l Link, anew bool, err error)
	// Release lets go of the place, after the last contact was closed; nil = there is no more to it.
	Release func(ctx context.Context) error
	// Destroy is Release for a place that is thrown away; nil = the same.
	Destroy func(ctx context.Context) error
	// Variables are given to every command that doesn't bring its whole environment, unless its state or itself sets them. They are
	// asked for each time. nil = none.
	Variables func() map[string]string
}

// Dialing is what contact is made for.
type Dialing struct {
	Number int  // 0 = it is the first
	Look   bool // somebody only wants to know: nothing is set going for it
}

// ErrAsleep is what Dial says to those who only look at a place in which nothing runs.
var ErrAsleep = errors.New("nothing runs there")

// keeper is a place over whatever contact there is.
type keeper struct {
	o         Options
	info      atomic.Pointer[environment.Info]
	live      atomic.Pointer[Link]
	turn      chan struct{}                 // held while contact is made or ended
	number    int                           // guarded by turn
	closed    bool                          // guarded by turn
	news      atomic.Pointer[chan struct{}] // closed and replaced when contact is made, closed when the place is
	gone      atomic.Pointer[error]         // the place is there no more
	recreated atomic.Bool                   // to be said with the next command
}

// telling is a place that tells the variables of its commands and forwards sockets; full can search too.
type (
	telling struct{ *keeper }
	full    struct{ telling }
)

var (
	_ environment.Environment = (*keeper)(nil)
	_ environment.Destroyer   = (*keeper)(nil)
	_ environment.Environer   = telling{}
	_ environment.Forwarder   = telling{}
	_ environment.Searcher    = full{}
)

// Open makes the first contact. The place has the optional abilities that this contact has.
func Open(ctx context.Context, o Options) (environment.Environment, error) {
	k := &keeper{o: o, turn: make(chan struct{}, 1)}
	k.info.Store(&o.Info)
	k.recreated.Store(o.Anew)
	k.changed()
	l, err := k.reach(ctx, act)
	var known *environment.Error
	if errors.As(err, &known) && known.Err != nil {
		return nil, known.Err // that no command was started is no news here
	}
	if err != nil {
		return nil, err
	}
	_, searches := l.(environment.Searcher)
	_, tells := l.(environment.Environer)
	_, keeps := l.(jobKeeper)
	switch {
	case searches && tells && keeps:
		return withJobs{full{telling{k}}}, nil
	case searches && tells:
		return full{telling{k}}, nil
	case tells:
		return telling{k}, nil
	}
	return k, nil
}

// Info describes the place as it was at the last contact.
func (k *keeper) Info() environment.Info { return *k.info.Load() }

// notStarted is a failure before anything was asked of the place.
func (k *keeper) notStarted(err error) error {
	var kind *environment.Error
	if !errors.As(err, &kind) {
		err = &environment.Error{Kind: environment.ErrUnavailable, Op: "reach " + k.o.What, Err: err}
	}
	return &environment.Error{Kind: environment.ErrNotStarted, Op: "use " + k.o.What, Err: err}
}

// Gone reports whether the place turned out to be there no more. It will not come back.
func (k *keeper) Gone() bool { return k.gone.Load() != nil }

// purpose is what contact is wanted for.
type purpose bool

const (
	act  purpose = false
	look purpose = true
)

// reach gives a contact that works: the present one, or a new one.
func (k *keeper) reach(ctx context.Context, why purpose) (Link, error) {
	if l := k.live.Load(); l != nil && !isOver(*l) {
		return *l, nil
	}
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return nil, k.notStarted(context.Cause(ctx))
	}
	before := k.live.Load()
	switch gone := k.gone.Load(); {
	case k.closed:
		return nil, &environment.Error{Kind: environment.ErrUnavailable, Op: "use " + k.o.What, Err: errors.New("the environment was closed")}
	case gone != nil:
		return nil, *gone
	case before != nil && !isOver(*before):
		return *before, nil
	case before != nil:
		_ = (*before).Close(ctx)
	}
	l, anew, err := k.o.Dial(ctx, Dialing{Number: k.number, Look: bool(why)})
	if err != nil {
		err = k.notStarted(err)
		if errors.Is(err, environment.ErrGone) {
			k.gone.Store(&err)
		}
		return nil, err
	}
	k.number++
	if anew {
		k.recreated.Store(true)
	}
	info := l.Info()
	k.info.Store(&info)
	k.live.Store(&l)
	k.changed()
	return l, nil
}

// changed tells those who wait for contact that there may be one.
func (k *keeper) changed() {
	next := make(chan struct{})
	if before := k.news.Swap(&next); before != nil {
		close(*before)
	}
}

func isOver(l Link) bool {
	select {
	case <-l.Done():
		return true
	default:
		return false
	}
}

// with does an operation over a contact that works, once more if the contact turned out to be over before the far side was told.
func with[T any](ctx context.Context, k *keeper, do func(Link) (T, error)) (T, error) {
	return withFor(ctx, k, act, do)
}

func withFor[T any](ctx context.Context, k *keeper, why purpose, do func(Link) (T, error)) (T, error) {
	for again := true; ; again = false {
		l, err := k.reach(ctx, why)
		if err != nil {
			var none T
			return none, err
		}
		v, err := do(l)
		unbegun := errors.Is(err, environment.ErrNotStarted) || errors.Is(err, environment.ErrUnavailable)
		if err == nil || !again || !unbegun || !isOver(l) {
			return v, err
		}
	}
}

// follow does an operation that only waits for something, over as many contacts as it takes.
func follow[T any](ctx context.Context, k *keeper, why purpose, do func(Link) (T, error)) (T, error) {
	for {
		lost := false
		v, err := withFor(ctx, k, why, func(l Link) (T, error) {
			v, err := do(l)
			lost = errors.Is(err, environment.ErrLost) && isOver(l)
			return v, err
		})
		if !lost || ctx.Err() != nil {
			return v, err
		}
	}
}

// Run runs one command.
func (k *keeper) Run(ctx context.Context, c environment.Command) (environment.Result, error) {
	if k.o.Variables != nil && c.Environ == nil {
		c.Env = k.over(c)
	}
	res, err := with(ctx, k, func(l Link) (environment.Result, error) { return l.Run(ctx, c) })
	if err == nil {
		res.Recreated = k.recreated.Swap(false)
	}
	return res, err
}

// variables are those that every command gets, less what the session has set or removed itself.
func (k *keeper) variables(s *environment.State) map[string]string {
	vars := map[string]string{}
	if k.o.Variables == nil {
		return vars
	}
	maps.Copy(vars, k.o.Variables())
	if s != nil {
		for name := range s.Snapshot().Vars {
			delete(vars, name)
		}
	}
	return vars
}

// over are those variables under what a command brings itself.
func (k *keeper) over(c environment.Command) map[string]string {
	vars := k.variables(c.State)
	maps.Copy(vars, c.Env)
	return vars
}

// Environ tells the variables that a command with this state would see.
func (t telling) Environ(ctx context.Context, s *environment.State) (map[string]string, error) {
	vars, err := with(ctx, t.keeper, func(l Link) (map[string]string, error) { return l.(environment.Environer).Environ(ctx, s) })
	if err == nil {
		maps.Copy(vars, t.variables(s))
	}
	return vars, err
}

// Forward makes a socket there whose connections end here, for as long as this contact holds.
func (t telling) Forward(ctx context.Context, files map[string][]byte) (environment.Forwarding, error) {
	return with(ctx, t.keeper, func(l Link) (environment.Forwarding, error) {
		f, ok := l.(environment.Forwarder)
		if !ok {
			return nil, &environment.Error{Kind: environment.ErrUnsupported, Op: "forward a socket of " + t.o.What}
		}
		return f.Forward(ctx, files)
	})
}

// Search searches a tree where it lies.
func (f full) Search(ctx context.Context, q environment.Query) (environment.Matches, error) {
	return with(ctx, f.keeper, func(l Link) (environment.Matches, error) { return l.(environment.Searcher).Search(ctx, q) })
}

// Files is the file system of the place.
func (k *keeper) Files() environment.FS { return &keptFS{k: k} }

// Close lets go of the place.
func (k *keeper) Close(ctx context.Context) error { return k.leave(ctx, k.o.Release) }

// Destroy lets go of the place and has it removed.
func (k *keeper) Destroy(ctx context.Context) error {
	if k.o.Destroy == nil {
		return k.Close(ctx)
	}
	return k.leave(ctx, k.o.Destroy)
}

func (k *keeper) leave(ctx context.Context, release func(context.Context) error) error {
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return fmt.Errorf("close %s: %w", k.o.What, context.Cause(ctx))
	}
	if k.closed {
		return nil
	}
	k.closed = true
	k.changed()
	var err error
	if l := k.live.Load(); l != nil {
		err = (*l).Close(ctx)
	}
	if release != nil {
		err = errors.Join(err, release(ctx))
	}
	if err != nil {
		return fmt.Errorf("close %s: %w", k.o.What, err)
	}
	return nil
}
