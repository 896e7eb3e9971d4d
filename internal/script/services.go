package script

import (
	"context"
)

// Invocation is how a person started a script: the service of a session made for `hermes exec`.
type Invocation struct {
	Args     []string // sys.argv[1:]
	FileName string   // of the script, for messages; "" = standard input
	Trusted  bool     // the person's own script: it isn't asked about as a whole, its calls are
}

// Offer is a service of the session: what a script may call. Without it a script may call nothing.
type Offer interface {
	// Offered tells of each name why it isn't available; "" means that it is. A name that is missing isn't.
	Offered(ctx context.Context, names []string) map[string]string
}

// Grants is a service of the session: variables that reach scripts although the rules would withhold them, by exact name: those
// that loaded skills declare and those of the user's own list.
type Grants interface {
	Granted() []string
}

// Declared is a service of the session: variables with their values that scripts get because of the skills loaded in it. Granted names
// them too.
type Declared interface {
	Variables() map[string]string
}

// Waiting is a service of the session: who waits for a person. A run's clock stands still meanwhile.
type Waiting interface {
	// WatchWaiting calls changed with the number of questions that are open for a call or for calls made in it, now and whenever
	// it changes, until stop is called. changed must not block, and is not called after stop has returned.
	WatchWaiting(callID string, changed func(open int)) (stop func())
}

// Redaction is a service of the runtime: whether the user wants text that merely looks like a secret left alone.
type Redaction interface {
	KnownOnly() bool
}

// Where is a service of the session: whether its scripts run on another machine, with that machine's Python.
type Where interface {
	ScriptsRunElsewhere() bool
}

// Tracer is a service of the runtime: the traceparent header of the span in ctx, "" without one.
type Tracer interface {
	Traceparent(ctx context.Context) string
}

// Origin tells where in a script a nested call comes from, for a question about it.
type Origin struct {
	Parent string // id of the call that runs the script
	Number int    // which of the run's calls it is, from 1
	Line   int    // of the script, 0 = unknown
	Text   string // of that line
}

// Origin returns where the nested call with this id comes from, while it runs.
func (r *Runner) Origin(callID string) (Origin, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o, ok := r.origins[callID]
	return o, ok
}

func (r *Runner) setOrigin(callID string, o Origin) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.origins[callID] = o
}

func (r *Runner) dropOrigin(callID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.origins, callID)
}

// ToolName is the name of the tool that runs scripts. `hermes exec` calls it.
const ToolName = "execute_code"
