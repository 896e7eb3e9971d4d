package config

import (
	"reflect"
	"strconv"
	"strings"
)

// tags are what Decode wants to know of a field. They are taken apart in one go: reflect's Lookup begins anew for each name, and the
// configuration is decoded at every start.
type tags struct {
	yaml, def, env, enum, min, max string
	hasDefault                     bool
}

func readTags(tag reflect.StructTag) tags {
	var t tags
	for rest := string(tag); ; {
		name, after, ok := strings.Cut(strings.TrimLeft(rest, " "), ":")
		quoted, err := strconv.QuotedPrefix(after)
		if !ok || err != nil {
			return t
		}
		rest = after[len(quoted):]
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return t
		}
		switch name {
		case "yaml":
			t.yaml = value
		case "default":
			t.def, t.hasDefault = value, true
		case "env":
			t.env = value
		case "enum":
			t.enum = value
		case "min":
			t.min = value
		case "max":
			t.max = value
		}
	}
}
