package registry

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/registry/schema"
	"github.com/hermes-runtime/hermes/tool"
)

// Definition is one tool as a dialect describes it.
type Definition struct {
	Name string
	JSON string // its entry in the list of a request
}

// Definitions is what a model is offered. The caller owns it.
type Definitions struct {
	Dialect schema.Dialect
	List    []Definition // sorted by name
	Body    string       // the list as one JSON array
	Scope   *Scope       // what may be called, hidden or not
	Hidden  []Hidden     // in scope but not offered, sorted by name
	Report  *Report      // nil if the request was quiet
}

// Hidden is a tool of the scope that is not offered.
type Hidden struct {
	Name, Reason string
}

// Report tells a person what came of a request.
type Report struct {
	Sets    []SetReport // each entry that was enabled, in the order given
	Unknown []Unknown
	Offered []string
	Hidden  []Hidden
}

// SetReport is what one entry resolved to.
type SetReport struct {
	Name  string
	Tools []string
}

// String is the report as lines of text.
func (r *Report) String() string {
	var b strings.Builder
	for _, s := range r.Sets {
		fmt.Fprintf(&b, "%s: %s\n", s.Name, orNone(s.Tools))
	}
	for _, u := range r.Unknown {
		b.WriteString(u.String() + "\n")
	}
	for _, h := range r.Hidden {
		fmt.Fprintf(&b, "not available: %s (%s)\n", h.Name, h.Reason)
	}
	fmt.Fprintf(&b, "offered: %s\n", orNone(r.Offered))
	return b.String()
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Definitions gives what a model is offered for a request, as the registry, the configuration and the Checks are now. Equal inputs
// give equal bytes. An error means that ctx ended or that the dialect is unknown.
func (r *Registry) Definitions(ctx context.Context, req Request) (Definitions, error) {
	if req.Dialect == "" {
		req.Dialect = schema.OpenAI
	}
	snap := r.snap.Load()
	scope := r.scope(snap, req)
	failed, err := r.ask(ctx, snap.settings, scope.checks)
	if err != nil {
		return Definitions{}, fmt.Errorf("build definitions: ask the checks: %w", err)
	}
	b := r.memo.definitions(scope, &req, failed)
	if b == nil {
		if b, err = r.build(ctx, scope, &req, failed); err != nil {
			return Definitions{}, fmt.Errorf("build definitions: %w", err)
		}
		// A result of a registry that has moved on is right for the one who asked before, and for nobody after.
		if r.snap.Load() == snap {
			r.memo.keepDefinitions(b)
		}
	}
	out := Definitions{Dialect: req.Dialect, List: slices.Clone(b.list), Body: b.body, Scope: scope, Hidden: slices.Clone(b.hidden)}
	if !req.Quiet {
		out.Report = scope.report(b)
	}
	return out, nil
}

func (s *Scope) report(b *built) *Report {
	rep := &Report{Unknown: s.Unknown(), Hidden: slices.Clone(b.hidden)}
	for _, name := range s.enabled {
		if tools, _, ok := s.snap.book().find(name); ok {
			rep.Sets = append(rep.Sets, SetReport{name, tools})
		}
	}
	for _, d := range b.list {
		rep.Offered = append(rep.Offered, d.Name)
	}
	return rep
}

func (r *Registry) build(ctx context.Context, s *Scope, req *Request, failed bits) (*built, error) {
	b := &built{scope: s, dialect: req.Dialect, strictness: req.Strictness, failed: failed}
	var on []*Entry
	for i, e := range s.offered {
		if at := s.checkOf[i]; at >= 0 && failed.has(at) {
			b.hidden = append(b.hidden, Hidden{e.Spec.Name, cmp.Or(e.check.lastReason(), noReason)})
			continue
		}
		on = append(on, e)
	}
	for _, e := range s.Entries() {
		if need := s.unmet(e); need != "" {
			b.hidden = append(b.hidden, Hidden{e.Spec.Name, "this session has no " + string(need)})
		}
	}
	on, withheld := r.fit(on, req.Dialect, s.snap.settings)
	b.hidden = append(b.hidden, withheld...)
	slices.SortFunc(b.hidden, func(x, y Hidden) int { return strings.Compare(x.Name, y.Name) })
	names := make([]string, len(on))
	for i, e := range on {
		names[i] = e.Spec.Name
	}
	b.list = make([]Definition, 0, len(on))
	for _, e := range on {
		d, err := r.define(ctx, e, names, req)
		if err != nil {
			return nil, err
		}
		b.list = append(b.list, d)
	}
	b.body = joinList(b.list)
	return b, nil
}

func joinList(list []Definition) string {
	size := 2
	for _, d := range list {
		size += len(d.JSON) + 1
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteByte('[')
	for i, d := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(d.JSON)
	}
	b.WriteByte(']')
	return b.String()
}

// limited are the dialects whose APIs take only so many tools in one request.
var limited = map[schema.Dialect]bool{schema.OpenAI: true, schema.Gemini: true, schema.GeminiCompatible: true}

// fit withholds tools of MCP servers, the one configured last first, until a request takes the rest.
func (r *Registry) fit(on []*Entry, d schema.Dialect, s *Settings) (fitting []*Entry, withheld []Hidden) {
	limit := s.maxTools()
	over := len(on) - limit
	if !limited[d] || limit == 0 || over <= 0 {
		return on, nil
	}
	var remote []*Entry
	for _, e := range on {
		if _, ok := e.Origin.Server(); ok {
			remote = append(remote, e)
		}
	}
	sortLayers(remote, s) // by the servers' order; then by that of registration
	out := map[*Entry]bool{}
	for _, e := range remote[max(0, len(remote)-over):] {
		out[e] = true
		withheld = append(withheld, Hidden{e.Spec.Name, fmt.Sprintf("withheld: a request takes %d tools (model.max_tools)", limit)})
	}
	fitting = slices.DeleteFunc(slices.Clone(on), func(e *Entry) bool { return out[e] })
	r.log.Warn("more tools than a request takes (model.max_tools)", slog.Int("limit", limit), slog.Int("tools", len(on)),
		slog.Int("withheld", len(withheld)))
	return fitting, withheld
}

// define renders one tool, adapted to what is on offer beside it if it wants that.
func (r *Registry) define(ctx context.Context, e *Entry, offered []string, req *Request) (Definition, error) {
	compiled := e.Schema
	if e.Adapter != nil {
		adapted, err := r.adapt(ctx, e, slices.Clone(offered))
		if ctx.Err() != nil {
			return Definition{}, fmt.Errorf("adapt the definition of %s: %w", e.Spec.Name, ctx.Err())
		}
		if err == nil {
			if def, err2 := adapted.Definition(req.Dialect, req.Strictness); err2 == nil {
				return Definition{e.Spec.Name, string(def.JSON)}, nil
			} else {
				err = err2
			}
		}
		r.log.Warn("the definition stays as it was: adapting it failed", slog.String("tool", e.Spec.Name), slog.String("reason", err.Error()))
	}
	def, err := compiled.Definition(req.Dialect, req.Strictness)
	if err != nil {
		return Definition{}, err
	}
	return Definition{e.Spec.Name, string(def.JSON)}, nil
}

func (r *Registry) adapt(ctx context.Context, e *Entry, offered []string) (c *schema.Compiled, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panicked: %v", p)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, r.Settings().checkTimeout())
	defer cancel()
	dec := json.NewDecoder(bytes.NewReader(e.Schema.Own()))
	dec.UseNumber() // large numbers must survive
	var parameters map[string]any
	if err := dec.Decode(&parameters); err != nil {
		return nil, fmt.Errorf("read its schema: %w", err)
	}
	def, err := e.Adapter.Adapt(ctx, tool.Adaptation{
		Definition: tool.Definition{Name: e.Spec.Name, Description: e.Schema.Description(), Parameters: parameters},
		Offered:    offered,
		Services:   r.services,
	})
	if err != nil {
		return nil, err
	}
	if def.Parameters == nil {
		def.Parameters = map[string]any{}
	}
	// The parameters go in a function object, so that no word in them is taken for one.
	return schema.Compile(schema.Source{Name: e.Spec.Name, Declared: map[string]any{
		"name": e.Spec.Name, "description": def.Description, "parameters": def.Parameters,
	}})
}
