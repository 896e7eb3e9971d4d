package analysis

import "strings"

// otherInterpreters are those of languages without a scanner of their own: calls that start a program or delete are known by their names.
func otherInterpreters() map[string]interpreter {
	lisp := interpreter{long: "eval e expression", valued: "load", code: "e", short: "lR"}
	only := interpreter{long: "eval e", code: "e", valued: "load", options: true}
	all := map[string]interpreter{
		"raku": {code: "e", short: "IMn", quiet: "c"}, "perl6": {code: "e", short: "IM", quiet: "c"}, "groovy": {code: "e", short: "icCDp"},
		"elixir": {code: "e", long: "eval rpc-eval", short: "rS", valued: "name sname cookie erl"}, "iex": {code: "e", long: "eval", short: "rS"},
		"erl": {long: "eval", valued: "name sname setcookie pa", options: true}, "escript": {}, "gleam": {verb: "run"},
		"ghc": {code: "e", options: true}, "ghci": {code: "e"}, "runghc": {code: "e"}, "runhaskell": {code: "e"}, "idris2": {long: "exec", options: true},
		"scala": {code: "e", long: "execute-script"}, "scala-cli": {code: "e"}, "amm": {code: "c", long: "code"}, "kotlin": {code: "e", options: true}, "kotlinc": {code: "e", options: true},
		"jshell": {short: "R", valued: "class-path startup feedback", attached: "sqv"}, "jrunscript": {code: "e", short: "lf"}, "jjs": {short: "J"}, "bsh": {},
		"ocaml": {code: "e", short: "I"}, "utop": {code: "e"}, "fsharpi": {}, "csharp": {code: "e"}, "swift": {code: "e", options: true},
		"nim": {long: "eval", options: true}, "v": {code: "e", options: true}, "crystal": {verb: "eval"}, "dart": {verb: "eval"}, "hy": {code: "c"},
		"maxima": {long: "batch-string", options: true}, "gp": {short: "sDp"}, "gap": {code: "c", short: "lo"}, "octave": {long: "eval"}, "octave-cli": {name: "octave", long: "eval"},
		"matlab": {code: "r", long: "batch", options: true}, "scilab": {code: "e", short: "f"}, "scilab-cli": {name: "scilab", code: "e", short: "f"}, "gnuplot": {code: "e"}, "wolframscript": {code: "c", long: "code"}, "math": {long: "run"}, "wolfram": {long: "run"},
		"tclsh": {}, "wish": {}, "jimsh": {code: "e"}, "guile": {code: "c", short: "Lles"}, "clisp": {code: "x"}, "bigloo": {long: "eval"}, "newlisp": {code: "e"},
		"janet": {code: "e", short: "l"}, "fennel": {code: "e", long: "eval"}, "gjs": {code: "c", long: "command"}, "rhino": {code: "e"}, "d8": {code: "e"}, "js": {code: "e"}, "jsc": {code: "e"},
		"swipl": {code: "g", long: "goal", short: "tfsx", valued: "quiet"}, "gprolog": {long: "query-goal init-goal entry-goal"}, "yap": {code: "g"}, "scryer-prolog": {code: "g"},
		"pike": {code: "e"}, "gforth": {code: "e", long: "evaluate"}, "pforth": {}, "regina": {}, "rexx": {}, "rebol": {long: "do"}, "red": {code: "c"}, "factor": {code: "e"},
		"picolisp": {}, "pil": {}, "gst": {}, "io": {code: "e"},
	}
	for name := range strings.FieldsSeq("clojure clj bb lein-eval racket csi chicken-csi scheme mit-scheme gsi gambit gosh chibi-scheme chez petite kawa sash") {
		all[name] = lisp
	}
	for name := range strings.FieldsSeq("sbcl ecl abcl ccl cmucl lisp alisp") {
		all[name] = only
	}
	return all
}
