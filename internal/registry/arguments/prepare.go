package arguments

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/hermes-runtime/hermes/internal/registry/schema"
)

// Prepared is an argument object that fits the tool's schema.
type Prepared struct {
	Object map[string]any // values are string, json.Number, bool, nil, []any, map[string]any
	// JSON says the same; it is the text that came, byte for byte, if that needed no change.
	JSON    json.RawMessage
	Repairs []string // what was changed, for the record; nil if nothing was
}

// Prepare decodes, coerces and validates argument text. A refusal is an *Invalid; nothing else is returned as error but a failure to encode.
func Prepare(c *schema.Compiled, aliases map[string]string, raw json.RawMessage) (Prepared, error) {
	return PrepareText(c, Text{Raw: raw, Aliases: aliases})
}

// Text is argument text with all that may be known about it.
type Text struct {
	Raw     json.RawMessage
	Aliases map[string]string // other spellings of root parameters
	Limits  Limits
	// Definition is what the model was shown, if its dialect may have rewritten it.
	Definition schema.Definition
}

// PrepareText is [Prepare] for a text about which more is known.
func PrepareText(c *schema.Compiled, t Text) (Prepared, error) {
	d, err := Decode(t.Raw, t.Limits)
	if err != nil {
		return Prepared{}, err
	}
	if t.Definition.Rewritten() {
		d.Object = c.Restore(t.Definition, d.Object)
		d.Raw = nil
	}
	return finish(c, t.Aliases, d)
}

// PrepareObject is [Prepare] for an object that is decoded already, such as a hook hands back. The object is copied, never changed; any Go value that
// has a JSON form may stand in it.
func PrepareObject(c *schema.Compiled, aliases map[string]string, object map[string]any) (Prepared, error) {
	v, err := normal(object)
	if err != nil {
		return Prepared{}, syntaxRefusal("the arguments can't be written as JSON: " + err.Error())
	}
	m, _ := v.(map[string]any)
	if m == nil {
		m = map[string]any{}
	}
	return finish(c, aliases, Decoded{Object: m})
}

func finish(c *schema.Compiled, aliases map[string]string, d Decoded) (Prepared, error) {
	root := c.Root()
	w := walker{effort: newEffort(d.Object)}
	fit := w.check(root, d.Object) && !w.effort.exhausted && !w.rewrites && !strangeNames(root, d.Object)
	if !fit {
		if repairs := Coerce(root, aliases, d.Object); repairs != nil {
			d.Repairs = append(d.Repairs, repairs...)
			d.Raw = nil
		}
	}
	if !fit || c.Rest() != nil {
		if err := Validate(c, d.Object); err != nil {
			return Prepared{}, err
		}
	}
	p := Prepared{Object: d.Object, JSON: d.Raw, Repairs: d.Repairs}
	if p.JSON == nil {
		text, err := schema.Encode(p.Object)
		if err != nil {
			return Prepared{}, fmt.Errorf("encoding repaired arguments: %w", err)
		}
		p.JSON = text
	}
	return p, nil
}

// strangeNames reports members that no schema declares: they may be misspelt, even where the schema lets them pass.
func strangeNames(n *schema.Node, m map[string]any) bool {
	for k := range m {
		if _, ok := n.Properties[k]; !ok {
			return true
		}
	}
	return false
}

// Validate judges an object by the tool's own schema. nil, or an *Invalid that lists every problem up to ten.
func Validate(c *schema.Compiled, object map[string]any) error {
	w := walker{effort: newEffort(object)}
	if w.check(c.Root(), object) && !w.effort.exhausted {
		return validateRest(c, object)
	}
	r := &report{}
	if !w.effort.exhausted {
		w = walker{report: r, effort: newEffort(object)}
		w.check(c.Root(), object)
	}
	if w.effort.exhausted {
		return refuse([]Problem{{Expected: "this nests alternatives so deeply that it can't be checked; send a simpler value", Got: preview(object)}}, 0)
	}
	if len(r.problems) == 0 && len(r.names) == 0 {
		// A problem that leaves no trace in the report would let the call pass unseen.
		r.add(Problem{Expected: "expected " + cut(schema.Words(c.Root().Tree), maxExpected), Got: preview(object)})
	}
	return r.finish()
}

func validateRest(c *schema.Compiled, object map[string]any) error {
	rest := c.Rest()
	if rest == nil {
		return nil
	}
	if err := rest.Validate(plainNumbers(object)); err != nil {
		return refuse([]Problem{{Expected: cut(err.Error(), maxExpected), Got: preview(object)}}, 0)
	}
	return nil
}

// plainNumbers gives a copy whose numbers are of the kinds that the library knows.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = plainNumbers(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plainNumbers(e)
		}
		return out
	case json.Number:
		if i, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return i
		}
		f, err := v.Float64()
		if err != nil {
			return string(v)
		}
		return f
	}
	return v
}

// normal copies a value into the kinds that Decode gives.
func normal(v any) (any, error) {
	switch v := v.(type) {
	case nil, string, bool:
		return v, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			n, err := normal(e)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
			out[k] = n
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			n, err := normal(e)
			if err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
			out[i] = n
		}
		return out, nil
	case json.Number:
		if _, ok := schema.ParseNumber(string(v)); !ok {
			return nil, fmt.Errorf("%q is no number", cut(string(v), maxPreview))
		}
		return v, nil
	case int:
		return json.Number(strconv.Itoa(v)), nil
	case int64:
		return json.Number(strconv.FormatInt(v, 10)), nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	p := parser{text: string(text)}
	out, err := p.value(0)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// writeKeyAsIs writes a scalar as it was written.
func writeKeyAsIs(b interface{ WriteString(string) (int, error) }, v any) {
	switch v := v.(type) {
	case json.Number:
		b.WriteString(cut(string(v), maxPreview))
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	default:
		b.WriteString(cut(fmt.Sprint(v), maxPreview))
	}
}
