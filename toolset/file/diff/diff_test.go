package diff

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/toolset/file/text"
)

// A diff is of the lines around its edits alone: patch, which counts the lines of the whole file, makes the new text of it.
func TestEdits_ArePatches(t *testing.T) {
	program, err := exec.LookPath("patch")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("there is no patch to apply a diff with")
	}
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	whole := b.String()
	rnd := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same cases each time
	for round := range 60 {
		s := whole[:len(whole)-round%2] // with and without a break at the end
		var edits []text.Edit
		for at := 0; at < len(s); {
			from := at + rnd.IntN(1500)
			to := from + rnd.IntN(30)
			if to > len(s) {
				break
			}
			edits = append(edits, text.Edit{Start: from, End: to, New: strings.Repeat("new\n", rnd.IntN(3)) + "x"})
			at = to + 1
		}
		if round == 0 {
			edits = append([]text.Edit{{New: "first\n"}}, append(edits, text.Edit{Start: len(s), End: len(s), New: "last\n"})...)
		}
		d := text.Parse([]byte(s))
		want, err := d.Apply(edits)
		if err != nil {
			t.Fatal(err)
		}
		old := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(old, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, "--fuzz=0", "--batch", old)
		shown := Named("f", "f", Edits(d, edits))
		cmd.Stdin = strings.NewReader(shown)
		said, err := cmd.CombinedOutput()
		got, _ := os.ReadFile(old)
		if err != nil || strings.Contains(string(said), "offset") || string(got) != string(want) {
			t.Fatalf("round %d: %v\n%s\n%s", round, err, said, shown)
		}
	}
	if e := Edits(text.Parse([]byte(whole)), nil); e != "" {
		t.Errorf("a diff of nothing: %q", e)
	}
}
