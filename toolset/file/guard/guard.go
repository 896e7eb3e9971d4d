package guard

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/hermes-runtime/hermes/environment"
)

// Options says where the guarded files are.
type Options struct {
	FS        environment.FS     // of the environment, unguarded: only looks at files
	Home      environment.Path   // of the environment; "" = unknown
	Homes     []environment.Path // further homes that its files include
	Hermes    []environment.Path // directories that hold what HERMES_HOME holds: the profile's first
	Root      environment.Path   // HERMES_HOME of the default profile
	Profile   string             // the profile that works; "" = default
	Workspace environment.Path
	WriteRoot string // the only directory that may be written, ~ expanded; "" = any
	// CrossProfile lets the files of other profiles be changed.
	CrossProfile bool
}

// Guard judges the operations of one call. It is safe for concurrent use.
type Guard struct {
	Options
	ctx  context.Context
	list []anchored

	names, below []string // how names and paths begin that may be guarded against reading

	once   sync.Once // linked is set: what has several names is looked up once for a call
	linked map[identity][]*row
}

// anchored is a row in one directory. dir is "" for names in any.
type anchored struct {
	*row
	dir string
}

// New makes a guard that may look at files until ctx ends.
func New(ctx context.Context, o Options) *Guard {
	g := &Guard{Options: o, ctx: ctx}
	for i := range rows {
		r := &rows[i]
		switch r.at {
		case home:
			for _, d := range append([]environment.Path{o.Home}, o.Homes...) {
				if d != "" {
					g.list = append(g.list, anchored{r, clean(d)})
				}
			}
		case hermes:
			for _, d := range o.Hermes {
				g.list = append(g.list, anchored{r, clean(d)})
			}
		default:
			g.list = append(g.list, anchored{r, ""})
		}
	}
	for _, a := range g.list {
		if a.read {
			g.learn(a)
		}
	}
	return g
}

func clean(p environment.Path) string { return strings.TrimSuffix(string(p), "/") }

// Refusal is why an operation is refused. It matches environment.ErrGuarded.
type Refusal struct {
	Path string
	Op   environment.Operation
	Why  string
}

// Error says what is refused and why.
func (r *Refusal) Error() string {
	return fmt.Sprintf("%s is guarded against %s: %s", r.Path, verbs[r.Op], r.Why)
}

// Is tells that it is a refusal of a guard.
func (r *Refusal) Is(target error) bool { return target == environment.ErrGuarded }

var verbs = map[environment.Operation]string{environment.OpRead: "reading", environment.OpWrite: "writing"}

func refuse(p, why string, op environment.Operation) error {
	return &Refusal{Path: p, Op: op, Why: why}
}

// Judge is the environment.Guard: it decides by the resolved path, by the identity of the file, and for writes by the directory that
// may be written and by the profile.
func (g *Guard) Judge(p environment.Path, i *environment.FileInfo, op environment.Operation) error {
	s := string(p)
	if why := g.byPath(s, op); why != "" {
		return refuse(s, why, op)
	}
	if why := g.folded(strings.ToLower(s), op); why != "" && g.foldsCase(s) {
		return refuse(s, why, op)
	}
	if i != nil && i.Links > 1 && i.Mode.IsRegular() {
		if why := g.byIdentity(*i, op); why != "" {
			return refuse(s, why, op)
		}
	}
	if op == environment.OpWrite {
		return g.judgeWrite(s)
	}
	return nil
}

// Hidden reports whether a search must pass over p. It looks at the path alone, and at most paths only briefly: a search asks it
// about each file of a tree.
func (g *Guard) Hidden(p environment.Path) bool {
	s := string(p)
	return g.suspicious(s) && g.byPath(s, environment.OpRead) != ""
}

// suspicious is false for paths that no row against reading can cover.
func (g *Guard) suspicious(p string) bool {
	name := p[strings.LastIndexByte(p, '/')+1:]
	for _, h := range g.names {
		if strings.HasPrefix(name, h) {
			return true
		}
	}
	for _, d := range g.below {
		if strings.HasPrefix(p, d) {
			return true
		}
	}
	return false
}

// learn notes how the paths begin that a row against reading may cover.
func (g *Guard) learn(a anchored) {
	add := func(list *[]string, s string) {
		if !slices.Contains(*list, s) {
			*list = append(*list, s)
		}
	}
	for _, p := range a.patterns {
		literal := p
		if i := strings.IndexAny(p, "*?["); i >= 0 {
			literal = p[:i]
		}
		switch a.at {
		case anywhere:
			add(&g.names, literal)
		case absolute:
			add(&g.below, literal[:strings.IndexByte(literal[1:], '/')+2])
		default:
			add(&g.below, a.dir+"/")
		}
	}
}

func (g *Guard) byPath(p string, op environment.Operation) string {
	name := p[strings.LastIndexByte(p, '/')+1:]
	for _, a := range g.list {
		if !a.refuses(op) {
			continue
		}
		rest, ok := p, true
		switch a.at {
		case anywhere:
			rest = name
		case home, hermes:
			if rest, ok = strings.CutPrefix(p, a.dir+"/"); !ok {
				continue
			}
		}
		if a.covers(rest) {
			return a.why
		}
	}
	return ""
}

// folded is byPath with every pattern and directory in lower case; p is.
func (g *Guard) folded(p string, op environment.Operation) string {
	for _, a := range g.list {
		if !a.refuses(op) || a.at != home && a.at != hermes {
			continue
		}
		if rest, ok := strings.CutPrefix(p, strings.ToLower(a.dir)+"/"); ok && a.covers(rest) {
			return a.why
		}
	}
	return g.byPath(p, op)
}

// foldsCase reports whether the file system takes names that differ by case for one, around p.
func (g *Guard) foldsCase(p string) bool {
	for d := p; d != "" && d != "/"; d = path.Dir(d) {
		name := path.Base(d)
		info, err := g.FS.Stat(g.ctx, environment.Path(d))
		if err != nil || swapCase(name) == name {
			continue
		}
		other, err := g.FS.Stat(g.ctx, environment.Path(path.Join(path.Dir(d), swapCase(name))))
		return err == nil && other.Same(info)
	}
	return false
}

func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s)
}

func (r *row) refuses(op environment.Operation) bool {
	return op == environment.OpRead && r.read || op == environment.OpWrite && r.write
}

// covers matches a path, relative to the row's anchor.
func (r *row) covers(p string) bool {
	return matchesAny(r.patterns, p) && !matchesAny(r.except, p)
}

func matchesAny(patterns []string, p string) bool {
	for _, pattern := range patterns {
		if matches(pattern, p) {
			return true
		}
	}
	return false
}

// matches compares name by name. Patterns without wildcards, most of them, cost a comparison.
func matches(pattern, p string) bool {
	wild := strings.ContainsAny(pattern, "*?[")
	if dir, below := strings.CutSuffix(pattern, "/"); below {
		if n := strings.Count(pattern, "/"); wild { // compared with as many names of p
			return matches(dir, first(p, n))
		}
		return p == dir || len(p) > len(dir) && p[len(dir)] == '/' && p[:len(dir)] == dir
	}
	if !wild {
		return pattern == p
	}
	literal := strings.IndexAny(pattern, "*?[")
	if !strings.HasPrefix(p, pattern[:literal]) {
		return false
	}
	ok, err := path.Match(strings.ReplaceAll(pattern, "[!", "[^"), p)
	return err == nil && ok
}

// first is the first n names of a path.
func first(p string, n int) string {
	for i := range len(p) {
		if p[i] == '/' {
			if n--; n == 0 {
				return p[:i]
			}
		}
	}
	return p
}

// judgeWrite holds writes within the one directory that may be written, and away from other profiles.
func (g *Guard) judgeWrite(p string) error {
	if g.WriteRoot != "" {
		root, err := g.FS.Resolve(g.ctx, g.WriteRoot, g.Home)
		if err != nil {
			return refuse(p, fmt.Sprintf("the only directory that may be written, %s, can't be resolved: %v", g.WriteRoot, err), environment.OpWrite)
		}
		if !within(p, string(root)) {
			return refuse(p, fmt.Sprintf("only %s may be written (HERMES_WRITE_SAFE_ROOT)", root), environment.OpWrite)
		}
	}
	if g.CrossProfile {
		return nil
	}
	owner, ok := g.profileOf(p)
	if own := profileName(g.Profile); ok && owner != own {
		return refuse(p, fmt.Sprintf("it belongs to profile %q, and this is profile %q; cross_profile: true lets it be changed", owner, own), environment.OpWrite)
	}
	return nil
}

func profileName(s string) string {
	if s == "" {
		return "default"
	}
	return s
}

// profileOf tells to which profile a path belongs, if it is one of those that profiles keep for themselves.
func (g *Guard) profileOf(p string) (string, bool) {
	root := clean(g.Root)
	if root == "" {
		return "", false
	}
	rest, ok := strings.CutPrefix(p, root+"/")
	if !ok {
		return "", false
	}
	owner := profileName("")
	if below, ok := strings.CutPrefix(rest, "profiles/"); ok {
		owner, rest, _ = strings.Cut(below, "/")
	}
	for _, d := range profileDirs {
		if within(rest, d) {
			return owner, true
		}
	}
	return "", false
}

func within(p, dir string) bool {
	dir = strings.TrimSuffix(dir, "/")
	return p == dir || len(p) > len(dir) && p[len(dir)] == '/' && p[:len(dir)] == dir
}
