package redact

import "strings"

const (
	markStart   = "[redacted:"
	markEnd     = ']'
	maxMarkName = 64
)

// Mark is what stands in place of the secret called name. Characters that could end the mark or break the text around
// it are replaced in the name, and a long one is cut.
func Mark(name string) string {
	if len(name) > maxMarkName {
		name = name[:maxMarkName]
	}
	clean := strings.Map(func(r rune) rune {
		if r < 0x80 && isMarkName[r] {
			return r
		}
		return '_'
	}, name)
	if clean == "" {
		clean = "secret"
	}
	return markStart + clean + string(markEnd)
}

// HasMark reports whether s has a mark in it, whoever put it there (RED-3).
func HasMark(s string) bool {
	_, _, ok := nextMark(s)
	return ok
}

// Marks returns the marks of s in order, repetitions included, so that a caller can tell new ones from old.
func Marks(s string) []string {
	var all []string
	for {
		mark, rest, ok := nextMark(s)
		if !ok {
			return all
		}
		all, s = append(all, mark), rest
	}
}

func nextMark(s string) (mark, rest string, ok bool) {
	for {
		i := strings.Index(s, markStart)
		if i < 0 {
			return "", "", false
		}
		s = s[i:]
		if n := markLen(s); n > 0 {
			return s[:n], s[n:], true
		}
		s = s[len(markStart):]
	}
}

// markLen returns the length of the mark that s begins with, or 0.
func markLen[T string | []byte](s T) int {
	if len(s) < len(markStart)+2 || string(s[:len(markStart)]) != markStart {
		return 0
	}
	for i := len(markStart); i < len(s) && i <= len(markStart)+maxMarkName; i++ {
		if s[i] == markEnd && i > len(markStart) {
			return i + 1
		}
		if !isMarkName[s[i]] {
			return 0
		}
	}
	return 0
}

var isMarkName = func() (t [256]bool) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-" {
		t[c] = true
	}
	return t
}()
