package script

import (
	"errors"
	"fmt"
	"strings"
)

// source makes ready what a model sent: a script that is wrapped whole in one Markdown fence loses the fence, and keeps the
// numbers of its lines.
func source(code string, limit int) (string, error) {
	if len(code) > limit {
		return "", fmt.Errorf("the script is %d bytes long; at most %d are run (%s.max_script_bytes)", len(code), limit, Section)
	}
	code = Unfence(code)
	if strings.TrimSpace(code) == "" {
		return "", errors.New("no code came: pass the Python script in code")
	}
	if strings.ContainsRune(code, 0) {
		return "", errors.New("the code holds a NUL character, which Python can't read")
	}
	return code, nil
}

// Unfence takes the Markdown fence off a script that is wrapped whole in one; the numbers of its lines stay.
func Unfence(code string) string {
	lines := strings.Split(code, "\n")
	first, last := 0, len(lines)-1
	for first < last && strings.TrimSpace(lines[first]) == "" {
		first++
	}
	for last > first && strings.TrimSpace(lines[last]) == "" {
		last--
	}
	open := strings.TrimSpace(lines[first])
	tick := strings.TrimLeft(open, "`")
	if tick == open {
		tick = strings.TrimLeft(open, "~")
	}
	fence := open[:len(open)-len(tick)]
	if len(fence) < 3 || first == last || strings.TrimSpace(lines[last]) != fence || strings.ContainsAny(tick, " `(=\"'") {
		return code
	}
	for _, l := range lines[first+1 : last] {
		if strings.HasPrefix(strings.TrimSpace(l), fence) {
			return code // more than one block
		}
	}
	lines[first] = ""
	return strings.Join(lines[:last], "\n")
}
