//go:build modal && linux

package modal_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/environment/envtest"
	"github.com/hermes-runtime/hermes/internal/cloud/cloudtest"
)

// keptOnce has a task leave a file in a first snapshot.
func keptOnce(t *testing.T) (l *lab, first string) {
	t.Helper()
	l = newLab(t).kept()
	e := cloudtest.Open(t, l)
	envtest.Output(t, e, "echo one >~/f")
	envtest.Shut(t, e)
	return l, l.left(t, "direct:test")
}

func TestSnapshot_OneThatFailsLeavesTheOneBefore(t *testing.T) { // CLD-6
	l, first := keptOnce(t)
	var said bytes.Buffer
	l.o.Stderr = &said
	e := cloudtest.Open(t, l)
	envtest.Output(t, e, "echo two >~/f")
	l.s.Fault("TaskSnapshotFilesystem", 1, says(codes.FailedPrecondition, "no room"))
	envtest.Shut(t, e)
	l.agree(t, 0)
	if !strings.Contains(said.String(), "no room") || !strings.Contains(said.String(), "time before") {
		t.Errorf("nobody is told: %q", said.String())
	}
	if all := l.s.Snapshots(); l.left(t, "direct:test") != first || len(all) != 1 {
		t.Errorf("recorded %q, there are %v", l.left(t, "direct:test"), all)
	}
	e = cloudtest.Open(t, l)
	if out := envtest.Output(t, e, "cat ~/f"); out != "one\n" {
		t.Errorf("%q", out)
	}
	envtest.Shut(t, e)
}

func TestSnapshot_OneThatThereIsNoTimeForIsTakenByTheNextStart(t *testing.T) { // CLD-3
	l, first := keptOnce(t)
	e := cloudtest.Open(t, l)
	envtest.Output(t, e, "echo two >~/f")
	ctx, cancel := context.WithCancel(t.Context())
	l.s.Fault("TaskSnapshotFilesystem", 1, func(ctx context.Context, _ any, _ next) (any, error) {
		cancel()
		return hangs(ctx, nil, nil)
	})
	if err := e.Close(ctx); err == nil {
		t.Error("it is closed as if its files were kept")
	}
	l.agree(t, 1)
	if l.left(t, "direct:test") != first {
		t.Error("the snapshot before is forgotten")
	}
	e = cloudtest.Open(t, l)
	if out := envtest.Output(t, e, "cat ~/f"); out != "two\n" {
		t.Errorf("%q", out)
	}
	envtest.Shut(t, e)
	l.agree(t, 0)
}

func TestSnapshot_OneThatCantBeDeletedIsNotUsedAgain(t *testing.T) {
	l, first := keptOnce(t)
	e := cloudtest.Open(t, l)
	envtest.Output(t, e, "echo two >~/f")
	l.s.Fault("ImageDelete", 1, says(codes.PermissionDenied, "not now"))
	envtest.Shut(t, e)
	l.agree(t, 0)
	if all := l.s.Snapshots(); l.left(t, "direct:test") == first || len(all) != 2 {
		t.Errorf("recorded %q, there are %v", l.left(t, "direct:test"), all)
	}
	e = cloudtest.Open(t, l)
	if out := envtest.Output(t, e, "cat ~/f"); out != "two\n" {
		t.Errorf("%q", out)
	}
	envtest.Shut(t, e)
}

func TestSnapshot_TheOneBeforeIsDeletedHoweverTheSandboxEnds(t *testing.T) {
	l, first := keptOnce(t)
	e := cloudtest.Open(t, l)
	envtest.Output(t, e, "echo two >~/f")
	l.s.Fault("SandboxTerminateV2", 1, func(ctx context.Context, _ any, do next) (any, error) {
		if _, err := do(ctx); err != nil {
			t.Error(err)
		}
		return nil, status.Error(codes.NotFound, "it has ended meanwhile")
	})
	envtest.Shut(t, e)
	l.agree(t, 0)
	if all := l.s.Snapshots(); len(all) != 1 || all[0] == first || l.left(t, "direct:test") != all[0] {
		t.Errorf("recorded %q, there are %v", l.left(t, "direct:test"), all)
	}
}

func TestSnapshot_APassingFaultOfTheCloudDropsNone(t *testing.T) { // CLD-6
	l, first := keptOnce(t)
	for _, method := range []string{"ImageFromId", "SandboxCreateV2"} {
		for code, times := range map[codes.Code]int{codes.Unavailable: 4, codes.ResourceExhausted: 1, codes.PermissionDenied: 1} {
			l.s.Fault(method, times, says(code, "not now"))
			if _, err := l.Try(t.Context()); !errors.Is(err, unavailable) || !strings.Contains(err.Error(), "not now") {
				t.Errorf("%s, %v: %v", method, code, err)
			}
			if l.left(t, "direct:test") != first {
				t.Errorf("%s, %v: it is dropped", method, code)
			}
			l.agree(t, 0)
		}
	}
	e := cloudtest.Open(t, l)
	if out := envtest.Output(t, e, "cat ~/f"); out != "one\n" {
		t.Errorf("%q", out)
	}
	envtest.Shut(t, e)
}

func TestSnapshot_OneThatIsRefusedIsDroppedOnceSomethingElseDoes(t *testing.T) { // CLD-6
	l, first := keptOnce(t)
	l.s.Fault("SandboxCreateV2", 2, says(codes.FailedPrecondition, "the image is damaged")) // the other one too
	if _, err := l.Try(t.Context()); !errors.Is(err, unavailable) || l.left(t, "direct:test") != first {
		t.Errorf("%v; %q is left of %q", err, l.left(t, "direct:test"), first)
	}
	l.s.Fault("SandboxCreateV2", 1, says(codes.FailedPrecondition, "the image is damaged"))
	e := cloudtest.Open(t, l)
	if notes := strings.Join(e.Info().Notes, "\n"); !strings.Contains(notes, first) || !strings.Contains(notes, "damaged") || l.left(t, "direct:test") != "" {
		t.Errorf("%s; %q is left", notes, l.left(t, "direct:test"))
	}
	envtest.Shut(t, e)
	l.agree(t, 0)
}

func TestProbe_TellsOfFilesThatAreKept(t *testing.T) { // they cost
	l, first := keptOnce(t)
	b, _ := environment.Lookup("modal")
	lines := strings.Join(b.Probe(t.Context(), l.options()), "\n")
	if want := "the files of task test are kept as the image " + first; !strings.Contains(lines, want) || !strings.Contains(lines, "kept as a snapshot, when it is let go of") {
		t.Errorf("it doesn't say %q:\n%s", want, lines)
	}
}

func TestSnapshot_AFileOfReferencesThatIsBrokenLosesNothing(t *testing.T) {
	l, _ := keptOnce(t)
	path := filepath.Join(l.o.HermesHome, "state", "modal_snapshots.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Try(t.Context()); !errors.Is(err, unavailable) || l.s.Made() != 1 {
		t.Errorf("%v, %d made", err, l.s.Made())
	}
	l.agree(t, 0)
	if b, _ := os.ReadFile(path); string(b) != "{" {
		t.Errorf("it was overwritten: %s", b)
	}
}
