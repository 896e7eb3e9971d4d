package script

import (
	"reflect"
	"testing"

	"github.com/hermes-runtime/hermes/internal/config"
)

func TestConfig_DefaultsAreThoseOfTheTags(t *testing.T) { // XC-9
	d, err := config.Parse("config.yaml", "code_execution: {timeout: '20', max_tool_calls: '7'}\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	var got Config
	if err := d.Decode(Section, &got); err != nil {
		t.Fatal(err)
	}
	want := *DefaultConfig()
	want.Timeout, want.MaxToolCalls = 20e9, 7 // numbers written as text count
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
	d, err = config.Parse("config.yaml", "code_execution:\n  timeout: soon\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	got.Invalid(d.Decode(Section, &got))
	if got.Validate() == nil {
		t.Error("a bad value passes")
	}
}
