package registry

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxRepair bounds the bytes of a name that is repaired: the longest name, doubled a few times, in a wrapper.
	maxRepair = 512
	// maxListed is how many offered tools may be named in full beside an unknown name.
	maxListed = 40
	// maxNear is how many near names are suggested.
	maxNear = 3
)

// Resolution says which tool a name stands for.
type Resolution struct {
	Entry   *Entry // the tool to run; nil = none
	Name    string // its name, or the name that was asked for
	Repair  string // how the name was mended; "" = it was right, or nothing was found
	Hidden  string // the registered tool that is meant and is not in the session's scope
	Reason  string // why Hidden is not there
	Similar []string
	Offered []string // all offered tools, if they are few
}

// Ways in which a name is mended.
const (
	repairSpelling = "spelling" // case, separators, wrappers, repetition
	repairRemote   = "remote"   // the name of the tool at its server
	repairTypo     = "typo"
)

// Message tells a model why its call didn't run; "" if there is a tool to run.
func (r *Resolution) Message() string {
	if r.Entry != nil {
		return ""
	}
	var b strings.Builder
	if r.Hidden != "" {
		fmt.Fprintf(&b, "Tool %q is not available here", r.Hidden)
		if r.Reason != "" {
			b.WriteString(": " + r.Reason)
		}
		return b.String() + "."
	}
	fmt.Fprintf(&b, "There is no tool %q.", r.Name)
	if len(r.Similar) > 0 {
		fmt.Fprintf(&b, " Similar: %s.", strings.Join(r.Similar, ", "))
	}
	if len(r.Offered) > 0 {
		fmt.Fprintf(&b, " Available tools: %s.", strings.Join(r.Offered, ", "))
	}
	return b.String()
}

// Repair finds the tool that a name stands for in a session. It looks at all registered tools, so that a name that means a hidden
// one is never bent into another.
func (r *Registry) Repair(name string, scope *Scope) Resolution {
	snap := r.snap.Load()
	if e := snap.entries[name]; e != nil {
		return settled(e, scope, "")
	}
	matches, how := snap.index().match(name)
	if len(matches) == 1 {
		return settled(matches[0], scope, how)
	}
	res := Resolution{Name: clip(name)}
	offered := scope.offeredNow()
	res.Similar = similar(name, offered)
	if len(offered) <= maxListed {
		for _, e := range offered {
			res.Offered = append(res.Offered, e.Spec.Name)
		}
	}
	return res
}

func settled(e *Entry, scope *Scope, how string) Resolution {
	name := e.Spec.Name
	if !scope.Has(name) {
		return Resolution{Name: name, Hidden: name, Reason: scope.Reason(name)}
	}
	return Resolution{Entry: e, Name: name, Repair: how}
}

// offeredNow are the tools that the last known answers of Checks leave on offer.
func (s *Scope) offeredNow() []*Entry {
	out := make([]*Entry, 0, len(s.offered))
	for _, e := range s.offered {
		if e.check.lastReason() == "" {
			out = append(out, e)
		}
	}
	return out
}

// clip shortens a name for a message.
func clip(name string) string {
	const most = 80
	name = strings.ToValidUTF8(name, "\uFFFD")
	if utf8.RuneCountInString(name) <= most {
		return name
	}
	return string([]rune(name)[:most]) + "…"
}

// wrappers are what models put before a name.
var wrappers = []string{"functions", "function", "tools", "tool", "default_api", "multi_tool_use"}

// trim takes off what surrounds a name: what follows a quote or angle bracket, wrappers before it, a call number after it.
func trim(name string) string {
	name = strings.TrimSpace(name)
	if i := strings.IndexAny(name[min(1, len(name)):], "\"'`<>"); i >= 0 {
		name = name[:i+1]
	}
	return strings.TrimSpace(name)
}

// unwrap takes wrappers off the front of a name, and the number that some models put behind it.
func unwrap(name string) string {
	if i := strings.LastIndexByte(name, ':'); i > 0 && i < len(name)-1 && strings.Trim(name[i+1:], "0123456789") == "" {
		name = name[:i]
	}
	for again := true; again; {
		again = false
		for _, w := range wrappers {
			if len(name) > len(w)+1 && strings.EqualFold(name[:len(w)], w) && strings.IndexByte(".:/", name[len(w)]) >= 0 {
				name, again = name[len(w)+1:], true
			}
		}
	}
	return name
}

// fold1 is a name without case and separators. Letters of other scripts stay, so that they match nothing.
func fold1(name string) string {
	var b strings.Builder
	b.Grow(len(name))
	for _, r := range name {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// key is what names are compared by.
func key(name string) string {
	k := fold1(name)
	if short := strings.TrimSuffix(k, "tool"); short != "" {
		return short
	}
	return k
}

// unrepeat folds a text that is another one several times over; "" if it isn't.
func unrepeat(s string) string {
	// A repeated text is found inside its double at the length of its period.
	if i := strings.Index((s + s)[min(1, len(s)):], s) + 1; i > 0 && i < len(s) {
		return s[:i]
	}
	return ""
}

// variants are the keys that a name may stand for, and the spellings they come from.
func variants(name string) (keys []string, spellings []string) {
	add := func(k, spelling string) {
		if k != "" && !slices.Contains(keys, k) {
			keys, spellings = append(keys, k), append(spellings, spelling)
		}
	}
	trimmed := trim(name)
	for _, s := range []string{trimmed, unwrap(trimmed)} {
		add(key(s), s)
		if once := unrepeat(s); once != "" {
			add(key(once), once)
		}
		if once := unrepeat(fold1(s)); once != "" {
			add(key(once), once)
		}
	}
	return keys, spellings
}
