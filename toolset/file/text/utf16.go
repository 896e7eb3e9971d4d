package text

import "unicode/utf8"

const (
	surrogates = 0xD800
	lowHalf    = 0xDC00
	behind     = 0xE000
	beyondBMP  = 0x10000
)

// fromUTF16 decodes whole units. A lone surrogate becomes the three bytes that it would have in UTF-8 if that allowed it.
func fromUTF16(b []byte, little bool) string {
	unit := func(i int) rune {
		if little {
			return rune(b[i]) | rune(b[i+1])<<8
		}
		return rune(b[i])<<8 | rune(b[i+1])
	}
	out := make([]byte, 0, len(b))
	for i := 0; i+1 < len(b); i += 2 {
		r := unit(i)
		if surrogates <= r && r < lowHalf && i+3 < len(b) {
			if low := unit(i + 2); lowHalf <= low && low < behind {
				r = (r-surrogates)<<10 + (low - lowHalf) + beyondBMP
				i += 2
			}
		}
		if surrogates <= r && r < behind {
			out = append(out, 0xE0|byte(r>>12), 0x80|byte(r>>6&0x3F), 0x80|byte(r&0x3F))
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out)
}

// toUTF16 is the way back, with a byte order mark in front.
func toUTF16(s []byte, little bool) []byte {
	out := make([]byte, 0, 2*len(s)+2)
	put := func(u rune) {
		if little {
			out = append(out, byte(u), byte(u>>8))
		} else {
			out = append(out, byte(u>>8), byte(u))
		}
	}
	put(0xFEFF)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRune(s[i:])
		if r == utf8.RuneError && n <= 1 && i+2 < len(s) && s[i] == 0xED { // a lone surrogate
			r, n = rune(s[i]&0x0F)<<12|rune(s[i+1]&0x3F)<<6|rune(s[i+2]&0x3F), 3
		}
		i += n
		if r >= beyondBMP {
			r -= beyondBMP
			put(surrogates + r>>10)
			put(lowHalf + r&0x3FF)
			continue
		}
		put(r)
	}
	return out
}
