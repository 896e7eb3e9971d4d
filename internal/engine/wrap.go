package engine

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// The texts put around a script. They cost one shell process and nothing else: what is carried is printed by builtins.
//
// The state pipe comes in as descriptor 3. In bash it is moved to 231, a number that no script is likely to use, and made close-on-exec, so that no child of the script
// inherits it: bash saves the descriptors that a redirection of a group hides, from 10 up and close-on-exec, and a duplicate of
// such a descriptor is close-on-exec too. Should 10 be taken, the pipe is moved plainly.
const (
	bashMove = `{ exec 231>&10; } 3>&- 2>/dev/null || exec 231>&3; exec 3>&-;`
	// bashDump prints one record: directory, variables, functions, each ended by a zero byte, and a closing mark. Traps that would
	// run in between, and tracing, are silenced first; POSIX mode, in which functions aren't printed, is left after the variables
	// because that unsets POSIXLY_CORRECT.
	bashDump = `{ builtin trap - DEBUG ERR RETURN; builtin set +xv; } >/dev/null 2>&1; ` +
		`{ builtin pwd; builtin printf "\0"; builtin export -p; builtin printf "\0"; builtin set +o posix; builtin export -pf; builtin printf "\0.\0"; } >&231 2>/dev/null`
	bashArm = `builtin trap '` + bashDump + `' EXIT;`

	// bashTrap stands in for the builtin in scripts that set an EXIT trap of their own: theirs runs first, with the exit status it
	// would see, and the state is printed before and after it (it may exit itself). In subshells, and for all other signals, the
	// builtin is used; the trace attribute keeps DEBUG and RETURN traps that are set here from ending with the function.
	bashTrap = `trap() { ` +
		`if [[ $BASH_SUBSHELL != 0 || $# == 0 || $1 == -[lp]* ]]; then builtin trap "$@"; builtin return; fi; ` +
		`if [[ $1 == --hermes ]]; then builtin return "$2"; fi; ` +
		`if [[ $1 == -- ]]; then builtin shift; fi; ` +
		`local __a="$1" __s __r=0; if [[ $# == 1 ]]; then __a=-; else builtin shift; fi; ` +
		`for __s; do case $__s in ` +
		`0|[Ee][Xx][Ii][Tt]|[Ss][Ii][Gg][Ee][Xx][Ii][Tt]) if [[ $__a == - ]]; then builtin trap -- "$__hermes_dump" EXIT; ` +
		`else builtin trap -- "__hermes_status=\$?; $__hermes_dump; trap --hermes \$__hermes_status` + "\n" + `$__a` + "\n" + `$__hermes_dump" EXIT; fi;; ` +
		`*) builtin trap -- "$__a" "$__s" || __r=$?;; esac; done; builtin return $__r; }; builtin declare -ft trap; __hermes_dump='` + bashDump + `';`

	shMove = `exec 9>&3 3>&-;`
	shArm  = `trap '{ pwd; printf "\0"; export -p; printf "\0\0.\0"; } >&9 2>/dev/null' EXIT;`
)

// ownTrap finds scripts that may set an EXIT trap, themselves or in a file that they read.
var ownTrap = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)\btrap\b.*\b(exit|0)\b|(^|[\s;&|({])(source|\.)\s`)
})

// quote makes s one word of the shell, whatever it holds.
func quote(s string) string { return `'` + strings.ReplaceAll(s, `'`, `'\''`) + `'` }

// oneLine escapes s for $'…' of bash.
var oneLine = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`)

// word makes the script one word. For bash it is one on a single line: bash counts the lines of an eval from the line on which its
// argument ends.
func (w wrapping) word(script string) string {
	if w.bash && strings.Contains(script, "\n") {
		return `$'` + oneLine.Replace(script) + `'`
	}
	return quote(script)
}

// wrapping says what goes around a script.
type wrapping struct {
	bash   bool
	posix  bool // bash starts in POSIX mode, where no function may be called trap
	carry  bool // print the state at the end
	login  int  // descriptor that gives functions and aliases, 0 = none
	script int  // descriptor that gives the script, 0 = it is in the text
	limits string
}

// text gives the program for -c. All of it stands on the script's first line, so that line numbers in messages are the script's.
func (w wrapping) text(script string) string {
	var s strings.Builder
	switch { // the pipe is moved before the limits, one of which may forbid its number
	case w.carry && w.bash:
		s.WriteString(bashMove + w.limits)
		if !w.posix && ownTrap().MatchString(script) {
			s.WriteString(bashTrap)
		}
		s.WriteString(bashArm)
	case w.carry:
		s.WriteString(shMove + w.limits + shArm)
	default:
		s.WriteString(w.limits)
	}
	if w.login != 0 {
		fd := strconv.Itoa(w.login)
		s.WriteString(`. /dev/fd/` + fd + `;exec ` + fd + `<&-;`)
	}
	switch {
	case w.script != 0 && w.bash: // the words are expanded before the redirection, which hides the descriptor from the script
		fd := strconv.Itoa(w.script)
		s.WriteString(`eval "$(</dev/fd/` + fd + `)" ` + fd + `<&-`)
	case w.script != 0:
		fd := strconv.Itoa(w.script)
		s.WriteString(`eval "$(cat <&` + fd + `)" ` + fd + `<&-`)
	case w.carry || w.login != 0 || w.limits != "":
		s.WriteString("eval " + w.word(script))
	default:
		return script
	}
	return s.String()
}
