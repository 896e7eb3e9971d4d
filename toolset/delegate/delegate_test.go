package delegate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/tool"
)

// DEL-4: one of goal and tasks is given; what isn't right is refused in words before any child is made.
func TestRead_OneOfGoalAndTasks(t *testing.T) {
	for args, want := range map[string]string{
		`{}`: "nothing says", `{"goal":" "}`: "nothing says", `{"goal":"a","tasks":[{"goal":"b"}]}`: "not both",
		`{"tasks":[{"goal":"b"}],"background":true}`: "one goal", `{"tasks":[]}`: "nothing says",
	} {
		if _, _, err := read(json.RawMessage(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
	tasks, background, err := read(json.RawMessage(`{"goal":"a","context":"b","toolsets":["file"],"role":"leaf","background":true}`))
	if err != nil || !background || len(tasks) != 1 || tasks[0].Goal != "a" || tasks[0].Context != "b" || tasks[0].Toolsets[0] != "file" || tasks[0].Role != "leaf" {
		t.Errorf("%+v %v %v", tasks, background, err)
	}
}

// DSP-2: reached without an agent it says that the agent must handle it.
func TestDelegateTask_StubWithoutAnAgent(t *testing.T) {
	for _, e := range tool.Default().Entries() {
		if e.Tool.Spec().Name != toolName {
			continue
		}
		_, err := e.Tool.Run(t.Context(), &tool.Call{Args: json.RawMessage(`{"goal":"x"}`)})
		if err == nil || !strings.Contains(err.(*tool.Refusal).Result.(map[string]any)["error"].(string), "agent loop") {
			t.Errorf("%v", err)
		}
		return
	}
	t.Error("it isn't registered")
}
