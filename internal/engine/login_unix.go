//go:build linux || darwin

package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// LoginTimeout is how long the files of a login shell may take.
const LoginTimeout = 30 * time.Second

// loginText reads the files named by the arguments, each at most once, and prints in an EXIT trap, so that a file which exits costs
// the files behind it only: exported variables, exported functions, aliases, and every function by itself, so that it is there whole or
// not at all. The fields are ended by zero bytes.
const loginText = `exec 8>&1 >/dev/null; trap '{ export -p; printf "\0"; export -pf; printf "\0"; alias -p; printf "\0"; ` +
	`for f in $(compgen -A function); do declare -f "$f"; printf "\0"; done; printf ".\0"; } >&8 2>/dev/null' EXIT; ` +
	`for f; do [ -r "$f" ] && . "$f" 8>&- </dev/null; done; true`

// loginFiles are what a login shell and an interactive one read.
var loginFiles = []string{"~/.profile", "~/.bash_profile", "~/.bashrc"}

// reserved are names of functions that would change what the engine prints around a script.
var reserved = map[string]bool{
	"alias": true, "builtin": true, "declare": true, "eval": true, "exec": true, "exit": true, "export": true, "local": true, "printf": true,
	"pwd": true, "return": true, "set": true, "shift": true, "shopt": true, "trap": true, ".": true, "source": true, "ulimit": true, "unalias": true,
}

// LoginEnviron reads the user's shell files (nil = those that shells read by themselves; ~ and $VAR are expanded, missing ones
// skipped) with the variables of b, within LoginTimeout. Commands run with b.Environ as it was, and a warning, where that fails.
func (e *Engine) LoginEnviron(ctx context.Context, b Base, files []string) *Login {
	l := &Login{Environ: b.Environ}
	if !e.bash {
		l.Warnings = append(l.Warnings, "shell files aren't read: there is no bash")
		return l
	}
	if files == nil {
		files = loginFiles
	}
	vars := variables(b.Environ)
	argv := []string{e.shell, "-c", loginText, "bash"}
	for _, f := range files {
		argv = append(argv, expandHome(os.Expand(f, func(name string) string { return vars[name] }), b.Home))
	}
	out, said := &collector{most: maxDump}, &collector{most: 4096}
	res, err := e.Run(ctx, environment.Command{Argv: argv, Dir: b.Home, Output: out, Stderr: said, Timeout: LoginTimeout, EndLeft: true}, b)
	text := strings.TrimSpace(said.String())
	switch {
	case err != nil:
		l.warn("can't be read: %v", err)
		return l
	case res.Reason == environment.Interrupted, ctx.Err() != nil:
		return l // it was cut: the caller tries again
	case res.Reason == environment.TimedOut:
		l.warn("take longer than %v: %s", LoginTimeout, text)
		return l
	}
	if err := l.parse(out.Bytes()); err != nil {
		l.warn("can't be used: %v", errors.Join(err, errors.New(text)))
		return l
	}
	if text != "" {
		first, _, _ := strings.Cut(text, "\n")
		l.warn("complain: %s", first)
	}
	return l
}

func (l *Login) warn(format string, args ...any) {
	l.Warnings = append(l.Warnings, "the shell's start files "+fmt.Sprintf(format, args...))
}

// parse reads what loginText prints.
func (l *Login) parse(b []byte) error {
	parts := bytes.Split(b, []byte{0})
	if n := len(parts); n < 5 || string(parts[n-2]) != "." {
		return fmt.Errorf("%w: no whole record in %d bytes", errDump, len(b))
	}
	vars, err := parseExports(string(parts[0]))
	if err != nil {
		return err
	}
	parseFunctions(string(parts[1]), vars)
	base := variables(l.Environ)
	after, _ := carrier{base: base}.after(dump{vars: vars}) // the user's own shell can't use what is too large either
	l.changed = after.Vars
	var text strings.Builder
	if len(bytes.TrimSpace(parts[2])) > 0 {
		text.WriteString("shopt -s expand_aliases\n")
		text.Write(parts[2])
	}
	for _, f := range parts[3 : len(parts)-2] {
		name, _, _ := strings.Cut(string(f), " ")
		if !reserved[name] {
			text.Write(f)
		}
	}
	l.Environ, l.Text = entries(apply(base, l.changed)), text.String()
	return nil
}
