// Package lint looks for faults of syntax in a text that was written, by the parsers that are linked in and by the programs of the
// place where the text is. It never runs what a project brings along.
package lint

import (
	"context"
	"fmt"
	"path"
	"strings"
)

// Problem is one fault.
type Problem struct {
	Line int // 0 = not known
	Text string
}

// Report is what a check says. Skipped is why nothing was checked.
type Report struct {
	Problems []Problem
	Skipped  string
}

// Run runs a program in the place of the file: argv, with content on its input. started is false if there is no such program.
type Run func(ctx context.Context, argv []string, content []byte) (output string, exit int, started bool)

// File is what is checked.
type File struct {
	Name    string
	Content []byte
}

// maxSize bounds what is checked, in bytes.
const maxSize = 8 << 20

// parsers check in process, by extension.
var parsers = map[string]func(File) []Problem{
	".json": checkJSON, ".yaml": checkYAML, ".yml": checkYAML, ".toml": checkTOML, ".go": checkGo, ".sh": checkShell, ".bash": checkShell,
}

// programs check with a program of the place, by extension.
var programs = map[string]func(context.Context, File, Run) Report{
	".py": checkPython, ".js": checkScript, ".cjs": checkCommonJS, ".mjs": checkModule, ".rs": checkRust, ".ts": checkTypes, ".tsx": checkTypes,
}

// Check looks for problems. run nil leaves out everything that needs a program.
func Check(ctx context.Context, f File, run Run) Report {
	ext := strings.ToLower(path.Ext(f.Name))
	parse, program := parsers[ext], programs[ext]
	switch {
	case parse == nil && program == nil:
		return Report{Skipped: "there is no check for such files"}
	case len(f.Content) > maxSize:
		return Report{Skipped: "the file is too large to be checked"}
	case parse != nil:
		return safely(parse, f)
	case run == nil:
		return Report{Skipped: "checks by programs are turned off"}
	}
	return program(ctx, f, run)
}

// safely keeps a parser that fails on strange input from ending the call: the file was written by then.
func safely(parse func(File) []Problem, f File) (r Report) {
	defer func() {
		if p := recover(); p != nil {
			r = Report{Skipped: fmt.Sprintf("the parser gave up: %v", p)}
		}
	}()
	return Report{Problems: parse(f)}
}

// Fresh are the problems that were not there before, wherever their lines are by now.
func Fresh(now, before []Problem) []Problem {
	had := map[string]int{}
	for _, p := range before {
		had[p.Text]++
	}
	var out []Problem
	for _, p := range now {
		if had[p.Text] > 0 {
			had[p.Text]--
			continue
		}
		out = append(out, p)
	}
	return out
}
