package registry

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
)

// Names are the names of all registered tools, sorted. The slice is the caller's.
func (r *Registry) Names() []string { return slices.Clone(r.snap.Load().names) }

// Entries are all registered tools, sorted by name.
func (r *Registry) Entries() []*Entry {
	snap := r.snap.Load()
	out := make([]*Entry, len(snap.names))
	for i, name := range snap.names {
		out[i] = snap.entries[name]
	}
	return out
}

// ToolsetOf is the set that owns a tool; "" for an unknown tool.
func (r *Registry) ToolsetOf(name string) string {
	if e, ok := r.Lookup(name); ok {
		return e.Spec.Toolset
	}
	return ""
}

// ToolsOf are the tools that say a set owns them, sorted.
func (r *Registry) ToolsOf(toolset string) []string {
	var out []string
	for _, e := range r.Entries() {
		if e.Spec.Toolset == toolset {
			out = append(out, e.Spec.Name)
		}
	}
	return out
}

// Emoji is what stands beside a tool; "" for an unknown tool.
func (r *Registry) Emoji(name string) string {
	if e, ok := r.Lookup(name); ok {
		return e.Emoji()
	}
	return ""
}

// Requirements are the variables that a tool says it needs, sorted.
func (r *Registry) Requirements(name string) []string {
	e, ok := r.Lookup(name)
	if !ok {
		return nil
	}
	out := slices.Clone(e.Spec.RequiresEnv)
	slices.Sort(out)
	return slices.Compact(out)
}

// Refused lists the tools that were not registered and those that stand back behind another, with the reason, sorted by name.
func (r *Registry) Refused() []Refused { return slices.Clone(r.snap.Load().refused) }

// ToolsetNames are the names of all sets, sorted.
func (r *Registry) ToolsetNames() []string { return slices.Clone(r.snap.Load().book().names) }

// Aliases gives for the raw name of each connected MCP server the set of its tools, unless a set owns the name.
func (r *Registry) Aliases() map[string]string {
	b := r.snap.Load().book()
	out := maps.Clone(b.aliases)
	maps.DeleteFunc(out, func(alias, _ string) bool { return b.sets[alias] != nil })
	return out
}

// ToolStatus is one line of a list of tools.
type ToolStatus struct {
	Name         string   `json:"name"`
	Toolset      string   `json:"toolset"`
	Description  string   `json:"description"`
	Emoji        string   `json:"emoji"`
	Origin       Origin   `json:"origin"`
	Requirements []string `json:"requirements"`
	Available    bool     `json:"available"`
	Reason       string   `json:"reason,omitempty"`
}

// Tools lists all tools, refused ones too, by name, with what their Checks say now. An error means that ctx ended.
func (r *Registry) Tools(ctx context.Context) ([]ToolStatus, error) {
	snap := r.snap.Load()
	reasons, err := r.reasons(ctx, snap, slices.Collect(maps.Values(snap.entries)))
	if err != nil {
		return nil, fmt.Errorf("list tools: %w", err)
	}
	out := make([]ToolStatus, 0, len(snap.names)+len(snap.refused))
	for name, e := range snap.entries {
		out = append(out, ToolStatus{
			Name: name, Toolset: e.Spec.Toolset, Description: e.Description(), Emoji: e.Emoji(), Origin: e.Origin,
			Requirements: append([]string{}, r.Requirements(name)...), Available: reasons[name] == "", Reason: reasons[name],
		})
	}
	for _, f := range snap.refused {
		out = append(out, ToolStatus{Name: f.Name, Toolset: f.Toolset, Emoji: defaultEmoji, Origin: f.Origin, Requirements: []string{}, Reason: f.Reason})
	}
	slices.SortFunc(out, func(a, b ToolStatus) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Origin, b.Origin))
	})
	return out, nil
}

// noReason stands for a reason that has meanwhile gone.
const noReason = "its check failed"

// reasons asks the Checks of tools once each and gives for those that fail the reason, by tool.
func (r *Registry) reasons(ctx context.Context, snap *snapshot, entries []*Entry) (map[string]string, error) {
	at := map[*availability]int{}
	var checks []*availability
	for _, e := range entries {
		if _, known := at[e.check]; e.check != nil && !known {
			at[e.check] = len(checks)
			checks = append(checks, e.check)
		}
	}
	failed, err := r.ask(ctx, snap.settings, checks)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, e := range entries {
		if e.check != nil && failed.has(at[e.check]) {
			out[e.Spec.Name] = cmp.Or(e.check.lastReason(), noReason)
		}
	}
	return out, nil
}

// Toolset describes a set in a list.
type Toolset struct {
	Available    bool     `json:"available"`
	Tools        []string `json:"tools"`
	Description  string   `json:"description"`
	Requirements []string `json:"requirements"`
}

// Toolsets describes every set, by name. An error means that ctx ended.
func (r *Registry) Toolsets(ctx context.Context) (map[string]Toolset, error) {
	snap := r.snap.Load()
	reasons, err := r.reasons(ctx, snap, slices.Collect(maps.Values(snap.entries)))
	if err != nil {
		return nil, fmt.Errorf("list toolsets: %w", err)
	}
	out := make(map[string]Toolset, len(snap.book().names))
	for _, name := range snap.book().names {
		tools, _, _ := snap.book().find(name)
		t := Toolset{Tools: append([]string{}, tools...), Description: snap.book().sets[name].description, Requirements: []string{}}
		for _, n := range tools {
			t.Available = t.Available || reasons[n] == ""
			t.Requirements = append(t.Requirements, snap.entries[n].Spec.RequiresEnv...)
		}
		slices.Sort(t.Requirements)
		t.Requirements = slices.Compact(t.Requirements)
		out[name] = t
	}
	return out, nil
}

// IsToolsetAvailable reports whether at least one tool of a set can be used now; false for an unknown set, and if ctx ends first.
func (r *Registry) IsToolsetAvailable(ctx context.Context, name string) bool {
	snap := r.snap.Load()
	tools, _, ok := snap.book().find(name)
	if !ok || len(tools) == 0 {
		return false
	}
	entries := make([]*Entry, len(tools))
	for i, t := range tools {
		if entries[i] = snap.entries[t]; entries[i].check == nil {
			return true
		}
	}
	reasons, err := r.reasons(ctx, snap, entries)
	return err == nil && len(reasons) < len(entries)
}

// SetDescription says all about one set.
type SetDescription struct {
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Tools       []string          `json:"tools"` // direct members, built or not
	Includes    []string          `json:"includes"`
	Resolved    []string          `json:"resolved"`
	Count       int               `json:"count"` // of Resolved
	Composite   bool              `json:"composite"`
	Unavailable map[string]string `json:"unavailable"` // tool → reason
}

// Describe describes what a name means: a set, an alias, a legacy name, a tool, a pattern. ok is false if it means nothing.
func (r *Registry) Describe(ctx context.Context, name string) (d SetDescription, ok bool, err error) {
	snap := r.snap.Load()
	b := snap.book()
	tools, rank, ok := b.find(name)
	if !ok {
		return SetDescription{}, false, nil
	}
	d = SetDescription{Name: name, Resolved: append([]string{}, tools...), Count: len(tools), Composite: rank >= composite,
		Tools: append([]string{}, tools...), Includes: []string{}}
	page := b.sets[name]
	if page == nil {
		page = b.sets[b.aliases[name]]
	}
	if page != nil {
		d.Description, d.Tools = page.description, slices.Sorted(slices.Values(page.tools))
		d.Includes = append(d.Includes, page.includes...)
	}
	entries := make([]*Entry, len(tools))
	for i, t := range tools {
		entries[i] = snap.entries[t]
	}
	if d.Unavailable, err = r.reasons(ctx, snap, entries); err != nil {
		return SetDescription{}, false, fmt.Errorf("describe toolset %q: %w", name, err)
	}
	for _, f := range snap.refused {
		if f.Toolset == name && d.Unavailable[f.Name] == "" && snap.entries[f.Name] == nil {
			d.Unavailable[f.Name] = f.Reason
		}
	}
	return d, true, nil
}
