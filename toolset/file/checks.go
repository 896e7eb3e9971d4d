package file

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/toolset/file/lint"
)

// The settings of terminal.lint.
const (
	lintAuto    = "auto"
	lintBuiltin = "builtin"
	lintOff     = "off"
)

// lintTime is what all checks of a call may take together.
const lintTime = 30 * time.Second

// maxLintOutput is how much a check's program may say.
const maxLintOutput = 64 << 10

// lintResult is what a check of written files found.
type lintResult struct {
	Status  string `json:"status"`
	Output  string `json:"output,omitempty"`
	Message string `json:"message,omitempty"`
}

// The states of a check.
const (
	lintFine    = "ok"
	lintFound   = "error"
	lintSkipped = "skipped"
)

// written is one file that a call wrote.
type written struct {
	path     environment.Path
	name     string
	old, new []byte
	created  bool
}

// lint checks what was written. It comes after the write and changes nothing about it, so whoever edits the files next doesn't wait
// for it.
func (w *work) lint(files []written) *lintResult {
	w.turns.Release()
	if w.config.Terminal.Lint == lintOff || len(files) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(w.ctx, lintTime)
	defer cancel()
	var run lint.Run
	if w.config.Terminal.Lint == lintAuto {
		run = w.program
	}
	res := &lintResult{Status: lintSkipped}
	var found, notes []string
	for _, f := range files {
		fresh, old, skipped := check(ctx, f, run)
		switch {
		case skipped != "":
			notes = append(notes, f.name+": "+skipped)
			continue
		case len(fresh) > 0:
			found = append(found, fresh...)
		case old > 0:
			notes = append(notes, fmt.Sprintf("%s: it has %d faults that were there before", f.name, old))
		}
		if res.Status == lintSkipped {
			res.Status = lintFine
		}
	}
	if len(found) > 0 {
		res.Status = lintFound
		res.Output = strings.Join(found, "\n")
	}
	res.Message = lines(notes...)
	return res
}

// check gives the faults of one file that are new, and the number of those that aren't.
func check(ctx context.Context, f written, run lint.Run) (fresh []string, old int, skipped string) {
	now := lint.Check(ctx, lint.File{Name: f.name, Content: f.new}, run)
	if now.Skipped != "" || len(now.Problems) == 0 {
		return nil, 0, now.Skipped
	}
	problems := now.Problems
	if !f.created && f.old != nil {
		before := lint.Check(ctx, lint.File{Name: f.name, Content: f.old}, run)
		problems = lint.Fresh(problems, before.Problems)
	}
	for _, p := range problems {
		at := f.name
		if p.Line > 0 {
			at += fmt.Sprintf(":%d", p.Line)
		}
		fresh = append(fresh, at+": "+p.Text)
	}
	return fresh, len(now.Problems) - len(problems), ""
}

// program runs one in the place, in a directory that holds no project.
func (w *work) program(ctx context.Context, argv []string, content []byte) (string, int, bool) {
	if len(w.place.Info().Lacking) > 0 && w.place.Info().Lacking["commands"] != "" {
		return "", 0, false
	}
	var out bounded
	r, err := w.place.Run(ctx, environment.Command{
		Argv: argv, Dir: "/", Stdin: bytes.NewReader(content), Output: &out, Timeout: lintTime, EndLeft: true,
	})
	if err != nil || r.Reason != environment.Exited || r.ExitCode == 126 || r.ExitCode == 127 {
		return "", 0, false
	}
	return out.String(), r.ExitCode, true
}

// bounded keeps the beginning of what is written to it.
type bounded struct{ bytes.Buffer }

// Write drops what is too much.
func (b *bounded) Write(p []byte) (int, error) {
	if room := maxLintOutput - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
