package redact

import "bytes"

// readToken reads a token that its literal is part of: not within a word, and of so many characters at least.
func readToken(t text, at int, s *shape) (span, verdict) {
	if !t.boundary(at) {
		return span{}, no
	}
	body := at + len(s.literal)
	if v := need(t, body, s.least, s.chars); v != yes {
		return span{}, v
	}
	return span{from: at, to: body + s.least, run: run{kind: runClass, chars: tokenChars}}, yes
}

// need tells whether n characters of the class stand at b[at:].
func need(t text, at, n int, chars *class) verdict {
	for i := at; i < at+n; i++ {
		if i >= len(t.b) {
			return t.end()
		}
		if !chars[t.b[i]] {
			return no
		}
	}
	return yes
}

// keyLook is how far a key is looked at to tell it from words joined by hyphens; keys have a digit or a capital by then.
const keyLook = 40

// readKey reads sk-…, which also begins names such as sk-learn-contrib-packages.
func readKey(t text, at int, s *shape) (span, verdict) {
	found, v := readToken(t, at, s)
	if v != yes {
		return found, v
	}
	words := false
	for i := at + len(s.literal); ; i++ {
		switch {
		case i == len(t.b) && !t.final && i < at+keyLook:
			return span{}, more
		case i == len(t.b) || i == at+keyLook || !tokenChars[t.b[i]]:
			if words {
				return span{}, no
			}
			return found, yes
		case t.b[i] == '-':
			words = true
		case t.b[i] < 'a' || t.b[i] > 'z':
			return found, yes
		}
	}
}

// readSlack reads xox, a letter, a hyphen and the rest.
func readSlack(t text, at int, s *shape) (span, verdict) {
	i := at + len(s.literal)
	if i+1 >= len(t.b) {
		return span{}, t.end()
	}
	if !alnum[t.b[i]] || t.b[i+1] != '-' {
		return span{}, no
	}
	longer := shape{literal: string(t.b[at : i+2]), chars: s.chars, least: s.least}
	return readToken(t, at, &longer)
}

// maxJWTHeader bounds what is held of the first part of a JWT, in bytes: certificates in it make it long.
const maxJWTHeader = 4096

// readJWT reads a header, which is the encoding of `{"…`, a dot, and the start of the rest.
func readJWT(t text, at int, s *shape) (span, verdict) {
	if _, v := readToken(t, at, s); v != yes {
		return span{}, v
	}
	i := at + len(s.literal) + s.least
	for i < len(t.b) && tokenChars[t.b[i]] {
		if i++; i > at+maxJWTHeader {
			return span{}, no
		}
	}
	if i == len(t.b) {
		return span{}, t.end()
	}
	if t.b[i] != '.' {
		return span{}, no
	}
	if v := need(t, i+1, s.least, tokenChars); v != yes {
		return span{}, v
	}
	return span{from: at, to: i + 1 + s.least, run: run{kind: runClass, chars: jwtChars}}, yes
}

const (
	pemBegin    = "-----BEGIN"
	pemEnd      = "-----END"
	pemDashes   = "-----"
	maxPEMLabel = 64
	// maxPEM bounds how much an unended block hides. A key of 16384 bits takes 13 KB.
	maxPEM = 64 << 10
)

// readPEM reads the first line of a private key, of whatever kind.
func readPEM(t text, at int, s *shape) (span, verdict) {
	label := at + len(s.literal)
	i := label
	for i < len(t.b) && i < label+maxPEMLabel && pemLabel[t.b[i]] {
		i++
	}
	if i+len(pemDashes) > len(t.b) && i < label+maxPEMLabel {
		return span{}, t.end()
	}
	if !bytes.HasPrefix(t.b[i:], []byte(pemDashes)) || !bytes.Contains(t.b[label:i], []byte("PRIVATE KEY")) {
		return span{}, no
	}
	i += len(pemDashes)
	return span{from: at, to: i, run: run{kind: runPEM, left: maxPEM}}, yes
}

// bearerWords follow the word bearer in prose and in headers that ask for a token.
var bearerWords = map[string]bool{
	"authentication": true, "authorization": true, "authorisation": true, "credential": true, "credentials": true,
	"credentials.": true, "required": true, "required.": true, "security": true, "challenge": true,
	"authentication.": true, "authorization.": true, "resource_metadata=": true, "error_description=": true,
	"authorization_uri=": true, "securityscheme": true, "tokenauth": true,
}

const maxBearerWord = 24

func readBearer(t text, at int, s *shape) (span, verdict) {
	if !t.boundary(at) {
		return span{}, no
	}
	gap := at + len(s.literal)
	from, v := skip(t, gap, classBlank, 4)
	if v != yes {
		return span{}, v
	}
	if from == gap {
		return span{}, no
	}
	end := from
	for end < len(t.b) && end < from+maxBearerWord && token68[t.b[end]] {
		end++
	}
	switch {
	case end == from+maxBearerWord:
	case end == len(t.b) && !t.final:
		return span{}, more
	case end-from < s.least || bearerWords[string(bytes.ToLower(t.b[from:end]))]:
		return span{}, no
	}
	return span{from: from, to: end, run: run{kind: runClass, chars: token68}}, yes
}

var classBlank = classOf(blank)

// skip passes over up to most bytes of a class and says no if there are more of them.
func skip(t text, at int, chars *class, most int) (int, verdict) {
	i := at
	for i < len(t.b) && chars[t.b[i]] {
		if i++; i > at+most {
			return i, no
		}
	}
	if i == len(t.b) {
		return i, t.end()
	}
	return i, yes
}

// maxUserInfo bounds what is held of a URL until its @ is seen, in bytes.
const maxUserInfo = 1024

// longUser is the length, in bytes, from which the user of a URL is taken for a token: services let it stand in either
// place.
const longUser = 16

var authorityEnd = classOf("/?#\"'`<>\\ \t\r\n")

// readURL reads scheme://user:password@host; the last @ counts, as passwords have some.
func readURL(t text, at int, s *shape) (span, verdict) {
	if !alnum[t.before(at-1)] {
		return span{}, no
	}
	user := at + len(s.literal)
	colon, sign := -1, -1
	i := user
	for ; ; i++ {
		if i == len(t.b) && !t.final {
			if i > user+maxUserInfo {
				return span{}, no
			}
			return span{}, more
		}
		if i == len(t.b) || i > user+maxUserInfo || authorityEnd[t.b[i]] {
			break
		}
		switch t.b[i] {
		case '[':
			i += max(0, markLen(t.b[i:])-1) // a mark is one character, so to speak
		case '=':
			if colon < 0 {
				return span{}, no // no user's name, but an assignment that has its own rule
			}
		case ':':
			if colon < 0 {
				colon = i
			}
		case '@':
			sign = i
		}
	}
	if i > user+maxUserInfo || colon < 0 || sign <= colon+1 || markLen(t.b[colon+1:sign]) > 0 {
		return span{}, no
	}
	if colon-user >= longUser && markLen(t.b[user:colon]) == 0 {
		return span{from: user, to: sign}, yes
	}
	return span{from: colon + 1, to: sign}, yes
}
