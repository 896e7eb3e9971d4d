//go:build linux || darwin

package terminal_test

import (
	"strings"
	"testing"
)

// A83: a line that is typed into a shell's terminal is judged as the shell has it in the end, whatever keys it was edited with; what the
// keys alone don't tell isn't sent off.
func TestProcess_TheLineThatRunsIsTheOneThatIsJudged(t *testing.T) {
	type step struct {
		data string
		keys []string
		want string // part of the act, or of the error
	}
	const refused = "error: "
	h := keeping(t)
	for name, tc := range map[string]struct {
		command string
		steps   []step
	}{
		"a character taken away by ctrl-d":  {"bash --norc", []step{{"rmx -rf /srv/x", []string{"home", "right", "right"}, ""}, {"", []string{"ctrl-d", "enter"}, refused + "can't be known"}}},
		"ctrl-d at the end of a line":       {"sh", []step{{"rm -rf", []string{"ctrl-d"}, "rm -rf"}, {" /srv/x", []string{"enter"}, "rm -rf /srv/x"}}},
		"two characters exchanged":          {"bash --norc", []step{{"mr -rf /srv/x", []string{"home", "right", "ctrl-t", "enter"}, refused + "can't be known"}}},
		"what was cut put back":             {"bash --norc", []step{{"rm -rf /srv/x", []string{"ctrl-u", "ctrl-y", "enter"}, refused + "can't be known"}}},
		"a macro":                           {"bash --norc", []step{{"ls", []string{"ctrl-g", "enter"}, refused + "can't be known"}}},
		"the line of an editor":             {"bash --norc", []step{{"ls", []string{"ctrl-x"}, ""}, {"", []string{"ctrl-e"}, refused + "no line shows"}}},
		"the keys of a macro":               {"bash --norc", []step{{"rm ", []string{"ctrl-x"}, ""}, {"e", nil, refused + "no line shows"}}},
		"the next line of the history":      {"bash --norc", []step{{"ls", []string{"ctrl-o", "enter"}, refused + "can't be known"}}},
		"the history":                       {"bash --norc", []step{{"!!:s/echo //\n", nil, refused + "history"}}},
		"the history, in double quotes":     {"bash --norc", []step{{"sh -c \"!rm\"\n", nil, refused + "history"}}},
		"a quick change":                    {"bash --norc", []step{{"^echo^\n", nil, refused + "history"}}},
		"no call for the history":           {"bash --norc", []step{{`[ 1 != 2 ] && echo 'a!b' "c!" \!x $! ${!x}` + "\n", nil, "a!b"}}},
		"a history that Python has none of": {"python3 -i", []step{{"x = '!y'\n", nil, "!y"}}},
		"arrows and backspace":              {"bash --norc", []step{{"lss", []string{"left", "right", "backspace", "enter"}, "\nls\n"}}},
	} {
		t.Run(name, func(t *testing.T) {
			id := begin(t, h, map[string]any{"command": tc.command, "pty": true})
			for _, s := range tc.steps {
				m, acts, err := managed(t, h, map[string]any{"action": "write", "session_id": id, "data": s.data, "keys": s.keys})
				if err != nil {
					t.Fatal(err)
				}
				fault, _ := m["error"].(string)
				switch want, no := strings.CutPrefix(s.want, refused); {
				case no && !strings.Contains(fault, want), !no && fault != "":
					t.Fatalf("%+v: %v", s, m)
				case no:
				case s.want == "" && len(acts) > 0, s.want != "" && (len(acts) != 1 || !strings.Contains(acts[0].Text, s.want)):
					t.Fatalf("%+v: %+v", s, acts)
				}
			}
		})
	}
}
