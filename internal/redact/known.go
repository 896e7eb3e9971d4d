package redact

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/hermes-runtime/hermes/internal/secret"
)

// maxWindow bounds how much of a value the search looks at before it compares the whole; longer jumps gain nothing.
const maxWindow = 32

// pattern is one spelling of a known value, or a mark, which the search must not look into.
type pattern struct {
	text   []byte
	mark   string
	isMark bool
}

// known finds many values in one pass. Of each pattern the search knows a window, as long as the shortest of them. Any
// place where a pattern stands has one of the window's four-byte pieces at a multiple of stride, and the filter knows all
// pieces, so that most of the text is passed in strides that don't wait for one another. Where the filter answers, an
// exact search looks again, in the manner of Wu and Manber: shift tells for each pair of bytes how far the window may
// jump when its last two bytes are that pair.
type known struct {
	snap    *secret.Snapshot
	window  int
	longest int
	stride  int
	filter  [1 << 10]uint64 // a bit for each value of hash
	shift   [1 << 16]uint8
	byPair  map[uint16][]pattern // by the last pair of the window, longest first
	byFirst [256][]pattern
}

func compile(snap *secret.Snapshot) *known {
	k := &known{snap: snap, byPair: map[uint16][]pattern{}}
	pats := patterns(snap.Values)
	k.window = maxWindow
	for _, p := range pats {
		k.window = min(k.window, len(p.text))
		k.longest = max(k.longest, len(p.text))
		k.byFirst[p.text[0]] = append(k.byFirst[p.text[0]], p)
	}
	k.stride = k.window - pieceLen + 1
	for _, p := range pats {
		for i := range k.stride {
			h := hash(p.text[i:])
			k.filter[h>>6] |= 1 << (h & 63)
		}
	}
	for i := range k.shift {
		k.shift[i] = uint8(k.window - 1)
	}
	for _, p := range pats {
		for i := range k.window - 1 {
			pair := pairAt(p.text, i)
			k.shift[pair] = min(k.shift[pair], uint8(k.window-2-i))
		}
		last := pairAt(p.text, k.window-2)
		k.byPair[last] = append(k.byPair[last], p)
	}
	return k
}

const pieceLen = 4

// hash gives 16 bits of the first four bytes of b, by the golden ratio.
func hash(b []byte) uint32 { return binary.LittleEndian.Uint32(b) * 0x9e3779b1 >> 16 }

func pairAt(b []byte, i int) uint16 { return uint16(b[i]) | uint16(b[i+1])<<8 }

// patterns lists what to look for, longest first: of two that begin at one place the longer is taken.
func patterns(values []secret.Value) []pattern {
	var all []pattern
	seen := map[string]bool{}
	add := func(p pattern) {
		if !seen[string(p.text)] {
			seen[string(p.text)] = true
			all = append(all, p)
		}
	}
	for _, v := range values {
		for _, text := range spellings(v.Text) {
			add(pattern{text: []byte(text), mark: Mark(v.Name)})
		}
	}
	for _, v := range values {
		add(pattern{text: []byte(Mark(v.Name)), isMark: true})
	}
	for _, s := range shapes {
		add(pattern{text: []byte(Mark(s.name)), isMark: true})
	}
	slices.SortStableFunc(all, func(a, b pattern) int { return len(b.text) - len(a.text) })
	return all
}

// spellings returns the ways in which a value turns up in output: as it is, with a terminal's line ends, in a URL, in
// JSON as different encoders write it, and in JSON that stands in a string of JSON.
func spellings(text string) []string {
	all := []string{text, url.QueryEscape(text), url.PathEscape(text)}
	if strings.Contains(text, "\n") {
		all = append(all, strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n"))
	}
	for range 2 {
		for _, s := range all[:len(all):len(all)] {
			plain := quoteJSON(s)
			all = append(all, plain, htmlSafe.Replace(plain), asciiOnly(plain))
		}
		slices.Sort(all)
		all = slices.Compact(all)
	}
	return all
}

var htmlSafe = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`)

// quoteJSON returns s as it stands between the quotes of a JSON string.
func quoteJSON(s string) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return s
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(out.String(), "\n"), `"`), `"`)
}

func asciiOnly(s string) string {
	var out strings.Builder
	for _, r := range s {
		if r < 0x80 {
			out.WriteRune(r)
			continue
		}
		for _, u := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&out, `\u%04x`, u)
		}
	}
	return out.String()
}

// next returns the first pattern that begins at from or later, and where; -1 if there is none.
func (k *known) next(b []byte, from int) (int, pattern) {
	for i := from; i+pieceLen <= len(b); i += k.stride {
		h := hash(b[i:])
		if k.filter[h>>6&(1<<10-1)]>>(h&63)&1 == 0 {
			continue
		}
		if at, p := k.exact(b, max(from, i-k.stride+1), i); at >= 0 {
			return at, p
		}
	}
	return -1, pattern{}
}

// exact returns the first pattern that begins in from..last.
func (k *known) exact(b []byte, from, last int) (int, pattern) {
	reach := k.window - 2
	for i := from + reach; i <= last+reach && i+1 < len(b); {
		pair := binary.LittleEndian.Uint16(b[i:])
		if s := k.shift[pair]; s > 0 {
			i += int(s)
			continue
		}
		for _, p := range k.byPair[pair] {
			if bytes.HasPrefix(b[i-reach:], p.text) {
				return i - reach, p
			}
		}
		i++
	}
	return -1, pattern{}
}

// unsure returns where, at from or later, an end of b begins that more text could make a pattern; len(b) if none does.
func (k *known) unsure(b []byte, from int) int {
	for i := max(from, len(b)-k.longest+1); i < len(b); i++ {
		for _, p := range k.byFirst[b[i]] {
			if len(p.text) > len(b)-i && bytes.HasPrefix(p.text, b[i:]) {
				return i
			}
		}
	}
	return len(b)
}

// knownStage replaces the known values of a stream. Values that overlap are replaced as one, under the first's name.
type knownStage struct {
	tape
	from int // no pattern begins before it that hasn't been dealt with
}

// feed takes the next piece and returns what may leave, which is valid until the next call.
func (s *knownStage) feed(k *known, p []byte, final bool) []byte {
	b := s.begin(p)
	end := len(b)
	if k == nil {
		return s.finish(end)
	}
	if !final {
		end = k.unsure(b, s.from)
	}
	for {
		at, p := k.next(b, s.from)
		if at < 0 || at >= end {
			break
		}
		s.from = at + 1
		switch {
		case !p.isMark:
			s.replace(at, at+len(p.text), p.mark)
		case at >= s.shown || s.plain:
			s.from = at + len(p.text)
			end = max(end, s.from)
		}
	}
	out := s.finish(end)
	s.from = max(0, s.from-end)
	return out
}

// minHidden is how many bytes of a value are enough, by chance seldom met, to keep them back at a flush.
const minHidden = 4

// flush returns what is held and not yet shown, but for the start of a value long enough not to stand there by chance.
func (s *knownStage) flush(k *known) []byte {
	if k != nil && len(s.held)-s.from >= minHidden {
		for _, p := range k.byFirst[s.held[s.from]] {
			if !p.isMark && bytes.HasPrefix(p.text, s.held[s.from:]) {
				return nil
			}
		}
	}
	return s.tape.flush()
}
