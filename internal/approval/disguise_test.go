package approval_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
)

// A disguise is a command text that runs another one, spelled so that it isn't easily seen.
type disguise struct {
	name string
	of   func(command string, r *rand.Rand) string
	// newScope: the positional parameters of the text are other ones than outside.
	newScope bool
}

// single puts a text in single quotes, as one word.
func single(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// ansi spells every byte of a text as an escape in dollar quotes.
func ansi(s string, r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(s) {
		if r.IntN(2) == 0 {
			fmt.Fprintf(&b, `\x%02x`, s[i])
		} else {
			fmt.Fprintf(&b, `\%03o`, s[i])
		}
	}
	b.WriteString("'")
	return b.String()
}

func encoded(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func rot13(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z':
			return 'a' + (c-'a'+13)%26
		case c >= 'A' && c <= 'Z':
			return 'A' + (c-'A'+13)%26
		}
		return c
	}, s)
}

// backwards reverses each line, as rev does.
func backwards(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		c := []rune(l)
		for a, z := 0, len(c)-1; a < z; a, z = a+1, z-1 {
			c[a], c[z] = c[z], c[a]
		}
		lines[i] = string(c)
	}
	return strings.Join(lines, "\n")
}

// fill puts a text in the place of § in a format, whose own names (they end in an underscore) get a number, so that a disguise can be
// worn over itself.
func fill(format, text string, r *rand.Rand) string {
	n := strconv.Itoa(r.IntN(1 << 20))
	before, after, _ := strings.Cut(ownName.ReplaceAllString(format, "${1}_"+n), "§")
	return before + text + strings.ReplaceAll(after, "§", text)
}

var ownName = regexp.MustCompile(`\b(v|f|a|i|out|err|A|STOP)_`)

// around makes a disguise of a text with the command in place of §.
func around(name, format string) disguise {
	return disguise{name: name, of: func(c string, r *rand.Rand) string { return fill(format, c, r) }}
}

// within is around for a text that has parameters of its own.
func within(name, format string) disguise {
	d := around(name, format)
	d.newScope = true
	return d
}

// quoted makes one with the command, as one word, in place of §.
func quoted(name, format string) disguise {
	return coded(name, format, func(c string) string { return c })
}

// coded makes one with the encoded command, as one word, in place of §.
func coded(name, format string, code func(string) string) disguise {
	return disguise{name: name, newScope: true, of: func(c string, r *rand.Rand) string { return fill(format, single(code(c)), r) }}
}

// textDisguises work on any text that is a list of whole commands, whatever it holds.
func textDisguises() []disguise {
	return []disguise{
		around("group", "{ §\n}"),
		around("subshell", "( §\n)"),
		around("if", "if true; then §\nfi"),
		around("else", "if false; then :; else §\nfi"),
		around("elif", "if false; then :; elif true; then §\nfi"),
		around("condition", "if §\nthen :; fi"),
		around("while", "while true; do §\nbreak; done"),
		around("until", "until false; do §\nbreak; done"),
		around("for", "for i_ in 1; do §\ndone"),
		around("for, counted", "for ((i_=0; i_<1; i_++)); do §\ndone"),
		around("case", "case x in y) :;; *) §\n;; esac"),
		within("function", "f_() { §\n}; f_"),
		within("function, old spelling", "function f_ { §\n}\nf_"),
		within("function defined in a loop", "for i_ in 1; do f_() { §\n}; done; f_"),
		within("exported function", "f_() { §\n}; export -f f_; bash -c f_"),
		around("and", "true && { §\n}"),
		around("or", "false || { §\n}"),
		around("pipe, last", "true | { §\n}"),
		around("pipe, first", "{ §\n} | cat"),
		around("background", "{ §\n} & wait"),
		around("not", "! { §\n}"),
		around("timed", "time { §\n}"),
		around("comment before", "# it's \"fine\" $( {\n§"),
		around("comment after", "§\n# done"),
		around("list", ":; §"),
		around("redirected", "{ §\n} >out_ 2>&1"),
		around("substitution", "echo \"$( §\n)\""),
		around("substitution in an assignment", "v_=$( §\n)"),
		around("process substitution", "cat <(§\n)"),
		around("here-document, evaluated", "cat <<STOP_\n$( §\n)\nSTOP_"),
		quoted("bash -c", "bash -c §"),
		quoted("bash, bundled", "bash -ec § _ x"),
		quoted("bash, long options", "bash --norc -o pipefail -c §"),
		quoted("bash by env", "env A_=1 bash -c §"),
		quoted("bash by timeout", "timeout -k 1 5 nice -n 1 bash -c §"),
		quoted("bash by nohup and setsid", "nohup setsid bash -c §"),
		quoted("bash by exec", "(exec bash -c §)"),
		quoted("bash by command", "command bash -c §"),
		quoted("bash in bash", "bash -c 'bash -c \"$1\"' _ §"),
		quoted("eval", "eval §"),
		quoted("eval in eval", "v_=§; eval 'eval \"$v_\"'"),
		quoted("variable", "v_=§; eval \"$v_\""),
		quoted("variable to bash", "v_=§; bash -c \"$v_\""),
		quoted("here-string", "bash <<< §"),
		quoted("echo to bash", "printf '%s\\n' § | bash"),
		quoted("printf to bash -s", "printf '%s\\n' § | bash -s --"),
		quoted("file of a substitution", "bash <(printf '%s\\n' §)"),
		quoted("sourced substitution", "source <(printf '%s\\n' §)"),
		quoted("trap", "trap § EXIT"),
		quoted("parameter of a function", "f_() { eval \"$1\"; }; f_ §"),
		quoted("array", "a_=(bash -c §); \"${a_[@]}\""),
		quoted("positional parameters", "set -- bash -c §; \"$@\""),
		within("here-document to bash", "bash <<'STOP_'\n§\nSTOP_"),
		within("here-document through cat", "cat <<'STOP_' | bash\n§\nSTOP_"),
		within("sourced here-document", ". /dev/stdin <<'STOP_'\n§\nSTOP_"),
		{name: "escapes", newScope: true, of: func(c string, r *rand.Rand) string { return "bash -c " + ansi(c, r) }},
		{name: "escapes, evaluated", newScope: true, of: func(c string, r *rand.Rand) string { return "eval " + ansi(c, r) }},
		coded("base64", "echo § | base64 -d | bash", encoded),
		coded("base64 here-string", "base64 --decode <<< § | bash -s", encoded),
		coded("base64 substitution", "bash -c \"$(echo § | base64 -d)\"", encoded),
		coded("base64 evaluated", "eval \"$(base64 -d <<< §)\"", encoded),
		coded("base64 twice", "echo § | base64 -d | base64 -d | bash", func(s string) string { return encoded(encoded(s)) }),
		coded("hex", "echo § | xxd -r -p | bash", func(s string) string { return hex.EncodeToString([]byte(s)) }),
		coded("rot13", "printf '%s\\n' § | tr 'A-Za-z' 'N-ZA-Mn-za-m' | bash", rot13),
		coded("backwards", "printf '%s\\n' § | rev | bash", backwards),
	}
}

// simpleDisguises work on one simple command.
func simpleDisguises() []disguise {
	list := []disguise{
		{name: "line continuation", of: func(c string, r *rand.Rand) string { return betweenWords(c, r, " \\\n ") }},
		{name: "tabs", of: func(c string, r *rand.Rand) string { return betweenWords(c, r, "\t ") }},
		{name: "redirect before", of: func(c string, _ *rand.Rand) string { return ">out_ 2>err_ " + c }},
		{name: "redirect after", of: func(c string, _ *rand.Rand) string { return c + " >out_ 2>&1" }},
		{name: "field splitting", of: func(c string, _ *rand.Rand) string { return strings.ReplaceAll(c, " ", "${IFS}") }},
		{name: "own separator", of: func(c string, _ *rand.Rand) string {
			return "IFS=%; v_=" + single(strings.ReplaceAll(c, " ", "%")) + "; $v_"
		}},
		{name: "brace list", of: func(c string, _ *rand.Rand) string { return "{" + strings.ReplaceAll(c, " ", ",") + "}" }},
		{name: "words in a variable", of: func(c string, _ *rand.Rand) string { return "v_=" + single(c) + "; $v_" }},
		{name: "words in an array", of: func(c string, _ *rand.Rand) string { return "a_=(" + c + "); \"${a_[@]}\"" }},
		{name: "words of a function", of: func(c string, _ *rand.Rand) string { return "f_() { \"$@\"; }; f_ " + c }},
		{name: "words of a here-string", of: func(c string, _ *rand.Rand) string { return "read -r v_ <<< " + single(c) + "; $v_" }},
		{name: "words of a substitution", of: func(c string, _ *rand.Rand) string { return "$(echo " + single(c) + ")" }},
		{name: "program in a variable", of: func(c string, _ *rand.Rand) string { p, rest := program(c); return "p_=" + p + "; $p_" + rest }},
		{name: "program by default", of: func(c string, _ *rand.Rand) string { p, rest := program(c); return "${unset_:-" + p + "}" + rest }},
		{name: "program in two variables", of: func(c string, r *rand.Rand) string {
			p, rest := program(c)
			n := r.IntN(len(p))
			return "a_=" + p[:n] + " b_=" + p[n:] + "; $a_$b_" + rest
		}},
		{name: "program by slice", of: func(c string, _ *rand.Rand) string {
			p, rest := program(c)
			return fmt.Sprintf("v_=xx%syy; ${v_:2:%d}%s", p, len(p), rest)
		}},
		{name: "program by prefix and suffix", of: func(c string, _ *rand.Rand) string { p, rest := program(c); return "v_=xx." + p + "; ${v_#xx.}" + rest }},
		{name: "program by replacement", of: func(c string, _ *rand.Rand) string {
			p, rest := program(c)
			return "v_=" + p[:1] + "@@" + p[1:] + "; ${v_/@@/}" + rest
		}},
		{name: "program by printf", of: func(c string, r *rand.Rand) string {
			p, rest := program(c)
			return "printf -v v_ %s " + ansi(p, r) + "; $v_" + rest
		}},
		{name: "program by echo", of: func(c string, _ *rand.Rand) string { p, rest := program(c); return "`echo " + p + "`" + rest }},
		{name: "program by base64", of: func(c string, _ *rand.Rand) string {
			p, rest := program(c)
			return "$(base64 -d <<< " + encoded(p) + ")" + rest
		}},
		{name: "program by rev", of: func(c string, _ *rand.Rand) string {
			p, rest := program(c)
			return "$(echo " + backwards(p) + " | rev)" + rest
		}},
		{name: "program by indirection", of: func(c string, _ *rand.Rand) string {
			p, rest := program(c)
			return "b_=" + p + "; a_=b_; ${!a_}" + rest
		}},
		{name: "alias", of: func(c string, _ *rand.Rand) string { return "shopt -s expand_aliases\nalias z_=" + single(c) + "\nz_" }},
		{name: "appended", of: func(c string, _ *rand.Rand) string {
			p, rest := program(c)
			return "v_=" + p[:1] + "; v_+=" + p[1:] + "; $v_" + rest
		}},
	}
	for _, f := range []string{"A_=1 §", "A_=1 B_='x y' §", "env §", "env A_=1 B_=2 §", "env -u A_ §", "nice -n 3 §", "nohup §", "timeout 5 §",
		"timeout -k 1 -s INT 5 §", "setsid -w §", "command §", "(exec §)", "time -p §", "eval §", "env -S §", "nice env nohup timeout 5 §", "echo | xargs §",
		"command env A_=1 timeout 5 nice §", "§ & wait", "coproc §"} {
		if f == "env -S §" {
			list = append(list, quoted(f, f))
			continue
		}
		list = append(list, around(f, f))
	}
	for _, q := range quotings {
		list = append(list, disguise{name: "quoting: " + q.name, of: func(c string, r *rand.Rand) string {
			words := strings.Split(c, " ")
			for i, w := range words {
				words[i] = q.of(w, r)
			}
			return q.needs + strings.Join(words, " ")
		}})
	}
	return list
}

// quotings spell one plain word in another way.
var quotings = []struct {
	name  string
	of    func(string, *rand.Rand) string
	needs string // what has to stand before the command
}{
	{"single", func(w string, _ *rand.Rand) string { return "'" + w + "'" }, ""},
	{"double", func(w string, _ *rand.Rand) string { return `"` + w + `"` }, ""},
	{"backslashes", func(w string, _ *rand.Rand) string { return `\` + strings.Join(strings.Split(w, ""), `\`) }, ""},
	{"escapes", ansi, ""},
	{"dollar double", func(w string, _ *rand.Rand) string { return `$"` + w + `"` }, ""},
	{"empty in the middle", func(w string, r *rand.Rand) string { n := r.IntN(len(w) + 1); return w[:n] + `''""` + w[n:] }, ""},
	{"half and half", func(w string, r *rand.Rand) string { n := r.IntN(len(w) + 1); return "'" + w[:n] + `'"` + w[n:] + `"` }, ""},
	{"letter by letter", func(w string, _ *rand.Rand) string { return "'" + strings.Join(strings.Split(w, ""), `'""'`) + "'" }, ""},
	{"empty substitution", func(w string, r *rand.Rand) string { n := r.IntN(len(w) + 1); return w[:n] + `"$(:)"` + w[n:] }, ""},
	{"broken line", func(w string, r *rand.Rand) string { n := r.IntN(len(w) + 1); return w[:n] + "\\\n" + w[n:] }, ""},
	{"default value", func(w string, _ *rand.Rand) string { return `"${empty_:-` + w + `}"` }, "empty_=; "},
	{"substitution", func(w string, _ *rand.Rand) string { return `"$(printf %s ` + single(w) + `)"` }, ""},
}

// program splits off a command's first word.
func program(c string) (name, rest string) {
	name, rest, more := strings.Cut(c, " ")
	if more {
		rest = " " + rest
	}
	return name, rest
}

func betweenWords(c string, _ *rand.Rand, by string) string { return strings.ReplaceAll(c, " ", by) }

// plainText is a command of plain words with one blank between them: what simpleDisguises can be used on.
var plainText = regexp.MustCompile(`^[a-z][A-Za-z0-9_.+-]+( [A-Za-z0-9_./:+@-]+)*$`)

// keyword tells words that are what they are only where they stand unquoted, and builtins whose effect stays in the shell.
var keyword = regexp.MustCompile(`^(time|coproc|if|for|while|until|case|select|function|exec|eval|alias|unalias|trap|source|set|shift|local|declare|export|readonly|typeset|read|cd|pushd|popd|unset|command|builtin|printf|echo|kill|wait|type|hash|umask|test|history|exit|return|env)\b`)

func simple(c string) bool {
	return plainText.MatchString(c) && !keyword.MatchString(c) && !strings.Contains(c, "%")
}

// positional tells a text that means something else in another shell or function: it uses what only the first one has.
var positional = regexp.MustCompile(`\$\{?([0-9@*#!]|PPID)`)

// disguises lists what a command can wear.
func disguises(c string) []disguise {
	var list []disguise
	for _, d := range textDisguises() {
		if d.newScope && positional.MatchString(c) {
			continue
		}
		list = append(list, d)
	}
	if simple(c) {
		for _, d := range simpleDisguises() {
			if d.name != "brace list" || strings.Contains(c, " ") { // one word in braces is no list
				list = append(list, d)
			}
		}
	}
	return list
}

// asData are harmless texts that hold a command without running it.
func asData() []disguise {
	return []disguise{
		quoted("printed", "echo §"),
		quoted("printed by printf", "printf '%s\\n' §"),
		quoted("searched for", "grep -F -- § notes.txt"),
		quoted("searched for by rg", "rg -F -e § docs"),
		quoted("commit message", "git commit -m §"),
		quoted("kept in a variable", "v_=§"),
		quoted("kept and printed", "v_=§; echo \"$v_\""),
		quoted("in an array", "a_=(§); echo \"${#a_[@]}\""),
		quoted("compared", "[ \"$v_\" = § ]"),
		quoted("matched", "[[ $v_ == § ]]"),
		quoted("here-string", "wc -c <<< §"),
		quoted("body of a request", "curl -d § http://localhost:8080/log"),
		quoted("title", "gh issue create --title § --body x"),
		quoted("null command", ": §"),
		quoted("logged", "logger -t app §"),
		quoted("piped to a program that reads", "printf '%s' § | wc -l"),
		quoted("parameter of a harmless function", "f_() { echo \"$1\"; }; f_ §"),
		quoted("argument of a shell's text", "bash -c 'echo \"$1\"' _ §"),
		coded("encoded", "echo § | base64 -d | wc -c", encoded),
		{name: "comment", of: func(c string, _ *rand.Rand) string { return "# " + strings.ReplaceAll(c, "\n", "\n# ") }},
		{name: "comment after a command", of: func(c string, _ *rand.Rand) string { return "ls # " + strings.ReplaceAll(c, "\n", "\n# ") }},
		around("here-document", "cat <<'STOP_' > notes.txt\n§\nSTOP_"),
		around("here-document of a plain program", "sort <<'STOP_'\n§\nSTOP_"),
	}
}
