package analysis

import (
	"regexp"
	"strings"
	"sync"
)

// commandLines says how the lines of a language begin that are commands: Tcl's exec, IPython's and Octave's escapes. What follows is a
// shell's text, but a deletion's words.
var commandLines = map[string][]string{
	"ipython": {"!", "%sx ", "%system ", "%%bash\n", "%%sh\n", "%%script bash\n"},
	"tclsh":   {"exec ", "file delete "}, "wish": {"exec ", "file delete "}, "jimsh": {"exec ", "file delete "}, "octave": {"!"}, "matlab": {"!"}, "gnuplot": {"!"}, "scilab": {"!"},
}

// magics are IPython's own names of commands.
var magics = []string{"%rm ", "%mv ", "%cp ", "%rmdir "}

// lineCommands runs the lines of a program text that are commands.
func (r *reader) lineCommands(st *state, text Word, c *Command, at place) {
	begins := commandLines[c.Program]
	if len(begins) == 0 {
		return
	}
	at.last, at.stdin = false, Stdin{}
	run := func(cmd string) { r.commandValue(st.clone(), Word{Text: cmd, Span: text.Span}, c, false, at) }
	for _, begin := range begins { // a cell as a whole
		if rest, ok := strings.CutPrefix(text.Text, begin); ok && strings.HasSuffix(begin, "\n") {
			run(rest)
			return
		}
	}
	for line := range strings.FieldsFuncSeq(text.Text, func(ch rune) bool { return ch == '\n' || ch == ';' && c.Program != "ipython" }) {
		line = strings.TrimSpace(line)
		for _, magic := range magics {
			if c.Program == "ipython" && strings.HasPrefix(line, magic) {
				run(line[1:])
			}
		}
		for _, begin := range begins {
			rest, ok := strings.CutPrefix(line, begin)
			switch {
			case !ok:
				continue
			case begin == "file delete ":
				rest = "rm -r " + strings.TrimPrefix(rest, "-force ")
			}
			run(rest)
			break
		}
	}
}

// puppetResource is a resource that is to be gone or to stand still.
var puppetResource = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(\w+)\s*\{\s*['"]([^'"]+)['"]\s*:[^}]*ensure\s*=>\s*['"]?(absent|purged|stopped)`)
})

// puppetResources makes such resources visible as the commands that would do the same.
func (r *reader) puppetResources(st *state, text Word, c *Command, at place) {
	for _, m := range puppetResource().FindAllStringSubmatch(text.Text, maxTargets) {
		if m[1] == "file" {
			r.removes(st, m[2], c, at)
		} else {
			r.argvValue(st, []string{"puppet", "resource", m[1], m[2], "ensure=" + m[3]}, text.Span, c, at)
		}
	}
}

// argvValue runs words that a program of another language starts.
func (r *reader) argvValue(st *state, argv []string, span Span, c *Command, at place) {
	words := make([]Word, len(argv))
	for i, a := range argv {
		words[i] = Word{Text: a, Span: span}
	}
	if len(words) == 0 {
		return
	}
	at.origin, at.last = origin(c, true), false
	run := st.clone()
	run.funcs = nil
	r.run(run, simple{words: words, span: c.Span, bypass: true}, at)
}
