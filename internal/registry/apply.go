package registry

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/hermes-runtime/hermes/tool"
)

// Change is a batch of registrations of one origin. Readers see all of it or nothing.
type Change struct {
	Origin Origin
	// Remove names tools of the origin that go; unknown ones are skipped. A tool that is added as well is replaced.
	Remove []string
	Add    []Addition
	// Platforms are the platforms that a gateway plugin brings; nil = as before.
	Platforms []string
}

// Refused is a tool that was not registered, or that stands back behind another.
type Refused struct {
	Name, Toolset string
	Origin        Origin
	Reason        string
}

// Register adds one tool.
func (r *Registry) Register(o Origin, t tool.Tool) error {
	return r.Apply(Change{Origin: o, Add: []Addition{{Tool: t}}})
}

// Deregister removes a tool of an origin. What it had replaced is back. An unknown name does nothing.
func (r *Registry) Deregister(o Origin, name string) {
	_ = r.Apply(Change{Origin: o, Remove: []string{name}}) // a removal is never refused
}

// Sink gives what a tool.Source applies its changes with. What is refused is logged and listed by Refused.
func (r *Registry) Sink(o Origin) func(add []tool.Tool, remove []string) {
	return func(add []tool.Tool, remove []string) {
		c := Change{Origin: o, Remove: remove, Add: make([]Addition, len(add))}
		for i, t := range add {
			c.Add[i].Tool = t
		}
		_ = r.Apply(c) // has logged what it refused
	}
}

// Withdraw removes everything that an origin registered.
func (r *Registry) Withdraw(o Origin) {
	r.change(func(m *master, next *snapshot, _ *[]func()) bool {
		var names []string
		for name, layer := range m.layers {
			if slices.ContainsFunc(layer, func(e *Entry) bool { return e.Origin == o }) {
				names = append(names, name)
			}
		}
		maps.DeleteFunc(m.refused, func(k refusedKey, _ Refused) bool { return k.origin == o })
		moved := m.setPlatforms(next, o, []string{})
		for _, name := range names {
			m.drop(name, o)
			m.settle(name, next)
		}
		return moved || len(names) > 0
	})
	if o.foreign() {
		r.Invalidate()
	}
}

// Apply carries out a batch. Each tool is judged alone: the error joins a *RefusedError for each one that was refused, the others
// are registered.
func (r *Registry) Apply(c Change) error {
	if c.Origin.stage() == stageUnknown {
		return fmt.Errorf("register tools: %q is no origin", c.Origin)
	}
	var errs []error
	ready := make([]*Entry, 0, len(c.Add))
	broken := map[string]*RefusedError{}
	for _, a := range c.Add {
		e, refused := prepare(c.Origin, a)
		if refused != nil {
			errs = append(errs, refused)
			broken[refused.Tool] = refused
			continue
		}
		ready = append(ready, e)
	}
	r.change(func(m *master, next *snapshot, later *[]func()) bool {
		changed := m.setPlatforms(next, c.Origin, c.Platforms)
		for _, refused := range broken {
			m.refuse(refused)
		}
		for _, name := range c.Remove {
			delete(m.refused, refusedKey{name, c.Origin, false})
			if !slices.ContainsFunc(ready, func(e *Entry) bool { return e.Spec.Name == name }) && m.drop(name, c.Origin) {
				m.settle(name, next)
				changed = true
			}
		}
		for _, e := range ready {
			if refused := m.admit(e, next, later, r.log); refused != nil {
				m.refuse(refused)
				errs = append(errs, refused)
				continue
			}
			changed = true
		}
		return changed
	})
	for _, err := range errs {
		r.logRefusal(err)
	}
	if c.Origin.foreign() {
		r.Invalidate()
	}
	return errors.Join(errs...)
}

func (r *Registry) logRefusal(err error) {
	var refused *RefusedError
	if errors.As(err, &refused) {
		r.log.Error("tool refused", slog.String("tool", refused.Tool), slog.String("toolset", refused.Toolset),
			slog.String("origin", string(refused.Origin)), slog.String("reason", refused.reason()))
	}
}

// master is what snapshots are made of. For each name it holds every admitted registration; which of them is on top follows from
// them and the settings alone, whatever the order in which they came.
type master struct {
	layers  map[string][]*Entry // in the order of stages, the configuration, arrival
	refused map[refusedKey]Refused
	checks  map[*tool.Check]*availability
	seq     uint64
}

type refusedKey struct {
	name   string
	origin Origin
	behind bool // admitted, but behind another
}

func newMaster() master {
	return master{layers: map[string][]*Entry{}, refused: map[refusedKey]Refused{}, checks: map[*tool.Check]*availability{}}
}

func (m *master) refuse(err *RefusedError) {
	m.refused[refusedKey{err.Tool, err.Origin, false}] = Refused{Name: err.Tool, Toolset: err.Toolset, Origin: err.Origin, Reason: err.reason()}
}

func (m *master) refusals() []Refused {
	return slices.SortedFunc(maps.Values(m.refused), func(a, b Refused) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Origin, b.Origin), cmp.Compare(a.Reason, b.Reason))
	})
}

func (m *master) setPlatforms(next *snapshot, o Origin, platforms []string) bool {
	if platforms == nil {
		return false
	}
	now := maps.Clone(next.platforms)
	maps.DeleteFunc(now, func(_ string, by Origin) bool { return by == o })
	if now == nil {
		now = map[string]Origin{}
	}
	for _, p := range platforms {
		if _, ships := shippedByName()[presetPrefix+p]; !ships {
			now[p] = o
		}
	}
	if maps.Equal(now, next.platforms) {
		return false
	}
	next.platforms = now
	return true
}

// admit takes a registration in, in the place of one of its own origin, if it may have the name.
func (m *master) admit(e *Entry, next *snapshot, later *[]func(), log *slog.Logger) *RefusedError {
	name := e.Spec.Name
	m.seq++
	e.seq = m.seq
	before := m.layers[name]
	refuse := func(err error) *RefusedError {
		return &RefusedError{Tool: name, Toolset: e.Spec.Toolset, Origin: e.Origin, Err: err}
	}
	layers := []*Entry{e}
	for _, other := range before {
		if other.Origin != e.Origin {
			layers = append(layers, other)
		} else if other.Spec.Toolset != e.Spec.Toolset {
			if err := contend(other, e, next.settings); err != nil {
				return refuse(err)
			}
		}
	}
	sortLayers(layers, next.settings)
	top, back := fold(layers, next.settings)
	if err := back[e]; err != nil {
		return refuse(err)
	}
	if c := e.Spec.Check; c != nil {
		if m.checks[c] == nil {
			m.checks[c] = &availability{check: c}
		}
		e.check = m.checks[c]
	}
	m.layers[name] = layers
	delete(m.refused, refusedKey{name, e.Origin, false})
	for _, rival := range before {
		if rival.Spec.Toolset != e.Spec.Toolset {
			*later = append(*later, func() { warnCollision(log, rival, e, top) })
		}
	}
	m.settle(name, next)
	return nil
}

func warnCollision(log *slog.Logger, a, b, winner *Entry) {
	log.Warn("two toolsets own one tool name",
		slog.String("tool", a.Spec.Name),
		slog.String("owners", fmt.Sprintf("%s (%s), %s (%s)", a.Spec.Toolset, a.Origin, b.Spec.Toolset, b.Origin)),
		slog.String("wins", winner.Spec.Toolset))
}

// drop takes an origin's registration of a name out.
func (m *master) drop(name string, o Origin) bool {
	before := m.layers[name]
	after := slices.DeleteFunc(slices.Clone(before), func(e *Entry) bool { return e.Origin == o })
	if len(after) == len(before) {
		return false
	}
	m.layers[name] = after
	if len(after) == 0 {
		delete(m.layers, name)
	}
	return true
}

// settle puts the registration of a name that counts into the snapshot.
func (m *master) settle(name string, next *snapshot) {
	maps.DeleteFunc(m.refused, func(k refusedKey, _ Refused) bool { return k.behind && k.name == name })
	layers := slices.Clone(m.layers[name])
	sortLayers(layers, next.settings)
	top, back := fold(layers, next.settings)
	for e, err := range back {
		m.refused[refusedKey{name, e.Origin, true}] = Refused{Name: name, Toolset: e.Spec.Toolset, Origin: e.Origin, Reason: err.Error()}
	}
	if top == nil {
		delete(next.entries, name)
		return
	}
	next.entries[name] = top
}

// forgetChecks drops what is known about checks that no registered tool has.
func (m *master) forgetChecks() {
	used := make(map[*tool.Check]bool, len(m.checks))
	for _, layers := range m.layers {
		for _, e := range layers {
			used[e.Spec.Check] = true
		}
	}
	maps.DeleteFunc(m.checks, func(c *tool.Check, _ *availability) bool { return !used[c] })
}

func sortLayers(layers []*Entry, s *Settings) {
	slices.SortFunc(layers, func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(a.Origin.stage(), b.Origin.stage()), cmp.Compare(s.order(a.Origin), s.order(b.Origin)),
			cmp.Compare(a.seq, b.seq))
	})
}

// fold finds the one of sorted registrations that counts, and says why others that don't stand back.
func fold(layers []*Entry, s *Settings) (top *Entry, back map[*Entry]error) {
	for _, e := range layers {
		if err := contend(top, e, s); err != nil {
			if back == nil {
				back = map[*Entry]error{}
			}
			back[e] = err
			continue
		}
		top = e
	}
	return top, back
}

// contend says why a later registration can't take the place of the one on top; nil = it does.
func contend(top, e *Entry, s *Settings) error {
	if slices.Contains(reserved, e.Spec.Name) && e.Origin != Embedder {
		if e.Origin.foreign() {
			return errors.New("the name belongs to a tool of the agent itself, which only the embedding program can replace")
		}
		if top != nil && top.Spec.Toolset != e.Spec.Toolset {
			return fmt.Errorf("the name belongs to a tool of the agent itself, in %s", top.Spec.Toolset)
		}
	}
	if top == nil {
		return nil
	}
	if e.Origin.foreign() && !top.Origin.foreign() {
		switch {
		case !e.override:
			return fmt.Errorf("it would replace the %s tool of that name and doesn't ask to", top.Origin)
		case !s.Overrides[e.Origin].allows(e.Spec.Name):
			return fmt.Errorf("it would replace the %s tool of that name, which %s is not allowed to (%s)", top.Origin, e.Origin, overrideKey(e.Origin))
		}
		return nil
	}
	if s.Collisions == CollisionsReject && top.Spec.Toolset != e.Spec.Toolset {
		return fmt.Errorf("%w: %s has it, %s wants it (registry.collisions: reject)", ErrCollision, top.Spec.Toolset, e.Spec.Toolset)
	}
	return nil
}

// overrideKey is the key of the configuration that gives an origin leave.
func overrideKey(o Origin) string {
	if id, ok := o.Plugin(); ok {
		return "plugins.entries." + id + ".allow_tool_override"
	}
	server, _ := o.Server()
	return "mcp_servers." + server + ".tools.override"
}
