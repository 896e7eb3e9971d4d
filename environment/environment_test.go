package environment_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
)

// CON-2, CON-4: the kind of a failure is found by its type, through any wrapping, and its words decide nothing.
func TestError_KindIsFoundByTypeNotByWords(t *testing.T) {
	kinds := []error{
		environment.ErrConfig, environment.ErrUnavailable, environment.ErrNotStarted, environment.ErrLost, environment.ErrGone, environment.ErrUnsupported,
	}
	for _, kind := range kinds {
		for _, cause := range []error{nil, io.ErrUnexpectedEOF, errors.New(environment.ErrLost.Error() + " " + environment.ErrGone.Error())} {
			err := fmt.Errorf("run it: %w", &environment.Error{Kind: kind, Op: "reach the place", Err: cause})
			for _, other := range kinds {
				if errors.Is(err, other) != (kind == other) {
					t.Errorf("%v: Is(%v) is %v", err, other, kind != other)
				}
			}
			if cause != nil && !errors.Is(err, cause) {
				t.Errorf("%v hides its cause", err)
			}
			if says := err.Error(); !strings.Contains(says, "reach the place") || !strings.Contains(says, kind.Error()) {
				t.Errorf("%q does not say what was attempted and what became of it", says)
			}
		}
	}
}

// CON-7: who checks whether a backend can be used sees the variables that its places will see.
func TestOpenOptions_VariablesAreThoseOfThePlaceOrOfTheProcess(t *testing.T) {
	t.Setenv("HERMES_TEST_VARIABLE", "process")
	if got := (environment.OpenOptions{}).Variable("HERMES_TEST_VARIABLE"); got != "process" {
		t.Errorf("%q", got)
	}
	o := environment.OpenOptions{Getenv: func(string) string { return "runtime" }}
	if got := o.Variable("HERMES_TEST_VARIABLE"); got != "runtime" {
		t.Errorf("%q", got)
	}
}
