package process

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/textcap"
)

// head is the beginning of a text without secrets.
func (t *Table) head(s string, n int) string { return textcap.Head(t.o.Redact(s), n, "…") }

// tail is the end of a job's output without secrets, at most n characters.
func (t *Table) tail(i environment.JobInfo, n int) string {
	return t.end(i.Preview, i.Chars > int64(textcap.Chars(i.Preview)), n)
}

// end is the end of a text without secrets. Of one that was cut before, the word that the cut may have gone through is left out: half a
// secret is found by nobody.
func (t *Table) end(s string, cut bool, n int) string {
	if cut {
		if at := strings.IndexFunc(s, unicode.IsSpace); at >= 0 && at < len(s)/2 {
			s = s[at+1:]
		}
	}
	return lastChars(t.o.Redact(s), n)
}

func lastChars(s string, n int) string {
	for extra := utf8.RuneCountInString(s) - n; extra > 0; extra-- {
		_, size := utf8.DecodeRuneInString(s)
		s = s[size:]
	}
	return s
}

func (t *Table) refs(list []environment.ProcessRef) []environment.ProcessRef {
	var out []environment.ProcessRef
	for _, r := range list {
		out = append(out, environment.ProcessRef{PID: r.PID, Command: t.head(r.Command, commandChars)})
	}
	return out
}
