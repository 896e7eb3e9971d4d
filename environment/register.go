package environment

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Backend describes a kind of environment. It is inert: nothing is opened before Open.
type Backend struct {
	Name        string
	Description string // one line, for people
	// Namespace is what Info().Namespace of every place of this backend is. "" = known only once a place is open.
	Namespace Namespace
	// Config returns a pointer to the backend's own settings, filled with defaults; field tags name keys and help. nil = none.
	Config func() any
	// Check says why the backend can't be used here, in words that a user can act on.
	// It is given what Open would be, as far as that is known; the zero value means the process's own variables and the defaults.
	Check func(ctx context.Context, o OpenOptions) error
	// Traits says what a place will expose of the host by its configuration, as Info.Traits does for one that is open. nil = whatever
	// a place does reaches the host.
	Traits func(config any) Traits
	// Lacking says what the place will not be able to do where hermes itself runs on an operating system (a value of runtime.GOOS),
	// as Info.Lacking will, but without opening anything. nil = nothing that is known beforehand.
	Lacking func(goos string) map[string]string
	// Open makes the place, or finds the one that persisted for this key.
	Open func(ctx context.Context, o OpenOptions) (Environment, error)
	// Finds says that Open makes no place: it reaches one that is there in any case, so that looking for what goes on there starts
	// nothing. Others do so with OpenOptions.Find alone.
	Finds bool
	// Probe tells doctor what works; each line is a finding. It is given the same as Check.
	Probe func(ctx context.Context, o OpenOptions) []string
	// Bare is what places are measured against; nil = nothing.
	Bare *Bare
}

// OpenOptions is what a backend is given to make a place.
type OpenOptions struct {
	Key         string            // which place: tasks with the same key share one
	Config      any               // what Config returned, filled from the configuration
	Dir         string            // terminal.cwd
	Find        bool              // only look: nothing is made, started or kept from ending for it. The error is ErrGone where there is no such place
	Replaces    bool              // a place of this key was found gone: the first command is to say that it runs in another
	Overrides   map[string]string // what the task changes about its environment, by configuration key
	Share       []Share           // what of this machine the place is to have; see there
	HermesHome  string
	Getenv      func(string) string
	Environ     func() []string          // the host's environment; nil = none
	Passthrough []string                 // terminal.env_passthrough: names the user lets through
	Secrets     func() map[string]string // .env and other secrets of the runtime, by variable; nil = none
	KillGrace   time.Duration
	Limits      Limits
	GuardArgv   []string // starts the guard (the binary in a hidden role); nil = there is none
	KeeperArgv  []string // starts the keeper of jobs (likewise); nil = jobs are kept by this process, and end with it
	Subreaper   bool     // this process is the hermes binary and may become the parent of orphans below it
	Log         *slog.Logger
	Stderr      io.Writer // progress for a person; nil = none
	// AskSecret asks the person at the terminal for something that must not be shown, such as a passphrase. nil = nobody is there.
	AskSecret func(ctx context.Context, what string) (string, error)
}

// Variable looks a variable up where places look: by Getenv, without one in the process's environment.
func (o OpenOptions) Variable(name string) string {
	if o.Getenv == nil {
		return os.Getenv(name)
	}
	return o.Getenv(name)
}

// LetThrough gives the variables that the user lets through, as they are now; one that is empty here is looked for among the secrets.
// They are for commands that run elsewhere, where nothing else of this machine's environment is.
func (o OpenOptions) LetThrough() map[string]string {
	vars := map[string]string{}
	if len(o.Passthrough) == 0 {
		return vars
	}
	all := map[string]string{}
	if o.Environ != nil {
		for _, e := range o.Environ() {
			n, v, _ := strings.Cut(e, "=")
			all[n] = v
		}
	}
	if o.Secrets != nil {
		for n, v := range o.Secrets() {
			if all[n] == "" {
				all[n] = v
			}
		}
	}
	for _, n := range o.Passthrough {
		if v, ok := all[n]; ok {
			vars[n] = v
		}
	}
	return vars
}

var backends struct {
	sync.Mutex
	list []Backend
}

// Register adds a backend to the process-wide table. It is called from init and starts nothing. Of two with one name the later
// one is used.
func Register(b Backend) {
	backends.Lock()
	defer backends.Unlock()
	backends.list = slices.DeleteFunc(backends.list, func(o Backend) bool { return o.Name == b.Name })
	backends.list = append(backends.list, b)
}

// Backends returns the registered backends, sorted by name.
func Backends() []Backend {
	backends.Lock()
	defer backends.Unlock()
	return slices.SortedFunc(slices.Values(backends.list), func(a, b Backend) int { return cmp.Compare(a.Name, b.Name) })
}

// Lookup finds a backend by name.
func Lookup(name string) (Backend, bool) {
	for _, b := range Backends() {
		if b.Name == name {
			return b, true
		}
	}
	return Backend{}, false
}
