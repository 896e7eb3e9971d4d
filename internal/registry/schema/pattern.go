package schema

import (
	"regexp"
	"strings"
	"sync"
)

// ecmaEscape finds the escapes of JavaScript's regular expressions that Go spells otherwise.
var ecmaEscape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\\(?:\\|u\{[0-9A-Fa-f]+\}|u[0-9A-Fa-f]{4}|c[A-Za-z])`)
})

// lookaround finds what only backtracking engines can do.
var lookaround = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\(\?(?:=|!|<=|<!)|\\[1-9]|\\k<`)
})

// goPattern compiles a JavaScript regular expression, the kind JSON Schema uses, for Go.
func goPattern(p string) (*regexp.Regexp, error) {
	if strings.Contains(p, `\u`) || strings.Contains(p, `\c`) {
		p = ecmaEscape().ReplaceAllStringFunc(p, func(s string) string {
			switch {
			case strings.HasPrefix(s, `\u{`):
				return `\x{` + s[3:]
			case strings.HasPrefix(s, `\u`):
				return `\x{` + s[2:] + `}`
			case strings.HasPrefix(s, `\c`):
				const hex = "0123456789ABCDEF"
				return `\x` + string([]byte{hex[s[2]&0x1f>>4], hex[s[2]&0xf]})
			}
			return s
		})
	}
	return regexp.Compile(p)
}

// beyondRE2 reports a pattern that other engines read and Go's can't.
func beyondRE2(p string) bool {
	if !lookaround().MatchString(p) {
		return false
	}
	// With the foreign parts turned into plain groups the rest must still be a regular expression.
	plain := lookaround().ReplaceAllStringFunc(p, func(s string) string {
		if s[0] == '(' {
			return "(?:"
		}
		return "x"
	})
	_, err := goPattern(plain)
	return err == nil
}
