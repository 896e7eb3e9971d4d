package schema_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/registry/schema"
)

type edit struct {
	Path string `json:"path" desc:"file to change"`
	Kind string `json:"kind,omitempty" enum:"add|drop" default:"add"`
}

type base struct {
	Verbose bool `json:"verbose,omitempty" default:"false"`
}

type args struct {
	base
	Command string            `json:"command" desc:"what to run" min:"1"`
	Limit   *int              `json:"limit" desc:"at most so many" default:"50" min:"1" max:"500"`
	Ratio   float64           `json:"ratio,omitzero" max:"1.5"`
	Edits   []edit            `json:"edits,omitempty" min:"1" max:"9"`
	Sorts   []string          `json:"sorts,omitempty" enum:"name|size"`
	Level   int               `json:"level,omitempty" enum:"1|2"`
	Env     map[string]string `json:"env,omitempty"`
	Any     any               `json:"any,omitempty"`
	Raw     json.RawMessage   `json:"raw,omitempty"`
	Wait    time.Duration     `json:"wait,omitempty"`
	Secret  string            `json:"-"`
	hidden  int
}

func TestFor_StructAndTagsBecomeASchema(t *testing.T) {
	s, err := schema.For[args]()
	if err != nil {
		t.Fatal(err)
	}
	_ = args{}.hidden
	c := compile(t, s)
	var got struct {
		Properties           map[string]json.RawMessage `json:"properties"`
		Required             []string                   `json:"required"`
		AdditionalProperties any                        `json:"additionalProperties"`
	}
	if err := json.Unmarshal(c.Parameters(), &got); err != nil {
		t.Fatal(err)
	}
	if strings.Join(got.Required, " ") != "command" || got.AdditionalProperties != false {
		t.Errorf("required %v, additionalProperties %v", got.Required, got.AdditionalProperties)
	}
	want := map[string]string{
		"verbose": `{"default":false,"type":"boolean"}`,
		"command": `{"description":"what to run","minLength":1,"type":"string"}`,
		"limit":   `{"default":50,"description":"at most so many","maximum":500,"minimum":1,"type":"integer"}`,
		"ratio":   `{"maximum":1.5,"type":"number"}`,
		"edits": `{"items":{"additionalProperties":false,"properties":{"kind":{"default":"add","enum":["add","drop"],"type":"string"},` +
			`"path":{"description":"file to change","type":"string"}},"required":["path"],"type":"object"},"maxItems":9,"minItems":1,"type":"array"}`,
		"sorts": `{"items":{"enum":["name","size"],"type":"string"},"type":"array"}`,
		"level": `{"enum":[1,2],"type":"integer"}`,
		"env":   `{"additionalProperties":{"type":"string"},"properties":{},"type":"object"}`,
		"any":   `{}`,
		"raw":   `{}`,
		"wait":  `{"description":"a duration such as \"90s\" or \"2m\"","type":"string"}`,
	}
	for name, w := range want {
		if string(got.Properties[name]) != w {
			t.Errorf("%s: %s, want %s", name, got.Properties[name], w)
		}
	}
	if len(got.Properties) != len(want) {
		t.Errorf("properties %v", got.Properties)
	}
	if s, err := schema.For[struct{}](); err != nil || string(compile(t, s).Parameters()) != `{"additionalProperties":false,"properties":{},"type":"object"}` {
		t.Errorf("an empty struct: %v", err)
	}
}

type cyclic struct {
	Next *cyclic `json:"next"`
}

func TestFor_RefusesWhatHasNoSchema(t *testing.T) {
	for name, run := range map[string]func() error{
		"string":  func() error { _, err := schema.For[string](); return err },
		"cycle":   func() error { _, err := schema.For[cyclic](); return err },
		"channel": func() error { _, err := schema.For[struct{ C chan int }](); return err },
		"default": func() error {
			_, err := schema.For[struct {
				N int `default:"many"`
			}]()
			return err
		},
		"enum": func() error {
			_, err := schema.For[struct {
				N int `enum:"a|b"`
			}]()
			return err
		},
		"bound": func() error {
			_, err := schema.For[struct {
				N int `min:"low"`
			}]()
			return err
		},
		"no bound": func() error {
			_, err := schema.For[struct {
				B bool `min:"1"`
			}]()
			return err
		},
	} {
		if err := run(); err == nil || !strings.Contains(err.Error(), "inferring a schema from ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
