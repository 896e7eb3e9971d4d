package approval_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
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

// contradiction is a disguise under which an example makes another act, or a look-alike becomes one, so that the same finding would be
// wrong. A disguise not named here has to keep what is found: no row and no example is left out as a whole.
type contradiction struct {
	row, why  string
	looks     bool     // it is about look-alikes
	texts     []string // examples or look-alikes of the row
	disguises []string
}

var contradictions = []contradiction{
	{row: "sudo.shell", disguises: []string{"pipe, last"}, why: "a shell for a person runs nothing when its input is empty",
		texts: []string{"sudo -i", "sudo -s", "sudo su", "sudo su -", "su", "su -", "su root", "sudo bash", "doas -s", "pkexec bash", "sudo -u bob -i", "sudo /bin/sh",
			"sudo env A=1 bash", "su -l", "sudo bash -i", "sudo -Es"}},
	{row: "analysis.unparsed", texts: []string{"echo )"}, disguises: []string{"substitution", "here-document, evaluated"},
		why: "the parenthesis ends the substitution, and what is left is a sound text"},
	{row: "analysis.unparsed", looks: true, texts: []string{"", "# only a comment"}, disguises: slices.Concat(compound, []string{"pipe, last"}),
		why: "bash wants a command between the words of a compound one"},
	{row: "analysis.unparsed", looks: true, texts: []string{"cat <<EOF\nopen"}, why: "what ends the disguise is part of the open here-document, so that it has no end",
		disguises: slices.Concat(compound, []string{"pipe, last", "while", "until", "case", "substitution", "substitution in an assignment", "process substitution", "here-document, evaluated"})},
	{row: "delete.bulk", looks: true, texts: []string{"rm a b c"}, disguises: []string{"echo | xargs §"}, why: "to delete what an input names is this row's act"},
	{row: "perm.recursive", looks: true, texts: []string{"chmod 644 x", "chown root x", "chmod 644 /etc/nginx/nginx.conf", "chown root:root /etc/x"},
		disguises: []string{"echo | xargs §"}, why: "to change what an input names is this row's act"},
	{row: "sudo.password", looks: true, texts: []string{"su -c id", "sudo -S ls"}, disguises: []string{"pipe, last", "sourced here-document"},
		why: "a password that is read from an input is this row's act"},
}

// compound are disguises that need at least one command in their place, and an end of their own.
var compound = []string{"group", "subshell", "if", "else", "elif", "condition", "for", "for, counted", "function", "function, old spelling",
	"function defined in a loop", "exported function", "and", "or", "pipe, first", "background", "not", "timed", "redirected"}

func (c contradiction) covers(row, text, disguise string, looks bool) bool {
	return c.row == row && c.looks == looks && slices.Contains(c.texts, text) && slices.Contains(c.disguises, disguise)
}

// wearable are the disguises of text, a later form of one of a row's examples or look-alikes, under which the same has to be said of it.
func wearable(text, row, of string, looks bool) []disguise {
	return slices.DeleteFunc(disguises(text), func(d disguise) bool {
		return slices.ContainsFunc(contradictions, func(c contradiction) bool { return c.covers(row, of, d.name, looks) })
	})
}

// Done-when 2: what the table lets go is let go for a reason that holds. Each text in it changes its meaning under each of the disguises.
func TestDisguise_ContradictionsAreReal(t *testing.T) {
	used := make([]int, len(contradictions))
	for _, row := range rules.Table() {
		for _, looks := range []bool{false, true} {
			texts := row.Examples
			if looks {
				texts = row.LookAlikes
			}
			for _, text := range texts {
				for _, d := range disguises(text) {
					for i, c := range contradictions {
						if !c.covers(row.ID, text, d.name, looks) {
							continue
						}
						used[i]++
						in := d.of(text, rand.New(rand.NewPCG(1, 2)))
						if found := slices.Contains(ids(judge(in)), row.ID); found != looks {
							t.Errorf("%s needs no exception for %q under %q: %q", row.ID, text, d.name, in)
						}
					}
				}
			}
		}
	}
	for i, c := range contradictions {
		if want := len(c.texts) * len(c.disguises); used[i] != want {
			t.Errorf("%s, %q: %d pairs of a text and a disguise are there, want %d", c.row, c.why, used[i], want)
		}
	}
}

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
	for _, row := range rules.Table() {
		t.Run(row.ID, func(t *testing.T) {
			r, bad, tried := rand.New(rand.NewPCG(1, 2)), failures{}, 0
			for turn, example := range row.Examples {
				ways := wearable(example, row.ID, example, false)
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
	for _, row := range rules.Table() {
		t.Run(row.ID, func(t *testing.T) {
			r, bad, tried := rand.New(rand.NewPCG(3, 4)), failures{}, 0
			for turn, look := range row.LookAlikes {
				ways := wearable(look, row.ID, look, true)
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
	rows, data := rules.Table(), asData()
	fixed(t)
	rapid.Check(t, func(t *rapid.T) {
		row := &rows[rapid.IntRange(0, len(rows)-1).Draw(t, "row")]
		example := rapid.SampledFrom(row.Examples).Draw(t, "example")
		text := example
		seed := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var layers []string
		for range rapid.IntRange(1, 3).Draw(t, "layers") {
			ways := wearable(text, row.ID, example, false)
			d := ways[rapid.IntRange(0, len(ways)-1).Draw(t, "disguise")]
			text = d.of(text, seed)
			layers = append(layers, d.name)
		}
		report := judge(text)
		got := ids(report)
		if !slices.Contains(got, row.ID) {
			t.Errorf("%s in %q: %q: %v", row.ID, layers, text, got)
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

// Done-when 2, for a user's own rows: what they match they match in every disguise, and what only looks like it they don't.
func TestDisguise_UsersRowsAreKept(t *testing.T) {
	for name, c := range map[string]struct {
		fill            func(*approval.UserRows) []approval.Fault
		examples, looks []string
	}{
		"an expression": {func(u *approval.UserRows) []approval.Fault {
			return u.ReadPatterns(items([]any{`^deploy\s+(prod|live)\b`, "key"}))
		},
			[]string{"deploy prod", "deploy live --now"}, []string{"deploy stage", "deployer prod", "ls deploy prod"}},
		"a glob": {func(u *approval.UserRows) []approval.Fault { return u.ReadDeny(items("vagrant suspend*")) },
			[]string{"vagrant suspend", "vagrant suspend web"}, []string{"vagrant status", "ls vagrant suspend"}},
		"a program and its arguments": {func(u *approval.UserRows) []approval.Fault {
			return u.ReadDeny(items(map[string]any{"program": "acme", "args": "* --force", "reason": "key"}))
		}, []string{"acme push --force"}, []string{"acme push", "acme2 push --force"}},
	} {
		g := approval.New(approval.Config{Rows: own(t, c.fill)})
		matches := func(text string) bool {
			return slices.ContainsFunc(g.Try(command(text)).Findings, func(f rules.Finding) bool { return strings.HasPrefix(f.Row.Family, "own") })
		}
		r, bad, tried := rand.New(rand.NewPCG(11, 12)), failures{}, 0
		for _, want := range []bool{true, false} {
			texts := c.looks
			if want {
				texts = c.examples
			}
			for _, text := range texts {
				ways := disguises(text)
				if len(ways) < minDisguises {
					t.Errorf("%q: %d ways to disguise it, want %d", text, len(ways), minDisguises)
				}
				for _, d := range ways {
					tried++
					if in := d.of(text, r); matches(in) != want {
						bad.add("%s, %s: %q, matches: %v", name, d.name, in, !want)
					}
				}
			}
		}
		bad.report(t, tried)
	}
}
