package registry

import (
	"slices"
	"time"
)

// Settings is what the configuration says about tools. The zero value works. What it refers to must not be changed once a registry
// has it.
type Settings struct {
	Collisions   Collisions
	CheckTimeout time.Duration // how long a Check may take; 0 = 5 s
	CheckTTL     time.Duration // how long a probe's answer is held; 0 = 30 s, negative = not at all
	MaxTools     int           // tools in one request, for dialects that have a limit; 0 = 128, negative = no limit

	Custom map[string]CustomSet // custom_toolsets
	// Platforms holds the value of platform_toolsets as it was decoded, by platform. What is no list counts as absent.
	Platforms map[string]any
	Disabled  []string // agent.disabled_toolsets
	// Servers and Plugins are the configured names, in the configuration's order. It decides who of two is later.
	Servers, Plugins []string
	// Overrides says which builtin or embedder tools a plugin or server may replace if it asks to.
	Overrides map[Origin]Override
	// Parallel holds the MCP servers whose tools may run side by side as they declare. Tools of others are exclusive.
	Parallel map[Origin]bool
}

// Exclusive reports whether the owner of a tool keeps it from running beside other calls, whatever the tool declares.
func (r *Registry) Exclusive(e *Entry) bool {
	_, remote := e.Origin.Server()
	return remote && !r.Settings().Parallel[e.Origin]
}

// Collisions says what becomes of two registrations of one name in two toolsets.
type Collisions string

// The ways to treat a collision. The empty value is CollisionsWarn.
const (
	CollisionsWarn   Collisions = "warn"   // the later wins, a warning names both
	CollisionsReject Collisions = "reject" // the first stays, the later is refused with ErrCollision
)

// CustomSet is a set that users put together.
type CustomSet struct {
	Description string
	Tools       []string // tool names
	Includes    []string // names of sets
}

// Override is an operator's leave to replace tools.
type Override struct {
	Any   bool     // every tool but those of the agent itself
	Names []string // these tools
}

func (o Override) allows(name string) bool { return o.Any || slices.Contains(o.Names, name) }

const (
	defaultCheckTimeout = 5 * time.Second
	defaultCheckTTL     = 30 * time.Second
	// defaultMaxTools is what OpenAI-compatible APIs and Gemini take in one request.
	defaultMaxTools = 128
)

func (s *Settings) checkTimeout() time.Duration {
	if s.CheckTimeout <= 0 {
		return defaultCheckTimeout
	}
	return s.CheckTimeout
}

func (s *Settings) checkTTL() time.Duration {
	if s.CheckTTL == 0 {
		return defaultCheckTTL
	}
	return max(s.CheckTTL, 0)
}

func (s *Settings) maxTools() int {
	if s.MaxTools == 0 {
		return defaultMaxTools
	}
	return max(s.MaxTools, 0)
}

// order is the place of an origin among its kind; what isn't configured comes after all that is.
func (s *Settings) order(o Origin) int {
	list, name := s.Plugins, ""
	if id, ok := o.Plugin(); ok {
		name = id
	} else if server, ok := o.Server(); ok {
		list, name = s.Servers, server
	} else {
		return 0
	}
	if i := slices.Index(list, name); i >= 0 {
		return i
	}
	return len(list)
}
