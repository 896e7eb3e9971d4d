package skill

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/internal/config"
)

// What a skill may declare at most, in characters.
const (
	longestName        = 64
	longestDescription = 1024
)

// fence opens and closes the front matter.
const fence = "---"

// Meta is what the front matter of a skill says.
type Meta struct {
	Name        string
	Description string
	Category    string
	Tools       []string // that the skill says it needs
	Variables   []Variable
	Refused     []Refused // variables that no skill may have passed
	Credentials []string  // files below HERMES_HOME that its programs need
	Warnings    []string
}

// Parse reads the text of a SKILL.md: what it declares, and what stands below. path stands for the file in errors, each of which
// names a line.
func Parse(path, text string) (Meta, string, error) {
	text = strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff")
	declared, body, err := split(path, text)
	if err != nil {
		return Meta{}, "", err
	}
	d, err := config.Parse(path, "\n"+declared, nil) // in the place of the fence, so that lines count as in the file
	if err != nil {
		return Meta{}, "", err
	}
	r := reader{doc: d}
	m := Meta{Name: r.text("name"), Description: r.text("description"), Category: r.text("category"), Tools: r.words("allowed-tools")}
	m.Variables, m.Refused, m.Warnings = r.variables()
	m.Credentials = r.files()
	switch {
	case m.Name != "" && !isName(m.Name):
		r.wrong("name", "%q is no name: letters, digits, blanks, . _ and - make one, %d at most", m.Name, longestName)
	case m.Description == "":
		r.wrong("description", "there is none: say in a line or two what the skill is for")
	case utf8.RuneCountInString(m.Description) > longestDescription:
		r.wrong("description", "it has %d characters, and %d is the limit", utf8.RuneCountInString(m.Description), longestDescription)
	}
	return m, body, errors.Join(r.faults...)
}

// isName tells whether a name is made of what one is made of. It is no expression: compiled, that one would be the dearest thing of a start.
func isName(name string) bool {
	for i, r := range name {
		inner := unicode.Is(unicode.M, r) || strings.ContainsRune(" ._-", r)
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) && (i == 0 || !inner) {
			return false
		}
	}
	return name != "" && utf8.RuneCountInString(name) <= longestName
}

// split parts the declarations from the text.
func split(path, text string) (declared, body string, err error) {
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != fence {
		return "", "", &config.Problem{File: path, Line: 1, Column: 1, Text: "a skill begins with front matter: a line of ---, keys such as name and description, another line of ---"}
	}
	lines := strings.SplitAfter(rest, "\n")
	for i, line := range lines {
		if end := strings.TrimRight(line, " \t\n"); end == fence || end == "..." {
			return strings.Join(lines[:i], ""), strings.Join(lines[i+1:], ""), nil
		}
	}
	return "", "", &config.Problem{File: path, Line: 1, Column: 1, Text: "the front matter that begins here has no end: a line of ---"}
}

// reader takes values out of front matter.
type reader struct {
	doc    *config.Document
	faults []error
}

func (r *reader) wrong(key, format string, args ...any) {
	p := r.doc.Problem(key, fmt.Sprintf(format, args...))
	if p.Line == 0 { // a key that isn't there is missing from the front matter
		p.Line, p.Column = 1, 1
	}
	r.faults = append(r.faults, p)
}

// text is a value that is one text.
func (r *reader) text(key string) string {
	v, ok := r.doc.Get(key)
	if !ok {
		return ""
	}
	switch v.(type) {
	case []any, map[string]any:
		r.wrong(key, "it must be text")
		return ""
	}
	return strings.TrimSpace(fmt.Sprint(v))
}

// words is a value that is a list, or a text that holds one.
func (r *reader) words(key string) []string {
	v, _ := r.doc.Get(key)
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		var out []string
		for _, item := range v {
			out = append(out, fmt.Sprint(item))
		}
		return out
	}
	return strings.FieldsFunc(r.text(key), func(c rune) bool { return c == ',' || c == ' ' })
}
