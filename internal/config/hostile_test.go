package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/config"
)

func TestLoad_BoundsWhatItReads(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"large":  {strings.Repeat("# a comment\n", config.MaxBytes/12+1), "may have"},
		"nested": {"a: " + strings.Repeat("[", 100000), "nested"},
		"maps":   {"a: " + strings.Repeat("{b: ", 100000), "nested"},
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := config.Load(file, nil); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := config.Load("/dev/zero", nil); err == nil {
		t.Error("a file without an end was read")
	}
}

func TestParse_PassesOverAByteOrderMark(t *testing.T) {
	d, err := config.Parse("c.yaml", "\ufeffa: 5\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := d.Get("a"); !ok || v == nil {
		t.Errorf("%v, %v", v, ok)
	}
}

func TestLoadDotEnv_AFaultyLineHidesNoOther(t *testing.T) {
	file := filepath.Join(t.TempDir(), ".env")
	text := "A=1\nno assignment\nMY_API_KEY=secret-of-mine\n=x\n\x00\xff=1\nB='two words'\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	vars, err := config.LoadDotEnv(file)
	if vars["A"] != "1" || vars["MY_API_KEY"] != "secret-of-mine" || vars["B"] != "two words" || len(vars) != 3 {
		t.Errorf("%q", vars)
	}
	if err == nil {
		t.Fatal("the faults are not told")
	}
	for _, line := range []string{":2:1:", ":4:1:", ":5:1:"} {
		if !strings.Contains(err.Error(), line) {
			t.Errorf("%s is not in %v", line, err)
		}
	}
}
