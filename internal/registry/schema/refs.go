package schema

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// flattenRefs gives a copy of root in which every reference is "#" or "#/$defs/<name>", and only the definitions that are used remain, all at the
// root. Later passes may then move and drop nodes without breaking a pointer.
// outside reports that one of them was found where no schema keyword leads, and so had not been mended before.
func flattenRefs(root map[string]any) (flat map[string]any, outside bool, err error) {
	f := &flattener{root: root, anchors: map[string]string{}, names: map[string]string{}, taken: map[string]bool{}, defs: map[string]any{}}
	f.collectAnchors(root, "")
	out, err := f.rewrite(root, "parameters")
	if err != nil {
		return nil, false, err
	}
	m := out.(map[string]any)
	if len(f.defs) > 0 {
		m["$defs"] = f.defs
	}
	if err := checkRefCycles(m); err != nil {
		return nil, false, err
	}
	return m, f.outside, nil
}

type flattener struct {
	root    map[string]any
	anchors map[string]string // "#name", "id" or "id#name" → pointer
	names   map[string]string // pointer → name in $defs
	taken   map[string]bool
	defs    map[string]any
	outside bool
}

func (f *flattener) collectAnchors(v any, pointer string) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	if id, ok := m["$id"].(string); ok {
		f.anchors[strings.TrimSuffix(id, "#")] = pointer
	}
	if a, ok := m["$anchor"].(string); ok {
		if _, dup := f.anchors["#"+a]; !dup {
			f.anchors["#"+a] = pointer
		}
	}
	eachChild(m, func(s step, child any) any {
		f.collectAnchors(child, pointer+s.pointer())
		return child
	})
}

func (s step) pointer() string {
	p := "/" + escapeToken(s.keyword)
	if s.index >= 0 {
		return p + "/" + strconv.Itoa(s.index)
	}
	if shapeOf(s.keyword) == shapeSchemaMap {
		return p + "/" + escapeToken(s.name)
	}
	return p
}

func escapeToken(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
}

func unescapeToken(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
}

// rewrite copies a node with its references renamed and its own definitions left out.
func (f *flattener) rewrite(v any, path string) (any, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return v, nil
	}
	out := make(map[string]any, len(m))
	for k, e := range m {
		switch k {
		case "$defs", "definitions", "$id", "$anchor", "$comment":
		default:
			out[k] = shallow(e)
		}
	}
	if ref, ok := m["$ref"].(string); ok {
		target, err := f.target(ref, path)
		if err != nil {
			return nil, err
		}
		out["$ref"] = target
	}
	var failed error
	eachChild(out, func(s step, child any) any {
		c, err := f.rewrite(child, path+s.field())
		if err != nil && failed == nil {
			failed = err
		}
		return c
	})
	return out, failed
}

func (s step) field() string {
	if s.index >= 0 {
		return "." + s.keyword + "[" + strconv.Itoa(s.index) + "]"
	}
	if s.name != "" {
		return "." + s.keyword + "." + s.name
	}
	return "." + s.keyword
}

// shallow copies a container one level deep, so that eachChild may write into it.
func shallow(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for k, e := range v {
			c[k] = e
		}
		return c
	case []any:
		return slices.Clone(v)
	}
	return v
}

// target resolves a reference to its flattened form and makes sure that the definition it names exists.
func (f *flattener) target(ref, path string) (string, error) {
	dangling := &FieldError{path + ".$ref", fmt.Sprintf("%q points at nothing in this schema", ref)}
	pointer, ok := f.pointerOf(ref)
	if !ok {
		return "", dangling
	}
	if pointer == "" {
		return "#", nil
	}
	if name, ok := f.names[pointer]; ok {
		return "#/$defs/" + name, nil
	}
	node, ok := f.lookUp(pointer)
	if !ok {
		return "", dangling
	}
	name := f.newName(pointer)
	f.names[pointer] = name // before the walk: the definition may refer to itself
	def, err := f.rewrite(node, "parameters"+strings.ReplaceAll(pointer, "/", "."))
	if err != nil {
		return "", err
	}
	f.defs[name] = def
	return "#/$defs/" + name, nil
}

func (f *flattener) pointerOf(ref string) (string, bool) {
	base, fragment, _ := strings.Cut(ref, "#")
	prefix := ""
	if base != "" {
		at, ok := f.anchors[base]
		if !ok {
			return "", false
		}
		prefix = at
	}
	if u, err := url.PathUnescape(fragment); err == nil {
		fragment = u
	}
	if fragment == "" || fragment[0] == '/' {
		return prefix + fragment, true
	}
	at, ok := f.anchors["#"+fragment]
	return at, ok
}

// lookUp follows a pointer. What it finds outside of schema keywords has not been mended yet, so it is mended here.
func (f *flattener) lookUp(pointer string) (any, bool) {
	var at any = f.root
	schemaAhead := true // whether the next token is a keyword of a schema node
	inSchema := true
	for _, token := range strings.Split(pointer[1:], "/") {
		token = unescapeToken(token)
		switch node := at.(type) {
		case map[string]any:
			next, ok := node[token]
			if !ok && token == "items" {
				next, ok = node["prefixItems"] // a tuple of an older draft was renamed
			}
			if !ok && token == "definitions" {
				next, ok = node["$defs"]
			}
			if !ok {
				return nil, false
			}
			if schemaAhead {
				k := shapeOf(token)
				inSchema = inSchema && (k == shapeSchema || k == shapeSchemaMap || k == shapeSchemaList)
				schemaAhead = k == shapeSchema
				if _, isList := next.([]any); isList {
					schemaAhead = false
				}
			} else {
				schemaAhead = true
			}
			at = next
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(node) {
				return nil, false
			}
			at, schemaAhead = node[i], true
		default:
			return nil, false
		}
	}
	if !inSchema {
		f.outside = true
		d := &mender{ids: map[string]bool{}}
		mended, _, err := d.mend(at, pointer, 0)
		if err != nil {
			return nil, false
		}
		return mended, true
	}
	switch at.(type) {
	case bool, map[string]any:
		return at, true
	}
	return nil, false
}

// newName derives a name for a definition that needs no escaping in a pointer.
func (f *flattener) newName(pointer string) string {
	last := unescapeToken(pointer[strings.LastIndexByte(pointer, '/')+1:])
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '.':
			return r
		}
		return '_'
	}, last)
	if name == "" {
		name = "_"
	}
	if len(name) > 60 {
		name = name[:60]
	}
	unique := name
	for n := 2; f.taken[unique]; n++ {
		unique = name + "_" + strconv.Itoa(n)
	}
	f.taken[unique] = true
	return unique
}

// defName takes the name out of a flattened reference; "" stands for the root.
func defName(ref string) string { return strings.TrimPrefix(strings.TrimPrefix(ref, "#"), "/$defs/") }

// checkRefCycles refuses references that lead back to themselves without a step into the value: no reader could ever finish them.
func checkRefCycles(root map[string]any) error {
	defs, _ := root["$defs"].(map[string]any)
	state := map[string]int{} // 1 on the way, 2 done
	var visit func(name string, v any) error
	visit = func(name string, v any) error {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		var failed error
		into := func(child any) {
			if failed == nil {
				failed = visit(name, child)
			}
		}
		if ref, ok := m["$ref"].(string); ok {
			target := defName(ref)
			switch state[target] {
			case 1:
				return &FieldError{"parameters." + strings.TrimPrefix(target+".$ref", "."), fmt.Sprintf("%q refers to itself without an end", ref)}
			case 0:
				state[target] = 1
				next := any(root)
				if target != "" {
					next = defs[target]
				}
				if err := visit(target, next); err != nil {
					return err
				}
				state[target] = 2
			}
		}
		eachChild(m, func(s step, child any) any {
			switch s.keyword {
			case "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas":
				into(child)
			}
			return child
		})
		return failed
	}
	state[""] = 1
	if err := visit("", root); err != nil {
		return err
	}
	state[""] = 2
	for _, name := range sortedKeys(defs) {
		if state[name] == 0 {
			state[name] = 1
			if err := visit(name, defs[name]); err != nil {
				return err
			}
			state[name] = 2
		}
	}
	return nil
}
