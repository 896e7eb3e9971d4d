//go:build unix

package script_test

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/script"
	"github.com/hermes-runtime/hermes/internal/script/scripttest"
)

// stuck is a place that doesn't answer about files any more once a script has run.
type stuck struct {
	*scripttest.Env
	files *stuckFiles
}

func (s stuck) Files() environment.FS { return s.files }

func (s stuck) Run(ctx context.Context, c environment.Command) (environment.Result, error) {
	if slices.ContainsFunc(c.Argv, func(a string) bool { return path.Base(a) == "script.py" }) { // not one that looks for Python
		defer s.files.over.Store(true)
	}
	return s.Env.Run(ctx, c)
}

type stuckFiles struct {
	environment.FS
	over   atomic.Bool
	asked  atomic.Int32
	answer int32  // so many questions are answered all the same
	stop   func() // called when one isn't
}

func (f *stuckFiles) hang(ctx context.Context) error {
	if !f.over.Load() || f.asked.Add(1) <= f.answer {
		return nil
	}
	f.stop()
	<-ctx.Done()
	return context.Cause(ctx)
}

func (f *stuckFiles) Stat(ctx context.Context, p environment.Path) (environment.FileInfo, error) {
	if err := f.hang(ctx); err != nil {
		return environment.FileInfo{}, err
	}
	return f.FS.Stat(ctx, p)
}

func (f *stuckFiles) Resolve(ctx context.Context, name string, dir environment.Path) (environment.Path, error) {
	if err := f.hang(ctx); err != nil {
		return "", err
	}
	return f.FS.Resolve(ctx, name, dir)
}

func (f *stuckFiles) ReadDir(ctx context.Context, p environment.Path) ([]environment.DirEntry, error) {
	if err := f.hang(ctx); err != nil {
		return nil, err
	}
	return f.FS.ReadDir(ctx, p)
}

// A place that hangs holds the explanation of a failure up once, and no longer than anybody waits for it.
func TestEnding_ExplanationIsGivenUpAsAWhole(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 3 {
		f.write(fmt.Sprintf("m%d.py", i), fmt.Sprintf("import m%d", i+1))
	}
	f.write("m3.py", "raise RuntimeError('x')")
	for _, v := range []string{"python3.1", "python3.2", "python3.3"} {
		f.write(filepath.Join(".venv", "lib", v, "site-packages", "x"), "")
	}
	for code, answer := range map[string][]int32{"import m0": {0, 1}, "import missing_here": {0, 1}} {
		for _, n := range answer {
			ctx, cancel := context.WithCancel(t.Context())
			files := &stuckFiles{FS: f.here.Files(), answer: n, stop: cancel}
			f.Environment = stuck{f.here, files}
			rep := f.runContext(ctx, code)
			if asked := files.asked.Load(); asked != n+1 || rep.Status != script.StatusError || rep.ExitCode == nil || *rep.ExitCode != 1 {
				t.Errorf("%s: after %d answers asked %d times: %+v", code, n, asked, rep)
			}
			cancel()
		}
	}
}
