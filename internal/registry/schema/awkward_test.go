package schema_test

import (
	"strconv"
	"strings"
)

// awkward are schemas as MCP servers, plugins and code generators send them. Each must come out valid for every dialect.
var awkward = []struct{ name, declared string }{
	{"null parameters", `{"name":"f","parameters":null}`},
	{"text parameters", `{"name":"f","parameters":"none"}`},
	{"empty parameters", `{"name":"f","parameters":{}}`},
	{"no parameters at all", `{"name":"f","description":"d"}`},
	{"parameters true", `{"name":"f","parameters":true}`},
	{"root without a type", `{"properties":{"a":{"type":"string"}}}`},
	{"root type list with null", `{"type":["object","null"],"properties":{"a":{"type":"string"}}}`},
	{"null properties", `{"type":"object","properties":null}`},
	{"list for no properties", `{"type":"object","properties":[]}`},
	{"null for one property", `{"type":"object","properties":{"a":null,"b":{"type":"string"}},"required":["a"]}`},
	{"bare type names", `{"type":"object","properties":{"a":"string","b":"integer","c":"array","d":"object"}}`},
	{"type names of other languages", `{"type":"dict","properties":{"a":{"type":"str"},"b":{"type":"int"},"c":{"type":"list"},"d":{"type":"float"},"e":{"type":"any"},"f":{"type":"bool"},"g":{"type":"String"}}}`},
	{"a description in place of a schema", `{"type":"object","properties":{"a":"the path to read"}}`},
	{"type list with null", `{"type":"object","properties":{"a":{"type":["string","null"],"default":null}}}`},
	{"type list, several", `{"type":"object","properties":{"a":{"type":["string","integer","null"]},"b":{"type":["array","string"]},"c":{"type":["object","string"]}}}`},
	{"type list of one", `{"type":"object","properties":{"a":{"type":["string"]},"b":{"type":[]}}}`},
	{"only null", `{"type":"object","properties":{"a":{"type":"null"}}}`},
	{"anyOf with null", `{"type":"object","properties":{"a":{"anyOf":[{"type":"string","minLength":1},{"type":"null"}],"title":"A","default":null,"description":"d"}}}`},
	{"oneOf with null", `{"type":"object","properties":{"a":{"oneOf":[{"type":"null"},{"type":"integer"}],"examples":[1]}}}`},
	{"anyOf of a reference and null", `{"type":"object","properties":{"a":{"anyOf":[{"$ref":"#/$defs/P"},{"type":"null"}],"default":null}},"$defs":{"P":{"type":"object","properties":{"x":{"type":"number"}}}}}`},
	{"two branches and null", `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]}}}`},
	{"anyOf with an untyped branch", `{"type":"object","properties":{"a":{"anyOf":[{},{"type":"string"}]}}}`},
	{"anyOf of arrays", `{"type":"object","properties":{"a":{"anyOf":[{"type":"array"},{"type":"array","items":{"type":"array"}}]}}}`},
	{"empty anyOf", `{"type":"object","properties":{"a":{"anyOf":[],"type":"string"}}}`},
	{"anyOf of one", `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"}],"description":"d"}}}`},
	{"anyOf beside properties", `{"type":"object","properties":{"a":{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string"}},"anyOf":[{"required":["x"]},{"required":["y"]}]}}}`},
	{"allOf", `{"type":"object","properties":{"a":{"allOf":[{"$ref":"#/definitions/B"},{"type":"object","properties":{"y":{"type":"integer"}},"required":["y"]}]}},"definitions":{"B":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}}}`},
	{"allOf of one reference with default", `{"type":"object","properties":{"a":{"allOf":[{"$ref":"#/$defs/E"}],"default":"x"}},"$defs":{"E":{"enum":["x","y"],"type":"string"}}}`},
	{"nested definitions", `{"type":"object","properties":{"a":{"definitions":{"I":{"type":"integer"}},"type":"array","items":{"$ref":"#/properties/a/definitions/I"}}}}`},
	{"definitions and $defs of one name", `{"type":"object","properties":{"a":{"$ref":"#/definitions/X"},"b":{"$ref":"#/$defs/X"}},"definitions":{"X":{"type":"string"}},"$defs":{"X":{"type":"integer"}}}`},
	{"unused definitions", `{"type":"object","properties":{},"definitions":{"X":{"type":"array"}}}`},
	{"recursion through a definition", `{"type":"object","properties":{"tree":{"$ref":"#/$defs/Node"}},"$defs":{"Node":{"type":"object","properties":{"v":{"type":"string"},"kids":{"type":"array","items":{"$ref":"#/$defs/Node"}}}}}}`},
	{"recursion to the root", `{"type":"object","properties":{"name":{"type":"string"},"child":{"$ref":"#"}}}`},
	{"mutual recursion", `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"object","properties":{"b":{"$ref":"#/$defs/B"}}},"B":{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}}}}}`},
	{"reference at the root", `{"$ref":"#/definitions/Args","definitions":{"Args":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`},
	{"reference to a property", `{"type":"object","properties":{"a b":{"type":"object","properties":{"x":{"type":"string"}}},"c":{"$ref":"#/properties/a%20b"}}}`},
	{"reference to an anchor", `{"type":"object","properties":{"a":{"$ref":"#point"}},"$defs":{"P":{"$anchor":"point","type":"object","properties":{"x":{"type":"number"}}}}}`},
	{"reference by id", `{"$id":"https://example.com/args.json","type":"object","properties":{"a":{"$ref":"https://example.com/args.json#/$defs/P"},"b":{"$ref":"args.json#/$defs/P"}},"$defs":{"P":{"type":"string"}}}`},
	{"reference outside of the keywords", `{"type":"object","properties":{"a":{"$ref":"#/components/schemas/P"}},"components":{"schemas":{"P":{"type":"int"}}}}`},
	{"remote reference", `{"type":"object","properties":{"a":{"$ref":"https://example.com/schema.json"},"b":{"$ref":"other.json#/x","description":"b"}},"required":["a"]}`},
	{"recursive reference of a draft between", `{"type":"object","properties":{"a":{"$dynamicRef":"#n"},"b":{"$recursiveRef":"#"}},"$defs":{"N":{"$dynamicAnchor":"n","type":"string"}}}`},
	{"default beside a reference", `{"type":"object","properties":{"a":{"$ref":"#/$defs/C","default":"red","description":"colour"}},"$defs":{"C":{"type":"string","enum":["red","blue"]}}}`},
	{"fan of references", `{"type":"object","properties":{"a":{"$ref":"#/$defs/L1"}},"$defs":{` + fan(12) + `}}`},
	{"keywords as property names", `{"type":"object","properties":{"pattern":{"type":"string"},"required":{"type":"boolean"},"definitions":{"type":"object","properties":{"enum":{"type":"string"}}},"enum":{"type":"array","items":{"type":"string"}},"$ref":{"type":"string"},"type":{"type":"string"},"properties":{"type":"object"},"items":{"type":"string"},"anyOf":{"type":"string"},"format":{"type":"string"},"default":{"type":"string"},"nullable":{"type":"string"}},"required":["pattern","$ref","required","type"]}`},
	{"a property named properties holding schemas", `{"type":"object","properties":{"properties":{"type":"object","properties":{"type":{"type":"string"}},"required":["type"]}}}`},
	{"array without items", `{"type":"object","properties":{"a":{"type":"array"},"b":{"type":"object","properties":{"c":{"type":"array","items":{"type":"array"}}}}}}`},
	{"items true", `{"type":"object","properties":{"a":{"type":"array","items":true}}}`},
	{"items false", `{"type":"object","properties":{"a":{"type":"array","items":false}}}`},
	{"items null", `{"type":"object","properties":{"a":{"type":"array","items":null}}}`},
	{"tuple of an old draft", `{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"},{"type":"integer"}],"additionalItems":false}}}`},
	{"tuple", `{"type":"object","properties":{"a":{"type":"array","prefixItems":[{"type":"number"},{"type":"number"}],"items":false,"minItems":2}}}`},
	{"contains", `{"type":"object","properties":{"a":{"type":"array","items":{},"contains":{"const":"x"},"minContains":1,"maxContains":3,"uniqueItems":true}}}`},
	{"required names nobody declared", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a","ghost"]}`},
	{"only undeclared names required", `{"type":"object","required":["ghost"]}`},
	{"required true in the property", `{"type":"object","properties":{"a":{"type":"string","required":true},"b":{"type":"string","required":false}}}`},
	{"required as text, doubled, null", `{"type":"object","properties":{"a":{"type":"object","properties":{"x":{"type":"string"}},"required":"x"},"b":{"type":"object","properties":{"y":{"type":"string"}},"required":["y","y",null,3]},"c":{"type":"object","properties":{"z":{"type":"string"}},"required":null}}}`},
	{"root anyOf", `{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"}},"anyOf":[{"required":["id"]},{"required":["name"]}]}`},
	{"root anyOf alone", `{"anyOf":[{"type":"object","properties":{"a":{"type":"string"},"k":{"const":"a"}},"required":["a","k"]},{"type":"object","properties":{"b":{"type":"integer"},"k":{"const":"b"}},"required":["b","k"]}]}`},
	{"root oneOf of references", `{"type":"object","oneOf":[{"$ref":"#/$defs/A"},{"$ref":"#/$defs/B"}],"$defs":{"A":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},"B":{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}}}`},
	{"root allOf", `{"type":"object","allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"}}}]}`},
	{"root enum and const", `{"type":"object","enum":[{"a":1},{"a":2}],"properties":{"a":{"type":"integer"}}}`},
	{"root not", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"not":{"required":["a","b"]}}`},
	{"const", `{"type":"object","properties":{"a":{"const":"x"},"b":{"const":3},"c":{"const":null},"d":{"const":{"k":1}},"e":{"const":true}}}`},
	{"numeric and mixed enums", `{"type":"object","properties":{"a":{"type":"integer","enum":[1,2,3]},"b":{"enum":["a",1,null,true]},"c":{"enum":[]},"d":{"enum":"one"},"e":{"enum":["x","x"]},"f":{"type":"boolean","enum":[true]},"g":{"enum":[1.5,2]}}}`},
	{"enum with null", `{"type":"object","properties":{"a":{"type":["string","null"],"enum":["x",null]},"b":{"type":["string","null"],"enum":["x"]},"c":{"enum":[null]},"d":{"type":"string","enum":["","x"]}}}`},
	{"huge enum", `{"type":"object","properties":{"a":{"type":"string","enum":[` + numbered(2000, `"value-%"`) + `]},"b":{"enum":[` + numbered(2000, `%`) + `]}}}`},
	{"odd property names", `{"type":"object","properties":{"with space":{"type":"string"},"with.dot":{"type":"string"},"ünïcode":{"type":"string"},"日本":{"type":"string"},"":{"type":"string"},"1st":{"type":"string"},"with-dash":{"type":"string"},"a/b":{"type":"string"},"a~b":{"type":"string"},"$x":{"type":"string"},"with_space":{"type":"string"}},"required":["with space","","日本"]}`},
	{"long property names", `{"type":"object","properties":{"` + strings.Repeat("n", 70) + `a":{"type":"string"},"` + strings.Repeat("n", 70) + `b":{"type":"string"}},"required":["` + strings.Repeat("n", 70) + `b"]}`},
	{"odd names deep down", `{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b c":{"type":"string"}},"required":["b c"]}}}}`},
	{"format, pattern, bounds", `{"type":"object","properties":{"a":{"type":"string","format":"uri","pattern":"^https?://","minLength":3},"b":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":10,"multipleOf":0.5},"c":{"type":"string","format":7}}}`},
	{"booleans of draft 4", `{"$schema":"http://json-schema.org/draft-04/schema#","id":"x","type":"object","properties":{"a":{"type":"integer","minimum":0,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false}}}`},
	{"bounds as text", `{"type":"object","properties":{"a":{"type":"integer","minimum":"1","maximum":" 9 "},"b":{"type":"string","minLength":"2","maxLength":5.0}}}`},
	{"pattern that looks ahead", `{"type":"object","properties":{"a":{"type":"string","pattern":"^(?!.*\\.\\.).+$"},"b":{"type":"string","pattern":"\\u00e9+\\/"}}}`},
	{"pattern that is none", `{"type":"object","properties":{"a":{"type":"string","pattern":"["}}}`},
	{"if, then, else", `{"type":"object","properties":{"k":{"type":"string"},"o":{"type":"object","properties":{"p":{"type":"string"}},"if":{"properties":{"p":{"const":"x"}}},"then":{"required":["p"]},"else":false}},"if":{"properties":{"k":{"const":"a"}}},"then":{"required":["k"]}}`},
	{"not, below the root", `{"type":"object","properties":{"a":{"type":"string","not":{"enum":["x"]}},"b":{"not":{}},"c":{"not":{"type":"null"}}}}`},
	{"patternProperties", `{"type":"object","properties":{"env":{"type":"object","patternProperties":{"^[A-Z]+$":{"type":"string"}},"additionalProperties":false}},"patternProperties":{"^x-":{"type":"array"}}}`},
	{"propertyNames", `{"type":"object","properties":{"a":{"type":"object","propertyNames":{"pattern":"^[a-z]+$"},"minProperties":1,"maxProperties":4}}}`},
	{"free-form objects", `{"type":"object","properties":{"a":{"type":"object"},"b":{"type":"object","additionalProperties":true},"c":{"type":"object","additionalProperties":{"type":"integer"}},"d":{}},"additionalProperties":true}`},
	{"a root of any members", `{"type":"object","additionalProperties":{"type":"array"}}`},
	{"deep nesting", strings.Repeat(`{"type":"object","properties":{"a":`, 60) + `{"type":"array"}` + strings.Repeat(`}}`, 60)},
	{"description that is no text", `{"type":"object","description":["one","two"],"properties":{"a":{"type":"string","description":{"en":"x"}},"b":{"type":"string","description":null,"title":5}}}`},
	{"boolean schemas", `{"type":"object","properties":{"a":true,"b":false,"c":{"anyOf":[true,{"type":"string"}]},"d":{"anyOf":[false,{"type":"string"}]},"e":{"allOf":[true,false]}},"required":["a","b"]}`},
	{"dependentRequired", `{"type":"object","properties":{"a":{"type":"string"},"b c":{"type":"string"}},"dependentRequired":{"b c":["a"]},"dependentSchemas":{"b c":{"required":["a"]}}}`},
	{"dependencies", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"dependencies":{"a":["b"],"b":{"properties":{"c":{"type":"array"}}}}}`},
	{"unevaluated", `{"type":"object","properties":{"a":{"type":"array","prefixItems":[{"type":"string"}],"unevaluatedItems":false}},"unevaluatedProperties":false}`},
	{"null keywords", `{"type":"object","properties":{"a":{"type":"string","enum":null,"minLength":null,"pattern":null,"description":null,"items":null,"default":null}},"required":null,"additionalProperties":null,"$defs":null}`},
	{"nullable of OpenAPI", `{"type":"object","properties":{"a":{"type":"string","nullable":true,"enum":["x"]},"b":{"$ref":"#/$defs/X","nullable":true},"c":{"nullable":true},"d":{"type":"string","nullable":false},"e":{"anyOf":[{"type":"string"}],"nullable":true}},"$defs":{"X":{"type":"object","properties":{"y":{"type":"string"}}}}}`},
	{"words of OpenAPI", `{"type":"object","properties":{"a":{"type":"string","example":"x","xml":{"name":"a"},"discriminator":{"propertyName":"t"},"x-order":1,"readOnly":true,"deprecated":"true"}}}`},
	{"content", `{"type":"object","properties":{"a":{"type":"string","contentEncoding":"base64","contentMediaType":"image/png","contentSchema":{"type":"object"}}}}`},
	{"type alone in the wrong place", `{"type":"object","properties":{"a":{"items":{"type":"string"}},"b":{"properties":{"x":{"type":"string"}}},"c":{"required":["x"]},"d":{"minLength":3}}}`},
	{"one schema where a list belongs", `{"type":"object","properties":{"a":{"anyOf":{"type":"string"}},"b":{"type":"string","examples":"x"}}}`},
	{"oneOf beside anyOf", `{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"type":"integer"}],"anyOf":[{"type":"string"},{"type":"boolean"}]}}}`},
	{"enum beside anyOf", `{"type":"object","properties":{"a":{"type":"string","anyOf":[{"enum":["a","b"]},{"pattern":"^x"}]}}}`},
	{"a schema of schemas", `{"type":"object","properties":{"schema":{"type":"object","properties":{"type":{"type":"string"},"properties":{"type":"object","additionalProperties":{"$ref":"#/properties/schema"}},"items":{"$ref":"#/properties/schema"}}}}}`},
	{"HTML in texts", `{"type":"object","description":"a < b && c > d","properties":{"a":{"type":"string","description":"<script>\u2028"}}}`},
	{"numbers of every writing", `{"type":"object","properties":{"a":{"type":"number","minimum":1e-3,"maximum":1.0E+2,"default":1.50},"b":{"type":"integer","maximum":9223372036854775807}}}`},
}

// fan makes definitions of which each refers to the next three times.
func fan(n int) string {
	var b strings.Builder
	for i := 1; i < n; i++ {
		next := `{"$ref":"#/$defs/L` + strconv.Itoa(i+1) + `"}`
		b.WriteString(`"L` + strconv.Itoa(i) + `":{"type":"object","properties":{"a":` + next + `,"b":` + next + `,"c":` + next + `}},`)
	}
	return b.String() + `"L` + strconv.Itoa(n) + `":{"type":"string"}`
}

// numbered joins n copies of a pattern, % replaced by the number.
func numbered(n int, pattern string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = strings.ReplaceAll(pattern, "%", strconv.Itoa(i))
	}
	return strings.Join(parts, ",")
}
