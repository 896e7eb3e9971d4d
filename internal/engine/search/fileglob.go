package search

import (
	"path/filepath"
	"strings"
)

// fileGlob chooses the files of a search. Like an option of ripgrep's it is anchored at the root if it has a slash, matches names
// if not, and excludes if it begins with an exclamation mark; unlike there it never brings back what ignore rules keep out.
type fileGlob struct {
	text    string // without the mark
	glob    *glob  // nil = all files
	not     bool
	byName  bool
	dirOnly bool // ends with a slash
	hidden  bool // names hidden files on purpose
}

func newFileGlob(text string) (*fileGlob, error) {
	g := &fileGlob{}
	if text == "" {
		return g, nil
	}
	body := text
	if body[0] == '!' {
		g.not = true
		body = body[1:]
	}
	g.text = body
	g.dirOnly = strings.HasSuffix(body, "/")
	body = strings.TrimSuffix(body, "/")
	g.byName = !strings.Contains(body, "/")
	body = strings.TrimPrefix(body, "/")
	if body == "" {
		return nil, &Error{What: "glob", Text: text, At: -1, Err: "it names nothing"}
	}
	compiled, err := compileGlob(body)
	if err != nil {
		err.Text = text
		return nil, err
	}
	g.glob = compiled
	g.hidden = !g.not && namesHidden(compiled)
	return g, nil
}

// namesHidden reports whether a part of the pattern begins with a written dot.
func namesHidden(g *glob) bool {
	for _, t := range g.alternatives {
		start := true // of a part
		for _, k := range t {
			if k.kind == literal {
				if start && k.text[0] == '.' || strings.Contains(k.text, "/.") {
					return true
				}
				start = strings.HasSuffix(k.text, "/")
			} else {
				start = k.kind == anyParts
			}
		}
	}
	return false
}

// admits reports whether the file rel, relative to the root, is chosen.
func (g *fileGlob) admits(rel string) bool {
	if g.glob == nil {
		return true
	}
	rel = filepath.ToSlash(rel)
	if g.not {
		return !g.excludes(rel)
	}
	if g.dirOnly {
		return false
	}
	if g.hidden {
		return g.admitsHidden(rel)
	}
	return g.glob.match(g.subject(rel), plainMode)
}

// subject is the part of rel that the pattern describes.
func (g *fileGlob) subject(rel string) string {
	if g.byName {
		return rel[strings.LastIndexByte(rel, '/')+1:]
	}
	return rel
}

// admitsHidden lets hidden names through if the pattern writes their dot.
func (g *fileGlob) admitsHidden(rel string) bool {
	if g.byName && hasHiddenFrom(rel[:strings.LastIndexByte(rel, '/')+1], 0) {
		return false
	}
	return g.glob.match(g.subject(rel), visible)
}

// excludes reports whether rel or a directory above it is excluded.
func (g *fileGlob) excludes(rel string) bool {
	for i := 0; i <= len(rel); i++ {
		if i < len(rel) && rel[i] != '/' {
			continue
		}
		if (i < len(rel) || !g.dirOnly) && g.glob.match(g.subject(rel[:i]), plainMode) {
			return true
		}
	}
	return false
}

// nameType is a pattern for the last part of names that every admitted file fits, in a form that ripgrep's file types take and mean
// alike; "" if there is none.
func (g *fileGlob) nameType() string {
	if g.glob == nil || g.not || g.hidden || strings.ContainsAny(g.text, ":\\[?") {
		return ""
	}
	name := g.text[strings.LastIndexByte(g.text, '/')+1:]
	if name == "" || name == "**" || name == "*" || strings.Count(name, "{") != strings.Count(name, "}") { // cut within a brace
		return ""
	}
	return name
}
