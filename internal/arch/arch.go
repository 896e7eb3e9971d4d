package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/hermes-runtime/hermes"

// Violation is a place that breaks a rule.
type Violation struct {
	Position string // file:line
	Text     string
}

// String gives place and rule.
func (v Violation) String() string { return v.Position + ": " + v.Text }

// Check holds every Go file below root to the rules. Directories named testdata and those with a leading dot or underscore are
// left out.
func Check(root string) ([]Violation, error) {
	c := &checker{root: root, fset: token.NewFileSet()}
	err := filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := e.Name()
		if e.IsDir() {
			if file != root && (name == "testdata" || name == "tools" || name[0] == '.' || name[0] == '_') {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(name, ".go") {
			return c.file(file)
		}
		return nil
	})
	return c.found, err
}

type checker struct {
	root  string
	fset  *token.FileSet
	found []Violation
}

func (c *checker) add(pos token.Pos, format string, args ...any) {
	p := c.fset.Position(pos)
	rel, _ := filepath.Rel(c.root, p.Filename)
	c.found = append(c.found, Violation{fmt.Sprintf("%s:%d", filepath.ToSlash(rel), p.Line), fmt.Sprintf(format, args...)})
}

func (c *checker) file(file string) error {
	f, err := parser.ParseFile(c.fset, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(c.root, file)
	if err != nil {
		return err
	}
	rel = filepath.ToSlash(rel)
	pkg := path.Dir(rel)
	if pkg == "." {
		pkg = ""
	}
	test := strings.HasSuffix(rel, "_test.go")
	layer, ok := layerOf(pkg)
	if !ok {
		c.add(f.Package, "package %s is in no layer: give it one in internal/arch", pkg)
		return nil
	}
	for _, i := range f.Imports {
		target, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return err
		}
		switch {
		case within(target, module):
			if !test {
				c.internal(i.Pos(), pkg, layer, strings.TrimPrefix(strings.TrimPrefix(target, module), "/"))
			}
		case strings.Contains(strings.SplitN(target, "/", 2)[0], "."):
			c.third(i.Pos(), pkg, target, test || slices.ContainsFunc(suites, func(s string) bool { return within(pkg, s) }))
		}
	}
	if !test && !slices.ContainsFunc(suites, func(s string) bool { return within(pkg, s) }) {
		c.literals(f, rel, pkg)
		c.expressions(f)
	}
	return nil
}

// expressions finds regular expressions that are compiled whenever the program starts, whether it needs them or not: the start of
// every call pays for them.
func (c *checker) expressions(f *ast.File) {
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); !ok || g.Tok != token.VAR {
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if _, later := n.(*ast.FuncLit); later {
				return false
			}
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "regexp" && strings.HasPrefix(s.Sel.Name, "MustCompile") {
				c.add(s.Pos(), "an expression is compiled at the start of the program: put it into a sync.OnceValue")
			}
			return true
		})
	}
}

func (c *checker) internal(pos token.Pos, pkg string, layer Layer, target string) {
	to, ok := layerOf(target)
	if !ok {
		return // reported where it stands
	}
	own := family(pkg) == family(target) && to == layer
	switch {
	case layer == Module && to == Module && family(pkg) != family(target):
		c.add(pos, "%s imports its sibling %s: modules don't know each other", pkg, target)
	case layer == Module && slices.ContainsFunc(onlyBackends, func(p string) bool { return within(target, p) }) && !within(pkg, "backend"):
		c.add(pos, "%s imports %s, which only backends may", pkg, target)
	case own, slices.Contains(mayImport[layer], to), excepted(pkg, target):
	default:
		c.add(pos, "%s may not import %s: a lower layer, or a service beside it", pkg, target)
	}
}

func excepted(pkg, target string) bool {
	for pair := range exceptions {
		if within(pkg, pair[0]) && within(target, pair[1]) {
			return true
		}
	}
	return false
}

func (c *checker) third(pos token.Pos, pkg, target string, test bool) {
	for _, lib := range testLibraries {
		if within(target, lib) {
			if !test {
				c.add(pos, "%s imports %s outside a test", pkg, target)
			}
			return
		}
	}
	for lib, places := range thirdParty {
		if !within(target, lib) {
			continue
		}
		if !slices.ContainsFunc(places, func(p string) bool { return within(pkg, p) }) && !test {
			c.add(pos, "%s may not import %s: it is listed for %s", pkg, target, strings.Join(places, ", "))
		}
		return
	}
	c.add(pos, "%s imports %s, which is not listed: docs/dependencies.md and internal/arch come first", pkg, target)
}

func (c *checker) literals(f *ast.File, rel, pkg string) {
	if tables[rel] != "" {
		return
	}
	for p := range tablesBelow {
		if within(pkg, p) {
			return
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if _, tag := n.(*ast.ImportSpec); tag {
			return false
		}
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		homes, reserved := names[text]
		if err == nil && reserved && !slices.ContainsFunc(homes, func(h string) bool { return within(pkg, h) }) {
			c.add(lit.Pos(), "%q stands outside %s: ask for an ability, not for a name", text, strings.Join(homes, ", "))
		}
		return true
	})
}
