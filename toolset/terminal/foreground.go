package terminal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/tool"
)

// detachers are programs whose one purpose is to outlive the call.
var detachers = []string{"nohup", "setsid", "disown"}

// endless lists servers and watchers: programs that don't end by themselves. Each row is a program with the words that must lead its
// arguments ("" = none), and options under which it does end.
var endless = []struct {
	programs []string
	words    [][]string // one list of alternatives for each word in front, options left out
	option   []string   // one of these must be there
	unless   []string   // words or options under which it ends
}{
	{programs: []string{"npm", "pnpm", "yarn", "bun"}, words: [][]string{{"dev", "start", "serve", "watch"}}},
	{programs: []string{"npm", "pnpm", "yarn", "bun"}, words: [][]string{{"run"}, {"dev", "start", "serve", "watch"}}},
	{programs: []string{"docker"}, words: [][]string{{"compose"}, {"up"}}, unless: []string{"-d", "--detach"}},
	{programs: []string{"docker-compose"}, words: [][]string{{"up"}}, unless: []string{"-d", "--detach"}},
	{programs: []string{"next"}, words: [][]string{{"dev"}}},
	{programs: []string{"vite"}, unless: []string{"build", "optimize"}},
	{programs: []string{"nodemon"}},
	{programs: []string{"uvicorn"}},
	{programs: []string{"gunicorn"}, unless: []string{"--daemon", "-D", "--check-config"}},
	{programs: []string{"python"}, option: []string{"-m http.server"}},
	{programs: []string{"tail"}, option: []string{"-f", "-F", "--follow"}},
	{programs: []string{"watch"}},
}

// asksOnly are options with which every program only tells something about itself.
var asksOnly = []string{"--help", "--version", "-h", "-v"}

// advice is what to do in place of a command that would run on behind its call.
type advice struct{ detach, endless, left string }

// toModels have background; toScripts haven't.
var (
	toModels = advice{
		detach:  "run the command itself with background: true; it then goes on under a session_id that process takes",
		endless: "start it with background: true and look at it with process, or give it an end, as in timeout 20 CMD",
		left:    "run it by itself with background: true, or let the same command end it or wait for it (wait, kill $!)",
	}
	toScripts = advice{
		detach:  "background is not offered in scripts: run the command itself and let the call wait for it, with a timeout that suffices",
		endless: "background is not offered in scripts: give it an end, as in timeout 20 CMD, or CMD & followed by what needs it and kill $!",
		left:    "background is not offered in scripts: take the & off, or let the same command end it or wait for it (wait, kill $!)",
	}
)

func adviceFor(c *tool.Call) advice {
	if c.Caller == tool.CallerScript {
		return toScripts
	}
	return toModels
}

// staysBehind says why a command would run on behind the call, or hold it until the timeout; "" = it doesn't.
func staysBehind(r *analysis.Reading, instead advice) string {
	for i := range r.Commands {
		c := &r.Commands[i]
		if !exact(c) {
			continue
		}
		if contains(detachers, c.Program) {
			return fmt.Sprintf("%s starts something that outlives the call, and this call is in the foreground: %s", c.Program, instead.detach)
		}
		if !c.Background && neverEnds(c) {
			return fmt.Sprintf("%q does not end by itself, so the call would only wait for its timeout: %s", shown(r, c), instead.endless)
		}
	}
	if spans := r.Unawaited(); len(spans) > 0 {
		return fmt.Sprintf("%q is started with & and left behind, and this call is in the foreground: %s", spans[0].Slice(r.Text), instead.left)
	}
	return ""
}

// exact reports whether the program is written out rather than one of several that it may turn out to be.
func exact(c *analysis.Command) bool {
	if len(c.Words) == 0 {
		return false
	}
	_, ok := c.Words[0].Exact()
	return ok
}

func shown(r *analysis.Reading, c *analysis.Command) string {
	if s := strings.TrimSpace(c.Span.Slice(r.Text)); s != "" {
		return s
	}
	return c.Program
}

// runners start a program that a package brings: with the verbs, or at once where there are none.
var runners = map[string][]string{
	"npx": nil, "bunx": nil, "npm": {"exec", "x"}, "pnpm": {"exec", "dlx"}, "yarn": {"exec", "dlx", "run"}, "bun": {"x"},
	"uv": {"run"}, "poetry": {"run"}, "pipenv": {"run"},
}

// brought gives the command that a runner starts, and c itself where it is none.
func brought(c *analysis.Command) *analysis.Command {
	verbs, ok := runners[c.Program]
	rest := c.Words[1:]
	skip := func() {
		for len(rest) > 0 && strings.HasPrefix(rest[0].Text, "-") {
			rest = rest[1:]
		}
	}
	if skip(); ok && verbs != nil {
		if len(rest) == 0 || !contains(verbs, rest[0].Text) {
			return c
		}
		rest = rest[1:]
		skip()
	}
	if !ok || len(rest) == 0 {
		return c
	}
	name := rest[0].Text[strings.LastIndexByte(rest[0].Text, '/')+1:]
	return &analysis.Command{Program: strings.TrimRight(name, "0123456789."), Words: rest}
}

func neverEnds(c *analysis.Command) bool {
	return !c.Under("timeout") && (serves(c) || serves(brought(c)))
}

func serves(c *analysis.Command) bool {
	words, options := arguments(c)
	if overlap(options, asksOnly) {
		return false
	}
	for _, e := range endless {
		if contains(e.programs, c.Program) && leads(words, e.words) && (e.option == nil || overlap(options, e.option)) &&
			!overlap(options, e.unless) && !overlap(words, e.unless) {
			return true
		}
	}
	return false
}

// arguments splits a command's arguments into plain words and options. An option's value that stands apart counts as a word;
// a cluster such as -nf counts as -n and -f too, --follow=name as --follow, and -m takes its value along.
func arguments(c *analysis.Command) (words, options []string) {
	args := c.Words[1:]
	for i := 0; i < len(args); i++ {
		a := args[i].Text
		switch {
		case len(a) < 2 || a[0] != '-':
			words = append(words, a)
		case a == "-m" && i+1 < len(args):
			options = append(options, a+" "+args[i+1].Text)
			return words, options // what follows belongs to the module
		case strings.HasPrefix(a, "--"):
			option, _, _ := strings.Cut(a, "=")
			options = append(options, option)
		default:
			options = append(options, a)
			for _, letter := range a[1:] {
				if letter < 'A' {
					break // -n5: a number
				}
				options = append(options, "-"+string(letter))
			}
		}
	}
	return words, options
}

func leads(words []string, want [][]string) bool {
	for i, alternatives := range want {
		if i >= len(words) || !contains(alternatives, words[i]) {
			return false
		}
	}
	return true
}

func overlap(have, want []string) bool {
	return slices.ContainsFunc(have, func(s string) bool { return contains(want, s) })
}

func contains(list []string, s string) bool { return slices.Contains(list, s) }
