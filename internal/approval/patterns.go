package approval

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/rules"
)

// The families of rows that a user wrote.
const (
	familyOwn  = "own"
	familyDeny = "own deny"
)

// UserRows are the user's own patterns, denials and the ids that are not to be asked about. The zero value and nil are none. It does
// not change.
type UserRows struct {
	own   []userRow
	quiet map[string]bool
}

type userRow struct {
	row   *rules.Row
	text  *pattern // on the folded line and on the source text; nil = any
	rough *pattern // on a text that can't be read as commands; nil = nothing
	prog  *pattern // on the program's name; nil = any
	args  *pattern // on the folded arguments, joined by spaces; nil = any
	why   string
}

// maxPattern bounds a user's expression, in bytes; more was not written by a person.
const maxPattern = 4096

// ReadPatterns adds approvals.patterns: (regex, description) pairs as lists of two, or maps of regex, description, deny, examples and
// not_examples. A row that is wrong in any way, an example that it fails included, is left out and told; the others work.
func (u *UserRows) ReadPatterns(items []Listed) (faults []Fault) {
	for _, item := range items {
		r, examples, err := readPattern(item.Value)
		if err == nil {
			err = examples.try(&r)
		}
		if err != nil {
			faults = append(faults, Fault{item.Line, "this row doesn't work: " + err.Error()})
			continue
		}
		if b := rules.ByName(r.row.Key); b != nil {
			faults = append(faults, Fault{item.Line, fmt.Sprintf("%q is also the key of the built-in row %s: an approval of one opens both", r.row.Key, b.ID)})
		}
		u.own = append(u.own, r)
	}
	return faults
}

// ReadDeny adds approvals.deny: globs, or maps of program, args, regex and reason.
func (u *UserRows) ReadDeny(items []Listed) (faults []Fault) {
	for _, item := range items {
		r, err := readDeny(item.Value)
		if err != nil {
			faults = append(faults, Fault{item.Line, "this row doesn't work: " + err.Error()})
			continue
		}
		u.own = append(u.own, r)
	}
	return faults
}

// ReadQuiet adds approvals.quiet: ids or keys of rows that are reported and not asked about.
func (u *UserRows) ReadQuiet(items []Listed) (faults []Fault) {
	for _, item := range items {
		name, _ := item.Value.(string)
		row := rules.ByName(name)
		if row == nil {
			row = u.byKey(name)
		}
		switch {
		case row == nil:
			faults = append(faults, Fault{item.Line, fmt.Sprintf("%q is the id of no row", fmt.Sprint(item.Value))})
		case row.Floor || alwaysAsked(row) || strings.HasPrefix(row.ID, "agent.") || row.Family == familyDeny:
			faults = append(faults, Fault{item.Line, fmt.Sprintf("%q can't be turned off", name)})
		default:
			if u.quiet == nil {
				u.quiet = map[string]bool{}
			}
			u.quiet[row.Key] = true
		}
	}
	return faults
}

// byKey finds a pattern of the user's.
func (u *UserRows) byKey(key string) *rules.Row {
	if u == nil {
		return nil
	}
	for i := range u.own {
		if u.own[i].row.Key == key && u.own[i].row.Family == familyOwn {
			return u.own[i].row
		}
	}
	return nil
}

type examples struct{ yes, no []string }

func readPattern(v any) (r userRow, e examples, err error) {
	var expr, key string
	deny := false
	switch v := v.(type) {
	case []any:
		if len(v) != 2 {
			return r, e, fmt.Errorf("a list has two elements, an expression and its description, not %d", len(v))
		}
		var ok, ok2 bool
		expr, ok = v[0].(string)
		key, ok2 = v[1].(string)
		if !ok || !ok2 {
			return r, e, fmt.Errorf("both the expression and its description are texts")
		}
	case map[string]any:
		f := fields{from: v}
		expr, key = f.text("regex"), f.text("description")
		deny = f.flag("deny")
		e = examples{f.texts("examples"), f.texts("not_examples")}
		if err := f.end("regex", "description", "deny", "examples", "not_examples"); err != nil {
			return r, e, err
		}
	default:
		return r, e, fmt.Errorf("it is neither a pair [regex, description] nor a map of regex and description")
	}
	if expr == "" || strings.TrimSpace(key) == "" {
		return r, e, fmt.Errorf("it has no regex or no description")
	}
	r.text, err = compile(expr)
	r.rough = r.text
	r.row = &rules.Row{ID: "own.pattern", Key: key, Family: familyOwn, Matches: expr, Remember: rules.RememberAll}
	if deny {
		r.row.ID, r.row.Family, r.row.Remember = "own.deny", familyDeny, rules.RememberNever
	}
	r.why = "matches your pattern " + expr
	return r, e, err
}

// try holds a row to its examples.
func (e examples) try(r *userRow) error {
	for _, x := range e.yes {
		if len(newMatching(Analyze(x, analysis.Input{}).Reading).find(r)) == 0 {
			return fmt.Errorf("its example %q doesn't match", x)
		}
	}
	for _, x := range e.no {
		if len(newMatching(Analyze(x, analysis.Input{}).Reading).find(r)) > 0 {
			return fmt.Errorf("%q of its not_examples matches", x)
		}
	}
	return nil
}

func readDeny(v any) (r userRow, err error) {
	r.row = &rules.Row{ID: "own.deny", Family: familyDeny}
	switch v := v.(type) {
	case string:
		if strings.Trim(v, "* ?") == "" {
			return r, fmt.Errorf("%q stands for every command", v)
		}
		if r.text, err = glob(v); err != nil {
			return r, err
		}
		r.row.Key, r.row.Matches, r.why = v, v, "your configuration forbids "+v
		r.rough, err = newPattern(`(?:\A|[^\w.-])` + globbed(v))
		return r, err
	case map[string]any:
		f := fields{from: v}
		program, args, expr, reason := f.text("program"), f.text("args"), f.text("regex"), f.text("reason")
		if err := f.end("program", "args", "regex", "reason"); err != nil {
			return r, err
		}
		if program == "" && args == "" && expr == "" {
			return r, fmt.Errorf("it has no program, args or regex")
		}
		r.row.Matches = strings.TrimSpace(program + " " + args + " " + expr)
		if r.row.Key = reason; reason == "" {
			r.row.Key = r.row.Matches
		}
		r.why = "your configuration forbids it: " + r.row.Key
		for _, part := range []struct {
			to   **pattern
			text string
			read func(string) (*pattern, error)
		}{{&r.prog, program, glob}, {&r.args, args, glob}, {&r.text, expr, compile}} {
			if part.text == "" {
				continue
			}
			if *part.to, err = part.read(part.text); err != nil {
				return r, err
			}
		}
		if program == "" && args == "" {
			r.rough = r.text
		}
		return r, nil
	}
	return r, fmt.Errorf("it is neither a glob such as \"terraform destroy*\" nor a map of program, args, regex, reason")
}

func compile(expr string) (*pattern, error) {
	if len(expr) > maxPattern {
		return nil, fmt.Errorf("the expression is longer than %d bytes", maxPattern)
	}
	re, err := newPattern(expr)
	if err != nil {
		return nil, fmt.Errorf("%w; the syntax is RE2's: no look-around, no back-references", err)
	}
	return re, nil
}

// glob reads * as any text and ? as any character. What it describes may go on behind a space: a denial of a command is one of
// the command with more arguments, too.
func glob(text string) (*pattern, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("the glob is longer than %d bytes", maxPattern)
	}
	return newPattern(`(?s)\A` + globbed(text) + `(?: .*)?\z`)
}

// globbed is the expression for a glob.
func globbed(text string) string {
	var b strings.Builder
	for _, r := range strings.TrimSpace(text) {
		switch r {
		case '*':
			b.WriteString(`.*`)
		case '?':
			b.WriteString(`.`)
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return b.String()
}

// silent tells whether a row is reported only.
func (u *UserRows) silent(r *rules.Row) bool {
	return u != nil && u.quiet[r.Key] && r.Family != familyDeny
}

// fields reads a map of a configuration and notes what is wrong with it.
type fields struct {
	from map[string]any
	err  error
}

func (f *fields) wrong(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

func (f *fields) text(name string) string {
	s, ok := f.from[name].(string)
	if v := f.from[name]; v != nil && !ok {
		f.wrong("%s is no text", name)
	}
	return s
}

func (f *fields) flag(name string) bool {
	b, ok := f.from[name].(bool)
	if v := f.from[name]; v != nil && !ok {
		f.wrong("%s is neither true nor false", name)
	}
	return b
}

func (f *fields) texts(name string) (out []string) {
	if f.from[name] == nil {
		return nil
	}
	list, ok := f.from[name].([]any)
	for _, v := range list {
		s, isText := v.(string)
		ok = ok && isText
		out = append(out, s)
	}
	if !ok {
		f.wrong("%s is no list of texts", name)
	}
	return out
}

func (f *fields) end(known ...string) error {
	for _, name := range slices.Sorted(maps.Keys(f.from)) {
		if !slices.Contains(known, name) {
			f.wrong("%q is none of its fields: %s", name, strings.Join(known, ", "))
		}
	}
	return f.err
}
