//go:build unix

package hermes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	hermes "github.com/hermes-runtime/hermes"
	"github.com/hermes-runtime/hermes/provider"
)

// LOOP-9: what a project says of a directory is told when a call first touches it, whatever names it: a path, the text of a patch, the
// directory of a search, where a command runs. The calls of a script count as well.
func TestConversation_ProjectFilesOfWhatIsTouched(t *testing.T) {
	rt, dir := open(t, hermes.Options{})
	for name, text := range map[string]string{"a": "in a", "b": "in b", "c": "in c", "d": "in d", "e": "in e", "f": "in f", "g": "in g", "untouched": "in none"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "AGENTS.md"), []byte("rules "+text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	calls := []string{
		`"read_file","arguments":{"path":"a/AGENTS.md"}`, `"patch","arguments":{"mode":"patch","patch":"*** Begin Patch\n*** Add File: b/new.txt\n+x\n*** End Patch"}`,
		`"search_files","arguments":{"pattern":"nothing","path":"c"}`, `"terminal","arguments":{"command":"true","workdir":"d"}`, `"terminal","arguments":{"command":"cd e"}`,
		`"terminal","arguments":{"command":"true"}`, `"read_file","arguments":{"path":"AGENTS.md"}`,
		`"execute_code","arguments":{"code":"from hermes_tools import read_file, terminal\nread_file('../f/AGENTS.md')\nterminal('true', workdir='../g')"}`,
	}
	var tape strings.Builder
	for _, c := range calls {
		fmt.Fprintf(&tape, `{"calls":[{"name":%s}]}`+"\n", c)
	}
	file := filepath.Join(t.TempDir(), "tape.jsonl")
	if err := os.WriteFile(file, []byte(tape.String()+`{"text":"done"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := rt.Converse(t.Context(), hermes.ConversationOptions{Model: "replay:" + file, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if out := c.Turn(t.Context(), "go"); out.Status != hermes.Completed {
		t.Fatalf("%+v", out)
	}
	var told []string
	for _, m := range c.History() {
		for i, part := range strings.Split(m.Text, "text of the project]\nrules in ") {
			if i > 0 && m.Role == provider.User {
				told = append(told, strings.Fields(part)[0])
			}
		}
	}
	if got := strings.Join(told, " "); got != "a b c d e f g" {
		t.Errorf("told of %q\n%v", got, c.History())
	}
}
