package store

import (
	"errors"

	"modernc.org/sqlite"
)

// Primary result codes of SQLite, https://sqlite.org/rescode.html.
const (
	codePerm     = 3
	codeBusy     = 5
	codeLocked   = 6
	codeReadOnly = 8
	codeIO       = 10
	codeCorrupt  = 11
	codeFull     = 13
	codeCantOpen = 14
	codeNotDB    = 26

	codeUnique = 2067 // an extended one
)

// code is the result code in err, 0 without one.
func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

func primary(err error) int { return code(err) & 0xff }

func busy(err error) bool { return primary(err) == codeBusy || primary(err) == codeLocked }

// errDamaged is what a look at the whole file has found.
var errDamaged = errors.New("the file is damaged")

func damaged(err error) bool {
	return primary(err) == codeCorrupt || primary(err) == codeNotDB || errors.Is(err, errDamaged)
}
