package analysis

import (
	"bytes"
	"compress/gzip"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

// filter computes a program's output from its parsed arguments and its input text; ok is false when that can't be told.
type filter struct {
	grammar Grammar
	skip    int  // operands that aren't files
	regular bool // it is told by regular expressions
	apply   func(a *Args, in string) (string, bool)
}

// filterOf gives the filter that a program is (A17, A28), false for other programs.
func filterOf(program string) (filter, bool) {
	switch program {
	case "tr", "gtr":
		return filter{skip: 2, apply: translated}, true
	case "cut", "gcut":
		return filter{grammar: Grammar{Short: "bcdf", Long: []string{"bytes", "characters", "delimiter", "fields", "output-delimiter"}}, apply: cutFields}, true
	case "head", "tail":
		return filter{grammar: Grammar{Short: "nc", Long: []string{"lines", "bytes"}}, apply: ends(program)}, true
	case "sed", "gsed":
		return filter{grammar: Grammar{Short: "e", Long: []string{"expression"}}, skip: 1, regular: true, apply: sedText}, true
	case "awk", "gawk", "mawk":
		return filter{grammar: Grammar{Short: "Fv"}, skip: 1, apply: awkText}, true
	case "base64", "gbase64":
		return filter{grammar: Grammar{Short: "wio"}, apply: coded("dD", base64Text, base64.StdEncoding.EncodeToString)}, true
	case "base32":
		return filter{grammar: Grammar{Short: "w"}, apply: coded("dD", base32Text, base32.StdEncoding.EncodeToString)}, true
	case "basenc":
		return filter{grammar: Grammar{Short: "w"}, apply: basenc}, true
	case "openssl":
		return filter{grammar: Grammar{Long: []string{"in"}}, skip: 9, apply: opensslText}, true
	case "xxd":
		return filter{grammar: Grammar{Short: "clsog"}, apply: xxd}, true
	case "rev":
		return filter{apply: reversed}, true
	case "tac":
		return filter{apply: func(_ *Args, in string) (string, bool) {
			lines := strings.SplitAfter(in, "\n")
			slices.Reverse(lines)
			return strings.Join(lines, ""), true
		}}, true
	case "gunzip", "zcat", "gzcat", "gzip":
		return filter{apply: gunzipped(program)}, true
	case "tee", "sponge", "pv", "buffer", "sort", "uniq", "iconv", "dos2unix", "fold", "fmt", "expand":
		if program == "fold" {
			return filter{grammar: Grammar{Short: "wcb"}, apply: folded}, true
		}
		if program == "sort" || program == "uniq" {
			return filter{apply: oneLine}, true
		}
		return filter{skip: 99, apply: unchanged(program)}, true
	case "nl", "gnl":
		return filter{grammar: Grammar{Short: "bdfhilnsvw"}, apply: numbered}, true
	case "perl", "ruby":
		return filter{grammar: Grammar{Short: "e"}, apply: func(a *Args, in string) (string, bool) {
			code, given := a.first("e")
			return in, given && strings.TrimSpace(code) == "" && a.Has("p")
		}}, true
	case "rot13":
		return filter{apply: func(_ *Args, in string) (string, bool) {
			return mapped(in, trSet("A-Za-z"), trSet("N-ZA-Mn-za-m")), true
		}}, true
	case "grep", "egrep", "fgrep":
		return filter{grammar: Grammar{Short: "efmABC"}, skip: 1, apply: grepped}, true
	}
	return filter{}, false
}

// NUL begins a mark, so packed data on its way from one filter to the next has something else in its place.
const (
	nulStand  = "\uE0FF"
	gzipMagic = "\x1f\x8b"
)

// filtered runs a filter over what its command reads.
func (r *reader) filtered(f filter, c *Command) output {
	if _, ok := literals(c.Words[1:]); !ok {
		return output{}
	}
	if c.Program == "awk" || c.Program == "gawk" || c.Program == "mawk" {
		if text, ok := printedText(c.Words[len(c.Words)-1].Text); ok && strings.HasPrefix(c.Words[len(c.Words)-1].Text, "BEGIN") {
			return output{text, true}
		}
	}
	words := slices.Clone(c.Words)
	for i := range words {
		words[i].Text = Plain(words[i].Text)
	}
	a := (&Command{Words: words}).Args(f.grammar)
	var files []string
	skip := f.skip
	if len(a.Values["e"]) > 0 {
		skip = 0
	}
	for i, w := range a.Operands {
		if i >= skip {
			files = append(files, w.Text)
		}
	}
	in := r.input(c, files)
	if strings.HasPrefix(in.text, someDevice) { // however it is cut, a name stays one
		return output{text: someDevice + "\n"}
	}
	if !in.known || len(in.text) > maxDecoded {
		return output{}
	}
	told := 1
	for _, w := range words[1:] {
		if told += len(w.Text); f.regular {
			told += matchCost(w.Text)
		}
	}
	if !r.spend(told * len(in.text) / bytesMatching) {
		return output{}
	}
	text, ok := f.apply(a, strings.ReplaceAll(in.text, nulStand, "\x00"))
	if !ok || len(text) > maxDecoded || strings.IndexByte(text, 0) >= 0 && !strings.HasPrefix(text, gzipMagic) {
		return output{}
	}
	return output{strings.ReplaceAll(text, "\x00", nulStand), true}
}

func (a *Args) first(names ...string) (string, bool) {
	for _, n := range names {
		if v := a.Values[n]; len(v) > 0 {
			return v[0].Text, true
		}
	}
	return "", false
}

// coded decodes with one of the letters, and encodes without.
func coded(letters string, decode func(string) (string, bool), encode func([]byte) string) func(*Args, string) (string, bool) {
	return func(a *Args, in string) (string, bool) {
		if !a.Has(letters) && !a.Long("decode", 1) {
			return encode([]byte(in)) + "\n", true
		}
		return decode(in)
	}
}

func squeezed(text string) string { return strings.Join(strings.Fields(text), "") }

func base64Text(in string) (string, bool) {
	clean := strings.TrimRight(squeezed(in), "=")
	text, err := base64.RawStdEncoding.DecodeString(clean)
	if err != nil {
		text, err = base64.RawURLEncoding.DecodeString(clean)
	}
	return string(text), err == nil
}

func base32Text(in string) (string, bool) {
	text, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.TrimRight(squeezed(in), "="))
	return string(text), err == nil
}

func basenc(a *Args, in string) (string, bool) {
	if !a.Has("d") && !a.Long("decode", 1) {
		return "", false
	}
	switch {
	case a.Long("base64", 6), a.Long("base64url", 6):
		return base64Text(in)
	case a.Long("base32", 6):
		return base32Text(in)
	case a.Long("base16", 6):
		text, err := hex.DecodeString(squeezed(in))
		return string(text), err == nil
	}
	return "", false
}

// opensslText handles openssl base64 -d and openssl enc -base64 -d.
func opensslText(a *Args, in string) (string, bool) {
	flags := map[string]bool{}
	for _, name := range a.Names {
		flags[name] = true
	}
	verb := len(a.Operands) > 0 && (a.Operands[0].Is("base64") || a.Operands[0].Is("enc"))
	if !verb || !strings.Contains(a.Letters, "d") {
		return "", false
	}
	return base64Text(in)
}

func xxd(a *Args, in string) (string, bool) {
	if !a.Has("r") {
		return hex.EncodeToString([]byte(in)) + "\n", a.Has("p")
	}
	if !a.Has("p") {
		return "", false
	}
	text, err := hex.DecodeString(squeezed(in))
	return string(text), err == nil
}

func reversed(_ *Args, in string) (string, bool) {
	lines := strings.SplitAfter(in, "\n")
	for i, l := range lines {
		body, nl := strings.CutSuffix(l, "\n")
		runes := []rune(body)
		slices.Reverse(runes)
		lines[i] = string(runes)
		if nl {
			lines[i] += "\n"
		}
	}
	return strings.Join(lines, ""), true
}

func gunzipped(program string) func(*Args, string) (string, bool) {
	return func(a *Args, in string) (string, bool) {
		if program == "gzip" && !a.Has("d") && !a.Long("decompress", 1) {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			if _, err := z.Write([]byte(in)); err != nil || z.Close() != nil {
				return "", false
			}
			return b.String(), true
		}
		z, err := gzip.NewReader(bytes.NewReader([]byte(in)))
		if err != nil {
			return "", false
		}
		text, err := io.ReadAll(io.LimitReader(z, maxDecoded+1))
		return string(text), err == nil
	}
}

// numbered is nl, which puts numbers in front of lines.
func numbered(_ *Args, in string) (string, bool) {
	n := 0
	return eachLine(in, func(line string) (string, bool) {
		n++
		return fmt.Sprintf("%6d\t%s", n, line), line != ""
	})
}

// folded is fold, of lines that are short enough.
func folded(a *Args, in string) (string, bool) {
	width := 80
	if w, ok := a.first("w"); ok {
		width, _ = strconv.Atoi(w)
	}
	return eachLine(in, func(line string) (string, bool) { return line, len(line) <= width })
}

func unchanged(program string) func(*Args, string) (string, bool) {
	return func(a *Args, in string) (string, bool) {
		return in, program == "tee" || program == "pv" || program == "sponge" || program == "buffer" || program == "dos2unix" || len(a.Operands) == 0
	}
}

func oneLine(_ *Args, in string) (string, bool) {
	return in, strings.Count(strings.TrimSuffix(in, "\n"), "\n") == 0
}

// pathPart computes basename and dirname.
func pathPart(program string) func(*reader, *state, *Command) output {
	return func(_ *reader, _ *state, c *Command) output {
		texts, ok := literals(c.Words[1:])
		if !ok || len(texts) == 0 || strings.HasPrefix(texts[0], "-") {
			return output{}
		}
		out := path.Base(texts[0])
		if program == "dirname" {
			out = path.Dir(texts[0])
		} else if len(texts) > 1 {
			out = strings.TrimSuffix(out, texts[1])
		}
		return output{out + "\n", true}
	}
}

// realPath computes realpath and readlink -f, links aside.
func realPath(r *reader, st *state, c *Command) output {
	args := c.Args(Grammar{})
	if len(args.Operands) != 1 || c.Program == "readlink" && !args.Has("fem") || len(args.Values) > 0 || len(args.Names) > 0 {
		return output{}
	}
	w := args.Operands[0]
	if len(w.Alts) > 0 || len(st.dirs) != 1 || !Known(w.Text) || !strings.HasPrefix(Join(st.dirs[0], w.Text), "/") {
		return output{}
	}
	return output{r.out.resolve(Join(st.dirs[0], Plain(w.Text)), c.index) + "\n", true}
}

func whoami(r *reader, st *state, _ *Command) output {
	v, _ := r.lookup(st, "USER")
	if len(v.vals) != 1 {
		return output{}
	}
	return output{v.vals[0] + "\n", Known(v.vals[0])}
}

// temporary is what mktemp prints: a name in the directory for temporary files.
func temporary(r *reader, _ *state, c *Command) output {
	dir := "/tmp"
	if v := r.in.Vars["TMPDIR"]; strings.HasPrefix(v, "/") {
		dir = strings.TrimSuffix(v, "/")
	}
	args := c.Args(Grammar{Short: "p", Long: []string{"tmpdir", "suffix"}})
	if len(args.Operands) > 0 || len(args.Values["p"])+len(args.Values["tmpdir"]) > 0 {
		if len(args.Operands) != 1 || !Literal(args.Operands[0].Text) || len(args.Values["p"])+len(args.Values["tmpdir"]) > 0 {
			return output{}
		}
		name := args.Operands[0].Text
		head := strings.TrimRight(name, "X")
		if args.Has("t") || !strings.Contains(name, "/") && args.Has("t") {
			head = dir + "/" + head
		}
		return output{text: head + markSome + "\n"}
	}
	return output{text: dir + "/tmp." + markSome + "\n"}
}
