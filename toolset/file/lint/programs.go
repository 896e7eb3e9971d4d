package lint

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// pythonCheck parses its input. Isolated mode keeps it from importing anything of the project.
const pythonCheck = `import ast, sys
try:
    ast.parse(sys.stdin.buffer.read(), "file")
except SyntaxError as e:
    sys.stdout.write("%d\t%s" % (e.lineno or 0, e.msg))
    sys.exit(3)
except ValueError as e:
    sys.stdout.write("0\t%s" % e)
    sys.exit(3)
`

// found is the exit code by which pythonCheck says that it found something, which no broken interpreter does.
const found = 3

func missing(program string) Report { return Report{Skipped: program + " is not there"} }

func broken(program string) Report { return Report{Skipped: program + " does not work there"} }

func checkPython(ctx context.Context, f File, run Run) Report {
	out, exit, started := run(ctx, []string{"python3", "-I", "-S", "-W", "ignore", "-c", pythonCheck}, f.Content)
	switch {
	case !started:
		return missing("python3")
	case exit == 0:
		return Report{}
	case exit != found:
		return broken("python3")
	}
	line, text, _ := strings.Cut(strings.TrimSpace(out), "\t")
	n, _ := strconv.Atoi(line)
	return Report{Problems: []Problem{{Line: n, Text: text}}}
}

// stdinLine is where node says in which line of its input something is wrong.
var stdinLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[stdin\]:(\d+)`) })

func node(ctx context.Context, f File, run Run, kind string) Report {
	argv := []string{"node", "--check"}
	if kind != "" {
		argv = append(argv, "--input-type="+kind)
	}
	out, exit, started := run(ctx, append(argv, "-"), f.Content)
	switch {
	case !started:
		return missing("node")
	case exit == 0:
		return Report{}
	}
	p := Problem{}
	if m := stdinLine().FindStringSubmatch(out); m != nil {
		p.Line, _ = strconv.Atoi(m[1])
	}
	for _, l := range strings.Split(out, "\n") {
		if strings.HasPrefix(l, "SyntaxError: ") {
			p.Text = l
			return Report{Problems: []Problem{p}}
		}
	}
	return broken("node")
}

func checkCommonJS(ctx context.Context, f File, run Run) Report { return node(ctx, f, run, "") }
func checkModule(ctx context.Context, f File, run Run) Report   { return node(ctx, f, run, "module") }

// checkScript doesn't know which of the two a file is: it is fine if one takes it.
func checkScript(ctx context.Context, f File, run Run) Report {
	r := node(ctx, f, run, "")
	if len(r.Problems) == 0 {
		return r
	}
	asModule := node(ctx, f, run, "module")
	if asModule.Skipped == "" && len(asModule.Problems) == 0 {
		return asModule
	}
	if looksLikeModule().Match(f.Content) {
		return asModule
	}
	return r
}

var looksLikeModule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\s*(import|export)\b`) })

// rustPlace is where rustfmt says that something is wrong; without it it only means that the text is formatted otherwise.
var rustPlace = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`--> <stdin>:(\d+)`) })

func checkRust(ctx context.Context, f File, run Run) Report {
	out, exit, started := run(ctx, []string{"rustfmt", "--check", "--edition", "2021", "--color", "never"}, f.Content)
	if !started {
		return missing("rustfmt")
	}
	if exit == 0 || !strings.Contains(out, "error") {
		return Report{}
	}
	m := rustPlace().FindStringSubmatch(out)
	if m == nil {
		return broken("rustfmt")
	}
	line, _ := strconv.Atoi(m[1])
	text, _, _ := strings.Cut(out[strings.Index(out, "error"):], "\n")
	return Report{Problems: []Problem{{Line: line, Text: text}}}
}

// checkTypes needs a compiler that works on a whole project, and the project's own could be anything.
func checkTypes(context.Context, File, Run) Report {
	return Report{Skipped: "tsc needs the project around the file; run it in the terminal"}
}
