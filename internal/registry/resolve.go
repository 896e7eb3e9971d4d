package registry

import (
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
)

// Unknown is an entry of a list that means nothing.
type Unknown struct {
	Name    string
	Nearest string // the known name that resembles it most, "" = none does
}

// Resolve expands the name of a set to the registered tools in it, sorted, each once. An unknown name gives none, and one warning.
func (r *Registry) Resolve(name string) []string {
	snap := r.snap.Load()
	tools, _, ok := snap.book().find(name)
	if !ok {
		r.warnUnknown(snap, name)
	}
	return tools
}

// Unknown picks out of a list the entries that mean nothing.
func (r *Registry) Unknown(names []string) []Unknown { return r.snap.Load().unknown(names) }

func (s *snapshot) unknown(names []string) []Unknown {
	var out []Unknown
	b := s.book()
	for _, name := range names {
		if _, ok := b.expand(name, map[string]bool{}, map[string]bool{}); !ok {
			out = append(out, Unknown{name, b.nearest(name)})
		}
	}
	return out
}

func (b *book) nearest(name string) string {
	b.wordsOnce.Do(func() { b.words = candidates(b.vocabulary()) })
	if near := nearest(clip(name), b.words, 1); len(near) > 0 {
		return near[0]
	}
	return ""
}

func (r *Registry) warnUnknown(s *snapshot, name string) {
	name = clip(name)
	r.told.once("unknown\x00"+name, func() {
		r.log.Warn("unknown toolset", slog.String("toolset", name), slog.String("nearest", s.book().nearest(name)))
	})
}

// Warning is something in the configuration that has no effect, with the key it stands under.
type Warning struct {
	Key, Text string
}

// Warnings looks through the configured sets for what means nothing or is shadowed. Call it when servers and plugins are there.
func (r *Registry) Warnings() []Warning {
	snap := r.snap.Load()
	s, b := snap.settings, snap.book()
	var out []Warning
	list := func(key string, names []string) {
		for _, u := range snap.unknown(names) {
			out = append(out, Warning{key, u.String()})
		}
	}
	list("agent.disabled_toolsets", s.Disabled)
	for _, platform := range slices.Sorted(maps.Keys(s.Platforms)) {
		if names, ok := nameList(s.Platforms[platform]); ok {
			names = slices.DeleteFunc(names, func(n string) bool { return n == noServers })
			list("platform_toolsets."+platform, names)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Custom)) {
		key := "custom_toolsets." + name
		if _, ships := shippedByName()[name]; ships {
			out = append(out, Warning{key, "ignored: a set of that name ships with the program"})
			continue
		}
		list(key+".includes", s.Custom[name].Includes)
		for _, t := range s.Custom[name].Tools {
			if b.entries[t] == nil && !shippedTools()[t] {
				out = append(out, Warning{key + ".tools", Unknown{t, b.nearest(t)}.String()})
			}
		}
	}
	for _, server := range s.Servers {
		if _, owned := b.sets[server]; owned {
			out = append(out, Warning{"mcp_servers." + server,
				"the name of the server is that of a toolset and keeps that meaning; the server's set is " + setOfServer(server)})
		}
	}
	return out
}

func (u Unknown) String() string {
	if u.Nearest == "" {
		return strconv.Quote(u.Name) + " is no known toolset or tool"
	}
	return strconv.Quote(u.Name) + " is no known toolset or tool; nearest is " + strconv.Quote(u.Nearest)
}

// told remembers what was said, so that it is said once. It is bounded, because names come from outside: when it is full, it
// forgets everything.
type told struct {
	mu   sync.Mutex
	said map[string]bool
}

const toldMax = 1024

func (t *told) once(what string, say func()) {
	t.mu.Lock()
	if t.said[what] {
		t.mu.Unlock()
		return
	}
	if t.said == nil || len(t.said) >= toldMax {
		t.said = map[string]bool{}
	}
	t.said[what] = true
	t.mu.Unlock()
	say()
}

// platformSets gives the entries that a session from a platform starts with: the configured list, or the platform's preset; and
// what servers and plugins add to it. A list that is empty stays empty.
func (s *snapshot) platformSets(platform string) []string {
	b := s.book()
	list, configured := nameList(s.settings.Platforms[platform])
	if !configured {
		list = []string{presetPrefix + platform}
	} else if len(list) == 0 {
		return []string{}
	}
	join := true
	list = slices.DeleteFunc(list, func(name string) bool {
		if name == noServers {
			join = false
		}
		return name == noServers
	})
	if platform == literalPlatform {
		return list
	}
	for _, name := range list {
		if b.namesServer(name) {
			join = false
		}
	}
	if join {
		list = append(list, slices.Sorted(maps.Values(b.aliases))...)
	}
	for _, id := range slices.Sorted(maps.Keys(b.plugins)) {
		list = append(list, string(PluginOrigin(id)))
	}
	return list
}

// namesServer reports an entry that picks MCP servers.
func (b *book) namesServer(name string) bool {
	if b.known[name] && b.sets[name] == nil {
		return true
	}
	for alias, target := range b.aliases {
		if name == target || name == alias && b.sets[name] == nil || hasWild(name) && name != "*" && (matchGlob(name, target) || matchGlob(name, alias)) {
			return true
		}
	}
	return false
}

// nameList reads a list of names as it came out of YAML, where a name may look like a number.
func nameList(v any) ([]string, bool) {
	switch v := v.(type) {
	case []string:
		return slices.Clone(v), v != nil
	case []any:
		out := make([]string, 0, len(v))
		for _, e := range v {
			if name, ok := nameOf(e); ok {
				out = append(out, name)
			}
		}
		return out, true
	}
	return nil, false
}

func nameOf(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, v != ""
	case int:
		return strconv.Itoa(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case uint64:
		return strconv.FormatUint(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}
