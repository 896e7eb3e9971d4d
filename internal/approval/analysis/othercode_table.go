package analysis

import "sync"

// callForms say how a language without a scanner starts a command or deletes: what stands in front of a quoted string.
type callForms struct {
	shell  []string // the string is a shell's text
	argv   []string // the strings up to the end of the statement are an argv
	remove []string // the string is a path that is deleted with all below it
	unlink []string // the string is a file that is deleted
	lines  []string // a line that begins so is a command, as in Tcl and IPython
	suffix []string // what stands behind a string that is run: Groovy's .execute()
	words  []string // what stands in front of <words of an argv>, as in Raku
}

// otherLanguages are those of the interpreters, and of the compilers' sources, whose code no scanner reads.
var otherLanguages = sync.OnceValue(func() map[string]callForms {
	elixir := callForms{shell: []string{":os.cmd(~c", ":os.cmd(", "System.shell("}, argv: []string{"System.cmd(", "System.cmd ", "System.find_executable("},
		remove: []string{"File.rm_rf!(", "File.rm_rf(", "File.rm_rf! ", "File.rm_rf "}, unlink: []string{"File.rm!(", "File.rm("}}
	scala := callForms{shell: []string{"Process(", "getRuntime().exec(", "getRuntime.exec(", ".exec("}, argv: []string{"Seq(", "List("}, suffix: []string{".!", " !", ".#|"},
		remove: []string{"os.remove.all(", "deleteDirectory(", "deleteRecursively("}}
	jvm := callForms{shell: []string{"getRuntime().exec("}, argv: []string{"ProcessBuilder(", "getRuntime().exec(new String[]", "getRuntime().exec(arrayOf("},
		remove: []string{"deleteDirectory(new File(", "deleteDirectory(File(", "deleteRecursively("}, unlink: []string{"Files.delete(Path.of(", "Files.delete(Paths.get(", "Files.deleteIfExists(Path.of("}}
	clojure := callForms{shell: []string{"(shell "}, argv: []string{"(sh ", "/sh ", "ProcessBuilder. ", "(process "}, remove: []string{"delete-tree "}, unlink: []string{"delete-file "}}
	haskell := callForms{shell: []string{"callCommand ", "system ", "(shell ", "spawnCommand "}, argv: []string{"callProcess ", "rawSystem ", "readProcess ", "spawnProcess ", "(proc "},
		remove: []string{"removeDirectoryRecursive ", "removePathForcibly "}, unlink: []string{"removeFile "}}
	raku := callForms{shell: []string{"shell(", "shell ", "qx{", "qqx{"}, argv: []string{"run(", "run ", "Proc::Async.new("}, unlink: []string{"unlink ", "unlink("}, words: []string{"run "}}
	tcl := callForms{shell: []string{"exec sh -c ", "exec bash -c "}, remove: []string{"file delete -force ", "file delete -force -- "},
		lines: []string{"exec ", "file delete -force -- ", "file delete -force "}}
	matrix := callForms{shell: []string{"system(", "unix(", "shell_cmd(", "dos("}, remove: []string{"rmdir("}, unlink: []string{"delete(", "unlink("}, lines: []string{"!"}}
	lisp := callForms{shell: []string{"(uiop:run-program ", "(shell ", "(system "}, argv: []string{"(sb-ext:run-program ", "(system* ", "(ext:run-program "},
		remove: []string{"(delete-directory/files ", "(uiop:delete-directory-tree "}, unlink: []string{"(delete-file "}}
	c := callForms{shell: []string{"system(", "popen("}, argv: []string{"execl(", "execlp(", "execle(", "execvp("}, remove: []string{"remove_all("}, unlink: []string{"unlink(", "remove("}}
	return map[string]callForms{
		"tclsh": tcl, "wish": tcl, "ipython": {lines: []string{"!", "%sx ", "%system ", "%%bash\n", "%%sh\n"}}, "elixir": elixir, "iex": elixir,
		"erl":    {shell: []string{"os:cmd(", "{spawn,", "{spawn, "}, argv: []string{"{spawn_executable,"}, remove: []string{"file:del_dir_r("}, unlink: []string{"file:delete("}},
		"groovy": {shell: []string{"Runtime.runtime.exec(", "getRuntime().exec("}, argv: []string{"['sh','-c',", "['bash','-c',", "ProcessBuilder("}, remove: []string{"new File("}, suffix: []string{".execute("}},
		"ghc":    haskell, "runghc": haskell, "runhaskell": haskell, "stack": haskell, "scala": scala, "scala-cli": scala, "kotlin": jvm, "kotlinc": jvm, "jshell": jvm, "java": jvm,
		"clojure": clojure, "clj": clojure, "bb": clojure, "racket": lisp, "guile": lisp, "sbcl": lisp, "clisp": lisp, "ecl": lisp,
		"ocaml":   {shell: []string{"Sys.command ", "Unix.system ", "Sys.command("}, argv: []string{"Unix.execvp ", "Unix.execv "}, unlink: []string{"Sys.remove ", "Unix.unlink "}},
		"crystal": {shell: []string{"system(", "system ", "`"}, argv: []string{"Process.run(", "Process.exec("}, remove: []string{"FileUtils.rm_rf(", "FileUtils.rm_r("}, unlink: []string{"File.delete("}},
		"swift":   {shell: []string{"system("}, remove: []string{"removeItem(atPath:", "removeItem(atPath: "}},
		"octave":  matrix, "matlab": matrix, "gnuplot": {shell: []string{"system(", "system "}, lines: []string{"!"}}, "maxima": {shell: []string{"system("}},
		"gp": {shell: []string{"system(", "extern("}}, "raku": raku, "perl6": raku, "c": c,
		"nim":  {shell: []string{"execShellCmd(", "execCmd(", "exec "}, argv: []string{"execProcess("}, remove: []string{"removeDir("}, unlink: []string{"removeFile("}},
		"go":   {argv: []string{"exec.Command(", "syscall.Exec(", "exec.CommandContext(ctx, "}, remove: []string{"os.RemoveAll("}, unlink: []string{"os.Remove("}},
		"rust": {argv: []string{"Command::new("}, remove: []string{"remove_dir_all("}, unlink: []string{"remove_file("}},
		"zig":  {argv: []string{".argv = &", "Child.init(&"}, remove: []string{"deleteTree("}}, "hy": {shell: []string{"(os.system "}, remove: []string{"(shutil.rmtree "}},
		"v": {shell: []string{"os.system(", "os.execute("}, remove: []string{"os.rmdir_all("}}, "dart": {argv: []string{"Process.run(", "Process.start("}},
	}
})
