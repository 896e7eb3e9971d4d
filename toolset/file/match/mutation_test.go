package match_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/toolset/file/match"
)

// The edits below are true ones of generated programs, whose old and new text then is bent the way models bend it. The place of the
// true edit is known: what comes out has the change there, or the edit is refused. It never is another place.

// program is a generated source text made of blocks, some of them nearly or wholly the same.
type program struct {
	lines  []string
	blocks [][2]int
}

var nouns = strings.Fields("user order invoice session token buffer record account payment window cursor widget packet ledger")
var verbs = strings.Fields("load store merge parse render check close send fetch count")

func generate(r *rand.Rand, style int) program {
	var p program
	indent := [...]string{"    ", "\t", "  "}[style%3]
	add := func(depth int, format string, args ...any) {
		p.lines = append(p.lines, strings.Repeat(indent, depth)+fmt.Sprintf(format, args...))
	}
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	for n := 5 + r.IntN(6); n > 0; n-- {
		noun, verb, id := pick(nouns), pick(verbs), r.IntN(90)+10
		start := len(p.lines)
		add(0, "def %s_%s_%d(%s, limit):", verb, noun, id, noun)
		add(1, "\"\"\"%s the %s “carefully” — up to limit.\"\"\"", verb, noun)
		add(1, "total = %d", r.IntN(900))
		add(1, "for item in %s.items():", noun)
		add(2, "if item.size > limit:")
		add(3, "log('skip \\t %s', item)", noun)
		add(3, "continue")
		add(2, "total += item.weight * %d", r.IntN(9)+1)
		if r.IntN(2) == 0 {
			add(2, "%s.%s(item)", noun, verb)
		}
		add(1, "")
		add(1, "return total")
		p.lines[len(p.lines)-2] = ""
		p.blocks = append(p.blocks, [2]int{start, len(p.lines)})
		p.lines = append(p.lines, "")
		if r.IntN(3) == 0 { // the same body under another name
			at := len(p.lines)
			p.lines = append(p.lines, fmt.Sprintf("def %s_%s_%d(%s, limit):", pick(verbs), noun, r.IntN(900)+100, noun))
			p.lines = append(p.lines, p.lines[start+1:at-1]...)
			p.blocks = append(p.blocks, [2]int{at, len(p.lines)})
			p.lines = append(p.lines, "")
		}
	}
	return p
}

// truth is an edit whose place is known: line at becomes fresh. from and to is the part that the edit quotes.
type truth struct {
	from, to, at int
	fresh        string
}

func choose(r *rand.Rand, p program) truth {
	b := p.blocks[r.IntN(len(p.blocks))]
	from := b[0] + r.IntN(2)
	to := b[1] - r.IntN(3)
	at := from + r.IntN(to-from)
	for strings.TrimSpace(p.lines[at]) == "" {
		at = from + r.IntN(to-from)
	}
	l := p.lines[at]
	body := strings.TrimLeft(l, " \t")
	return truth{from, to, at, l[:len(l)-len(body)] + "CHANGED_" + fmt.Sprint(r.IntN(1000)) + " " + body}
}

// bend is one way in which models get the quoted text wrong. It works on old and new alike, as they do.
type bend struct {
	name string
	do   func(r *rand.Rand, lines []string) []string
}

func each(f func(l string) string) func(*rand.Rand, []string) []string {
	return func(_ *rand.Rand, lines []string) []string {
		out := make([]string, len(lines))
		for i, l := range lines {
			out[i] = f(l)
		}
		return out
	}
}

var bends = []bend{
	{"as it is", each(func(l string) string { return l })},
	{"no indent", each(func(l string) string { return strings.TrimLeft(l, " \t") })},
	{"one level off", each(func(l string) string {
		for _, in := range []string{"    ", "\t", "  "} {
			if rest, ok := strings.CutPrefix(l, in); ok {
				return rest
			}
		}
		return l
	})},
	{"deeper", each(func(l string) string {
		if l == "" {
			return l
		}
		return "    " + l
	})},
	{"tabs for blanks", each(func(l string) string {
		return strings.Replace(strings.ReplaceAll(l, "    ", "\t"), "  ", "\t", 4)
	})},
	{"blanks for tabs", each(func(l string) string { return strings.ReplaceAll(l, "\t", "    ") })},
	{"blanks at ends", each(func(l string) string { return l + "  " })},
	{"doubled blanks", each(func(l string) string {
		in := l[:len(l)-len(strings.TrimLeft(l, " \t"))]
		return in + strings.ReplaceAll(l[len(in):], " ", "  ")
	})},
	{"plain quotes and dashes", each(func(l string) string {
		return strings.NewReplacer("“", `"`, "”", `"`, "—", "-").Replace(l)
	})},
	{"other dashes", each(func(l string) string { return strings.ReplaceAll(l, "—", "–") })},
	{"no-break blanks", each(func(l string) string { return strings.Replace(l, "the ", "the\u00a0", 1) })},
	{"a stale line", func(r *rand.Rand, lines []string) []string {
		out := append([]string(nil), lines...)
		if len(out) > 4 {
			i := 1 + r.IntN(len(out)-2)
			out[i] = strings.Replace(out[i], "item", "element", 1)
		}
		return out
	}},
	{"a stale number", func(r *rand.Rand, lines []string) []string {
		out := append([]string(nil), lines...)
		for i, l := range out {
			if i > 0 && strings.Contains(l, "total = ") {
				out[i] = l + "7"
			}
		}
		return out
	}},
	{"a line forgotten", func(r *rand.Rand, lines []string) []string {
		if len(lines) < 6 {
			return lines
		}
		i := 1 + r.IntN(len(lines)-2)
		return append(append([]string(nil), lines[:i]...), lines[i+1:]...)
	}},
	{"a line made up", func(r *rand.Rand, lines []string) []string {
		i := 1 + r.IntN(len(lines)-1)
		out := append(append([]string(nil), lines[:i]...), "    made_up = True")
		return append(out, lines[i:]...)
	}},
	{"a few words changed", func(r *rand.Rand, lines []string) []string {
		out := append([]string(nil), lines...)
		for i := 1; i < len(out)-1; i += 3 {
			out[i] = strings.Replace(out[i], "limit", "limits", 1)
		}
		return out
	}},
	{"escaped quotes", each(func(l string) string { return strings.NewReplacer("'", `\'`).Replace(l) })},
	{"blank lines dropped", func(_ *rand.Rand, lines []string) []string {
		var out []string
		for _, l := range lines {
			if l != "" {
				out = append(out, l)
			}
		}
		return out
	}},
}

// bent applies a bend to old and new text in the same way.
func bent(seed uint64, b bend, old, fresh []string) ([]string, []string) {
	x := b.do(rand.New(rand.NewPCG(seed, 9)), old)
	y := b.do(rand.New(rand.NewPCG(seed, 9)), fresh)
	return x, y
}

func TestFind_BentEditsGoToTheRightPlaceOrNowhere(t *testing.T) { // PAT-1 to PAT-6
	done, refused := map[string]int{}, map[string]int{}
	for seed := range uint64(1200) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := generate(r, int(seed))
		e := choose(r, p)
		b := bends[int(seed)%len(bends)]
		old := p.lines[e.from:e.to]
		fresh := append(append(append([]string(nil), p.lines[e.from:e.at]...), e.fresh), p.lines[e.at+1:e.to]...)
		o, n := bent(seed, b, old, fresh)
		req := match.Request{Old: strings.Join(o, "\n"), New: strings.Join(n, "\n")}
		if seed%2 == 0 {
			req.Old, req.New = req.Old+"\n", req.New+"\n"
		}
		if req.Old == req.New { // the bend took the change back
			continue
		}
		file := strings.Join(p.lines, "\n")
		got, f, err := edit(t, file, req)
		if err != nil {
			refused[b.name]++
			continue
		}
		done[b.name]++
		judge(t, verdict{p: p, e: e, got: got, bend: b.name, strategy: f.Strategy, seed: seed})
		if t.Failed() {
			t.Logf("old %q\nnew %q", req.Old, req.New)
			return
		}
	}
	sum := 0
	for _, b := range bends {
		sum += done[b.name] + refused[b.name]
		t.Logf("%-26s done %3d, refused %3d", b.name, done[b.name], refused[b.name])
	}
	if sum < 300 {
		t.Errorf("only %d edits", sum)
	}
	for _, must := range []string{"as it is", "no indent", "deeper", "blanks at ends", "plain quotes and dashes", "doubled blanks"} {
		if done[must] < refused[must] {
			t.Errorf("%s: done %d, refused %d", must, done[must], refused[must])
		}
	}
}

type verdict struct {
	p        program
	e        truth
	got      string
	bend     string
	strategy match.Strategy
	seed     uint64
}

// judge holds a result to what is known: outside of the quoted part nothing differs, and the changed line stands in it with the
// file's own indent.
func judge(t *testing.T, v verdict) {
	t.Helper()
	head := strings.Join(v.p.lines[:v.e.from], "\n")
	tail := strings.Join(v.p.lines[v.e.to:], "\n")
	if !strings.HasPrefix(v.got, head) || !strings.HasSuffix(v.got, tail) {
		t.Errorf("seed %d, %s by %s: something outside of the place changed:\n%s", v.seed, v.bend, v.strategy, v.got)
		return
	}
	inside := v.got[len(head) : len(v.got)-len(tail)]
	marker := strings.Fields(v.e.fresh)[0]
	if strings.Count(inside, marker) != 1 {
		t.Errorf("seed %d, %s by %s: the change is not there:\n%s", v.seed, v.bend, v.strategy, inside)
		return
	}
	in := v.e.fresh[:strings.Index(v.e.fresh, marker)]
	if !strings.Contains("\n"+inside, "\n"+in+marker) {
		t.Errorf("seed %d, %s by %s: the changed line has not the file's indent %q:\n%s", v.seed, v.bend, v.strategy, in, inside)
	}
}
