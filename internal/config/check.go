package config

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// Section is a module's part of the configuration: where it lies, and a fresh struct that Decode can fill. Several modules may
// share a path; a key is known if one of them knows it.
type Section struct {
	Path string
	New  func() any
}

var registered struct {
	sync.Mutex
	list []Section
}

// Sectioned is a settings struct that knows where it stands: *T has the method, T the fields that Decode fills.
type Sectioned interface {
	Section() string // dotted path
}

// Register adds the sections of a module to the process's table. It is called from init and reads nothing.
func Register(fresh ...func() Sectioned) {
	registered.Lock()
	defer registered.Unlock()
	for _, f := range fresh {
		registered.list = append(registered.list, Section{Path: f().Section(), New: func() any { return f() }})
	}
}

// Registered returns the sections of all modules that are linked in, by path.
func Registered() []Section {
	registered.Lock()
	defer registered.Unlock()
	out := slices.Clone(registered.list)
	slices.SortStableFunc(out, func(a, b Section) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// Key is one setting that some section knows.
type Key struct {
	Path    string
	Type    string
	Default string
	Env     string
	Help    string
	Module  string // the package whose setting it is; several may read one
	Open    bool   // holds keys of the user's own
}

// Keys lists every setting of the sections by path, then by module.
func Keys(sections []Section) []Key {
	var out []Key
	for _, s := range sections {
		collect(s.Path, reflect.TypeOf(s.New()).Elem(), &out)
	}
	slices.SortStableFunc(out, func(a, b Key) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Module, b.Module))
	})
	return out
}

func collect(at string, t reflect.Type, out *[]Key) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case opts == "inline":
			collect(at, f.Type, out)
		case name == "" || name == "-":
		case f.Type.Kind() == reflect.Struct:
			collect(join(at, name), f.Type, out)
		default:
			*out = append(*out, Key{
				Path: join(at, name), Type: typeName(f.Type), Default: f.Tag.Get("default"), Env: f.Tag.Get("env"),
				Help: f.Tag.Get("help"), Module: path.Base(t.PkgPath()), Open: f.Type.Kind() == reflect.Map || f.Type.Kind() == reflect.Interface,
			})
		}
	}
}

func typeName(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "seconds"
	case t.Kind() == reflect.Pointer:
		return typeName(t.Elem())
	case t.Kind() == reflect.Slice:
		return "list of " + typeName(t.Elem())
	case t.Kind() == reflect.Map:
		return "map"
	case t.Kind() == reflect.Interface:
		return "any"
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		return "integer"
	case t.Kind() == reflect.Float64:
		return "number"
	case t.Kind() == reflect.Bool:
		return "boolean"
	}
	return t.Kind().String()
}

// Check lists every problem of the file: bad values, unknown keys with the nearest known one, known keys in the wrong place.
// reserved are top-level keys that belong to areas this build does not have.
func (d *Document) Check(sections []Section, reserved []string) []*Problem {
	var out []*Problem
	for _, s := range sections {
		for _, err := range flatten(d.Decode(s.Path, s.New())) {
			if p, ok := errors.AsType[*Problem](err); ok {
				out = append(out, p)
			} else {
				out = append(out, &Problem{File: d.Path, Key: s.Path, Text: err.Error()})
			}
		}
	}
	if d.root != nil {
		k := newKnown(Keys(sections))
		for _, r := range reserved {
			k.open[r] = true
		}
		d.unknown(d.root, "", k, &out)
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Line < out[j].Line })
	return out
}

func flatten(err error) []error {
	if err == nil {
		return nil
	}
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, e := range j.Unwrap() {
			out = append(out, flatten(e)...)
		}
		return out
	}
	return []error{err}
}

type known struct {
	leaf, open, inner map[string]bool
	all               []string
	byLast            map[string][]string
}

func newKnown(keys []Key) *known {
	k := &known{leaf: map[string]bool{}, open: map[string]bool{}, inner: map[string]bool{}, byLast: map[string][]string{}}
	for _, key := range keys {
		k.leaf[key.Path] = true
		k.open[key.Path] = key.Open
		k.all = append(k.all, key.Path)
		last := key.Path[strings.LastIndexByte(key.Path, '.')+1:]
		k.byLast[last] = append(k.byLast[last], key.Path)
		for p := key.Path; strings.Contains(p, "."); {
			p = p[:strings.LastIndexByte(p, '.')]
			k.inner[p] = true
		}
	}
	return k
}

func (d *Document) unknown(m *ast.MappingNode, path string, k *known, out *[]*Problem) {
	for _, v := range m.Values {
		key := keyOf(v)
		full := join(path, key)
		switch {
		case k.open[full] || k.leaf[full]:
		case k.inner[full]:
			if sub, ok := mapping(v.Value); ok {
				d.unknown(sub, full, k, out)
			}
		default:
			*out = append(*out, at(d.Path, v.Key, full, k.advise(key, full)))
		}
	}
}

func (k *known) advise(key, full string) string {
	if places := k.byLast[key]; len(places) > 0 {
		return fmt.Sprintf("unknown key; did you mean %s? It is in the wrong place", strings.Join(places, " or "))
	}
	names := append([]string{}, k.all...)
	for p := range k.inner {
		names = append(names, p)
	}
	if near := Nearest(full, names); near != "" {
		return fmt.Sprintf("unknown key; did you mean %s?", near)
	}
	return "unknown key, and there is none like it; `hermes config get` lists those that there are"
}

// Nearest returns the name that is closest to s, "" if none is close: at most a third of its letters differ.
func Nearest(s string, names []string) string {
	best, bestAt := "", len([]rune(s))/3+1
	sorted := append([]string{}, names...)
	sort.Strings(sorted)
	for _, n := range sorted {
		if dist := distance(strings.ToLower(s), strings.ToLower(n), bestAt); dist < bestAt {
			best, bestAt = n, dist
		}
	}
	return best
}

// distance is the edit distance with swaps of neighbours, at most limit.
func distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if len(x)-len(y) >= limit || len(y)-len(x) >= limit {
		return limit
	}
	before, prev, cur := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		cur[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(y)]
}
