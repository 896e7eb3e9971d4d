package approval_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/rules"
)

// minDisguises is the least number of ways that an example is disguised in.
const minDisguises = 20

// everyDisguise has all disguises of all commands tried, not a sample of them.
var everyDisguise = flag.Bool("disguise.all", false, "try every disguise of every command")

func judge(command string) *approval.Report {
	return approval.Analyze(command, analysis.Input{Dir: "/data/app", Home: "/home/ann"})
}

// disguisable leaves out the rows about texts that can't be read: another text around them makes another text.
func disguisable() []rules.Row {
	return slices.DeleteFunc(slices.Clone(rules.Table()), func(r rules.Row) bool { return strings.HasPrefix(r.ID, "analysis.") })
}

// definition is a text that only defines a function, whose body does what it is called with: it runs nothing, least of all in a scope of
// its own.
var definition = regexp.MustCompile(`^\w+ *\(\) *\{ "?\$@"?; \}$`)

// someOf takes, of many disguises, n others for each turn, so that the examples of a row share all of them.
func someOf(ways []disguise, turn, n int) []disguise {
	if raced {
		n = min(n, 4) // what is found is the other runs' business
	}
	if *everyDisguise || len(ways) <= n {
		return ways
	}
	var some []disguise
	for i := range n {
		some = append(some, ways[(turn*n+i)%len(ways)])
	}
	return some
}

// failures keeps the first few of what may be very many.
type failures struct {
	first []string
	n     int
}

func (f *failures) add(format string, args ...any) {
	if f.n++; len(f.first) < 6 || testing.Verbose() && len(f.first) < 200 {
		f.first = append(f.first, fmt.Sprintf(format, args...))
	}
}

func (f *failures) report(t *testing.T, of int) {
	t.Helper()
	if f.n > 0 {
		t.Errorf("%d of %d:\n%s", f.n, of, strings.Join(f.first, "\n"))
	}
}

// A92: an example of a row stays one in every disguise. The numbers that names in a disguise get come from a fixed seed.
func TestDisguise_ExamplesKeepTheirRow(t *testing.T) {
	for _, row := range disguisable() {
		t.Run(row.ID, func(t *testing.T) {
			r, bad, tried := rand.New(rand.NewPCG(1, 2)), failures{}, 0
			for turn, example := range row.Examples {
				if definition.MatchString(example) {
					continue
				}
				ways := disguises(example)
				if row.ID == "sudo.shell" { // it is a shell for a person, without commands on its input
					ways = slices.DeleteFunc(ways, func(d disguise) bool { return d.feeds })
				}
				if len(ways) < minDisguises {
					t.Errorf("%q: %d ways to disguise it, want %d", example, len(ways), minDisguises)
				}
				for _, d := range someOf(ways, turn, minDisguises+2) {
					text := d.of(example, r)
					tried++
					if got := ids(judge(text)); !slices.Contains(got, row.ID) {
						bad.add("%s: %q: %v", d.name, text, got)
					}
				}
			}
			bad.report(t, tried)
		})
	}
}

// A92: what only looks like a row's act doesn't become one by a disguise.
func TestDisguise_LookAlikesStayOut(t *testing.T) {
	for _, row := range disguisable() {
		t.Run(row.ID, func(t *testing.T) {
			r, bad, tried := rand.New(rand.NewPCG(3, 4)), failures{}, 0
			for turn, look := range row.LookAlikes {
				ways := slices.DeleteFunc(disguises(look), func(d disguise) bool { return d.feeds })
				if len(ways) < minDisguises {
					t.Errorf("%q: %d ways to disguise it, want %d", look, len(ways), minDisguises)
				}
				for _, d := range someOf(ways, turn, minDisguises+2) {
					text := d.of(look, r)
					tried++
					if got := ids(judge(text)); slices.Contains(got, row.ID) {
						bad.add("%s: %q: %v", d.name, text, got)
					}
				}
			}
			bad.report(t, tried)
		})
	}
}

// A35, A92: a command that is somebody's data is no finding of any row.
func TestDisguise_DataIsNoCommand(t *testing.T) {
	r, bad, tried, turn, ways := rand.New(rand.NewPCG(5, 6)), failures{}, 0, 0, asData()
	for _, row := range rules.Table() {
		for _, example := range row.Examples {
			turn++
			for _, d := range someOf(ways, turn, len(ways)) {
				text := d.of(example, r)
				tried++
				if got := ids(judge(text)); len(got) > 0 {
					bad.add("%s of %s: %q: %v", d.name, row.ID, text, got)
				}
			}
		}
	}
	bad.report(t, tried)
}

// fixed has rapid draw the same values in each run, unless a seed was given, and leave no files: the seed in a report is enough.
func fixed(t *testing.T) {
	t.Helper()
	for name, value := range map[string]string{"rapid.nofailfile": "true", "rapid.seed": "20240229", "rapid.checks": "400"} {
		if f := flag.Lookup(name); f == nil || f.Value.String() != f.DefValue {
			continue
		}
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
}

// A92, by chance: disguises over disguises keep what was found, data stays data, the same text gets the same answer, and spans lie in it.
func TestDisguise_OverDisguises(t *testing.T) {
	rows, data := disguisable(), asData()
	fixed(t)
	rapid.Check(t, func(t *rapid.T) {
		row := &rows[rapid.IntRange(0, len(rows)-1).Draw(t, "row")]
		text := rapid.SampledFrom(row.Examples).Draw(t, "example")
		if definition.MatchString(text) {
			t.Skip("it runs nothing")
		}
		seed := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var worn []string
		for range rapid.IntRange(1, 3).Draw(t, "layers") {
			ways := disguises(text)
			if row.ID == "sudo.shell" {
				ways = slices.DeleteFunc(ways, func(d disguise) bool { return d.feeds })
			}
			d := ways[rapid.IntRange(0, len(ways)-1).Draw(t, "disguise")]
			text = d.of(text, seed)
			worn = append(worn, d.name)
		}
		report := judge(text)
		got := ids(report)
		if !slices.Contains(got, row.ID) {
			t.Errorf("%s in %q: %q: %v", row.ID, worn, text, got)
		}
		if again := ids(judge(text)); !slices.Equal(got, again) {
			t.Errorf("%q: %v, then %v", text, got, again)
		}
		for _, f := range report.Findings {
			if s := f.Span; s.Start < 0 || s.Start > s.End || s.End > len(text) {
				t.Errorf("%q: %s has the span %v of %d bytes", text, f.Row.ID, s, len(text))
			}
		}
		data := data[rapid.IntRange(0, len(data)-1).Draw(t, "data")].of(text, seed)
		if got := ids(judge(data)); len(got) > 0 {
			t.Errorf("%q: %v", data, got)
		}
	})
}
