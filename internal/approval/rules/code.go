package rules

import (
	"slices"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

// codeRows are about programs of other languages. Most of what such a program does stands in the reading as the command that would do
// the same, and is judged by the rows of that; these rows are for what has no such command.
var codeRows = []Row{
	{
		ID: "code.delete", Key: "destructive inline code", Family: "code", Remember: RememberExact, Smart: true,
		Matches:  "a call in inline code of another language that deletes: a directory with all in it, or a file that isn't a temporary one",
		Programs: []string{"rm"}, Match: codeDelete,
		Examples: []string{`python3 -c "import shutil; shutil.rmtree('build')"`, `python3 -c "import os,sys; os.remove(sys.argv[1])" x`,
			`node -e "require('fs').rmSync('dist', {recursive: true})"`, `ruby -rfileutils -e 'FileUtils.rm_rf "x"'`, `perl -e 'unlink "notes.txt"'`,
			`php -r 'unlink("a.db");'`, "python3 - <<'E'\nfrom pathlib import Path\nPath('data.db').unlink()\nE", `echo 'require("fs").unlinkSync("x")' | node`,
			`python3 -c "__import__('shutil').rmtree('/data/old')"`},
		LookAlikes: []string{`python3 -c "print('shutil.rmtree')"`, `python3 -c "import os; os.remove('/tmp/x')"`, `node -e "console.log('fs.rmSync(1)')"`,
			`perl -ne 'print if /unlink/' log`, `python3 -c "x = [1]; x.remove(1)"`, `ruby -e 'puts "rm_rf"'`, `python3 clean.py`,
			`node -e "// fs.rmSync('/')"`, `python3 -c "import json; print(json.loads('{}'))"`},
	},
	{
		ID: "code.opaque", Key: "code not known before it runs", Family: "code", Remember: RememberExact, Note: analysis.NoteCode,
		Matches: "a program text for an interpreter, or for its eval, that isn't known",
		Examples: []string{`python3 -c "$CODE"`, "cat gen.py | python3", `node -e "eval(process.argv[1])"`, `./gen | ruby`, `python3 -c "exec(input())"`,
			`perl -e 'eval <STDIN>'`, `node -e "new Function(x)()"`},
		LookAlikes: []string{"python3 script.py", "python3 < script.py", `python3 -c "exec('print(1)')"`, "cat x | python3 -m json.tool", `cat x.json | python3 -c "import sys; print(sys.stdin.read())"`,
			`perl -e 'eval { 1 }'`, "echo 'print(1)' | python3", "node app.js"},
	},
}

// codeDelete judges the deletes of programs of other languages.
func codeDelete(a *Act) []Hit {
	if a.Call == "" {
		return nil
	}
	args := a.Args(analysis.Grammar{})
	recursive := args.Has("rR")
	targets := a.each(args.Operands, func(t analysis.Target) bool {
		return recursive || t.Class != analysis.ClassTemp || !analysis.Literal(t.Path)
	})
	if len(targets) == 0 {
		return nil
	}
	if slices.ContainsFunc(targets, func(t analysis.Target) bool { return analysis.Known(t.Path) }) {
		return one(a.Call+" deletes", targets)
	}
	return []Hit{{Reason: a.Call + " deletes what is only known when it runs", Targets: targets}}
}
