package brought_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/brought"
)

func TestFind_TakesWhatIsConfiguredThenWhatLiesBesideThenItself(t *testing.T) { // RES-6
	dir := t.TempDir()
	file := func(name string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, nil, 0o700); err != nil {
			t.Fatal(err)
		}
		return p
	}
	self, set, beside := file("hermes"), file("set"), file("hermes-resident-plan9-arm")
	other := brought.Machine{OS: "plan9", Arch: "arm"}
	for name, row := range map[string]struct {
		f    brought.Finder
		m    brought.Machine
		want string // path, or part of why there is none
	}{
		"off":        {brought.Finder{Mode: brought.Off, Path: set}, brought.Here(), "resident is off"},
		"configured": {brought.Finder{Path: set, Self: []string{self}}, other, set},
		"missing":    {brought.Finder{Path: filepath.Join(dir, "gone")}, other, "terminal.resident_path"},
		"beside":     {brought.Finder{Self: []string{self}}, other, beside},
		"itself":     {brought.Finder{Self: []string{self}}, brought.Here(), self},
		"embedded":   {brought.Finder{}, other, "part of another program"},
		"other":      {brought.Finder{Self: []string{self}}, brought.Machine{OS: "plan9", Arch: "mips"}, "hermes-resident-plan9-mips"},
	} {
		got, err := row.f.Find(func() (brought.Machine, error) { return row.m, nil })
		_, none := brought.None(err)
		if text := got; err != nil {
			text = err.Error()
			if !strings.Contains(text, row.want) || none == errors.Is(err, environment.ErrConfig) {
				t.Errorf("%s: %v, want %q", name, err, row.want)
			}
		} else if text != row.want {
			t.Errorf("%s: %q, want %q", name, text, row.want)
		}
	}
	if err := brought.CheckMode("maybe"); !errors.Is(err, environment.ErrConfig) || !strings.Contains(err.Error(), `"maybe"`) {
		t.Errorf("%v", err)
	}
}
