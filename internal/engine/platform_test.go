package engine_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/engine"
)

func TestUnsupported_NamesTheSystemAndAWayOut(t *testing.T) {
	if why := engine.Unsupported("windows"); !strings.Contains(why, "windows") || !strings.Contains(why, "WSL") {
		t.Error(why)
	}
	_, lacking := engine.New(engine.Options{}).Lacking()["commands"]
	if lacking && engine.Unsupported(runtime.GOOS) == "" || !lacking && engine.Unsupported(runtime.GOOS) != "" {
		t.Errorf("the engine of %s thinks otherwise", runtime.GOOS)
	}
}
