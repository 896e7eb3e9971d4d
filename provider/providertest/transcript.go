package providertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/hermes-runtime/hermes/provider"
)

// Transcripts plays each file testdata/*.sse or *.json, what a server's reply is byte for byte, to a model and compares the events with
// those in the file of the same name that ends in .events, one a line. Text and reasoning are joined. Each is sent as it is and byte by
// byte.
func Transcripts(t *testing.T, model func(o provider.Options) (provider.Model, error)) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.*")
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	for _, file := range files {
		kind := map[string]string{".sse": "text/event-stream", ".json": "application/json"}[filepath.Ext(file)]
		if kind == "" {
			continue
		}
		played++
		t.Run(filepath.Base(file), func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(strings.TrimSuffix(file, filepath.Ext(file)) + ".events")
			if err != nil {
				t.Fatal(err)
			}
			for _, piecewise := range []bool{false, true} {
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", kind)
					if !piecewise {
						_, _ = w.Write(body) // the client would tell
						return
					}
					flush := http.NewResponseController(w)
					r := iotest.OneByteReader(strings.NewReader(string(body)))
					for b := make([]byte, 1); ; {
						if _, err := r.Read(b); err != nil {
							return
						}
						_, _ = w.Write(b)
						_ = flush.Flush()
					}
				}))
				m, err := model(provider.Options{Model: "test-model", BaseURL: s.URL})
				if err != nil {
					t.Fatal(err)
				}
				got := told(t, m)
				s.Close()
				if diff := cmp.Diff(string(want), got); diff != "" {
					t.Errorf("byte by byte %v: %s", piecewise, diff)
				}
			}
		})
	}
	if played == 0 {
		t.Error("no transcripts in testdata")
	}
}

// told writes the events of a request, one a line.
func told(t *testing.T, m provider.Model) string {
	var lines []string
	var last provider.Kind
	var text string
	flush := func() {
		if text != "" {
			lines = append(lines, fmt.Sprintf("%s %q", last, text))
		}
		text = ""
	}
	for ev, err := range m.Stream(t.Context(), ask("hello")) {
		if err != nil {
			flush()
			lines = append(lines, "error "+err.Error())
			break
		}
		if ev.Kind != last {
			flush()
		}
		last = ev.Kind
		var v any
		switch ev.Kind {
		case provider.KindText, provider.KindReasoning:
			text += ev.Text
			continue
		case provider.KindCall:
			v = ev.Call
		case provider.KindUsage:
			v = ev.Usage
		case provider.KindEnd:
			v = map[string]any{"end": ev.End, "opaque": ev.Opaque}
		}
		line, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s %s", ev.Kind, line))
	}
	return strings.Join(lines, "\n") + "\n"
}
