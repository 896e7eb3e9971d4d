package redact

import (
	"strings"
	"sync"
)

// A shape is what a kind of secret looks like: a literal, and a function that reads on from it.
type shape struct {
	literal string
	gram    int    // where in literal the three bytes stand that are rarest in ordinary text; the search is for them
	fold    bool   // letters match in any case
	name    string // of its mark
	read    func(t text, at int, s *shape) (span, verdict)
	chars   *class // of a token, for readToken
	least   int    // characters of a token behind the literal
}

// verdict is what a shape says about a place.
type verdict uint8

const (
	no   verdict = iota
	yes          // span is the secret
	more         // too little text to tell
)

// span is the part to replace: it begins at from, has at least the bytes before to, and goes on as run says.
type span struct {
	from, to int
	run      run
	wrap     string // a quote to put around the mark, where it stands for a number in JSON
}

// text is what a stage can see: the bytes from the first undecided on, and a few from before them.
type text struct {
	b     []byte
	prev  history
	final bool // nothing follows
	// goesOn weakens final: only whether there is a secret is to be told now, not where it ends.
	goesOn bool
	hidden int // before it text has been replaced, so that it can't be looked back at once more
}

// history keeps the last bytes before a text.
type history [16]byte

// before returns the byte at i, which may lie up to len(history) before the text; 0 stands for none.
func (t text) before(i int) byte {
	if i >= 0 {
		return t.b[i]
	}
	if i += len(t.prev); i >= 0 {
		return t.prev[i]
	}
	return 0
}

// end is the verdict where the text has come to its end too early.
func (t text) end() verdict {
	if t.final {
		return no
	}
	return more
}

// boundary tells whether a word may begin at i: no letter or digit stands before it, but for the escapes \n, \u003c and
// their like in JSON.
func (t text) boundary(i int) bool {
	c := t.before(i - 1)
	if !alnum[c] {
		return true
	}
	return t.before(i-2) == '\\' && strings.IndexByte("nrtbf", c) >= 0 || t.before(i-6) == '\\' && t.before(i-5) == 'u'
}

// class is a set of bytes.
type class [256]bool

func classOf(sets ...string) *class {
	var c class
	for _, set := range sets {
		for i := range len(set) {
			c[set[i]] = true
		}
	}
	return &c
}

const (
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
	blank  = " \t"
)

var (
	alnum      = classOf(lower, upper, digits)
	tokenChars = classOf(lower, upper, digits, "_-")
	upperAlnum = classOf(upper, digits)
	jwtChars   = classOf(lower, upper, digits, "_-.")
	token68    = classOf(lower, upper, digits, "-._~+/=")
	plainWord  = classOf(lower, upper, ".:!?")
	bareChars  = func() *class {
		var c class
		for i := 0x21; i < 0x100; i++ {
			c[i] = true
		}
		for _, d := range "\"'`,;&<>)}\\\x7f" {
			c[d] = false
		}
		return &c
	}()
	numberChars = classOf(digits, "+-.eE")
	pemLabel    = classOf(upper, digits, " ")
	pemBody     = classOf(lower, upper, digits, blank, "\r\n+/=:,.-\\>|")
)

// shapes are the kinds of secrets that RED-2 names, and their nearest kin.
var shapes = []shape{
	{literal: "sk-", gram: 0, name: "api-key", read: readKey, chars: tokenChars, least: 16},
	{literal: "ghp_", gram: 1, name: "github-token", read: readToken, chars: tokenChars, least: 16},
	{literal: "gho_", gram: 1, name: "github-token", read: readToken, chars: tokenChars, least: 16},
	{literal: "ghs_", gram: 1, name: "github-token", read: readToken, chars: tokenChars, least: 16},
	{literal: "ghu_", gram: 1, name: "github-token", read: readToken, chars: tokenChars, least: 16},
	{literal: "ghr_", gram: 1, name: "github-token", read: readToken, chars: tokenChars, least: 16},
	{literal: "github_pat_", gram: 5, name: "github-token", read: readToken, chars: tokenChars, least: 16},
	{literal: "glpat-", gram: 0, name: "gitlab-token", read: readToken, chars: tokenChars, least: 16},
	{literal: "xox", gram: 0, name: "slack-token", read: readSlack, chars: tokenChars, least: 10},
	{literal: "xapp-", gram: 0, name: "slack-token", read: readToken, chars: tokenChars, least: 10},
	{literal: "AKIA", gram: 1, name: "aws-key", read: readToken, chars: upperAlnum, least: 16},
	{literal: "ASIA", gram: 1, name: "aws-key", read: readToken, chars: upperAlnum, least: 16},
	{literal: "AIza", gram: 1, name: "google-key", read: readToken, chars: tokenChars, least: 30},
	{literal: "sk_live_", gram: 2, name: "stripe-key", read: readToken, chars: tokenChars, least: 16},
	{literal: "rk_live_", gram: 2, name: "stripe-key", read: readToken, chars: tokenChars, least: 16},
	{literal: "npm_", gram: 1, name: "npm-token", read: readToken, chars: alnum, least: 30},
	{literal: "eyJ", gram: 0, name: "jwt", read: readJWT, chars: tokenChars, least: 8},
	{literal: pemBegin, gram: 6, name: "private-key", read: readPEM},
	{literal: "bearer", gram: 0, fold: true, name: "bearer-token", read: readBearer, chars: token68, least: 8},
	{literal: "://", gram: 0, name: "url-password", read: readURL},
	{literal: "password", gram: 2, fold: true, name: "password", read: readValue},
	{literal: "passwd", gram: 2, fold: true, name: "password", read: readValue},
	{literal: "passphrase", gram: 2, fold: true, name: "password", read: readValue},
	{literal: "_pass", gram: 0, fold: true, name: "password", read: readValue},
	{literal: "pwd", gram: 0, fold: true, name: "password", read: readUnlessPath},
	{literal: "token", gram: 1, fold: true, name: "token", read: readValue},
	{literal: "secret", gram: 1, fold: true, name: "secret", read: readValue},
	{literal: "secret_key", gram: 5, fold: true, name: "secret", read: readValue},
	{literal: "secret-key", gram: 5, fold: true, name: "secret", read: readValue},
	{literal: "secretkey", gram: 4, fold: true, name: "secret", read: readValue},
	{literal: "api_key", gram: 1, fold: true, name: "api-key", read: readValue},
	{literal: "api-key", gram: 1, fold: true, name: "api-key", read: readValue},
	{literal: "apikey", gram: 1, fold: true, name: "api-key", read: readValue},
	{literal: "access_key", gram: 4, fold: true, name: "access-key", read: readValue},
	{literal: "access-key", gram: 4, fold: true, name: "access-key", read: readValue},
	{literal: "accesskey", gram: 4, fold: true, name: "access-key", read: readValue},
	{literal: "private_key", gram: 7, fold: true, name: "private-key", read: readValue},
}

const gramLen = 3

// grams is what the search for shapes looks things up in.
type grams struct {
	// hits gives for each pair of bytes the number of its list of candidates; 0 for the pairs of no gram. Looking at every
	// second pair finds every gram.
	hits       [1 << 16]uint8
	candidates [][]candidate
	longest    int   // bounds what must be held because a literal may have begun
	firsts     class // the bytes that literals begin with
}

type candidate struct {
	shape *shape
	back  int // from the pair to the start of the literal
}

// table is made for the first text that is searched.
var table = sync.OnceValue(func() *grams {
	g := &grams{candidates: [][]candidate{nil}}
	for i := range shapes {
		s := &shapes[i]
		g.longest = max(g.longest, len(s.literal))
		for _, c := range cases(s.literal[0], s.fold) {
			g.firsts[c] = true
		}
		for at := s.gram; at < s.gram+gramLen-1; at++ {
			for _, a := range cases(s.literal[at], s.fold) {
				for _, b := range cases(s.literal[at+1], s.fold) {
					g.add(uint16(a)|uint16(b)<<8, candidate{s, at})
				}
			}
		}
	}
	return g
})

func (g *grams) add(pair uint16, c candidate) {
	if g.hits[pair] == 0 {
		g.hits[pair] = uint8(len(g.candidates))
		g.candidates = append(g.candidates, nil)
	}
	list := &g.candidates[g.hits[pair]]
	*list = append(*list, c)
}

// cases returns c, and its other case if there is one and fold asks for it.
func cases(c byte, fold bool) []byte {
	if fold && c >= 'a' && c <= 'z' {
		return []byte{c, c - 'a' + 'A'}
	}
	return []byte{c}
}

// match tells whether the literal stands at b[at:], or may once more text comes.
func (s *shape) match(t text, at int) verdict {
	for i := range len(s.literal) {
		if at+i == len(t.b) {
			return t.end()
		}
		c := t.b[at+i]
		if s.fold && c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != s.literal[i] {
			return no
		}
	}
	return yes
}
