package redact_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/redact"
	"github.com/hermes-runtime/hermes/internal/secret"
)

func TestLogHandler_NoTextKeepsASecret_RED1_RED2(t *testing.T) {
	var set secret.Set
	set.Add("MY_KEY", "open-sesame-1234")
	var out bytes.Buffer
	log := slog.New(redact.LogHandler(slog.NewJSONHandler(&out, nil), redact.New(&set).All))
	log.With("with", "open-sesame-1234").WithGroup("g").Warn("said open-sesame-1234", "text", "a open-sesame-1234", "number", 7,
		"error", errors.New("no open-sesame-1234"), "list", []string{"open-sesame-1234"}, slog.Group("in", "deep", "open-sesame-1234"),
		"shape", "Bearer abcdefghijklmnopqrstuvwxyz012345", "nothing", nil)
	if got := out.String(); strings.Contains(got, "sesame") || strings.Contains(got, "qrstuv") || strings.Count(got, "MY_KEY") != 6 ||
		!strings.Contains(got, `"number":7`) || !strings.Contains(got, `"nothing":null`) {
		t.Error(got)
	}
}
