package schema

import (
	"encoding/json"
	"strings"
)

// Dialect names a form of definition that a model API or peer takes.
type Dialect string

// The dialects. GeminiCompatible is Gemini's idea of a schema in OpenAI's envelope, for compatible endpoints that lead to Gemini.
const (
	OpenAI           Dialect = "openai"
	Anthropic        Dialect = "anthropic"
	Gemini           Dialect = "gemini"
	GeminiCompatible Dialect = "gemini-compatible"
	MCP              Dialect = "mcp"
)

// Dialects lists all dialects, in a fixed order.
func Dialects() []Dialect { return []Dialect{OpenAI, Anthropic, Gemini, GeminiCompatible, MCP} }

// rules is a column of the dialect table.
type rules struct {
	envelope func(d Definition) any
	// own: the tool's own schema goes out as it is.
	own bool
	// node rewrites the canonical schema.
	node func(root map[string]any)
	// texts: a value of any type is asked for as JSON text.
	texts bool
	// property reports names that the API takes; nil: it takes any.
	property func(name string) bool
	// omitEmpty leaves parameters out if the tool takes none.
	omitEmpty bool
	// strict: the API knows the word.
	strict bool
}

// anthropicName is [A-Za-z0-9_.-]{1,64}.
func anthropicName(s string) bool {
	return s != "" && len(s) <= maxName && strings.Trim(s, letters+digits+"_.-") == ""
}

// geminiName is [A-Za-z_][A-Za-z0-9_]{0,63}.
func geminiName(s string) bool {
	return s != "" && len(s) <= maxName && strings.Trim(s, letters+digits+"_") == "" && !strings.ContainsAny(s[:1], digits)
}

const (
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	digits  = "0123456789"
	maxName = 64 // bytes of a property name
)

var dialects = map[Dialect]rules{
	OpenAI:           {envelope: openAIEnvelope, node: fillItems, strict: true},
	Anthropic:        {envelope: anthropicEnvelope, node: fillItems, property: anthropicName, strict: true},
	Gemini:           {envelope: plainEnvelope, node: geminiRoot, texts: true, property: geminiName, omitEmpty: true},
	GeminiCompatible: {envelope: openAIEnvelope, node: geminiRoot, texts: true, property: geminiName, omitEmpty: true},
	MCP:              {envelope: mcpEnvelope, own: true},
}

// Definition is one tool as one dialect describes it. Its bytes are the same for the same declaration in every process.
type Definition struct {
	Dialect           Dialect
	Name, Description string
	Parameters        json.RawMessage // nil where the dialect leaves them out
	JSON              json.RawMessage // the tool's entry in a request's list; for Gemini the function declaration
	Strict            bool            // strict was asked for and the tool can be expressed so

	renames renames
	texts   bool // some value of any type is asked for as JSON text
}

func openAIEnvelope(d Definition) any {
	f := map[string]any{"name": d.Name, "description": d.Description}
	if d.Parameters != nil {
		f["parameters"] = d.Parameters
	}
	if d.Strict {
		f["strict"] = true
	}
	return map[string]any{"type": "function", "function": f}
}

func anthropicEnvelope(d Definition) any {
	e := map[string]any{"name": d.Name, "description": d.Description, "input_schema": d.Parameters}
	if d.Strict {
		e["strict"] = true
	}
	return e
}

func plainEnvelope(d Definition) any {
	e := map[string]any{"name": d.Name, "description": d.Description}
	if d.Parameters != nil {
		e["parameters"] = d.Parameters
	}
	return e
}

func mcpEnvelope(d Definition) any {
	return map[string]any{"name": d.Name, "description": d.Description, "inputSchema": d.Parameters}
}

// Request wraps definitions the way a request of the dialect lists its tools: a list, for Gemini in `[{"functionDeclarations": […]}]`.
func Request(d Dialect, defs []Definition) (json.RawMessage, error) {
	entries := make([]json.RawMessage, len(defs))
	for i, def := range defs {
		entries[i] = def.JSON
	}
	if d == Gemini {
		return Encode([]any{map[string]any{"functionDeclarations": entries}})
	}
	return Encode(entries)
}

// Strictness asks for a strict definition, in which the API holds the model to the schema.
type Strictness uint8

// Lenient is the default.
const (
	Lenient Strictness = iota
	Strict
)

// define builds a definition from the canonical schema.
func (c *Compiled) define(d Dialect, s Strictness) (Definition, error) {
	r := dialects[d]
	def := Definition{Dialect: d, Name: c.name, Description: c.description}
	if r.own {
		def.Parameters = c.own()
	} else {
		root := cloneMap(c.canonical())
		def.Description = joinRemark(def.Description, liftRoot(root))
		r.node(root)
		def.renames = renameProperties(root, r)
		def.texts = r.texts && asksForText(root)
		if s == Strict && r.strict {
			if strict, ok := strictly(root); ok {
				root, def.Strict = strict, true
			}
		}
		if !(r.omitEmpty && isEmpty(root["properties"])) {
			text, err := Encode(root)
			if err != nil {
				return Definition{}, err
			}
			def.Parameters = text
		}
	}
	text, err := Encode(r.envelope(def))
	if err != nil {
		return Definition{}, err
	}
	def.JSON = text
	return def, nil
}

func joinRemark(description, remark string) string {
	if remark == "" {
		return description
	}
	return joinSentences(description, "The arguments together must be: "+remark)
}

// fillItems gives every array an items schema.
func fillItems(root map[string]any) {
	everyNode(root, func(m map[string]any) {
		if _, ok := m["items"]; !ok && hasType(m, "array") {
			m["items"] = map[string]any{}
		}
	})
}

// everyNode calls f on each schema node under m that is an object, m included, parents first.
func everyNode(m map[string]any, f func(m map[string]any)) {
	f(m)
	eachChild(m, func(_ step, child any) any {
		if sub, ok := child.(map[string]any); ok {
			everyNode(sub, f)
		}
		return child
	})
}
