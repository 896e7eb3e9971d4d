package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/hermes-runtime/hermes/internal/secret"
)

// Decode fills the struct that into points to from the section at the dotted path. Each field with a yaml tag takes its value
// from the file, else from the variable in its env tag, else from its default tag. Further tags: min and max for numbers, enum
// (a|b) for strings, help for people. A time.Duration is a number of seconds, or text such as 1m30s. Numbers written as text
// count. The error joins one Problem for each bad value; such a field has its default.
func (d *Document) Decode(path string, into any) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("decode %s: %T is no pointer to a struct", path, into)
	}
	if n := d.node(path); path != "" && n != nil {
		if _, ok := mapping(n); !ok {
			return at(d.Path, n, path, "must be a mapping of keys")
		}
	}
	return errors.Join(d.fill(path, v.Elem())...)
}

func (d *Document) fill(path string, v reflect.Value) []error {
	var errs []error
	for i := range v.NumField() {
		f := v.Type().Field(i)
		tag := readTags(f.Tag)
		name, opts, _ := strings.Cut(tag.yaml, ",")
		if opts == "inline" {
			errs = append(errs, d.fill(path, v.Field(i))...)
			continue
		}
		if name == "" || name == "-" {
			continue
		}
		if err := d.field(join(path, name), tag, v.Field(i)); err != nil {
			errs = append(errs, err...)
		}
	}
	return errs
}

func (d *Document) field(key string, tag tags, v reflect.Value) []error {
	if v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]() {
		if n := d.node(key); n != nil {
			if _, ok := mapping(n); !ok {
				return []error{at(d.Path, n, key, "must be a mapping of keys")}
			}
		}
		return d.fill(key, v)
	}
	if tag.hasDefault {
		if err := set(v, tag.def, tag); err != nil {
			return []error{fmt.Errorf("default of %s: %w", key, err)}
		}
	}
	if n := d.node(key); n != nil {
		if err := set(v, plain(n), tag); err != nil {
			return []error{at(d.Path, n, key, conceal(key, err).Error())}
		}
		return nil
	}
	if tag.env != "" {
		if text, ok := d.getenv(tag.env); ok && text != "" {
			if err := set(v, text, tag); err != nil {
				return []error{&Problem{File: "environment", Key: tag.env, Text: conceal(tag.env, conceal(key, err)).Error()}}
			}
		}
	}
	return nil
}

// set puts plain data into a field, converting text. On an error the field keeps what it had.
func set(v reflect.Value, from any, tag tags) error {
	if v.Type() == reflect.TypeFor[time.Duration]() {
		return setDuration(v, from, tag)
	}
	switch v.Kind() {
	case reflect.String:
		return setString(v, from, tag)
	case reflect.Bool:
		b, ok := boolean(from)
		if !ok {
			return bad(from, "is neither true nor false")
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64, reflect.Float64:
		return setNumber(v, from, tag)
	case reflect.Slice:
		return setSlice(v, from, tag)
	case reflect.Map:
		return setMap(v, from)
	case reflect.Interface:
		if from != nil {
			v.Set(reflect.ValueOf(from))
		}
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		if err := set(p.Elem(), from, tag); err != nil {
			return err
		}
		v.Set(p)
	default:
		return fmt.Errorf("a field of type %s can't be configured", v.Type())
	}
	return nil
}

func setString(v reflect.Value, from any, tag tags) error {
	var s string
	switch x := from.(type) {
	case string:
		s = x
	case bool, int64, uint64, float64:
		s = fmt.Sprint(x)
	default:
		return bad(from, "is not text")
	}
	if enum := tag.enum; enum != "" && s != "" {
		low := strings.ToLower(strings.TrimSpace(s))
		for allowed := range strings.SplitSeq(enum, "|") {
			if low == allowed {
				v.SetString(low)
				return nil
			}
		}
		return bad(from, "is not one of "+strings.ReplaceAll(enum, "|", ", "))
	}
	v.SetString(s)
	return nil
}

func boolean(from any) (bool, bool) {
	switch x := from.(type) {
	case bool:
		return x, true
	case int64:
		return x == 1, x == 0 || x == 1
	case uint64:
		return x == 1, x == 0 || x == 1
	case string:
		switch strings.ToLower(strings.TrimSpace(x)) {
		case "true", "yes", "on", "1":
			return true, true
		case "false", "no", "off", "0":
			return false, true
		}
	}
	return false, false
}

func number(from any) (float64, bool) {
	switch x := from.(type) {
	case int64:
		return float64(x), true
	case uint64:
		return float64(x), true
	case float64:
		return x, !math.IsNaN(x) && !math.IsInf(x, 0)
	case string:
		f, err := strconv.ParseFloat(strings.TrimSpace(x), 64)
		return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
	}
	return 0, false
}

func setNumber(v reflect.Value, from any, tag tags) error {
	f, ok := number(from)
	whole := v.Kind() != reflect.Float64
	if !ok || whole && f != math.Trunc(f) {
		return bad(from, "is not a "+allowedNumber(whole, tag))
	}
	if err := inRange(f, whole, tag); err != nil {
		return err
	}
	if whole {
		v.SetInt(int64(f))
	} else {
		v.SetFloat(f)
	}
	return nil
}

func setDuration(v reflect.Value, from any, tag tags) error {
	f, ok := number(from)
	if !ok {
		text, isText := from.(string)
		dur, err := time.ParseDuration(strings.TrimSpace(text))
		if !isText || err != nil {
			return bad(from, "is not a number of seconds"+bounds(tag))
		}
		f = dur.Seconds()
	}
	if f < 0 || f > 1e9 {
		return bad(from, "is not a number of seconds"+bounds(tag))
	}
	if err := inRange(f, false, tag); err != nil {
		return err
	}
	v.SetInt(int64(f * float64(time.Second)))
	return nil
}

func allowedNumber(whole bool, tag tags) string {
	if whole {
		return "whole number" + bounds(tag)
	}
	return "number" + bounds(tag)
}

func bounds(tag tags) string {
	lo, hi := tag.min, tag.max
	switch {
	case lo != "" && hi != "":
		return " from " + lo + " to " + hi
	case lo != "":
		return ", at least " + lo
	case hi != "":
		return ", at most " + hi
	}
	return ""
}

func inRange(f float64, whole bool, tag tags) error {
	if f < bound(tag.min, math.Inf(-1)) || f > bound(tag.max, math.Inf(1)) {
		return bad(f, "is not a "+allowedNumber(whole, tag))
	}
	return nil
}

// bound reads a bound in a tag; without one, none holds.
func bound(text string, none float64) float64 {
	if text == "" {
		return none
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return none
	}
	return f
}

func setSlice(v reflect.Value, from any, tag tags) error {
	if text, ok := from.(string); ok {
		text = strings.TrimSpace(text)
		switch {
		case text == "":
			from = []any{}
		case strings.HasPrefix(text, "["):
			if err := json.Unmarshal([]byte(text), &from); err != nil {
				return fmt.Errorf("the text is no JSON list: %w", err)
			}
		default:
			from = []any{text}
		}
	}
	list, ok := from.([]any)
	if !ok {
		return bad(from, "is not a list")
	}
	out := reflect.MakeSlice(v.Type(), len(list), len(list))
	for i, item := range list {
		if err := set(out.Index(i), item, tag); err != nil {
			return fmt.Errorf("item %d: %w", i+1, err)
		}
	}
	v.Set(out)
	return nil
}

func setMap(v reflect.Value, from any) error {
	if text, ok := from.(string); ok && strings.HasPrefix(strings.TrimSpace(text), "{") {
		if err := json.Unmarshal([]byte(text), &from); err != nil {
			return fmt.Errorf("the text is no JSON object: %w", err)
		}
	}
	m, ok := from.(map[string]any)
	if !ok {
		return bad(from, "is not a mapping of keys")
	}
	out := reflect.MakeMapWithSize(v.Type(), len(m))
	for key, item := range m {
		e := reflect.New(v.Type().Elem()).Elem()
		if e.Kind() == reflect.Struct {
			if err := setStruct(e, item); err != nil {
				return fmt.Errorf("%s: %w", key, conceal(key, err))
			}
		} else if err := set(e, item, tags{}); err != nil {
			return fmt.Errorf("%s: %w", key, conceal(key, err))
		}
		out.SetMapIndex(reflect.ValueOf(key), e)
	}
	v.Set(out)
	return nil
}

// setStruct fills a struct that is an element of a map.
func setStruct(v reflect.Value, from any) error {
	m, ok := from.(map[string]any)
	if !ok {
		return bad(from, "is not a mapping of keys")
	}
	known := map[string]bool{}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		tag := readTags(f.Tag)
		name, _, _ := strings.Cut(tag.yaml, ",")
		known[name] = true
		if tag.hasDefault {
			if err := set(v.Field(i), tag.def, tag); err != nil {
				return err
			}
		}
		if item, ok := m[name]; ok && item != nil {
			if err := set(v.Field(i), item, tag); err != nil {
				return fmt.Errorf("%s: %w", name, conceal(name, err))
			}
		}
	}
	for key := range m {
		if !known[key] {
			return fmt.Errorf("unknown key %q", key)
		}
	}
	return nil
}

// valueError is a value that a field can't take.
type valueError struct {
	value any
	why   string // what it is not
}

func bad(value any, why string) error { return &valueError{value, why} }

func (e *valueError) Error() string { return show(e.value) + " " + e.why }

// conceal leaves the value out of an error about a key that is named like a secret: errors are shown and logged.
func conceal(key string, err error) error {
	if e, ok := errors.AsType[*valueError](err); ok && isSecret(key) {
		return errors.New("the value (not shown, for the key names a secret) " + e.why)
	}
	return err
}

func isSecret(key string) bool { return secret.IsSecretName(key[strings.LastIndexByte(key, '.')+1:]) }

func show(v any) string {
	s := fmt.Sprint(veiled(v))
	if text, ok := v.(string); ok {
		s = strconv.Quote(text)
	}
	if r := []rune(s); len(r) > 60 {
		s = string(r[:60]) + "…"
	}
	return s
}

// veiled leaves out what stands under secret names inside of a value.
func veiled(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = veiled(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			if out[key] = veiled(item); isSecret(key) {
				out[key] = "…"
			}
		}
		return out
	}
	return v
}

// plain turns a node into Go data. Keys and values keep their text where they are text.
func plain(n ast.Node) any {
	var v any
	if err := yaml.NodeToValue(n, &v); err != nil {
		return n.String()
	}
	return normal(v)
}

func normal(v any) any {
	switch v := v.(type) {
	case uint64:
		if v <= math.MaxInt64 {
			return int64(v)
		}
	case int:
		return int64(v)
	case []any:
		for i := range v {
			v[i] = normal(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = normal(v[k])
		}
	case map[any]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[fmt.Sprint(k)] = normal(x)
		}
		return out
	}
	return v
}

// syntaxError makes one line of the parser's message, which brings a picture of the source along.
func syntaxError(name string, err error) error {
	first, _, _ := strings.Cut(err.Error(), "\n")
	p := &Problem{File: name, Text: first}
	place, text, placed := strings.Cut(first, "] ") // [line:column] what is wrong
	line, column, found := strings.Cut(strings.TrimPrefix(place, "["), ":")
	l, errLine := strconv.Atoi(line)
	c, errColumn := strconv.Atoi(column)
	if placed && found && errLine == nil && errColumn == nil {
		p.Line, p.Column, p.Text = l, c, text
	}
	return p
}
