package terminal

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// What is typed and isn't what runs.
var (
	errBlind   = errors.New("what stands on the line after those keys can't be known before they are pressed: press them first, look with poll, and press enter in a call of its own")
	errLong    = fmt.Errorf("a line of more than %d characters can't be judged: send shorter ones, or have the program read a file", maxLine)
	errRuns    = errors.New("ctrl-x ctrl-e and ctrl-x e run what no line shows: type the command instead")
	errHistory = errors.New("what a line with ! or ^ takes from the history can't be known before it runs: write the command out, put the ! in single quotes or behind a backslash")
)

// unseen tells why what was typed into a program that runs it can't be judged.
func (p *typist) unseen(command string) error {
	switch {
	case p.fresh && !p.terminal:
		return errLong
	case p.fresh:
		return errBlind
	case p.runs:
		return errRuns
	case p.terminal && slices.ContainsFunc(p.sent, takesHistory) && mayBeShell(command):
		return errHistory
	}
	return nil
}

// mayBeShell reports whether a job may be a shell, which puts lines of its history into those that it reads from a terminal.
func mayBeShell(command string) bool {
	list, known := readers(command)
	return !known || slices.ContainsFunc(list, readsShell)
}

// takesHistory reports whether a shell would put something of its history into a line.
func takesHistory(line string) bool {
	if strings.HasPrefix(strings.TrimLeft(line, " \t"), "^") {
		return true
	}
	quoted := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'':
			quoted = !quoted
		case quoted:
		case c == '\\':
			i++
		case c == '"': // single quotes mean nothing in double ones, but a ! does
			end := i + 1
			for end < len(line) && line[end] != '"' {
				if line[end] == '\\' {
					end++
				} else if line[end] == '!' && calls(line, end) {
					return true
				}
				end++
			}
			i = end
		case c == '!' && calls(line, i):
			return true
		}
	}
	return false
}

// calls reports whether the ! at that place of a line is one that calls for the history.
func calls(line string, at int) bool {
	if at+1 == len(line) || strings.IndexByte(" \t\n=(\"", line[at+1]) >= 0 {
		return false
	}
	return at == 0 || line[at-1] != '$' && line[at-1] != '[' && !strings.HasSuffix(line[:at], "${")
}
