package cli_test

import (
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/runtime"
	"github.com/hermes-runtime/hermes/tool"
)

// needShell are the tools that can't be there without a Unix below them, with a word of the reason.
var needShell = map[string]string{"terminal": "WSL", "process": "WSL", "execute_code": "Linux and macOS only"}

func TestWindows_ToolsThatNeedAShellSayWhyAndTheOthersAreThere(t *testing.T) {
	rt, err := runtime.Open(t.Context(), runtime.Options{Home: t.TempDir(), GOOS: "windows"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := rt.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	rows, err := rt.Registry().Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := len(tool.Default().Entries()); len(rows) != want {
		t.Errorf("%d tools, not %d", len(rows), want)
	}
	for _, r := range rows {
		why, shell := needShell[r.Name]
		switch {
		case shell && (r.Available || !strings.Contains(r.Reason, why)):
			t.Errorf("%s: available %v, %q", r.Name, r.Available, r.Reason)
		case !shell && !r.Available:
			t.Errorf("%s: %s", r.Name, r.Reason)
		}
		delete(needShell, r.Name)
	}
	if len(needShell) > 0 {
		t.Errorf("not listed: %v", needShell)
	}
	// A call reaches the tool all the same, which says what is missing (CHK-7).
	s := rt.Session(runtime.SessionOptions{})
	if r := s.Call(t.Context(), tool.Request{Name: "terminal", Arguments: []byte(`{"command":"echo hi"}`)}); r.Status != tool.StatusError || !strings.Contains(r.JSON, "WSL") {
		t.Errorf("%s: %s", r.Status, r.JSON)
	}
}
