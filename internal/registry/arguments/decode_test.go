package arguments_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/internal/registry/arguments"
)

// ARG-1, ARG-2: each row is a text and the object it stands for; want "" means refused.
func TestDecode_RepairsOnlyWhatCannotChangeAValue(t *testing.T) {
	for _, tc := range []struct{ in, want, repair string }{
		{`{"a":1}`, `{"a":1}`, ""},
		{``, `{}`, ""}, {" \n\t", `{}`, ""}, {`null`, `{}`, ""}, {`""`, `{}`, arguments.RepairUnwrapped}, {`{}`, `{}`, ""},
		{`"{\"a\":1}"`, `{"a":1}`, arguments.RepairUnwrapped},
		{`"\"{\\\"a\\\":1}\""`, ``, ""}, // twice in a string
		{"```json\n{\"a\":1}\n```", `{"a":1}`, arguments.RepairFence},
		{"```\n{\"a\":1}\n```\n", `{"a":1}`, arguments.RepairFence},
		{"```json {\"a\":1}```", `{"a":1}`, arguments.RepairFence},
		{"```json\n{\"a\":1}", `{"a":1}`, arguments.RepairFence},
		{"\ufeff{\"a\":1}", `{"a":1}`, arguments.RepairMark},
		{"{\"a\":\"x\ny\tz\x00\"}", `{"a":"x\ny\tz\u0000"}`, arguments.RepairControl},
		{`{"a":1,}`, `{"a":1}`, arguments.RepairComma}, {`{"a":[1,2,],}`, `{"a":[1,2]}`, arguments.RepairComma},
		{`{"a":1}}`, `{"a":1}`, arguments.RepairCloser}, {`{"a":1}]} }`, `{"a":1}`, arguments.RepairCloser},
		{`{"a":1}{"a":1}`, `{"a":1}`, arguments.RepairRepeat}, {`{"a":{"b":[1,"x"]}} {"a":{"b":[1,"x"]}} {"a":{"b":[1,"x"]}}`, `{"a":{"b":[1,"x"]}}`, arguments.RepairRepeat},
		{"{\"a\":\"\xff\"}", `{"a":"` + "\ufffd" + `"}`, arguments.RepairText},
		{`{"a":1}{"a":2}`, ``, ""}, {`{"a":1}{"a":1.0}`, ``, ""}, {`{"a":1}{"b":1}`, ``, ""}, {`{"a":1} and`, ``, ""},
		{`{"a":1,"a":1}`, ``, ""}, {`{"a":1,"\u0061":2}`, ``, ""}, {`{"o":{"k":1,"k":2}}`, ``, ""}, {`{"a":[{"k":1,"k":1}]}`, ``, ""}, {`{"\ud800":1,"\ud801":2}`, ``, ""},
		{`{,}`, ``, ""}, {`{"a":[,]}`, ``, ""}, {`{"a":[1,,]}`, ``, ""}, {`{"a":1,,}`, ``, ""}, {`{"a" 1}`, ``, ""}, {`{a:1}`, ``, ""}, {`{'a':1}`, ``, ""}, {`{"a":True}`, ``, ""},
		{`[{"a":1}]`, ``, ""}, {`42`, ``, ""}, {`true`, ``, ""}, {`"text"`, ``, ""}, {`null null`, ``, ""}, {`"{}" x`, ``, ""},
		{`{"a":01}`, ``, ""}, {`{"a":1.}`, ``, ""}, {`{"a":.5}`, ``, ""}, {`{"a":+1}`, ``, ""}, {`{"a":-}`, ``, ""}, {`{"a":1e999}`, ``, ""}, {`{"a":NaN}`, ``, ""}, {`{"a":1-2}`, ``, ""},
		{`{"a":"\x41"}`, ``, ""}, {`{"a":"\u00g0"}`, ``, ""}, {`{"a":"\u+123"}`, ``, ""},
		{`{"a":"\ud83d\ude00 \ud800x \"\\\/\b\f\n\r\t"}`, `{"a":"😀 ` + "\ufffd" + `x \"\\/\b\f\n\r\t"}`, ""},
		{`{"a":-0,"b":-1.5E+10,"c":12345678901234567890}`, `{"a":-0,"b":-1.5E+10,"c":12345678901234567890}`, ""},
		{strings.Repeat(`{"a":`, 600) + `1` + strings.Repeat(`}`, 600), ``, ""},
	} {
		d, err := arguments.Decode(json.RawMessage(tc.in), arguments.Limits{})
		if tc.want == "" {
			var bad *arguments.Invalid
			if !errors.As(err, &bad) || bad.Kind != arguments.InvalidJSON || bad.Truncated {
				t.Errorf("Decode(%.80q) = %v, %v; want it refused as invalid JSON", tc.in, d.Object, err)
			}
			continue
		}
		got, _ := json.Marshal(d.Object)
		if err != nil || !sameJSON(string(got), tc.want) {
			t.Errorf("Decode(%q) = %s, %v; want %s", tc.in, got, err, tc.want)
		}
		if tc.repair == "" && d.Repairs != nil || tc.repair != "" && !contains(d.Repairs, tc.repair) {
			t.Errorf("Decode(%q): repairs %q, want %q", tc.in, d.Repairs, tc.repair)
		}
		if (d.Raw != nil) != (tc.repair == "" && strings.HasPrefix(tc.in, "{")) {
			t.Errorf("Decode(%q): raw %q", tc.in, d.Raw)
		}
	}
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

func sameJSON(a, b string) bool {
	read := func(s string) (v any) {
		dec := json.NewDecoder(strings.NewReader(s))
		dec.UseNumber()
		if err := dec.Decode(&v); err != nil {
			return err
		}
		return v
	}
	return reflect.DeepEqual(read(a), read(b))
}

// ARG-3: every prefix of a call is refused, as cut off wherever it ends inside a value.
func TestDecode_TextThatEndsInsideAValueIsTruncated(t *testing.T) {
	const whole = `{"path":"a\u00e9\nb","n":-12.5e+3,"list":[true,false,null,{"k":[]}],"é":"✗"}`
	for i := range whole {
		if i == 0 {
			continue
		}
		_, err := arguments.Decode(json.RawMessage(whole[:i]), arguments.Limits{})
		var bad *arguments.Invalid
		if !errors.As(err, &bad) || !bad.Truncated {
			t.Errorf("%q: %v, want it reported as cut off", whole[:i], err)
		}
	}
	_, err := arguments.Decode(json.RawMessage(`{"text":"ééé`), arguments.Limits{})
	if err == nil || !strings.Contains(err.Error(), "cut off after 12 characters") || !strings.Contains(err.Error(), "less at a time") {
		t.Errorf("the error doesn't say where and what to do: %v", err)
	}
	if _, err := arguments.Decode(json.RawMessage(`{"a":1}`), arguments.Limits{Cut: true}); err == nil {
		t.Error("the arguments of a response cut at its length limit were taken")
	}
	if _, err := arguments.Decode(json.RawMessage(`{"a":"0123456789"}`), arguments.Limits{MaxBytes: 10}); err == nil {
		t.Error("text over the limit was taken")
	}
}

// ARG-8.
func TestDecode_SyntaxErrorSaysWhere(t *testing.T) {
	_, err := arguments.Decode(json.RawMessage("{\n  \"first\": \"é\",\n  \"ké\": nope, \"and\": \"a long tail that is not all shown\"\n}"), arguments.Limits{})
	if err == nil {
		t.Fatal("taken")
	}
	for _, want := range []string{"line 3, column 9", `nope`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "not all shown") {
		t.Errorf("more than the surroundings are shown: %v", err)
	}
}

// Accepted text is valid JSON, says what the standard decoder reads in it, and decodes to itself again.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"a":1}`, "```json\n{}\n```", `"{\"a\":[1,2,]}"`, `{"a":1}}`, `{"a":{"b":[null,true,"\u00e9\ud83d"]}}{}`, `{"a":1e5,"b":-0.1}`, "{\"a\":\"\x01\xff\"}", `{"a":1,"a":2}`, ``, `[`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := arguments.Decode(raw, arguments.Limits{})
		if err != nil {
			var bad *arguments.Invalid
			if !errors.As(err, &bad) || !utf8.ValidString(bad.Error()) && utf8.Valid(raw) || utf8.RuneCountInString(bad.Error()) > 2000 {
				t.Fatalf("refused with %T %q", err, err)
			}
			return
		}
		if d.Object == nil {
			t.Fatal("accepted without an object")
		}
		text, err := json.Marshal(d.Object)
		if err != nil {
			t.Fatalf("accepted what can't be written: %v", err)
		}
		if d.Raw != nil {
			var std map[string]any
			dec := json.NewDecoder(strings.NewReader(string(d.Raw)))
			dec.UseNumber()
			if err := dec.Decode(&std); err != nil || !reflect.DeepEqual(std, d.Object) {
				t.Fatalf("kept %q, which reads as %v (%v), not %v", d.Raw, std, err, d.Object)
			}
		}
		again, err := arguments.Decode(text, arguments.Limits{})
		if err != nil || again.Repairs != nil || !reflect.DeepEqual(again.Object, d.Object) {
			t.Fatalf("%q decoded to %q, and that to %v, %q, %v", raw, text, again.Object, again.Repairs, err)
		}
	})
}
