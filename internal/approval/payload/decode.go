package payload

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/url"
	"strings"
	"unicode/utf16"
)

// decoders turn a literal into what it hides, by the name of the encoding.
var decoders = map[string]func(string) (string, bool){
	"base64": unbase64, "b64": unbase64, "base64url": unbase64, "base32": unbase32, "hex": unhex, "rot13": rot13, "rot_13": rot13, "zlib": inflate,
	"gzip": inflate, "url": unescape,
}

func literally(t string, f func(string) (string, bool)) (string, bool) {
	if strings.IndexByte(t, 0) >= 0 || len(t) > maxDecoded {
		return "", false
	}
	return f(t)
}

func unbase64(t string) (string, bool) {
	t = strings.NewReplacer("\n", "", "\r", "", " ", "", "-", "+", "_", "/").Replace(t)
	out, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(t, "="))
	return string(out), err == nil
}

func unbase32(t string) (string, bool) {
	out, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.TrimRight(strings.ToUpper(t), "="))
	return string(out), err == nil
}

func unhex(t string) (string, bool) {
	t = strings.NewReplacer(" ", "", ":", "", "\n", "").Replace(t)
	out, err := hex.DecodeString(t)
	return string(out), err == nil
}

func unescape(t string) (string, bool) {
	out, err := url.PathUnescape(t)
	return out, err == nil
}

func rot13(t string) (string, bool) {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case r >= 'A' && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		}
		return r
	}, t), true
}

// inflate unpacks zlib and gzip data.
func inflate(t string) (string, bool) {
	var r io.Reader
	var err error
	if strings.HasPrefix(t, "\x1f\x8b") {
		r, err = gzip.NewReader(strings.NewReader(t))
	} else {
		r, err = zlib.NewReader(strings.NewReader(t))
	}
	if err != nil {
		return "", false
	}
	out, err := io.ReadAll(io.LimitReader(r, maxDecoded+1))
	return string(out), err == nil && len(out) <= maxDecoded
}

// EncodedPowerShell decodes the value of PowerShell's -EncodedCommand: base64 of UTF-16, low byte first.
func EncodedPowerShell(t string) (string, bool) {
	out, ok := literally(t, unbase64)
	if !ok || len(out)%2 != 0 {
		return "", false
	}
	units := make([]uint16, 0, len(out)/2)
	for i := 0; i+1 < len(out); i += 2 {
		units = append(units, uint16(out[i])|uint16(out[i+1])<<8)
	}
	return string(bytes.ReplaceAll([]byte(string(utf16.Decode(units))), []byte{0}, nil)), true
}

// decoded applies a decoder to a value. What can't be decoded isn't known.
func (s *scan) decoded(v value, name string) value {
	f := decoders[strings.ToLower(name)]
	if f == nil {
		return value{net: v.net}
	}
	return s.each(v, func(t string) (string, bool) {
		if strings.HasPrefix(t, "\x1f\x8b") || f != nil && (name == "zlib" || name == "gzip") {
			return binary(t, f)
		}
		out, ok := literally(t, f)
		return out, ok
	})
}

// binary is literally for data that may hold zero bytes.
func binary(t string, f func(string) (string, bool)) (string, bool) {
	if len(t) > maxDecoded {
		return "", false
	}
	return f(t)
}
