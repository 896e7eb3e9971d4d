package terminal

import "github.com/hermes-runtime/hermes/internal/approval/analysis"

// meanings says what an exit code means where a program uses it for something other than success and failure.
var meanings = []struct {
	programs []string
	code     int
	text     string
}{
	{[]string{"grep", "egrep", "fgrep", "rg", "ag", "ack"}, 1, "no line matched"},
	{[]string{"diff", "colordiff"}, 1, "the inputs differ"},
	{[]string{"find"}, 1, "some directories could not be read"},
	{[]string{"test", "["}, 1, "the condition is false"},
	{[]string{"curl"}, 6, "the host name could not be resolved"},
	{[]string{"curl"}, 7, "no connection to the host"},
	{[]string{"curl"}, 22, "the server answered with an HTTP status of 400 or above"},
	{[]string{"curl"}, 28, "the time limit of the transfer was reached"},
	{[]string{"git"}, 1, "often normal: differences, no match, or nothing to do"},
}

// meaning explains the exit code of the command that decided it, "" where there is nothing to explain.
func meaning(r *analysis.Reading, code int) string {
	if r == nil || code == 0 {
		return ""
	}
	last := r.Last()
	if last == nil {
		return ""
	}
	for _, m := range meanings {
		if m.code == code && contains(m.programs, last.Program) {
			return m.text
		}
	}
	return ""
}
