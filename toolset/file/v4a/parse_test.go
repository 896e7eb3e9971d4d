package v4a_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/toolset/file/text"
	"github.com/hermes-runtime/hermes/toolset/file/v4a"
)

func TestParse_FormsThatModelsWrite(t *testing.T) { // V4A-1, V4A-2
	for name, patch := range map[string]string{
		"full":            "*** Begin Patch\n*** Update File: a\n@@ f\n-x\n+y\n*** End Patch\n",
		"bare":            "*** Update File: a\n-x\n+y",
		"spaces":          "***   Begin   Patch\n***Update File :a  \n@@\n-x\n+y\n***End Patch",
		"prose and fence": "I change it so:\n\n```diff\n*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch\n```\nDone.",
		"fence alone":     "```\n*** Update File: a\n@@\n-x\n+y\n```\n",
		"CRLF":            "*** Begin Patch\r\n*** Update File: a\r\n@@\r\n-x\r\n+y\r\n*** End Patch\r\n",
		"ranges":          "*** Update File: a\n@@ -1,2 +1,2 @@ f\n-x\n+y\n",
		"blank lines":     "*** Begin Patch\n\n*** Update File: a\n\n@@\n-x\n+y\n\n\n*** End Patch",
		"lower case":      "*** begin patch\n*** update file: a\n@@\n-x\n+y\n*** end patch",
	} {
		ops, err := v4a.Parse(patch)
		if err != nil || len(ops) != 1 || ops[0].Path != "a" || ops[0].Kind != v4a.Update || len(ops[0].Hunks) != 1 || len(ops[0].Hunks[0].Lines) != 2 {
			t.Errorf("%s: %+v, %v", name, ops, err)
		}
	}
}

func TestParse_MoveForms(t *testing.T) { // V4A-6
	for _, patch := range []string{
		"*** Move File: a -> b\n@@\n-x\n+y\n", "*** Update File: a\n*** Move to: b\n@@\n-x\n+y\n",
	} {
		ops, err := v4a.Parse(patch)
		if err != nil || len(ops) != 1 || ops[0].Kind != v4a.Move || ops[0].To != "b" || len(ops[0].Hunks) != 1 {
			t.Errorf("%q: %+v, %v", patch, ops, err)
		}
	}
}

func TestParse_FaultsNameTheirLine(t *testing.T) { // V4A-1, V4A-3
	for patch, line := range map[string]int{
		"":                                                0,
		"nothing here":                                    0,
		"*** Update File: a\n@@\n-x\nstray\n":             4,
		"*** Update File: a\n":                            1,
		"*** Update File: a\n@@\n same\n":                 2,
		"*** Update File:\n@@\n-x\n":                      1,
		"*** Move File: a\n":                              1,
		"*** Delete File: a\n-x\n":                        2,
		"*** Add File: a\nx\n":                            2,
		"*** Delete File: a\n*** Add File: a\n+x\n":       2,
		"*** Begin Patch\nprose\n*** Delete File: a\n":    2,
		"*** Update File: a\n@@\n-x\n*** End of File\n+y": 5,
	} {
		_, err := v4a.Parse(patch)
		var e *v4a.Error
		if !errors.As(err, &e) || e.Line != line {
			t.Errorf("%q: %v, want line %d", patch, err, line)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("*** Begin Patch\n*** Update File: a\n@@ f\n x\n-x\n+y\n*** End of File\n*** Add File: b\n+z\n*** Move File: c -> d\n*** End Patch", "x\nx\n")
	f.Add("```\n*** Delete File: a\n```", "")
	f.Add("*** Update File: a\n@@\n+y\n", "a\r\nb")
	f.Fuzz(func(t *testing.T, patch, file string) {
		if len(patch)+len(file) > 4000 {
			return
		}
		ops, err := v4a.Parse(patch)
		if err != nil {
			var e *v4a.Error
			if !errors.As(err, &e) {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		if len(ops) == 0 {
			t.Fatal("no operation and no error")
		}
		for _, o := range ops {
			if o.Path == "" || strings.Contains(o.Path, "\n") {
				t.Fatalf("path %q", o.Path)
			}
			d := text.Parse([]byte(file))
			a, err := v4a.Apply(d, o.Hunks)
			if err != nil {
				continue
			}
			if _, err := d.Apply(a.Edits); err != nil && !errors.Is(err, text.ErrUndecodable) {
				t.Fatalf("edits of %q in %q: %v", patch, file, err)
			}
		}
	})
}
