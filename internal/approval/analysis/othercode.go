package analysis

import "strings"

// callForms say how a language without a scanner starts a command or deletes: what stands in front of a quoted string.
type callForms struct {
	shell  []string // the string is a shell's text
	remove []string // the string is a path that is deleted with all below it
	lines  []string // a line that begins so is a command, as in Tcl and IPython
	suffix string   // what stands behind a string that is run: Groovy's .execute()
}

// otherLanguages are those of the interpreters whose code no scanner reads.
var otherLanguages = map[string]callForms{
	"tclsh":   {shell: []string{"exec sh -c ", "exec bash -c "}, remove: []string{"file delete -force ", "file delete -force -- "}, lines: []string{"exec ", "file delete -force -- ", "file delete -force "}},
	"wish":    {lines: []string{"exec "}},
	"ipython": {lines: []string{"!", "%sx ", "%system ", "%%bash\n", "%%sh\n"}},
	"elixir":  {shell: []string{":os.cmd(~c", ":os.cmd(", "System.shell("}, remove: []string{"File.rm_rf!(", "File.rm_rf("}},
	"iex":     {shell: []string{":os.cmd(~c", ":os.cmd(", "System.shell("}, remove: []string{"File.rm_rf!(", "File.rm_rf("}},
	"erl":     {shell: []string{"os:cmd("}, remove: []string{"file:del_dir_r("}},
	"groovy":  {shell: []string{"['sh','-c',", "['bash','-c',", "['sh', '-c', ", "['bash', '-c', "}, remove: []string{"new File("}, suffix: ".execute("},
	"ghc":     {shell: []string{"callCommand ", "system ", "readCreateProcess (shell "}, remove: []string{"removeDirectoryRecursive ", "removePathForcibly "}},
	"runghc":  {shell: []string{"callCommand ", "system "}, remove: []string{"removeDirectoryRecursive ", "removePathForcibly "}},
	"scala":   {suffix: ".!"}, "scala-cli": {suffix: ".!"}, "kotlin": {shell: []string{"getRuntime().exec("}}, "jshell": {shell: []string{"getRuntime().exec("}},
	"clojure": {shell: []string{`(sh "sh" "-c" `, `(sh "bash" "-c" `, "(shell "}}, "clj": {shell: []string{`(sh "bash" "-c" `}}, "bb": {shell: []string{"(shell "}, remove: []string{"(fs/delete-tree "}},
	"racket": {shell: []string{"(system "}, remove: []string{"(delete-directory/files "}}, "guile": {shell: []string{"(system "}}, "sbcl": {shell: []string{"(uiop:run-program ", "(sb-ext:run-program "}},
	"ocaml": {shell: []string{"Sys.command ", "Unix.system "}}, "crystal": {shell: []string{"system(", "system "}, remove: []string{"FileUtils.rm_rf("}},
	"swift": {shell: []string{"system("}}, "octave": {shell: []string{"system(", "unix(", "shell_cmd("}, remove: []string{"rmdir("}},
	"matlab": {shell: []string{"system(", "unix("}, remove: []string{"rmdir("}}, "gnuplot": {shell: []string{"system(", "system "}},
	"raku": {shell: []string{"shell(", "shell "}}, "perl6": {shell: []string{"shell(", "shell "}},
}

// otherCode reads the commands in a text of such a language. ok is false for languages that have a scanner.
func (r *reader) otherCode(st *state, text Word, c *Command, at place) (ok bool) {
	forms, ok := otherLanguages[c.Program]
	if !ok {
		return false
	}
	at.last, at.stdin = false, Stdin{}
	span := text.Span
	for _, cmd := range quotedCalls(text.Text, forms.shell...) {
		r.commandValue(st.clone(), Word{Text: cmd, Span: span}, c, false, at)
	}
	for _, path := range quotedCalls(text.Text, forms.remove...) {
		if c.Program == "groovy" && !strings.Contains(text.Text, "deleteDir") {
			break
		}
		r.removes(st, path, c, at)
	}
	if forms.suffix != "" {
		r.beforeSuffix(st, text, forms.suffix, c, at)
	}
	for line := range strings.FieldsFuncSeq(text.Text, func(ch rune) bool { return ch == '\n' || ch == ';' && c.Program != "ipython" }) {
		line = strings.TrimSpace(line)
		for _, begin := range forms.lines {
			if rest, ok := strings.CutPrefix(line, begin); ok {
				if strings.HasPrefix(begin, "file delete") {
					r.removes(st, strings.TrimSpace(rest), c, at)
				} else {
					r.commandValue(st.clone(), Word{Text: rest, Span: span}, c, false, at)
				}
				break
			}
		}
	}
	return c.Program != "ipython" // whose other lines are Python's
}

// removes makes the deletion of a whole directory visible as the command that would do the same.
func (r *reader) removes(st *state, path string, c *Command, at place) {
	at.origin = origin(c, true)
	at.last = false
	r.run(st.clone(), simple{words: []Word{{Text: "rm", Span: c.Span}, {Text: "-rf", Span: c.Span}, {Text: path, Span: c.Span}}, span: c.Span}, at)
}

// beforeSuffix runs each string that a text calls a method of.
func (r *reader) beforeSuffix(st *state, text Word, suffix string, c *Command, at place) {
	for rest := text.Text; ; {
		i := strings.IndexAny(rest, `"'`)
		if i < 0 {
			return
		}
		s, after, ok := quotedString(rest[i:])
		if !ok {
			return
		}
		if strings.HasPrefix(after, suffix) {
			r.commandValue(st.clone(), Word{Text: s, Span: text.Span}, c, false, at)
		}
		rest = after
	}
}
