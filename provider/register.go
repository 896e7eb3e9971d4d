package provider

import (
	"cmp"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Descriptor describes a way to reach models. It is inert.
type Descriptor struct {
	Name        string
	Description string // one line
	BaseURL     string // of its API; "" = must be configured
	// Mode is the API that it speaks, as model.api_mode names it; of several providers the one with the lowest Rank speaks it for others.
	Mode string
	// KeyEnv and BaseURLEnv name the variables that hold its key and address. One that is set implies this provider where none is named;
	// of several the one with the lowest Rank.
	KeyEnv, BaseURLEnv string
	Rank               int
	// Keyless says that it works without a key: servers of one's own.
	Keyless bool
	// New makes a model. It opens nothing.
	New func(o Options) (Model, error)
	// Play makes a model from a file: chosen as NAME:FILE. Around makes one that uses another: chosen as NAME:FILE=[PROVIDER/]MODEL.
	Play   func(file string, o Options) (Model, error)
	Around func(file string, inner Model, o Options) (Model, error)
}

// Options is what a provider is given to make a model. Zero values mean the defaults named.
type Options struct {
	Provider  string // what it is chosen as, where that isn't its own name: a server with the API of another
	Model     string
	BaseURL   string
	Key       string
	MaxTokens int            // of a reply; 0 = the API's own, or what it makes a client state
	Context   int            // tokens; 0 = by the provider's table
	MaxTools  int            // 0 = no limit known
	ExtraBody map[string]any // further fields of each request
	Bounds    Bounds
	Redact    func(string) string // for what is recorded; nil = as it is
	Log       *slog.Logger        // nil = nothing is logged
}

// Bounds are how long a provider waits. 0 = the default named.
type Bounds struct {
	Connect    time.Duration // 15 s
	FirstEvent time.Duration // 180 s, from the request to the first event
	Idle       time.Duration // 60 s between bytes
	Stall      time.Duration // 300 s between events that carry content
}

var registered struct {
	sync.Mutex
	list []Descriptor
}

// Register adds a provider to the process's table. It is called from init and starts nothing.
func Register(d Descriptor) {
	registered.Lock()
	defer registered.Unlock()
	registered.list = append(registered.list, d)
}

// Registered returns the providers that are linked in, by rank and name.
func Registered() []Descriptor {
	registered.Lock()
	defer registered.Unlock()
	return slices.SortedStableFunc(slices.Values(registered.list), func(a, b Descriptor) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Name, b.Name))
	})
}
