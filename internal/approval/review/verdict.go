package review

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/hermes-runtime/hermes/internal/approval"
)

// maxReason is how much of a reason is kept, in characters.
const maxReason = 500

// parseVerdict reads {"verdict": "approve|deny|escalate", "reason": "…"}, in any order and with nothing beside it: no other member, no
// member twice, no text around it, no other spelling. What is read in two ways is read in none.
func parseVerdict(text []byte) (approval.Verdict, string, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return approval.Escalate, "", errors.New("the answer is no JSON object")
	}
	members := map[string]string{}
	for dec.More() {
		name, err := member(dec)
		if err != nil {
			return approval.Escalate, "", err
		}
		value, err := member(dec)
		if err != nil {
			return approval.Escalate, "", err
		}
		if _, twice := members[name]; twice || name != "verdict" && name != "reason" {
			return approval.Escalate, "", fmt.Errorf("the answer has the member %q, or has it twice", short(name))
		}
		members[name] = value
	}
	if _, err := dec.Token(); err != nil {
		return approval.Escalate, "", errors.New("the answer's JSON is broken")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return approval.Escalate, "", errors.New("there is text behind the answer")
	}
	switch v := approval.Verdict(members["verdict"]); v {
	case approval.ReviewApproved, approval.ReviewDenied, approval.Escalate:
		return v, short(members["reason"]), nil
	}
	return approval.Escalate, "", fmt.Errorf("the answer's verdict is %q", short(members["verdict"]))
}

// member reads one string.
func member(dec *json.Decoder) (string, error) {
	t, err := dec.Token()
	if err != nil {
		return "", errors.New("the answer's JSON is broken")
	}
	s, ok := t.(string)
	if !ok {
		return "", errors.New("the answer has a member that is no text")
	}
	return s, nil
}

// short makes a reason one readable line.
func short(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, " "))
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > maxReason {
		return string(r[:maxReason]) + " …"
	}
	return s
}
