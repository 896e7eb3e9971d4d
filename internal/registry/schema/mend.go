package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxDepth bounds how deep a declared schema may nest; real ones stay under 20, and no model API takes a hundred.
const maxDepth = 200

// mender turns a declared tree into a valid JSON Schema 2020-12 tree that accepts the same calls. Notes say what it could not keep.
type mender struct {
	rootID string
	ids    map[string]bool
	notes  []string
	linked bool // some node depends on another that it doesn't hold, or on what others have looked at
}

func (d *mender) note(path, format string, args ...any) {
	d.notes = append(d.notes, path+": "+fmt.Sprintf(format, args...))
}

// mendRoot mends the parameters of a tool. Its result always is an object schema.
func (d *mender) mendRoot(v any) (map[string]any, error) {
	const path = "parameters"
	switch v := v.(type) {
	case nil, string:
		return emptyObject(), nil
	case bool:
		if !v {
			return nil, &FieldError{path, "the schema false accepts no call at all"}
		}
		return emptyObject(), nil
	case map[string]any:
		if len(v) == 0 {
			return emptyObject(), nil
		}
		d.rootID, _ = v["$id"].(string)
		d.ids = map[string]bool{}
		collectIDs(v, d.ids, 0)
		m, _, err := d.mendObject(v, path, 0)
		if err != nil {
			return nil, err
		}
		return rootObject(m)
	}
	return nil, &FieldError{path, fmt.Sprintf("want a JSON Schema whose root is an object, got %s", KindOf(v))}
}

// rootObject makes sure that the root describes an object.
func rootObject(m map[string]any) (map[string]any, error) {
	switch t := m["type"].(type) {
	case nil:
	case string:
		if t != "object" {
			return nil, &FieldError{"parameters.type", fmt.Sprintf("the root must be an object, got %q", t)}
		}
	case []any:
		if !slices.Contains(t, any("object")) {
			return nil, &FieldError{"parameters.type", fmt.Sprintf("the root must be an object, got %v", t)}
		}
	}
	m["type"] = "object"
	return m, nil
}

func collectIDs(v any, into map[string]bool, depth int) {
	if depth > maxDepth {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		if id, ok := v["$id"].(string); ok {
			into[strings.TrimSuffix(id, "#")] = true
		}
		for _, e := range v {
			collectIDs(e, into, depth+1)
		}
	case []any:
		for _, e := range v {
			collectIDs(e, into, depth+1)
		}
	}
}

// mend mends one schema. required reports the draft-3 habit of saying `"required": true` inside the property.
func (d *mender) mend(v any, path string, depth int) (out any, required bool, err error) {
	if depth > maxDepth {
		return nil, false, &FieldError{path, fmt.Sprintf("nested deeper than %d schemas", maxDepth)}
	}
	switch v := v.(type) {
	case nil:
		return map[string]any{}, false, nil
	case bool:
		return v, false, nil
	case string:
		if name, ok := typeName(v); ok {
			if name == "" {
				return map[string]any{}, false, nil
			}
			return map[string]any{"type": name}, false, nil
		}
		return map[string]any{"description": v}, false, nil
	case []any:
		types, err := mendTypes(v, path)
		if err != nil || types == nil {
			return map[string]any{}, false, err
		}
		return map[string]any{"type": types}, false, nil
	case map[string]any:
		return d.mendObject(v, path, depth)
	}
	return nil, false, &FieldError{path, fmt.Sprintf("want a schema, got %s", KindOf(v))}
}

func (d *mender) mendObject(in map[string]any, path string, depth int) (map[string]any, bool, error) {
	m := make(map[string]any, len(in))
	for k, v := range in {
		m[k] = v
	}
	required := m["required"] == true
	modernise(m)
	for _, kw := range sortedKeys(m) {
		v := m[kw]
		at := path + "." + kw
		if v == nil && shapeOf(kw) != shapeValue {
			delete(m, kw)
			continue
		}
		switch kw {
		case "$ref", "unevaluatedProperties", "unevaluatedItems":
			d.linked = true
		}
		mended, err := d.mendKeyword(m, kw, at, depth)
		if err != nil {
			return nil, false, err
		}
		if mended == nil && shapeOf(kw) != shapeValue {
			delete(m, kw)
		} else {
			m[kw] = mended
		}
	}
	d.mendRef(m, path)
	d.mendPattern(m, path)
	spreadNullable(m)
	return m, required, nil
}

// mendKeyword gives the mended value of one keyword; nil drops it.
func (d *mender) mendKeyword(m map[string]any, kw, at string, depth int) (any, error) {
	v := m[kw]
	switch shapeOf(kw) {
	case shapeSchema:
		out, _, err := d.mend(v, at, depth+1)
		return out, err
	case shapeSchemaMap:
		return d.mendMap(m, kw, at, depth)
	case shapeSchemaList:
		return d.mendList(v, at, depth)
	case shapeNumber:
		return mendNumber(v, at)
	case shapeCount:
		return mendCount(v, at)
	case shapeText:
		return mendText(v, kw), nil
	case shapeFlag:
		return mendFlag(v), nil
	case shapeNames:
		return mendNames(v), nil
	case shapeNamesMap:
		return mendNamesMap(v), nil
	case shapeValues:
		return mendValues(v), nil
	case shapeType:
		return mendTypes(v, at)
	}
	return clone(v), nil
}

func (d *mender) mendMap(parent map[string]any, kw, at string, depth int) (any, error) {
	in, ok := parent[kw].(map[string]any)
	if !ok {
		// Languages whose empty map and empty list are one thing send [] for no properties.
		if list, isList := parent[kw].([]any); isList && len(list) == 0 {
			return map[string]any{}, nil
		}
		return nil, &FieldError{at, fmt.Sprintf("want an object of schemas, got %s", KindOf(parent[kw]))}
	}
	out := make(map[string]any, len(in))
	var lifted []any
	for _, name := range sortedKeys(in) {
		if kw == "patternProperties" {
			if _, err := goPattern(name); err != nil && !beyondRE2(name) {
				d.note(at, "%q is no regular expression and was dropped", name)
				continue
			}
		}
		child, required, err := d.mend(in[name], at+"."+name, depth+1)
		if err != nil {
			return nil, err
		}
		out[name] = child
		if required && kw == "properties" {
			lifted = append(lifted, name)
		}
	}
	if lifted != nil {
		// "properties" is mended before "required", which then sees the lifted names as if declared.
		given, _ := parent["required"].([]any)
		parent["required"] = append(slices.Clone(given), lifted...)
	}
	return out, nil
}

func (d *mender) mendList(v any, at string, depth int) (any, error) {
	if one, ok := v.(map[string]any); ok {
		v = []any{one}
	}
	in, ok := v.([]any)
	if !ok {
		return nil, &FieldError{at, fmt.Sprintf("want a list of schemas, got %s", KindOf(v))}
	}
	if len(in) == 0 {
		return nil, nil
	}
	out := make([]any, len(in))
	for i, e := range in {
		child, _, err := d.mend(e, at+"["+strconv.Itoa(i)+"]", depth+1)
		if err != nil {
			return nil, err
		}
		out[i] = child
	}
	return out, nil
}

// mendRef drops references that lead out of the document: nothing is ever fetched, so what they demand can't be known here.
func (d *mender) mendRef(m map[string]any, path string) {
	ref, ok := m["$ref"].(string)
	if !ok {
		return
	}
	base, _, _ := strings.Cut(ref, "#")
	if base == "" || d.ids[base] {
		return
	}
	if strings.HasSuffix(d.rootID, "/"+base) {
		m["$ref"] = d.rootID + strings.TrimPrefix(ref, base)
		return
	}
	delete(m, "$ref")
	d.note(path, "%q lies outside the schema and was not fetched; any value is accepted", ref)
	if _, ok := m["description"]; !ok {
		m["description"] = "As described at " + ref
	}
}

// mendPattern drops a pattern that no dialect of regular expressions reads.
func (d *mender) mendPattern(m map[string]any, path string) {
	p, ok := m["pattern"].(string)
	if !ok {
		return
	}
	if _, err := goPattern(p); err == nil {
		return
	}
	if beyondRE2(p) {
		d.note(path, "the pattern %q looks around or back and is not enforced here", p)
		return
	}
	d.note(path, "%q is no regular expression and was dropped", p)
	delete(m, "pattern")
}

// KindOf names what a decoded JSON value is, for messages.
func KindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case json.Number, float64, int:
		return "a number"
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	}
	return fmt.Sprintf("%T", v)
}
