package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// inferred are the schemas of types that say nothing useful about themselves by reflection.
var inferred = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[json.RawMessage](): {},
	reflect.TypeFor[json.Number]():     {Type: "number"},
	reflect.TypeFor[time.Duration]():   {Type: "string", Description: `a duration such as "90s" or "2m"`},
}

// For infers the parameters of a tool from the struct its arguments decode into. Property names come from the json tag, and these tags say more:
//
//	desc:"…"        what the model reads about the property
//	default:"…"     the value that the tool takes when it is absent, as JSON or as plain text for a string
//	enum:"a|b"      the only values; on a slice, the only items
//	min:"1" max:"9" bounds of a number, of a string's characters, of a slice's items
//
// A property is optional if its field is a pointer or its json tag says omitempty or omitzero; every other one is required. Nothing else is allowed
// in any inferred object. An error names the type and the field.
func For[T any]() (*jsonschema.Schema, error) { return ForType(reflect.TypeFor[T]()) }

// ForType is [For] of a type known at run time only; a pointer stands for what it points at.
func ForType(t reflect.Type) (*jsonschema.Schema, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("inferring a schema from %s: the arguments of a tool are a struct", t)
	}
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: inferred})
	if err != nil {
		return nil, fmt.Errorf("inferring a schema from %s: %w", t, err)
	}
	if err := annotate(s, t); err != nil {
		return nil, fmt.Errorf("inferring a schema from %s: %w", t, err)
	}
	if s.Properties == nil {
		s.Properties = map[string]*jsonschema.Schema{}
	}
	return s, nil
}

// annotate walks a type beside its schema, takes out the null that Go's nil brings in, and applies the tags.
func annotate(s *jsonschema.Schema, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	dropNull(s)
	if _, special := inferred[t]; special {
		return nil
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		if s.Items != nil {
			return annotate(s.Items, t.Elem())
		}
	case reflect.Map:
		if s.AdditionalProperties != nil {
			return annotate(s.AdditionalProperties, t.Elem())
		}
	case reflect.Struct:
		return annotateStruct(s, t)
	}
	return nil
}

func dropNull(s *jsonschema.Schema) {
	s.Types = slices.DeleteFunc(s.Types, func(n string) bool { return n == "null" })
	switch len(s.Types) {
	case 0:
		s.Types = nil
	case 1:
		s.Type, s.Types = s.Types[0], nil
	}
}

func annotateStruct(s *jsonschema.Schema, t reflect.Type) error {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		p := s.Properties[name]
		if p == nil || !f.IsExported() || f.Anonymous || f.Tag.Get("json") == "-" {
			continue
		}
		if err := annotate(p, f.Type); err != nil {
			return err
		}
		if err := applyTags(p, f); err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
		if f.Type.Kind() == reflect.Pointer {
			s.Required = slices.DeleteFunc(s.Required, func(n string) bool { return n == name })
		}
	}
	return nil
}

func applyTags(p *jsonschema.Schema, f reflect.StructField) error {
	if d, ok := f.Tag.Lookup("desc"); ok {
		p.Description = d
	}
	if e, ok := f.Tag.Lookup("enum"); ok {
		if err := applyEnum(p, e); err != nil {
			return err
		}
	}
	for _, tag := range []string{"min", "max"} {
		if v, ok := f.Tag.Lookup(tag); ok {
			if err := applyBound(p, tag, v); err != nil {
				return err
			}
		}
	}
	if d, ok := f.Tag.Lookup("default"); ok {
		v, err := tagValue(p, d)
		if err != nil {
			return fmt.Errorf("default: %w", err)
		}
		p.Default = v
	}
	return nil
}

func applyEnum(p *jsonschema.Schema, tag string) error {
	if p.Items != nil {
		p = p.Items
	}
	for _, text := range strings.Split(tag, "|") {
		raw, err := tagValue(p, text)
		if err != nil {
			return fmt.Errorf("enum: %w", err)
		}
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return fmt.Errorf("enum: %w", err)
		}
		p.Enum = append(p.Enum, v)
	}
	return nil
}

// tagValue reads a tag's text as a value of the schema's type.
func tagValue(p *jsonschema.Schema, text string) (json.RawMessage, error) {
	if p.Type == "string" {
		return Encode(text)
	}
	if !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("%q is no %s", text, p.Type)
	}
	return json.RawMessage(text), nil
}

func applyBound(p *jsonschema.Schema, tag, text string) error {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("%s: %q is no number", tag, text)
	}
	n := int(f)
	counts := map[string]map[string]**int{
		"string": {"min": &p.MinLength, "max": &p.MaxLength},
		"array":  {"min": &p.MinItems, "max": &p.MaxItems},
		"object": {"min": &p.MinProperties, "max": &p.MaxProperties},
	}
	switch p.Type {
	case "integer", "number":
		if tag == "min" {
			p.Minimum = &f
		} else {
			p.Maximum = &f
		}
	case "string", "array", "object":
		*counts[p.Type][tag] = &n
	default:
		return fmt.Errorf("%s has no meaning for type %q", tag, p.Type)
	}
	return nil
}
