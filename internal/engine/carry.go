package engine

import (
	"strings"

	"github.com/hermes-runtime/hermes/environment"
)

// Carried gives the program that runs a script in a shell elsewhere and prints on descriptor 3, when it ends, one record: a zero byte,
// mark and the exit status, a zero byte, and the state as ReadState takes it. mark begins with a letter that is no digit.
func Carried(script, mark string, bash bool) string {
	w := wrapping{bash: bash, carry: true}
	body := "eval " + w.word(script)
	head := strings.TrimSuffix(w.text(script), body)
	if bash {
		head = strings.ReplaceAll(head, bashDump, `builtin printf "\0`+mark+`%s\0" "$?" >&231 2>/dev/null; `+bashDump)
	} else {
		head = strings.Replace(head, `trap '{ pwd;`, `trap '{ printf "\0`+mark+`%s\0" "$?"; pwd;`, 1)
	}
	return head + body
}

// Word makes s one word of a shell, on one line where it is bash.
func Word(s string, bash bool) string { return wrapping{bash: bash}.word(s) }

// Carriage is what ReadState compares a state with.
type Carriage struct {
	Base   map[string]string    // the place's own variables
	Call   map[string]string    // set for the call
	Before environment.Snapshot // carried so far
}

// ReadState reads the last whole state of a record and gives what is carried from now on, and what isn't, in words. It fails where
// there is none.
func (c Carriage) ReadState(record []byte) (after environment.Snapshot, note string, err error) {
	d, err := parseDump(record)
	if err != nil {
		return environment.Snapshot{}, "", err
	}
	after, tooLong := carrier{base: c.Base, call: c.Call, before: c.Before}.after(d)
	return after, notCarried(tooLong), nil
}

// Exports reads what `export -p` prints in a shell.
func Exports(text string) (map[string]string, error) { return parseExports(text) }
