package engine

import (
	"os/exec"
	"strings"
	"testing"
)

func TestExports_ReadsWhatShellsPrint(t *testing.T) { // ENG-8
	for _, row := range []struct {
		text string
		want map[string]string
	}{
		{"", map[string]string{}},
		{"declare -x A=\"1\"\ndeclare -x B\ndeclare -x C=\"\"\n", map[string]string{"A": "1", "C": ""}},
		{"declare -ix A=\"5\"\ndeclare -rx B=\"2\"\ndeclare -ax C='([0]=\"x\")'\n", map[string]string{"A": "5", "B": "2"}},
		{"declare -x A=\"a\\\"b\\\\c\\$d\\`e\nf\"\n", map[string]string{"A": "a\"b\\c$d`e\nf"}},
		{`declare -x A=$'a\n\t\E\001\x41\u00e9\U0001F600\'\\\377'` + "\n", map[string]string{"A": "a\n\t\x1b\x01Aé😀'\\\xff"}},
		{"export A='it'\"'\"'s'\nexport B='x\ny'\nexport C\n", map[string]string{"A": "it's", "B": "x\ny"}},
		{"export A='it'\\''s'\n", map[string]string{"A": "it's"}},
	} {
		got, err := parseExports(row.text)
		if err != nil {
			t.Errorf("%q: %v", row.text, err)
		}
		if len(got) != len(row.want) {
			t.Errorf("%q: %q, want %q", row.text, got, row.want)
		}
		for name, v := range row.want {
			if got[name] != v {
				t.Errorf("%q: %s is %q, want %q", row.text, name, got[name], v)
			}
		}
	}
	for _, bad := range []string{"x", "declare -x", "declare -x A=\"1", "declare -x A='1\n", "export =1\n", `declare -x A=$'\`, "declare -x A=\"1\\"} {
		if got, err := parseExports(bad); err == nil {
			t.Errorf("%q was read as %q", bad, got)
		}
	}
}

func TestDump_TakesTheLastWholeRecord(t *testing.T) { // ENG-8
	rec := func(dir, a string) string {
		return dir + "\n\x00declare -x A=\"" + a + "\"\n\x00f () \n{ \n    echo\n}\ndeclare -fx f\n\x00.\x00"
	}
	for text, want := range map[string]string{
		rec("/a", "1"):                         "/a 1",
		rec("/a", "1") + rec("/b", "2"):        "/b 2",
		rec("/a", "1") + rec("/b", "2")[:20]:   "/a 1",
		rec("/a", "1") + "/b\n\x00declare\x00": "/a 1",
		rec("/a\nb", "1"):                      "/a\nb 1",
	} {
		d, err := parseDump([]byte(text))
		if got := d.dir + " " + d.vars["A"]; err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
		if f := d.vars["BASH_FUNC_f%%"]; f != "() {\n    echo\n}" {
			t.Errorf("function %q", f)
		}
	}
	for _, bad := range []string{"", "/a", "/a\x00\x00\x00.", "a\x00b\x00c\x00d\x00"} {
		if d, err := parseDump([]byte(bad)); err == nil {
			t.Errorf("%q was read as %+v", bad, d)
		}
	}
}

// FuzzExports holds the reader to values quoted in the three ways, and to not failing on anything else.
func FuzzExports(f *testing.F) {
	for _, s := range []string{"", "1", "a\"b'c\\d$e`f\ng", "\x00\xff", "é", "declare -x A=\"1\"\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, v string) {
		_, _ = parseExports(v)
		_, _ = parseDump([]byte(v))
		parseFunctions(v, map[string]string{})
		for _, text := range []string{
			`declare -x A="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(v) + "\"\n",
			"export A=" + quote(v) + "\n",
			"declare -x A=$'" + oneLine.Replace(v) + "'\n",
		} {
			if got, err := parseExports(text); err != nil || got["A"] != v {
				t.Errorf("%q: %q, %v; want %q", text, got["A"], err, v)
			}
		}
	})
}

func TestWord_IsOneWordOfTheShellWhateverItHolds(t *testing.T) { // ENG-2
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	for _, s := range []string{"a", "it's", "a\nb", "\\", "\\n'\n'", "$'x'\n", "é\n\t\r\x01", "' ; exit 1 #\n", "`x`\n$(y)\n\\'"} {
		out, err := exec.Command(bash, "-c", "printf %s "+wrapping{bash: true}.word(s)).Output()
		if err != nil || string(out) != s {
			t.Errorf("%q came out as %q, %v", s, out, err)
		}
	}
}
