package schema

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxWords bounds what is put into words about one node, in characters, so that a large choice doesn't drown the description it is added to.
const maxWords = 600

// wordsDepth bounds how far nested objects are described.
const wordsDepth = 4

// Words says in a few words what a value must be to fit a schema node, e.g. `integer from 1 to 10` or `one of "a", "b"`.
func Words(m map[string]any) string { return cut(words(m, 0), maxWords) }

func cut(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}

func words(v any, depth int) string {
	m, ok := v.(map[string]any)
	if !ok {
		if v == false {
			return "nothing"
		}
		return "anything"
	}
	if depth > wordsDepth {
		return "…"
	}
	parts := limitWords(m)
	parts = append(parts, objectWords(m, depth)...)
	parts = append(parts, choiceWords(m, depth)...)
	head := typeWords(m, depth)
	switch {
	case head == "" && len(parts) == 0:
		return "anything"
	case len(parts) == 0:
		return head
	case head == "":
		return strings.Join(parts, ", ")
	}
	return head + " " + strings.Join(parts, ", ")
}

// typeWords names the values or the type.
func typeWords(m map[string]any, depth int) string {
	if c, ok := m["const"]; ok {
		return literal(c)
	}
	if enum, ok := m["enum"].([]any); ok {
		return "one of " + list(enum, ", ")
	}
	var names []string
	switch t := m["type"].(type) {
	case string:
		names = []string{t}
	case []any:
		names = stringsOf(t)
	}
	if m["nullable"] == true {
		names = append(names, "null")
	}
	for i, name := range names {
		if items, ok := m["items"].(map[string]any); ok && name == "array" && len(items) > 0 {
			names[i] = "array of (" + words(items, depth+1) + ")"
		}
	}
	if ref, ok := m["$ref"].(string); ok && len(names) == 0 {
		return strings.TrimPrefix(defName(ref), "#")
	}
	return strings.Join(names, " or ")
}

// literal writes a value as JSON.
func literal(v any) string {
	text, err := Encode(v)
	if err != nil {
		return "?"
	}
	return cut(string(text), 80)
}

func list(values []any, sep string) string {
	const most = 40
	var b strings.Builder
	for i, v := range values {
		if i == most {
			fmt.Fprintf(&b, "%s… (%d in all)", sep, len(values))
			break
		}
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(literal(v))
	}
	return b.String()
}

// limitPhrases are the keywords of one plain value each, in the order in which they read best.
var limitPhrases = []struct{ keyword, phrase string }{
	{"minimum", "at least %s"}, {"maximum", "at most %s"}, {"exclusiveMinimum", "above %s"}, {"exclusiveMaximum", "below %s"},
	{"multipleOf", "a multiple of %s"},
	{"minLength", "at least %s characters"}, {"maxLength", "at most %s characters"}, {"pattern", "matching the pattern %s"}, {"format", "in %s format"},
	{"minItems", "at least %s items"}, {"maxItems", "at most %s items"}, {"minProperties", "at least %s members"}, {"maxProperties", "at most %s members"},
	{"minContains", "at least %s matching items"}, {"maxContains", "at most %s matching items"},
	{"contentEncoding", "encoded as %s"}, {"contentMediaType", "of media type %s"},
}

func limitWords(m map[string]any) []string {
	var parts []string
	for _, l := range limitPhrases {
		if v, ok := m[l.keyword]; ok {
			text := fmt.Sprint(v)
			parts = append(parts, fmt.Sprintf(l.phrase, text))
		}
	}
	if m["uniqueItems"] == true {
		parts = append(parts, "no item twice")
	}
	return parts
}

func objectWords(m map[string]any, depth int) []string {
	var parts []string
	if req := stringsOf(m["required"]); len(req) > 0 {
		parts = append(parts, "with "+quoted(req)+" given")
	}
	if props, ok := m["properties"].(map[string]any); ok {
		var fields []string
		for _, name := range sortedKeys(props) {
			if w := words(props[name], depth+1); w != "anything" {
				fields = append(fields, strconv.Quote(name)+" being "+w)
			}
		}
		if len(fields) > 0 {
			parts = append(parts, "with "+strings.Join(fields, "; "))
		}
	}
	for _, l := range []struct{ keyword, phrase string }{
		{"propertyNames", "its names being %s"}, {"contains", "containing %s"}, {"unevaluatedProperties", "further members being %s"},
		{"unevaluatedItems", "further items being %s"},
	} {
		if sub, ok := m[l.keyword]; ok {
			parts = append(parts, fmt.Sprintf(l.phrase, words(sub, depth+1)))
		}
	}
	switch extra := m["additionalProperties"].(type) {
	case bool:
		if !extra {
			parts = append(parts, "no other members")
		}
	case map[string]any:
		parts = append(parts, "other members being "+words(extra, depth+1))
	}
	if pats, ok := m["patternProperties"].(map[string]any); ok {
		for _, p := range sortedKeys(pats) {
			parts = append(parts, "members named like "+p+" being "+words(pats[p], depth+1))
		}
	}
	if prefix, ok := m["prefixItems"].([]any); ok {
		parts = append(parts, "its items in order being "+branches(prefix, depth, ", then "))
	}
	if deps, ok := m["dependentRequired"].(map[string]any); ok {
		for _, k := range sortedKeys(deps) {
			parts = append(parts, fmt.Sprintf("with %s given if %q is", quoted(stringsOf(deps[k])), k))
		}
	}
	return parts
}

func choiceWords(m map[string]any, depth int) []string {
	var parts []string
	for _, l := range []struct{ keyword, phrase, sep string }{
		{"anyOf", "at least one of: %s", " / "}, {"oneOf", "exactly one of: %s", " / "}, {"allOf", "all of: %s", " and "},
	} {
		if subs, ok := m[l.keyword].([]any); ok {
			parts = append(parts, fmt.Sprintf(l.phrase, branches(subs, depth, l.sep)))
		}
	}
	if not, ok := m["not"]; ok {
		parts = append(parts, "but not: "+words(not, depth+1))
	}
	if cond, ok := m["if"]; ok {
		if then, ok := m["then"]; ok {
			parts = append(parts, fmt.Sprintf("if it is (%s) then also (%s)", words(cond, depth+1), words(then, depth+1)))
		}
		if other, ok := m["else"]; ok {
			parts = append(parts, fmt.Sprintf("if it is not (%s) then (%s)", words(cond, depth+1), words(other, depth+1)))
		}
	}
	if deps, ok := m["dependentSchemas"].(map[string]any); ok {
		for _, k := range sortedKeys(deps) {
			parts = append(parts, fmt.Sprintf("if %q is given: %s", k, words(deps[k], depth+1)))
		}
	}
	return parts
}

func branches(subs []any, depth int, sep string) string {
	var all []string
	for _, s := range subs {
		all = append(all, "("+words(s, depth+1)+")")
	}
	return strings.Join(all, sep)
}

func quoted(names []string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = strconv.Quote(n)
	}
	return strings.Join(q, " and ")
}

// restate gives in words just the named keywords of a node, and takes them out of it.
func restate(m map[string]any, names ...string) string {
	part := map[string]any{}
	for _, name := range names {
		if v, ok := m[name]; ok {
			part[name] = v
			delete(m, name)
		}
	}
	if len(part) == 0 {
		return ""
	}
	if w := Words(part); w != "anything" {
		return w
	}
	return ""
}

// describe adds a remark to a node's description.
func describe(m map[string]any, remark string) {
	if remark == "" {
		return
	}
	old, _ := m["description"].(string)
	m["description"] = joinSentences(old, "Must be: "+remark)
}

func joinSentences(a, b string) string {
	a = strings.TrimRight(a, " \n")
	if a == "" {
		return b
	}
	if !strings.ContainsAny(a[len(a)-1:], ".!?:;") {
		a += "."
	}
	return a + " " + b
}

// jsonTypeOf names the JSON type of a tree's value.
func jsonTypeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	default:
		if n, ok := ParseNumber(fmt.Sprint(v)); ok && n.IsInt() {
			return "integer"
		}
		return "number"
	}
}
