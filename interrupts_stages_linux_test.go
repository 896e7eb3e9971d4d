package hermes_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	hermes "github.com/hermes-runtime/hermes"
	"github.com/hermes-runtime/hermes/internal/atomicfile"
	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/provider/providertest"
	"github.com/hermes-runtime/hermes/tool"
)

// stage is where a turn is stopped.
type stage struct {
	name    string
	replies []providertest.Reply // what the model says; then nothing, for as long as it is waited for
	config  string
	arrange func(*scene)
	turns   int // requests that the turn may make; 0 = as configured
	before  int // turns that are had first

	// The point at which it is stopped: an event, a request counted from 1, so many lines in the pipe of what runs and holds it, or,
	// where none of them is given, a question.
	at      func(hermes.Event) bool
	request int
	up      int

	deaf  bool   // a call goes on behind its end
	want  string // in the results of calls; SAID is what a script is told of the end
	keeps string // in the history
}

var (
	silent    = providertest.Reply{Fault: providertest.Silence} // no headers come
	mute      = providertest.Reply{Fault: providertest.Mute}    // nothing but headers
	processID = regexp.MustCompile(`proc_\w+`)
)

func heard(kind hermes.EventType) func(hermes.Event) bool {
	return func(e hermes.Event) bool { return e.Type == kind }
}

func started(name string) func(hermes.Event) bool {
	return func(e hermes.Event) bool { return e.Type == hermes.EventToolStart && e.Tool == name }
}

func background(e hermes.Event) bool {
	return e.Type == hermes.EventToolStart && strings.Contains(string(e.Args), `"background"`)
}

// doing is a reply of three calls: the one in the middle is what takes long.
func doing(name, args string) []providertest.Reply {
	r := calling(asks("c1", "terminal", `{"command":"echo first >> ran"}`), asks("c2", name, args), asks("c3", "terminal", `{"command":"echo last >> ran"}`))
	r.Text = "First this."
	return []providertest.Reply{r}
}

func running(command string) string {
	text, _ := json.Marshal(map[string]string{"command": command}) // strings can be encoded
	return string(text)
}

// A tree of processes that ends by no signal that can be ignored; one of them has a session of its own.
const (
	treeSize = 3
	tree     = `trap '' TERM INT HUP
exec 3>alive
setsid sh -c 'trap "" TERM INT HUP; echo grandchild >&3; while :; do sleep 36000; done' &
(echo child >&3; while :; do sleep 36000; done) &
echo leader >&3
while :; do sleep 36000; done
`
)

func planted(s *scene) {
	if err := os.WriteFile(filepath.Join(s.dir, "tree.sh"), []byte(tree), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// locked has another one hold the lock of the notes.
func locked(s *scene) {
	dir := filepath.Join(s.home, "memories")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		s.t.Fatal(err)
	}
	held, err := atomicfile.Lock(s.t.Context(), filepath.Join(dir, "USER.md.lock"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := held.Unlock(); err != nil {
			s.t.Error(err)
		}
	})
}

// endless makes a file of which nobody reads the last line soon. It takes no room.
func endlessFile(s *scene) {
	name := filepath.Join(s.dir, "endless")
	if err := os.WriteFile(name, []byte(strings.Repeat("a line\n", 10_000)), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Truncate(name, 4<<40); err != nil {
		s.t.Fatal(err)
	}
}

// deaf is a tool that heeds no context, for as long as the test takes.
func deaf(s *scene) tool.Tool {
	spec := tool.Spec{Name: "deaf", Toolset: "deaf", Effects: tool.Exclusive, Description: "Hears nothing.", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}
	return tool.Func(spec, func(context.Context, *tool.Call, struct{}) (any, error) {
		s.now()
		<-s.release
		return "at last", nil
	})
}

// code is a call of a script.
func code(lines ...string) string {
	text, _ := json.Marshal(map[string]string{"code": strings.Join(lines, "\n")})
	return string(text)
}

// families are what children say, by the goal that they are given.
var families = map[string][]providertest.Reply{
	"thinker": nil,
	"worker":  doing("terminal", running("sh tree.sh")),
	"asker":   doing("terminal", running("rm -rf build")),
	"parent":  doing("delegate_task", goal("worker")),
}

func goal(who string) string { return `{"goal":"` + opening + who + `;","role":"orchestrator"}` }

func stages() (out []stage) {
	out = append(out, stagesOfTheModel()...)
	out = append(out, stagesOfTools()...)
	return append(out, stagesOfChildren()...)
}

func stagesOfTheModel() []stage {
	long := strings.Repeat("word ", 200)
	one := calling(asks("c1", "terminal", `{"command":"echo first >> ran; echo one"}`))
	tooLong := providertest.Reply{Status: 400, Kind: "invalid_request_error", Message: "prompt is too long: 9000 tokens > 8000 maximum"}
	return []stage{
		{name: "before the headers", replies: []providertest.Reply{silent}, request: 1},
		{name: "behind the headers", replies: []providertest.Reply{mute}, request: 1},
		{name: "in a text", replies: []providertest.Reply{faulty(providertest.Fallen, providertest.Reply{Text: long})}, at: heard(hermes.EventText), keeps: "word "},
		{name: "in thoughts", replies: []providertest.Reply{faulty(providertest.Fallen, providertest.Reply{Reasoning: long})}, at: heard(hermes.EventReasoning)},
		{
			name: "in arguments", at: heard(hermes.EventText), keeps: "So: ",
			replies: []providertest.Reply{faulty(providertest.Fallen, providertest.Reply{Text: "So: ", Calls: []provider.Call{asks("c1", "terminal", running("echo "+long))}})},
		},
		{name: "among keep-alives", replies: []providertest.Reply{faulty(providertest.KeepAlives, providertest.Reply{Text: long})}, at: heard(hermes.EventText), keeps: "word "},
		{name: "before another attempt", replies: []providertest.Reply{{Status: 429, RetryAfter: "55"}}, at: heard(hermes.EventNotice)},
		{name: "between two requests", replies: []providertest.Reply{one}, request: 2, want: "one"},
		{name: "in the last summary", replies: []providertest.Reply{one}, request: 2, turns: 1, want: "one"},
		{name: "in a summary that makes room", replies: []providertest.Reply{tooLong}, before: 13, request: 2},
		{name: "when a text is continued", replies: []providertest.Reply{cut(providertest.Reply{Text: "on and on "})}, request: 2, keeps: "on and on"},
	}
}

func stagesOfTools() []stage {
	sleeper := code("f = open('alive', 'w')", "f.write('up\\n')", "f.flush()", "import time", "time.sleep(36000)")
	deep := code("import threading", "from hermes_tools import terminal, read_file", "threading.Thread(target=lambda: read_file('endless', offset=10**12)).start()", "terminal('sh tree.sh')")
	return []stage{
		{name: "in a command", arrange: planted, replies: doing("terminal", running("sh tree.sh")), up: treeSize, keeps: "First this."},
		{name: "in a command of a pipe", replies: doing("terminal", running("exec 3>alive; echo up >&3; sleep 36000 | sleep 36000")), up: 1},
		{name: "in a command with a terminal", replies: doing("terminal", `{"command":"exec 3>alive; echo up >&3; sleep 36000","pty":true}`), up: 1},
		{name: "in the start of a job", replies: doing("terminal", `{"command":"exec 3>alive; echo up >&3; sleep 36000","background":true}`), at: background, up: 1},
		{
			name: "in the wait for a job", at: started("process"), up: 1, want: "background", replies: []providertest.Reply{
				calling(asks("c1", "terminal", `{"command":"exec 3>alive; echo up >&3; sleep 36000","background":true}`)),
				calling(asks("c2", "process", `{"action":"wait","session_id":"PROCESS"}`)),
			},
		},
		{name: "in a long file", arrange: endlessFile, replies: doing("read_file", `{"path":"endless","offset":1000000000000}`), at: started("read_file")},
		{name: "in a search", replies: doing("search_files", `{"pattern":"zzz[0-9]+q","path":"/usr"}`), at: started("search_files")},
		{name: "in a script", replies: doing("execute_code", sleeper), up: 1, want: "SAID"},
		{name: "in calls of a script", arrange: func(s *scene) { planted(s); endlessFile(s) }, replies: doing("execute_code", deep), up: treeSize, want: "SAID"},
		{name: "in a question of a script's call", replies: doing("execute_code", code("from hermes_tools import terminal", "terminal('rm -rf build')")), want: "SAID"},
		{name: "in todo", replies: doing("todo", `{"todos":[{"id":"1","content":"x","status":"pending"}]}`), at: started("todo")},
		{name: "in session_search", replies: doing("session_search", `{"query":"word"}`), at: started("session_search")},
		{name: "in memory that another holds", arrange: locked, replies: doing("memory", `{"action":"add","target":"user","content":"likes tea"}`), at: started("memory")},
		{name: "in skills", replies: doing("skills_list", `{}`), at: started("skills_list")},
		{name: "in an approval", replies: doing("terminal", running("rm -rf build"))},
		{name: "in a question", replies: doing("clarify", `{"question":"which?"}`)},
		{name: "in a tool that hears nothing", replies: doing("deaf", `{}`), deaf: true},
	}
}

func stagesOfChildren() []stage {
	three := `{"tasks":[{"goal":"play: worker;"},{"goal":"play: thinker;"},{"goal":"play: worker;"}]}`
	return []stage{
		{name: "in a child that waits for the model", replies: doing("delegate_task", goal("thinker")), request: 2, want: `"interrupted"`},
		{name: "in a child's command", arrange: planted, replies: doing("delegate_task", goal("worker")), up: treeSize, want: `"interrupted"`},
		{name: "in a child's approval", replies: doing("delegate_task", goal("asker")), want: `"interrupted"`},
		{name: "in a grandchild's command", arrange: planted, replies: doing("delegate_task", goal("parent")), up: treeSize, want: `"interrupted"`},
		{name: "in three children", arrange: planted, replies: doing("delegate_task", three), up: treeSize, want: `"interrupted"`},
		{
			name: "beside a child in the background", arrange: planted, up: treeSize, want: `"dispatched"`,
			replies: []providertest.Reply{calling(asks("c1", "delegate_task", `{"goal":"play: worker;","background":true}`))},
		},
	}
}
