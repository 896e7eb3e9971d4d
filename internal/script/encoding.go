package script

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/hermes-runtime/hermes/internal/textcap"
)

// A Python file says in a comment on its first or second line which encoding it is in, else it is UTF-8 (PEP 263).
var (
	cookiePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)`) })
	blankPattern  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[ \t\f]*(?:#|$)`) })
)

// ErrEncoding means that the bytes of a script aren't text in the encoding that holds for it. What wraps it says where and how to
// mend it.
var ErrEncoding = errors.New("not in the encoding of a Python script")

const (
	byteOrderMark = "\ufeff"
	mendEncoding  = "save it as UTF-8, or name its encoding in a comment on the first line, such as # -*- coding: latin-1 -*-"
)

// cookie finds the name of the encoding that a script declares: text[from:to]; both are 0 where it declares none.
func cookie(text string) (from, to int) {
	for range 2 {
		end := strings.IndexAny(text[from:], "\r\n")
		if end < 0 {
			end = len(text) - from
		}
		line := text[from : from+end]
		if m := cookiePattern().FindStringSubmatchIndex(line); m != nil {
			return from + m[2], from + m[3]
		}
		if !blankPattern().MatchString(line) || from+end == len(text) {
			break
		}
		from += end + 1
		if strings.HasPrefix(text[from-1:], "\r\n") {
			from++
		}
	}
	return 0, 0
}

// Decode reads the bytes of a script's file as Python does: as UTF-8, or in the encoding that its first or second line declares.
// The error is an ErrEncoding.
func Decode(raw []byte) (string, error) {
	raw, marked := bytes.CutPrefix(raw, []byte(byteOrderMark))
	text := string(raw)
	from, to := cookie(text)
	name := text[from:to]
	switch plain := plainName(name); {
	case name == "" || isUTF8(name):
		if at := firstInvalid(raw); at >= 0 {
			return "", badByte(raw, at, "UTF-8")
		}
		return text, nil
	case marked:
		return "", fmt.Errorf("%w: it begins with a byte order mark, so it is UTF-8, and declares %s; correct the comment", ErrEncoding, name)
	case plain == "ascii" || plain == "usascii":
		if at := slices.IndexFunc(raw, func(b byte) bool { return b >= utf8.RuneSelf }); at >= 0 {
			return "", badByte(raw, at, name)
		}
		return text, nil
	case slices.Contains(latin1, plain): // to Python it is no other name for windows-1252
		text, _ = charmap.ISO8859_1.NewDecoder().String(text) // every byte is a character
		return text, nil
	}
	return decodeAs(name, raw)
}

var latin1 = []string{"latin1", "iso88591", "isolatin1", "l1", "latin", "88591"}

func decodeAs(name string, raw []byte) (string, error) {
	var out bytes.Buffer
	d, err := textcap.NewDecoder(&out, name)
	if err != nil {
		return "", fmt.Errorf("%w: it declares %s, which Hermes can't read; save it as UTF-8 without that comment", ErrEncoding, name)
	}
	if _, err = d.Write(raw); err == nil {
		err = d.Close()
	}
	if err != nil {
		return "", fmt.Errorf("%w: it declares %s: %w", ErrEncoding, name, err)
	}
	text := out.String()
	if from, to := cookie(text); text[from:to] != name || strings.ContainsRune(text, utf8.RuneError) {
		return "", fmt.Errorf("%w: it declares %s and holds what is no character there; %s", ErrEncoding, name, mendEncoding)
	}
	return text, nil
}

// plainName brings the spellings of an encoding's name together.
func plainName(name string) string {
	return strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(name))
}

func isUTF8(name string) bool {
	return slices.Contains([]string{"utf8", "utf8sig", "u8"}, plainName(name))
}

func firstInvalid(raw []byte) int {
	for at := 0; at < len(raw); {
		r, size := utf8.DecodeRune(raw[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

func badByte(raw []byte, at int, encoding string) error {
	return fmt.Errorf("%w: byte 0x%02x at offset %d (line %d) is not %s; %s",
		ErrEncoding, raw[at], at, bytes.Count(raw[:at], []byte{'\n'})+1, encoding, mendEncoding)
}

// declareUTF8 makes the comment that declares an encoding, if there is one, say how the script is written down here. A model's
// code is text already, and whatever it declares would be read wrongly.
func declareUTF8(code string) string {
	if from, to := cookie(strings.TrimPrefix(code, byteOrderMark)); to > 0 {
		skip := len(code) - len(strings.TrimPrefix(code, byteOrderMark))
		if name := code[skip+from : skip+to]; !isUTF8(name) {
			return code[:skip+from] + "utf-8" + code[skip+to:]
		}
	}
	return code
}
