package memory

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Screen tells what a text has that no note should: characters that can't be seen, words that give the agent orders or are after
// secrets. "" = nothing. The telling words, where there are any, come beside it: they are for whoever wrote the text.
func Screen(text string) (found, words string) {
	if found := unseen(text); found != "" {
		return found, ""
	}
	plain := strings.Join(strings.Fields(strings.ToLower(norm.NFKC.String(text))), " ")
	for _, r := range readings() {
		if m := r.pattern.FindString(plain); m != "" {
			return r.what, m
		}
	}
	return "", ""
}

// Characters that join what stands around them.
const (
	joiner    = '\u200d'
	nonJoiner = '\u200c'
	textStyle = '\ufe0e'
	picture   = '\ufe0f'
)

// blank are characters that show nothing and are in none of the classes that say so.
var blank = &unicode.RangeTable{R16: []unicode.Range16{
	{0x034f, 0x034f, 1}, {0x115f, 0x1160, 1}, {0x17b4, 0x17b5, 1}, {0x180b, 0x180f, 1}, {0x2028, 0x2029, 1}, {0x2800, 0x2800, 1}, {0x3164, 0x3164, 1},
	{0xfe00, 0xfe0f, 1}, {0xffa0, 0xffa0, 1},
}, R32: []unicode.Range32{{0xe0000, 0xe0fff, 1}}}

// unseen names the first character that a reader doesn't see, or that turns the order of what they see.
func unseen(text string) string {
	runes := []rune(text)
	for i, r := range runes {
		switch {
		case r == '\n' || r == '\t':
		case unicode.Is(unicode.Bidi_Control, r):
			return fmt.Sprintf("the character U+%04X, which turns the order of text", r)
		case !unicode.In(r, unicode.Cc, unicode.Cf, blank) || joins(runes, i):
		default:
			return fmt.Sprintf("the invisible character U+%04X", r)
		}
	}
	return ""
}

// joins reports whether an invisible character does what it is for: it makes one picture of two, or shapes letters that join.
func joins(runes []rune, i int) bool {
	if i == 0 {
		return false
	}
	before := runes[i-1]
	switch runes[i] {
	case picture, textStyle:
		return unicode.In(before, unicode.So, unicode.Sm, unicode.Po, unicode.Nd)
	case joiner, nonJoiner:
		if i+1 == len(runes) {
			return false
		}
		after := runes[i+1]
		pictures := runes[i] == joiner && (before == picture || unicode.In(before, unicode.So, unicode.Sk)) && unicode.In(after, unicode.So, unicode.Sm)
		return pictures || joined(before) && joined(after)
	}
	return false
}

// joined reports whether a character is of a script whose letters change with their neighbours.
func joined(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati,
		unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar)
}

// reading is one way in which a text is no note. The pattern is matched against lower-case text with single blanks.
type reading struct {
	pattern *regexp.Regexp
	what    string
}

// What a note reads as that it must not be.
const (
	orders  = "words that read as orders to the agent"
	posing  = "marks that pose as the conversation's own"
	hiding  = "words that ask to keep things from the user"
	leaking = "words that send secrets away"
	access  = "words that are after secrets or a way in"
)

// readings are compiled when there is a note: most starts need none.
var readings = sync.OnceValue(func() []reading {
	return []reading{
		{regexp.MustCompile(`\b(ignore|disregard|forget|override|bypass)\b( \w+){0,3}? (previous|prior|earlier|above|preceding|system|your|all|any)( \w+){0,2}? (instructions?|prompts?|rules|guidelines|directions|constraints|safeguards)\b`), orders},
		{regexp.MustCompile(`\b(you are now|from now on,? you (are|will|must)|pretend (to be|that you are|you are)|act as (if|though) you|you (have|must have) no (restrictions|limits|rules))\b`), orders},
		{regexp.MustCompile(`\b(new|updated|real|actual|hidden) (system )?(instructions?|prompt):`), orders},
		{regexp.MustCompile(`\b(reveal|print|repeat|output|show) (me )?(your|the) (system prompt|hidden instructions)\b`), orders},
		{regexp.MustCompile(`\b(without|never|don't|do not|no need to) (ask(ing)?|wait(ing)? for|request(ing)?|need(ing)?)( the user)?( for)?( any)? (permission|approval|confirmation|consent)\b`), orders},
		{regexp.MustCompile(`<\|?/?(im_start|im_end|system|assistant|endoftext|start_header_id|eot_id)\|?>|\[/?inst\]|<</?sys>>|(^|[^\w])(system|assistant) (message|prompt)\s*:`), posing},
		{regexp.MustCompile(`\b(do not|don't|never) (tell|inform|mention (this|it)? ?to|show|alert|notify|let) (the |your )?(user|human|owner|operator)\b|\bhide (this|it) from (the |your )?(user|human|owner|operator)\b`), hiding},
		{regexp.MustCompile(`\b(curl|wget|nc|fetch|http post|requests\.post)\b[^\n]{0,200}(\$\{?\w*(key|token|secret|password|credential)|\.env\b|id_rsa|\.netrc|\.aws/credentials)`), leaking},
		{regexp.MustCompile(`\b(send|post|upload|e-?mail|exfiltrate|forward|leak|transmit|report)\b( \w+){0,4}? (passwords?|api[ _-]?keys?|tokens?|secrets?|credentials|private keys?|\.env)\b[^.]{0,60}\bto\b`), leaking},
		{regexp.MustCompile(`\b(cat|type|less|head|tail|read|print|dump|show)\b ([~/$\w.-]*/)?(\.env\b|\.netrc\b|\.pgpass\b|id_rsa\b|id_ed25519\b|\.aws/credentials\b|etc/shadow\b)`), access},
		{regexp.MustCompile(`\bauthorized_keys\b|\b(ask|prompt|trick) the user (for|to (give|type|enter|paste|reveal))( \w+){0,3}? (passwords?|api[ _-]?keys?|tokens?|secrets?|credentials|private keys?)\b`), access},
	}
})
