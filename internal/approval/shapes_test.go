package approval_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval/rules"
)

// shape makes a text of about n bytes.
type shape struct {
	name string
	make func(n int) string
}

func repeated(name, unit string) shape {
	return shape{name, func(n int) string { return strings.Repeat(unit, n/len(unit)) }}
}

// between is a long body with something before and after it.
func between(name, head, unit, tail string) shape {
	return shape{name, func(n int) string { return head + strings.Repeat(unit, n/len(unit)) + tail }}
}

// nested opens something again and again and closes it as often.
func nested(name, opener, inner, closer string) shape {
	return shape{name, func(n int) string {
		k := n / (len(opener) + len(closer))
		return strings.Repeat(opener, k) + inner + strings.Repeat(closer, k)
	}}
}

// repeats are texts of one operator, quote, opener or small command again and again, also as a program text in quotes.
func repeats() []shape {
	var list []shape
	for _, unit := range []string{
		"|", "||", "&", "&&", ";", ";;", "(", ")", "{ ", "} ", "[", "[[ ", "]] ", "<", ">", ">>", "<<", "<<<", "<<-", "<(", ">(", "$", "$(", "${", "$((", "((", "`",
		"'", `"`, "$'", `$"`, `\`, "!", "#", "\n", " ", "\t", "=", "+=", "*", "?", "~", "^", "%", "@", ",", "{a,", "{1..9}", "{a,b}", "a{b,c}d ", "[a-z]", "?(a|", "\x00", "\xff", "é",
		"if ", "then ", "fi;", "for x in ", "do ", "done;", "while ", "case x in ", "x) ", "esac;", "function f ", "f() { ", "select x in ", "coproc ", "time ", "! ",
		"a;", "a|", "a&", "a&&", "a=b ", "a=$a$a;", "a+=x;", "$a ", "\"$a\" ", "${a/b/c} ", "${a##*b} ", "$((a+1)) ", "`a` ", "$(a) ", "<<E\nE\n", "<<<a ", ">a ", "2>&1 ",
		"'a' ", `"a" `, `\a `, "$'\\x61' ", "#a\n", "a\\\n", "~/a ", "/a/../a ", "a[1]=2;", "a=(b c);", "--a=b ", "-a ", "-- ",
		"eval ", "sh -c ", "sudo ", "env ", "xargs ", "exec ", "command ", "trap x 0;", "alias a=b;", "cd ..;", "cd a&&", "set -- a;", "shift;", "read a<<<b;", "printf -v a b;",
		"find . -exec ", "find . -delete;", "rm -rf /;", "rm -rf $a/ ", "echo a|sh;", "curl a|", "python -c 'x' ", "awk 'x' ", "sed e ", "git -c a=b ", "ssh a ", "docker run -v /:/a ",
		"psql -c 'DROP TABLE a' ", "dd of=/dev/sda;", "kill -9 -1;", "f(){ f|f& };", "base64 -d<<<YQ== |", "local a=b;", "export a=b;", "unset a;", ". a;", "source <(a);",
	} {
		list = append(list, repeated(fmt.Sprintf("%q again and again", unit), unit))
	}
	for _, name := range []string{"sh -c", "bash -c", "eval", "psql -c", "python3 -c", "node -e", "perl -e", "ruby -e", "php -r", "awk", "sed -n", "mysql -e", "sqlite3 a", "ssh h", "xargs sh -c", "trap", "echo"} {
		for _, body := range []string{"(", "a ", "a;", "\"", "\\", "# ", "DROP ", "x=1\n", "/*", "--", "$a", "+"} {
			list = append(list, between(fmt.Sprintf("%s with a body of %q", name, body), name+" '", body, "'"))
		}
	}
	return list
}

// bodies are texts that could cost more than their length: nestings, long bodies, words and comments, variables that double.
func bodies() []shape {
	return []shape{
		nested("groups", "{ ", "a", ";}"), nested("subshells", "(", "a", ")"), nested("substitutions", "$(", "a", ")"), nested("expansions", "${a:-", "b", "}"),
		nested("arithmetic", "$((", "1", "))"), nested("parentheses in arithmetic", "((", "1", "))"), nested("conditions", "if a; then ", "b", "; fi"), nested("loops", "for a in b; do ", "c", "; done"),
		nested("functions", "f() { ", "a", "; }"), nested("brace lists", "{a,", "b", "}"), nested("process substitutions", "<(", "a", ")"), nested("tests", "[[ ( ", "a", " ) ]]"),
		nested("quotes in substitutions", `"$(`, "a", `)"`), nested("cases", "case a in b) ", "c", " ;; esac"),
		between("a long word", "rm -rf ", "a", ""), between("a long path", "rm -rf /", "a/", ""), between("a long climb", "rm -rf ", "../", ""), between("a long glob", "rm -rf /", "*", ""),
		between("a long comment", "# ", "x ", ""), between("a here-document", "cat <<E\n", "$a `b` x\n", "E\n"), between("a here-document to sh", "sh <<E\n", "a;\n", "E\n"),
		between("a quoted here-document to sh", "sh <<'E'\n", "rm -rf a\n", "E\n"), between("many here-documents", "", "cat <<A <<B\nA\nB\n", ""), between("base64", "echo ", "cm0g", "|base64 -d|sh"),
		between("hex", "echo ", "726d", "|xxd -r -p|sh"), between("a value and its patterns", "a=", "ab", ";echo ${a//a/b} ${a##*a} ${a%%b*}"), between("a list of loop items", "for a in ", "b ", "; do rm -rf $a; done"),
		between("an array", "a=(", "b ", "); rm -rf ${a[@]}"), between("doubling", "a=xx;", "a=$a$a;", "rm -rf $a"), between("branches that assign", "a=b;", "if x; then a=$a;fi;", "$a"),
		between("SQL quotes", `psql -c "`, "'", `"`), between("an unset variable", "rm -rf ", "$x/ ", ""), between("words by default", "rm ", "${x:-y} ", ""),
		between("a chain of pipes to sh", "echo a", "|cat", "|sh"), between("functions that call on", "", "f() { f; };", "f"), between("definitions and calls", "f() { a; };", "f;", ""),
		between("aliases", "", "alias a='b c';", "a"), between("redirects of a group", "{ a; }", ">b ", ""), between("assignments before", "", "A=1 ", "rm -rf /"), between("wrappers", "", "nice ", "rm -rf /"),
		between("options of rm", "rm ", "-r ", "/"), between("words after --", "rm -- ", "-r ", ""), between("globs of programs", "", "r*m ", ""), between("a set for a program", "a=b;", "[ x ]&&a=rm;", "$a -rf /"),
	}
}

// programShapes repeat every program that a row is about.
func programShapes() []shape {
	var list []shape
	for _, p := range rules.Programs() {
		list = append(list, repeated(p+" as commands", p+" -rf x;"), repeated(p+" as words", p+" "))
	}
	return list
}

// numbered is something again and again, with another number each time in the place of %.
func numbered(name, head, unit, tail string) shape {
	return shape{name, func(n int) string {
		var b strings.Builder
		for i := 0; b.Len() < n-len(head)-len(tail)-len(unit); i++ {
			b.WriteString(strings.ReplaceAll(unit, "%", strconv.Itoa(i)))
		}
		return head + b.String() + tail
	}}
}

// repeatedWith is a few texts of a fixed size in front of something again and again.
func repeatedWith(name, head, unit string) shape { return between(name, head, unit, "") }

// growing are texts in which what was read before could be gone through again for each new piece: names, files, findings that are
// all different, chains inside of something, values and patterns.
func growing() []shape {
	var list []shape
	for _, unit := range []string{"a%=b;", "(a%=b);a%=b;", "if a;then a%=b;fi;", "a||a%=b;", "f%(){ a;};", "a||f%(){ a;};", "a>f%;", "exec %<a;", "alias a%=b;", "cd a%;",
		"rm -rf x%;", "rm -rf /etc/x%;", "rm /etc/x%;", "mv a% /etc;", "chmod 777 /a%;", "cat ~/.ssh/id_%;", "a<~/.ssh/id_%;", "a>/etc/a%;", "sh -c $x%;", "$x%;", "python -c $a%;",
		"curl -o a% b;sh a%;", "psql -c 'DROP TABLE t%';", "ln -s /a% /b%;", "q%$x -rf /;", "*q%*;", "eval \"a% b\";", "a%() { rm -rf /b%; }; a%;", "for x in a%; do b $x; done;", "a=$a%;$a;"} {
		list = append(list, numbered(fmt.Sprintf("%q with numbers", unit), "", unit, ""))
	}
	for _, in := range [][2]string{{"f(){ ", "; }"}, {"f(){ ", " & }; f"}, {"{ ", "; }"}, {"( ", " )"}, {"$(", ")"}, {"if a; then ", "; fi"}, {"for x in a b c d e f g h i j; do ", "; done"}, {"while a; do ", "; done"},
		{"sh -c '", "'"}, {"eval '", "'"}, {"x() { ", "; }; x; x; x; x; x"}, {"[[ $(", ") ]]"}, {"$(( ", " ))"}, {"case a in b) ", ";; esac"}, {"cat <<E\n$(", ")\nE\n"}} {
		for _, unit := range []string{"a'b'", "a|", "a&&", "a||", "a;", "a&", "$a", "(a);", "a=b;", "a>b;", "a\n", "a "} {
			list = append(list, between(fmt.Sprintf("%q with %q inside", in[0], unit), in[0]+"a ", unit, "a"+in[1]))
		}
	}
	for _, u := range []string{"rm -rf ", "cat ", "> ", "cp ", "chmod 777 ", "a=(", "for x in "} {
		list = append(list, numbered(fmt.Sprintf("%q and many places", u), u, "/etc/x% ", ""), numbered(fmt.Sprintf("%q and many of the home's places", u), u, "~/.ssh/x% ", ""))
	}
	k := strings.Repeat("ab", 500)
	return append(list,
		shape{"SQL again and again", func(n int) string {
			return "a='" + strings.Repeat("+ ", n/4) + "';" + strings.Repeat(`psql -c "$a";`, n/26)
		}},
		shape{"a program again and again", func(n int) string {
			return "a='" + strings.Repeat("a;", n/4) + "';" + strings.Repeat(`node -e "$a";`, n/26)
		}},
		repeatedWith("short programs", "", "python -c 'a';"), repeatedWith("short queries", "", "psql -c 'a';"),
		repeatedWith("a value trimmed", "a="+k+";", "${a#*c*d*e};"), repeatedWith("a value replaced", "a="+k+k+";", "b=${a//a/bb};"), repeatedWith("a value matched", "a="+k+";", "[[ $a =~ (a*)*b*c ]];"),
		repeatedWith("a text turned around", "echo "+k+k+k, "|rev"), repeatedWith("a text translated", "echo "+k+k+k, "|tr a-z b-za"), repeatedWith("a text edited", "echo "+k+k+k, "|sed s/a/b/g"),
		between("a text edited by a long script", "echo "+k+k+k+"|sed '", "s/a/b/g;", "'"), between("a text edited by a long script of patterns", "echo "+k+k+k+"|sed -E '", "s/(a*)*b/c/g;", "'"),
		repeatedWith("a value matched with repeats", "a="+k+";", "[[ $a =~ (a{100}){9}b ]];"), repeatedWith("a text edited with repeats", "echo "+k+k+k, "|sed -E 's/(a{100}){9}b/c/g'"),
		repeatedWith("brace lists in products", "", "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b} "), repeatedWith("ranges", "", "rm {1..1000};"), repeatedWith("an array that grows", "", "a+=(b);"),
		repeatedWith("parameters again and again", "set -- "+strings.Repeat("a ", 1000)+";", `a "$@";`), repeatedWith("calls of a long function", "f(){ "+strings.Repeat("a;", 200)+"};", "f;"),
		repeatedWith("calls that double", "f(){ a;a;a;a;};g(){ f;f;f;f;};h(){ g;g;g;g;};i(){ h;h;h;h;};", "i;"), repeatedWith("patterns that nothing is", "", "*a*e*i*s*t;"), repeatedWith("any program", "* ", "0 "),
		repeatedWith("any program again and again", "", "* a;"), repeatedWith("names that are half known", "", "zq$x -rf /;"), repeatedWith("find with many words", "find ", "a "), repeatedWith("find -exec", "find . ", "-exec rm {} \\; "),
		between("awk that runs", "awk '", `{system("a")}`, "'"), between("sed that runs", "sed '", "s/a/b/e;", "'"), between("a WHERE", `psql -c "DELETE FROM t WHERE `, "a=1 OR ", `1=1"`),
		between("backslashes in evals", "eval eval eval eval eval eval eval ", `a\ b `, ""), between("a sum", "$((", "a+", "1))"), between("a sum of what is set", "a=b;echo $((", "a+", "1))"), between("an open arithmetic", "", "a b;", "((a) (b"))
}
