package terminal_test

import (
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/config"
	"github.com/hermes-runtime/hermes/internal/envs"
	"github.com/hermes-runtime/hermes/internal/session"
	"github.com/hermes-runtime/hermes/toolset/terminal"
)

// filled decodes a settings struct from a file's text and variables.
func filled[T any](t *testing.T, text string, vars map[string]string) (T, error) {
	t.Helper()
	doc, err := config.Parse("config.yaml", text, func(name string) (string, bool) { v, ok := vars[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	var v T
	return v, doc.Decode(any(&v).(config.Sectioned).Section(), &v)
}

func TestConfig_FileThenEnvironmentThenDefault_CFG1(t *testing.T) {
	for _, tc := range []struct {
		text string
		vars map[string]string
		want terminal.Config
	}{
		{"", nil, terminal.Config{Timeout: 180 * time.Second, MaxForeground: 600 * time.Second, Encoding: "utf-8", PTYSize: "30x120"}},
		{"", map[string]string{"TERMINAL_TIMEOUT": "20", "TERMINAL_MAX_FOREGROUND_TIMEOUT": "30"}, terminal.Config{Timeout: 20 * time.Second, MaxForeground: 30 * time.Second, Encoding: "utf-8", PTYSize: "30x120"}},
		{"terminal: {timeout: 7, encoding: cp437}", map[string]string{"TERMINAL_TIMEOUT": "20"}, terminal.Config{Timeout: 7 * time.Second, MaxForeground: 600 * time.Second, Encoding: "cp437", PTYSize: "30x120"}},
	} {
		if got, err := filled[terminal.Config](t, tc.text, tc.vars); err != nil || got != tc.want {
			t.Errorf("%q with %v: %+v, %v", tc.text, tc.vars, got, err)
		}
	}
	if got, err := filled[terminal.Config](t, `terminal: {sudo_password: ""}`, nil); err != nil || got.SudoPassword == nil || *got.SudoPassword != "" {
		t.Errorf("an empty sudo password is one: %v, %v", got.SudoPassword, err)
	}
	if got, err := filled[terminal.Config](t, "", map[string]string{"TERMINAL_MAX_FOREGROUND_TIMEOUT": "soon"}); err == nil || got.MaxForeground != 600*time.Second {
		t.Errorf("a bad limit falls back and is told: %v, %v", got.MaxForeground, err)
	}
}

func TestConfig_PlaceAndOutput(t *testing.T) {
	p, err := filled[envs.Config](t, "terminal: {cwd: /srv, limits: {memory_mb: 64, cpu: 9}, persistent_shell: true}", map[string]string{"TERMINAL_ENV": "elsewhere", "TERMINAL_ENV_PASSTHROUGH": `["A", "B"]`})
	if err != nil || p.Backend != "elsewhere" || p.Cwd != "/srv" || p.Lifetime != 300*time.Second || p.KillGrace != time.Second || len(p.Passthrough) != 2 {
		t.Errorf("%+v, %v", p, err)
	}
	if l := p.Limits.Bounds(); l.MemoryMB != 64 || l.CPUSeconds != 9 || l.Processes != 0 {
		t.Errorf("limits %+v", l)
	}
	o, err := filled[session.Config](t, "", nil)
	if err != nil || o.MaxBytes != 50_000 {
		t.Errorf("%+v, %v", o, err)
	}
	for text, known := range map[string]bool{"": false, "security: {redact: on}": false, "security: {redact: off}": true} {
		if s, err := filled[session.Secrecy](t, text, nil); err != nil || s.KnownOnly() != known {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
	}
}
