package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/registry/schema"
	"github.com/hermes-runtime/hermes/tool"
)

// Request says what a session asks for.
type Request struct {
	// Enabled are names of sets or tools. nil = not given; empty = no tools.
	Enabled []string
	// Disabled is subtracted, beside the configured agent.disabled_toolsets.
	Disabled []string
	// Platform decides what is enabled where Enabled is nil. "" = every set.
	Platform string
	// Has are the services that the session can offer. A tool that needs another is left out of the definitions.
	Has        []tool.Need
	Dialect    schema.Dialect // "" = OpenAI's form
	Strictness schema.Strictness
	Quiet      bool // no Report
}

// Scope is the set of tools that a session may call. It is immutable.
type Scope struct {
	snap     *snapshot
	request  Request
	enabled  []string // as resolved from the request; nil = every set
	disabled []string
	names    map[string]*Entry
	denied   map[string]string // a tool that would be in it, and the entry that took it out
	unknown  []Unknown
	offered  []*Entry // those whose needs are met, sorted; Checks not asked
	checks   []*availability
	checkOf  []int // position in checks of the entry at that position in offered, -1 = none
}

// Has reports whether a tool may be called.
func (s *Scope) Has(name string) bool { return s.names[name] != nil }

// Names are the tools of the scope, sorted.
func (s *Scope) Names() []string { return slices.Sorted(maps.Keys(s.names)) }

// Generation is that of the registry the scope was made from.
func (s *Scope) Generation() uint64 { return s.snap.generation }

// Unknown are the entries of the request that mean nothing.
func (s *Scope) Unknown() []Unknown { return slices.Clone(s.unknown) }

// Entries are the tools of the scope, sorted by name.
func (s *Scope) Entries() []*Entry {
	out := slices.Collect(maps.Values(s.names))
	slices.SortFunc(out, func(a, b *Entry) int { return strings.Compare(a.Spec.Name, b.Spec.Name) })
	return out
}

// Scope gives the tools that a request may call, as the registry is now. Asking again for the same costs little.
func (r *Registry) Scope(req Request) *Scope { return r.scope(r.snap.Load(), req) }

func (r *Registry) scope(snap *snapshot, req Request) *Scope {
	if s := r.memo.scope(snap, &req); s != nil {
		return s
	}
	s := snap.makeScope(req)
	r.warnScope(s)
	r.memo.keepScope(s)
	return s
}

func (r *Registry) warnScope(s *Scope) {
	for _, u := range s.unknown {
		r.warnUnknown(s.snap, u.Name)
	}
	if len(s.names) == 0 && (len(s.enabled) > 0 || s.enabled == nil && len(s.disabled) > 0) {
		r.log.Warn("no tool is left", "enabled", s.enabled, "disabled", s.disabled)
	}
}

// choice is what a list says about one tool: the most specific entry that covers it.
type choice struct {
	rank  specificity
	entry string
}

func (s *snapshot) makeScope(req Request) *Scope {
	req.Enabled, req.Disabled, req.Has = slices.Clone(req.Enabled), slices.Clone(req.Disabled), slices.Clone(req.Has)
	sc := &Scope{snap: s, request: req, names: map[string]*Entry{}, denied: map[string]string{}}
	sc.enabled = req.Enabled
	if sc.enabled == nil && req.Platform != "" {
		sc.enabled = s.platformSets(req.Platform)
	}
	sc.disabled = slices.Concat(req.Disabled, s.settings.Disabled)
	var on map[string]choice
	if sc.enabled == nil {
		on = sc.choose([]string{everything})
	} else {
		on = sc.choose(sc.enabled)
	}
	off := sc.choose(sc.disabled)
	for name, yes := range on {
		if no, ok := off[name]; ok && no.rank <= yes.rank {
			sc.denied[name] = no.entry
			continue
		}
		sc.names[name] = s.entries[name]
	}
	sc.prepareOffer()
	return sc
}

func (s *Scope) choose(list []string) map[string]choice {
	out := map[string]choice{}
	b := s.snap.book()
	for _, name := range list {
		tools, rank, ok := b.find(name)
		if !ok {
			s.unknown = append(s.unknown, Unknown{name, b.nearest(name)})
		}
		for _, t := range tools {
			if c, have := out[t]; !have || rank < c.rank {
				out[t] = choice{rank, name}
			}
		}
	}
	return out
}

// prepareOffer lists what is offered if every Check passes, and the Checks to ask.
func (s *Scope) prepareOffer() {
	at := map[*availability]int{}
	for _, e := range s.Entries() {
		if s.unmet(e) != "" {
			continue
		}
		i := -1
		if e.check != nil {
			var known bool
			if i, known = at[e.check]; !known {
				i = len(s.checks)
				at[e.check] = i
				s.checks = append(s.checks, e.check)
			}
		}
		s.offered = append(s.offered, e)
		s.checkOf = append(s.checkOf, i)
	}
}

// unmet is the first need of a tool that the session can't meet.
func (s *Scope) unmet(e *Entry) tool.Need {
	for _, n := range e.Spec.Needs {
		if !slices.Contains(s.request.Has, n) {
			return n
		}
	}
	return ""
}

// Reason says why a registered tool is not in the scope, in words a user can act on; "" if it is, or if nobody set it so.
func (s *Scope) Reason(name string) string {
	if entry, ok := s.denied[name]; ok {
		if slices.Contains(s.request.Disabled, entry) {
			return fmt.Sprintf("it is disabled for this session (%s)", entry)
		}
		return fmt.Sprintf("the user disabled it (agent.disabled_toolsets: %s)", entry)
	}
	if s.Has(name) {
		return ""
	}
	if _, listed := nameList(s.snap.settings.Platforms[s.request.Platform]); listed && s.request.Enabled == nil {
		return "the user's list leaves it out (platform_toolsets." + s.request.Platform + ")"
	}
	return "it is not among the tools of this session"
}
