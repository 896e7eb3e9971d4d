package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/tool"
)

func init() { tool.Register(searchFiles{}) }

// searchFiles finds text or files.
type searchFiles struct{}

const searchDescription = `Search files where the session works: their contents by a regular expression (target content), or their names by a glob (target files; newest first).

Patterns are ripgrep's: case-sensitive, (?i) makes them insensitive. Hidden and ignored files (.gitignore) and binary files are left out. truncated says that there is more, next_offset where to go on. Use it instead of grep, rg, find or ls in the terminal. A path in the result can be given to read_file and patch as it is.`

const searchSchema = `{
  "name": "search_files",
  "parameters": {
    "type": "object",
    "properties": {
      "pattern": {"type": "string", "description": "A regular expression for contents; for names a glob, or a word that they contain."},
      "target": {"type": "string", "enum": ["content", "files", "grep", "find"], "default": "content", "description": "What is searched: contents or names. grep and find are other words for them."},
      "path": {"type": "string", "default": ".", "description": "The directory or file to search in."},
      "file_glob": {"type": ["string", "null"], "description": "Only files that match, such as *.py, src/**, {*.c,*.h} or !*_test.go."},
      "limit": {"type": ["integer", "null"], "description": "Results of one page, default 50."},
      "offset": {"type": ["integer", "null"], "description": "Results to pass over, default 0."},
      "output_mode": {"type": "string", "enum": ["content", "files_only", "count"], "default": "content", "description": "Of contents: the matching lines, the files that have any, or their number in each file."},
      "context": {"type": ["integer", "null"], "description": "Lines shown before and after each match, default 0, at most 20."}
    },
    "required": ["pattern"],
    "additionalProperties": false
  }
}`

// Spec declares the tool.
func (searchFiles) Spec() tool.Spec {
	return tool.Spec{
		Name: "search_files", Toolset: toolset, Emoji: "🔎", Description: searchDescription, Schema: json.RawMessage(searchSchema),
		Effects: tool.ReadOnly,
		Aliases: map[string]string{"query": "pattern", "regex": "pattern", "glob": "file_glob", "include": "file_glob", "directory": "path", "max_results": "limit"},
	}
}

type searchArgs struct {
	Pattern    string `json:"pattern"`
	Target     string `json:"target"`
	Path       string `json:"path"`
	FileGlob   string `json:"file_glob"`
	Limit      number `json:"limit"`
	Offset     number `json:"offset"`
	OutputMode string `json:"output_mode"`
	Context    number `json:"context"`
}

// Defaults and bounds of a search.
const (
	defaultMatches = 50
	maxContext     = 20
)

// targetNames are the words that mean a search for names.
var targetNames = map[string]bool{"files": true, "find": true}

func readSearch(c *tool.Call) (searchArgs, error) {
	a := searchArgs{Path: "."}
	if err := decode(c, &a); err != nil {
		return a, err
	}
	if a.Path == "" {
		a.Path = "."
	}
	if a.Pattern == "" {
		return a, refuse("pattern is empty: give what is to be found")
	}
	return a, checkPath("path", a.Path)
}

// Scope names the root.
func (searchFiles) Scope(_ context.Context, c *tool.Call) ([]tool.Access, error) {
	a, err := readSearch(c)
	if err != nil {
		return nil, err
	}
	return []tool.Access{{Path: a.Path}}, nil
}

// Risks refuses what the name alone shows.
func (searchFiles) Risks(_ context.Context, c *tool.Call) ([]tool.Action, error) {
	a, err := readSearch(c)
	if err != nil {
		return nil, declined(err)
	}
	return nil, guardName(c, a.Path, environment.OpRead)
}

// searchResult is what was found.
type searchResult struct {
	Matches      *[]foundLine   `json:"matches,omitempty"`
	Files        *[]string      `json:"files,omitempty"`
	Counts       map[string]int `json:"counts,omitempty"`
	Total        int            `json:"total_count"`
	TotalIsMin   bool           `json:"total_is_minimum,omitempty"`
	Truncated    bool           `json:"truncated"`
	NextOffset   int            `json:"next_offset,omitempty"`
	LimitReason  string         `json:"limit_reason,omitempty"`
	Engine       string         `json:"engine"`
	ResolvedPath string         `json:"resolved_path,omitempty"`
	Hint         string         `json:"_hint,omitempty"`
	Warning      string         `json:"_warning,omitempty"`
}

// foundLine is one match. Only a search for names leaves out everything but the path.
type foundLine struct {
	Path      string      `json:"path"`
	Line      int         `json:"line,omitempty"`
	Content   *string     `json:"content,omitempty"`
	Column    int         `json:"column,omitempty"`
	Truncated bool        `json:"content_truncated,omitempty"`
	Context   []foundNear `json:"context,omitempty"`
}

type foundNear struct {
	Line    int    `json:"line"`
	Content string `json:"content"`
}

// Run searches.
func (searchFiles) Run(ctx context.Context, c *tool.Call) (any, error) {
	v, err := search(ctx, c)
	if err != nil {
		return answer(ctx, err)
	}
	return v, nil
}

func search(ctx context.Context, c *tool.Call) (*searchResult, error) {
	a, err := readSearch(c)
	if err != nil {
		return nil, err
	}
	w, err := begin(ctx, c, false)
	if err != nil {
		return nil, err
	}
	key := "search\x00" + string(c.Args)
	if n := w.book.Peek(key); n > 3 && c.Caller == tool.CallerModel {
		w.book.Ask(key, 0)
		return nil, &refused{failure{
			Error: fmt.Sprintf("This is the %dth time in a row that you make the same search. Its result is above: go on with it, or search for something else.", n),
		}, tool.ErrTypeGuardrailBlock}
	}
	t, err := w.resolve(a.Path)
	if err != nil {
		return nil, err
	}
	res, err := w.search(t, a)
	if err != nil {
		return nil, err
	}
	if c.Caller != tool.CallerModel {
		w.book.Other()
	} else if w.book.Ask(key, 0).Asked == 3 {
		res.Warning = lines(res.Warning, "this is the third time in a row that you make this search; the next time is refused")
	}
	return res, nil
}

// search asks the place.
func (w *work) search(t target, a searchArgs) (*searchResult, error) {
	s, ok := w.place.Environment.(environment.Searcher)
	if !ok {
		return nil, fmt.Errorf("search %s: %w", t.name, environment.ErrUnsupported)
	}
	q := w.searchQuery(t, a)
	m, err := s.Search(w.ctx, q)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &refused{failure{Error: describe(err), ResolvedPath: string(t.path), Similar: w.similar(t)}, tool.ErrTypeTool}
	case err != nil:
		return nil, err
	}
	shown := len(m.Matches) + len(m.Files) + len(m.Counts)
	m = w.withoutGuarded(m)
	res := &searchResult{
		Total: m.Total, TotalIsMin: m.TotalIsMin, Truncated: m.More || m.TimedOut, Engine: m.Engine, ResolvedPath: string(t.path),
	}
	w.found(res, q, named{root: t.path, given: a.Path}, m)
	if res.Truncated {
		res.NextOffset, res.LimitReason = q.Offset+shown, "limit"
		if m.TimedOut {
			res.LimitReason = "search_timeout"
		}
	}
	w.adviseSearch(res, q, m)
	res.Warning = lines(t.warn, res.Warning)
	return res, nil
}

func (w *work) searchQuery(t target, a searchArgs) environment.Query {
	q := environment.Query{
		Pattern: a.Pattern, Names: targetNames[a.Target], Root: t.path, Glob: a.FileGlob, Mode: environment.SearchMode(a.OutputMode),
		Limit: a.Limit.or(defaultMatches, 1, 0), Offset: a.Offset.or(0, 0, 0), Context: a.Context.or(0, 0, maxContext),
		Timeout: w.config.Search.Timeout, Skip: w.guard.Hidden,
	}
	if q.Mode == "" {
		q.Mode = environment.SearchContent
	}
	if w.call.Caller == tool.CallerScript && !a.Limit.given {
		q.Limit = 0
	}
	return q
}

// found puts what was found into the result, in the shape of the mode.
func (w *work) found(res *searchResult, q environment.Query, n named, m environment.Matches) {
	switch {
	case q.Names || q.Mode == environment.SearchFiles:
		files := make([]string, 0, len(m.Files))
		for _, p := range m.Files {
			files = append(files, n.of(p))
		}
		res.Files = &files
		if w.call.Caller == tool.CallerScript {
			matches := make([]foundLine, 0, len(files))
			for _, f := range files {
				matches = append(matches, foundLine{Path: f})
			}
			res.Matches = &matches
		}
	case q.Mode == environment.SearchCount:
		res.Counts = make(map[string]int, len(m.Counts))
		for _, c := range m.Counts {
			res.Counts[n.of(c.Path)] = c.Count
		}
	default:
		matches := make([]foundLine, 0, len(m.Matches))
		for _, f := range m.Matches {
			matches = append(matches, lineOf(n, f))
		}
		res.Matches = &matches
	}
}

func lineOf(n named, m environment.Match) foundLine {
	f := foundLine{Path: n.of(m.Path), Line: m.Line, Content: &m.Text, Column: m.Column, Truncated: m.Truncated}
	for _, c := range m.Context {
		f.Context = append(f.Context, foundNear{Line: c.Line, Content: c.Text})
	}
	return f
}

func (w *work) adviseSearch(res *searchResult, q environment.Query, m environment.Matches) {
	if m.Unreadable > 0 {
		res.Warning = lines(res.Warning, strconv.Itoa(m.Unreadable)+" files could not be read and were not searched")
	}
	if m.TimedOut {
		res.Hint = lines(res.Hint, fmt.Sprintf("the search was stopped after %s: a narrower path or file_glob makes it faster", q.Timeout))
	}
	if m.Total == 0 && m.Ignored > 0 {
		res.Hint = lines(res.Hint, fmt.Sprintf("nothing matched, but %d files are left out by ignore rules; give one as path to search it all the same", m.Ignored))
	}
}

// named writes paths the way the call wrote its root.
type named struct {
	root  environment.Path
	given string
}

// of gives a path that works as path of the other tools: relative if the root was.
func (n named) of(p environment.Path) string {
	given := n.given
	if !relative(given) || strings.Contains(given, "/../") || strings.HasSuffix(given, "/..") && strings.Trim(given, "./") != "" {
		return string(p)
	}
	if p == n.root {
		return path.Clean(given)
	}
	rest, ok := strings.CutPrefix(string(p), strings.TrimSuffix(string(n.root), "/")+"/")
	if !ok {
		return string(p)
	}
	return path.Join(given, rest)
}

// withoutGuarded drops matches in files that are other names of guarded ones: the search itself judges names only.
func (w *work) withoutGuarded(m environment.Matches) environment.Matches {
	verdicts := map[environment.Path]bool{}
	bad := func(p environment.Path) bool {
		v, known := verdicts[p]
		if !known {
			info, err := w.fs.Stat(w.ctx, p)
			v = err == nil && info.Links > 1 && w.guard.Judge(p, &info, environment.OpRead) != nil
			verdicts[p] = v
		}
		return v
	}
	before := len(m.Matches) + len(m.Files) + len(m.Counts)
	m.Matches = dropped(m.Matches, func(x environment.Match) bool { return bad(x.Path) })
	m.Files = dropped(m.Files, bad)
	m.Counts = dropped(m.Counts, func(x environment.FileCount) bool { return bad(x.Path) })
	m.Total -= before - len(m.Matches) - len(m.Files) - len(m.Counts)
	return m
}

func dropped[T any](list []T, bad func(T) bool) []T {
	out := list[:0]
	for _, x := range list {
		if !bad(x) {
			out = append(out, x)
		}
	}
	return out
}
