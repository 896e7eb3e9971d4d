package schema

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Bounds on a JSON number's text. Beyond them no float64 holds it, and exact arithmetic on "1e999999999" would eat the memory.
const (
	maxNumberText = 1000
	maxExponent   = 400
)

// Number is a JSON number that compares exactly, whatever its size.
type Number struct {
	text  string
	f     float64
	small bool // f is exact: a whole number below 2^53
}

// ParseNumber reads a number in JSON's own syntax. It refuses texts over 1000 characters, exponents beyond ±400 and magnitudes past float64.
func ParseNumber(s string) (Number, bool) {
	if !jsonNumberSyntax(s) || len(s) > maxNumberText {
		return Number{}, false
	}
	if n, ok := smallInt(s); ok {
		return Number{text: s, f: float64(n), small: true}, true
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		exp, err := strconv.Atoi(s[i+1:])
		if err != nil || exp > maxExponent || exp < -maxExponent {
			return Number{}, false
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) {
		return Number{}, false
	}
	return Number{text: s, f: f}, true
}

// smallInt reads a plain integer of up to 15 digits, the case that must be quick.
func smallInt(s string) (int64, bool) {
	digits := strings.TrimPrefix(s, "-")
	if len(digits) == 0 || len(digits) > 15 {
		return 0, false
	}
	var n int64
	for i := 0; i < len(digits); i++ {
		c := digits[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if len(digits) != len(s) {
		n = -n
	}
	return n, true
}

func jsonNumberSyntax(s string) bool {
	i := 0
	digits := func() bool {
		from := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(s) && s[i] == '-' {
		i++
	}
	if i < len(s) && s[i] == '0' {
		i++
	} else if !digits() {
		return false
	}
	if i < len(s) && s[i] == '.' {
		i++
		if !digits() {
			return false
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			return false
		}
	}
	return i == len(s)
}

// Text is the number as it was written.
func (n Number) Text() string { return n.text }

func (n Number) rat() *big.Rat {
	r, ok := new(big.Rat).SetString(n.text)
	if !ok { // can't be: the text was checked by ParseNumber
		r = new(big.Rat).SetFloat64(n.f)
	}
	return r
}

// Cmp compares by value: 1 equals 1.0.
func (n Number) Cmp(o Number) int {
	if n.small && o.small || n.f < o.f-math.Abs(o.f)*1e-9-1 || n.f > o.f+math.Abs(o.f)*1e-9+1 {
		switch {
		case n.f < o.f:
			return -1
		case n.f > o.f:
			return 1
		}
		return 0
	}
	return n.rat().Cmp(o.rat())
}

// IsInt reports whether the value is whole: 3, 3.0 and 3e2 are.
func (n Number) IsInt() bool { return n.small || n.rat().IsInt() }

// Int gives the whole value, exactly; false if it has a fraction.
func (n Number) Int() (*big.Int, bool) {
	if n.small {
		return big.NewInt(int64(n.f)), true
	}
	r := n.rat()
	if !r.IsInt() {
		return nil, false
	}
	return r.Num(), true
}

// MultipleOf reports whether n is a whole multiple of o; no number is one of zero.
func (n Number) MultipleOf(o Number) bool {
	d := o.rat()
	if d.Sign() == 0 {
		return false
	}
	return new(big.Rat).Quo(n.rat(), d).IsInt()
}

// Key is the same text for equal numbers.
func (n Number) Key() string {
	if n.small {
		return strconv.FormatInt(int64(n.f), 10)
	}
	return n.rat().RatString()
}
