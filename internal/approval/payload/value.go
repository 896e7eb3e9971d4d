package payload

import (
	"slices"
	"strings"
)

// value is what an expression is, as far as it is known. The zero value isn't known at all.
type value struct {
	sym    string   // the dotted name of a module, function or class
	class  string   // what it is an instance of; texts may hold its path
	texts  []string // possible texts
	list   []value
	isList bool
	keys   []string // a dictionary's, beside list
	recv   *value   // of a method, whose name is sym
	num    bool     // texts is a number
	net    bool     // came from the network
	file   bool     // came from a file whose name is known
	made   bool     // names something that the program itself made for the time of its run
}

func text(s string) value { return value{texts: []string{s}} }

func symbol(s string) value { return value{sym: s} }

func listOf(vs ...value) value { return value{list: vs, isList: true} }

// text gives the possible texts of a value.
func (v value) text() Text {
	if len(v.texts) > 0 {
		return v.texts
	}
	if v.isList && len(v.list) == 1 && v.keys == nil {
		return v.list[0].text()
	}
	return Text{Unknown}
}

// exact returns the one text that v is.
func (v value) exact() (string, bool) {
	if len(v.texts) == 1 && strings.IndexByte(v.texts[0], 0) < 0 {
		return v.texts[0], true
	}
	return "", false
}

func (v value) isText() bool { return len(v.texts) > 0 && v.class == "" }

// isUnknown tells whether nothing is known of v.
func (v value) isUnknown() bool { return len(v.texts) == 0 && !v.isList && v.recv == nil }

// get returns a dictionary's entry.
func (v value) get(key string) (value, bool) {
	for i, k := range v.keys {
		if k == key && i < len(v.list) {
			return v.list[i], true
		}
	}
	return value{}, false
}

func (v value) truthy() bool {
	t, ok := v.exact()
	if !ok {
		return v.sym != "False" && v.sym != "false" && v.sym != "None" && v.sym != "null" && v.sym != "nil" && v.sym != "undefined" && v.sym != "FALSE"
	}
	return t != "" && t != "0"
}

// element returns what an item of v may be.
func (v value) element() value {
	if !v.isList {
		return value{net: v.net}
	}
	var out value
	for i, e := range v.list {
		if i == 0 {
			out = e
			continue
		}
		out = either(out, e)
	}
	return out
}

// either is one value or the other.
func either(a, b value) value {
	out := a
	out.net, out.file, out.made = a.net || b.net, a.file && b.file, a.made && b.made
	switch {
	case a.isList && b.isList && len(a.list) == len(b.list) && a.keys == nil && b.keys == nil:
		out.list = make([]value, len(a.list))
		for i := range a.list {
			out.list[i] = either(a.list[i], b.list[i])
		}
		return out
	case a.sym != "" && a.recv == nil && len(b.texts) == 0:
		return out
	case b.sym != "" && b.recv == nil && len(a.texts) == 0:
		b.net = out.net
		return b
	}
	if out.class == "" {
		out.class = b.class
	}
	if out.texts = union(a.text(), b.text()); out.class == "" {
		out.sym = ""
	}
	return out
}

func union(a, b []string) []string {
	if len(a) == 1 && len(b) == 1 && a[0] == b[0] {
		return a
	}
	out := slices.Clone(a)
	for _, t := range b {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
		if len(out) > maxTexts {
			return []string{Unknown}
		}
	}
	return out
}

// cat joins every pairing of texts. What it makes is counted, so that a program can't double a text for ever.
func (s *scan) cat(a, b []string) []string {
	if len(a)*len(b) > maxTexts {
		return []string{shared(a) + Unknown}
	}
	out := make([]string, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			if s.folded += len(x) + len(y); s.folded > maxFolded {
				return []string{Unknown}
			}
			if strings.HasSuffix(x, Unknown) && y == Unknown {
				y = ""
			}
			out = append(out, x+y)
		}
	}
	return out
}

// shared returns the literal beginning of all texts.
func shared(texts []string) string {
	head := texts[0]
	for _, t := range texts[1:] {
		for !strings.HasPrefix(t, head) {
			head = head[:len(head)-1]
		}
	}
	if i := strings.IndexByte(head, 0); i >= 0 {
		head = head[:i]
	}
	return head
}

// plus is a + b: texts are joined, lists put behind each other.
func (s *scan) plus(a, b value) value {
	out := value{net: a.net || b.net, made: a.made}
	switch {
	case a.isList && b.isList:
		out.list, out.isList = append(slices.Clone(a.list), b.list...), true
		if s.folded += 8 * len(out.list); s.folded > maxFolded {
			out.list = nil
		}
	case a.num && b.num:
	case a.isUnknown() && b.isUnknown():
	default:
		out.texts = s.cat(a.text(), b.text())
	}
	return out
}

// each applies f to every text of v.
func (s *scan) each(v value, f func(string) (string, bool)) value {
	out := value{net: v.net, made: v.made, class: v.class}
	for _, t := range v.text() {
		r, ok := f(t)
		if s.folded += len(r); !ok || s.folded > maxFolded {
			return value{net: v.net}
		}
		out.texts = append(out.texts, r)
	}
	return out
}

// join puts paths together as path libraries do: an absolute one starts again.
func (s *scan) join(parts []value) value {
	var out value
	for i, p := range parts {
		if i == 0 {
			out = p
			out.texts, out.class = p.text(), ""
			continue
		}
		var all []string
		for _, t := range p.text() {
			if strings.HasPrefix(t, "/") {
				all = union(all, []string{t})
				continue
			}
			heads := slices.Clone(out.texts)
			for k, h := range heads {
				if !strings.HasSuffix(h, "/") && h != "" {
					heads[k] = h + "/"
				}
			}
			all = union(all, s.cat(heads, []string{t}))
		}
		out.texts = all
	}
	return out
}

// pattern turns a file name pattern's characters into marks.
func pattern(t string) (string, bool) { return patterns.Replace(t), true }

var patterns = strings.NewReplacer(anyName, anyName, anyChar, anyChar, charSet, charSet, "**/", "", "*", anyName, "?", anyChar, "[", charSet)
