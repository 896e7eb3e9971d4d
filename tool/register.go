package tool

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Table holds inert descriptors of tools, one entry for each registration. The zero value is empty and ready. It is safe for
// concurrent use.
type Table struct {
	mu      sync.Mutex
	entries []Entry
}

// Entry is one registration.
type Entry struct {
	Tool    Tool
	Package string // import path of the code that registered it
	File    string // base name of the file
	seq     int
}

// std is the process's table: every tool that registers itself is in it.
var std Table

// Default returns the process's table.
func Default() *Table { return &std }

// Register adds a tool to the process's table. It is called at top level, in init or in a package-level declaration. It opens,
// reads and starts nothing and never panics: whether a descriptor can be used is found out by the registry that takes it over.
func Register(t Tool) bool {
	std.add(t, 2)
	return true
}

// Register adds a tool to the table.
func (t *Table) Register(x Tool) { t.add(x, 2) }

func (t *Table) add(x Tool, skip int) {
	e := Entry{Tool: x}
	var pc [1]uintptr
	if runtime.Callers(skip+1, pc[:]) > 0 {
		f, _ := runtime.CallersFrames(pc[:]).Next()
		e.File = f.File[strings.LastIndexByte(f.File, '/')+1:]
		e.Package = packageOf(f.Function)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e.seq = len(t.entries)
	t.entries = append(t.entries, e)
}

// packageOf cuts the function off a qualified name such as example.org/a/b.init.0.
func packageOf(fn string) string {
	slash := strings.LastIndexByte(fn, '/') + 1
	if dot := strings.IndexByte(fn[slash:], '.'); dot >= 0 {
		return fn[:slash+dot]
	}
	return fn
}

// Entries returns what was registered, by import path, then file name, then order: the order that decides which of two
// registrations is the later one.
func (t *Table) Entries() []Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := slices.Clone(t.entries)
	slices.SortStableFunc(out, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.File, b.File), cmp.Compare(a.seq, b.seq))
	})
	return out
}
