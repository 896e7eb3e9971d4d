package registry

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// book is the list of all sets of a snapshot. Each set stands under one name; what a name means if several claim it is decided
// when the book is made.
type book struct {
	entries map[string]*Entry
	sets    map[string]*set
	aliases map[string]string // raw name of an MCP server → its set
	plugins map[string][]string
	names   []string        // of sets, sorted
	known   map[string]bool // names of configured servers and their sets, connected or not

	wordsOnce sync.Once
	words     []candidate // that an unknown name is compared with
}

// set is one page.
type set struct {
	name, description string
	leaf              bool
	tools, includes   []string // as declared: tools may not be registered
	custom            bool
}

func (s *snapshot) book() *book {
	s.bookOnce.Do(func() { s.bookValue = s.makeBook() })
	return s.bookValue
}

func (s *snapshot) makeBook() *book {
	b := &book{entries: s.entries, sets: map[string]*set{}, aliases: map[string]string{}, plugins: map[string][]string{}, known: map[string]bool{}}
	for _, row := range shipped {
		b.sets[row.name] = &set{name: row.name, description: row.description, leaf: row.leaf, tools: slices.Clone(row.tools), includes: row.includes}
	}
	for name, c := range s.settings.Custom {
		if b.sets[name] == nil {
			b.sets[name] = &set{name: name, description: c.Description, tools: c.Tools, includes: c.Includes, custom: true}
		}
	}
	b.addPlatforms(s)
	for _, name := range s.names {
		b.addTool(s.entries[name])
	}
	for _, server := range s.settings.Servers {
		b.known[server], b.known[setOfServer(server)] = true, true
	}
	b.names = slices.Sorted(maps.Keys(b.sets))
	return b
}

// addPlatforms makes the presets of platforms that plugins bring: the core, and what the plugin registered.
func (b *book) addPlatforms(s *snapshot) {
	for _, platform := range slices.Sorted(maps.Keys(s.platforms)) {
		name := presetPrefix + platform
		if b.sets[name] != nil {
			continue
		}
		p := &set{name: name, description: "Tools of the platform " + platform, includes: []string{coreSet}}
		for _, t := range s.names {
			if s.entries[t].Origin == s.platforms[platform] {
				p.tools = append(p.tools, t)
			}
		}
		b.sets[name] = p
		b.sets[messagingSet].includes = append(slices.Clip(b.sets[messagingSet].includes), name)
	}
}

// addTool puts a tool into the set that it says owns it, unless the name of the set has another meaning.
func (b *book) addTool(e *Entry) {
	name := e.Spec.Toolset
	owner := b.sets[name]
	if owner == nil {
		owner = &set{name: name, leaf: true}
		b.sets[name] = owner
	}
	if owner.leaf && !slices.Contains(owner.tools, e.Spec.Name) {
		owner.tools = append(owner.tools, e.Spec.Name)
	}
	if server, ok := e.Origin.Server(); ok {
		b.aliases[server] = name
	}
	if id, ok := e.Origin.Plugin(); ok {
		b.plugins[id] = append(b.plugins[id], e.Spec.Name)
	}
}

// specificity ranks what an entry of a list names: of two entries that disagree about a tool the more specific one counts.
type specificity int

const (
	exact specificity = iota // one tool
	leaf
	composite
	wildcard
)

// find expands a name to registered tools, sorted. ok is false if the name means nothing.
func (b *book) find(name string) (tools []string, spec specificity, ok bool) {
	out := map[string]bool{}
	spec, ok = b.expand(name, out, map[string]bool{})
	return slices.Sorted(maps.Keys(out)), spec, ok
}

// expand adds to out the tools that a name stands for. seen holds the names that are being expanded or were.
func (b *book) expand(name string, out, seen map[string]bool) (specificity, bool) {
	if name == everything || name == "*" {
		for t := range b.entries {
			out[t] = true
		}
		return wildcard, true
	}
	if hasWild(name) {
		return wildcard, b.expandGlob(name, out, seen)
	}
	if s := b.sets[name]; s != nil {
		b.expandSet(s, out, seen)
		if s.leaf {
			return leaf, true
		}
		return composite, true
	}
	if target, ok := b.aliases[name]; ok {
		return b.expand(target, out, seen)
	}
	if id, ok := Origin(name).Plugin(); ok && b.plugins[id] != nil {
		b.add(b.plugins[id], out)
		return leaf, true
	}
	if tools, ok := legacy[name]; ok {
		b.add(tools, out)
		return leaf, true
	}
	if b.entries[name] != nil {
		out[name] = true
		return exact, true
	}
	if shippedTools()[name] {
		return exact, true
	}
	return leaf, b.known[name]
}

func (b *book) expandSet(s *set, out, seen map[string]bool) {
	if seen[s.name] {
		return
	}
	seen[s.name] = true
	b.add(s.tools, out)
	for _, name := range s.includes {
		b.expand(name, out, seen)
	}
}

func (b *book) expandGlob(pattern string, out, seen map[string]bool) (any bool) {
	for _, name := range b.names {
		if matchGlob(pattern, name) {
			b.expandSet(b.sets[name], out, seen)
			any = true
		}
	}
	for alias, name := range b.aliases {
		if matchGlob(pattern, alias) {
			b.expand(name, out, seen)
			any = true
		}
	}
	return any
}

func (b *book) add(tools []string, out map[string]bool) {
	for _, t := range tools {
		if b.entries[t] != nil {
			out[t] = true
		}
	}
}

// vocabulary are all names that an entry of a list may be.
func (b *book) vocabulary() []string {
	words := slices.Concat(b.names, slices.Collect(maps.Keys(b.aliases)), slices.Collect(maps.Keys(legacy)), slices.Collect(maps.Keys(b.entries)))
	slices.Sort(words)
	return slices.Compact(append(words, everything))
}

// matchGlob compares with a pattern in which * stands for any text and ? for one byte.
func matchGlob(pattern, s string) bool {
	star, mark := -1, 0
	p, i := 0, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p++
			i++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

func hasWild(name string) bool { return strings.ContainsAny(name, "*?") }
