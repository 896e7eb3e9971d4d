package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSetDotEnv_ChangesOneLineAndMakesTheFilePrivate(t *testing.T) { // SKL-6
	for name, tc := range map[string]struct{ before, name, value, after string }{
		"a new file":            {"", "A", "x", "A=x\n"},
		"at the end":            {"# c\nB=1", "A", "x y", "# c\nB=1\nA=\"x y\"\n"},
		"in its place":          {"A=old # why\nB=1\n", "A", "new", "A=new\nB=1\n"},
		"exported":              {"export A=old\r\nB=1\r\n", "A", "new", "export A=new\r\nB=1\r\n"},
		"the last one counts":   {"A=1\nA=2\n", "A", "3", "A=1\nA=3\n"},
		"comments stay":         {"#A=1\n", "A", "2", "#A=1\nA=2\n"},
		"no prefix of another":  {"AB=1\n", "A", "2", "AB=1\nA=2\n"},
		"faulty lines stay":     {"no line\n", "A", "2", "no line\nA=2\n"},
		"quotes and backslash":  {"", "A", `"'\n#`, "A=\"\\\"'\\\\n#\"\n"},
		"an empty value":        {"A=1\n", "A", "", "A=\"\"\n"},
		"a value of two lines":  {"", "A", "x\ny", "A=\"x\\ny\"\n"},
		"the value stays as is": {"A=\"x\"\n", "B", "y", "A=\"x\"\nB=y\n"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), ".env")
			if tc.before != "" {
				if err := os.WriteFile(file, []byte(tc.before), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := SetDotEnv(t.Context(), file, tc.name, tc.value); err != nil {
				t.Fatal(err)
			}
			text, _ := os.ReadFile(file)
			info, err := os.Stat(file)
			if err != nil || string(text) != tc.after || info.Mode().Perm() != 0o600 {
				t.Errorf("%v %q, want %q", info.Mode(), text, tc.after)
			}
			if vars, _ := LoadDotEnv(file); vars[tc.name] != tc.value {
				t.Errorf("read back as %q, want %q", vars[tc.name], tc.value)
			}
		})
	}
	file := filepath.Join(t.TempDir(), ".env")
	for name, value := range map[string]string{"1A": "x", "A B": "x", "A": "x\x00", "B": "x\ry"} {
		if err := SetDotEnv(t.Context(), file, name, value); err == nil {
			t.Errorf("%q=%q was kept", name, value)
		}
	}
}

// What is written is read back, and nothing else changes.
func FuzzSetDotEnv(f *testing.F) {
	f.Add("A=1\nB=2\n", "x")
	f.Add("export B='a\n#c\n", `\"'`)
	f.Add("B", " ")
	f.Fuzz(func(t *testing.T, text, value string) {
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }) || strings.ContainsRune(text, '\r') {
			return
		}
		read := func(text string) map[string]string {
			file := filepath.Join(t.TempDir(), ".env")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			vars, _ := LoadDotEnv(file)
			return vars
		}
		before, after := read(text), read(withVariable(text, "NEW", value))
		if after["NEW"] != value {
			t.Fatalf("%q became %q", value, after["NEW"])
		}
		delete(before, "NEW")
		delete(after, "NEW")
		for name, v := range before {
			if after[name] != v {
				t.Errorf("%s was %q and is %q", name, v, after[name])
			}
		}
		if len(after) != len(before) {
			t.Errorf("%v became %v", before, after)
		}
	})
}
