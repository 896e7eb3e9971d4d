package memory

import (
	"slices"
	"strings"
	"unicode"

	"github.com/hermes-runtime/hermes/internal/textcap"
)

// mark stands on a line of its own between two entries.
const mark = "§"

const separator = "\n" + mark + "\n"

// parse reads a file, whoever wrote it: what stands between marks is an entry, each counts once.
func parse(text string) []string {
	var entries, lines []string
	end := func() {
		if e := clean(strings.Join(lines, "\n")); e != "" {
			entries = append(entries, e)
		}
		lines = lines[:0]
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimFunc(line, margin) == mark {
			end()
			continue
		}
		lines = append(lines, line)
	}
	end()
	return unique(entries)
}

// format is how entries are written. parse gives them back.
func format(entries []string) string { return strings.Join(entries, separator) }

// used is the characters that entries take in a file.
func used(entries []string) int { return textcap.Chars(format(entries)) }

func unique(entries []string) []string {
	var out []string
	for _, e := range entries {
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

// clean is a text as an entry holds it.
func clean(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines[:len(lines)-1] {
		lines[i] = strings.TrimRight(lines[i], "\r")
	}
	return strings.TrimFunc(strings.Join(lines, "\n"), margin)
}

// margin tells what isn't seen at the ends of an entry: white space, and the mark that some editors put in front of a file.
func margin(r rune) bool { return r == '\ufeff' || unicode.IsSpace(r) }
