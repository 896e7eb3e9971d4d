package analysis

import "strings"

// nesting returns the deepest number of openings that are open at once, or the first depth over MaxNesting, and where. It is linear
// and runs in front of the parser, which recurses. It may count too much in odd texts, never too little by more than a constant.
func nesting(text string) (depth, at int) {
	if len(text) <= MaxNesting { // each opening takes a byte
		return 0, 0
	}
	n := nester{text: text}
	return n.run()
}

type nester struct {
	text      string
	open      []byte // ( { [ ` ", c for a case and k for another keyword
	docs      []heredoc
	deep      int
	continued []int // backslashes that end a comment
	words     bool  // the next word stands where a keyword may
}

type heredoc struct {
	end    string
	quoted bool
}

// opens is what a keyword opens, closes what it closes, as nester.open has it.
func opens(word string) byte {
	switch word {
	case "if", "while", "until", "for", "select", "time", "!", "coproc", "function":
		return 'k'
	case "case":
		return 'c'
	}
	return 0
}

func closes(word string) byte {
	switch word {
	case "fi", "done":
		return 'k'
	case "esac":
		return 'c'
	}
	return 0
}

func (n *nester) top() byte {
	if len(n.open) == 0 {
		return 0
	}
	return n.open[len(n.open)-1]
}

func (n *nester) push(c byte) { n.open = append(n.open, c); n.deep = max(n.deep, len(n.open)) }

func (n *nester) pop(c byte) {
	for i := len(n.open) - 1; i >= 0 && i >= len(n.open)-4; i-- { // an unmatched closer ends nothing that is far out
		if n.open[i] == c {
			n.open = n.open[:i]
			return
		}
	}
}

func (n *nester) run() (int, int) {
	t := n.text
	n.words = true
	for i := 0; i < len(t); {
		if n.deep > MaxNesting {
			return n.deep, i
		}
		i = n.step(i)
	}
	return n.deep, len(t)
}

// step handles what stands at i and returns where to go on.
func (n *nester) step(i int) int {
	t := n.text
	c := t[i]
	quoted := n.top() == '"'
	switch {
	case c == '\\':
		return i + 2
	case c == '\'' && !quoted:
		return n.single(i)
	case c == '"':
		if quoted {
			n.pop('"')
		} else {
			n.push('"')
		}
	case c == '`':
		if strings.IndexByte(string(n.open), '`') >= 0 {
			n.pop('`')
		} else {
			n.push('`')
		}
	case c == '$' && i+1 < len(t) && (t[i+1] == '(' || t[i+1] == '{' || t[i+1] == '['):
		n.push(t[i+1])
		n.words = true
		return i + 2
	case quoted:
	case c == '(' || c == '{' || c == '[':
		n.push(c)
		n.words = true
		return i + 1
	case c == ')' && n.top() == 'c': // behind a pattern
		n.words = true
		return i + 1
	case c == ')':
		n.pop('(')
	case c == '}':
		n.pop('{')
	case c == ']':
		n.pop('[')
	case c == '#' && (i == 0 || strings.IndexByte(" \t\n;&|(", t[i-1]) >= 0):
		end := i + indexOr(t[i:], '\n')
		if t[end-1] == '\\' && end < len(t) {
			n.continued = append(n.continued, end-1)
		}
		return end
	case c == '<' && strings.HasPrefix(t[i:], "<<") && !strings.HasPrefix(t[i:], "<<<"):
		return n.heredocStart(i + 2)
	case c == '\n':
		return n.bodies(i + 1)
	case c >= 'a' && c <= 'z' || c == '!':
		return n.word(i)
	}
	if strings.IndexByte(";&|\n", c) >= 0 {
		n.words = true
	} else if c != ' ' && c != '\t' {
		n.words = false
	}
	return i + 1
}

func indexOr(t string, c byte) int {
	if i := strings.IndexByte(t, c); i >= 0 {
		return i
	}
	return len(t)
}

func (n *nester) single(i int) int {
	t := n.text
	if i > 0 && t[i-1] == '$' {
		for k := i + 1; k < len(t); k++ {
			if t[k] == '\\' {
				k++
			} else if t[k] == '\'' {
				return k + 1
			}
		}
		return len(t)
	}
	return i + 2 + indexOr(t[i+1:], '\'')
}

// word counts keywords where one may stand: at the beginning of a command, or after another keyword.
func (n *nester) word(i int) int {
	t := n.text
	k := i + 1
	for k < len(t) && t[k] >= 'a' && t[k] <= 'z' {
		k++
	}
	w := t[i:k]
	if !n.words {
		return k
	}
	n.words = true
	switch open, closed := opens(w), closes(w); {
	case open != 0:
		n.push(open)
	case closed != 0:
		n.pop(closed)
	default:
		n.words = w == "then" || w == "do" || w == "else" || w == "elif"
	}
	return k
}

func (n *nester) heredocStart(i int) int {
	t := n.text
	if i < len(t) && t[i] == '-' {
		i++
	}
	for i < len(t) && (t[i] == ' ' || t[i] == '\t') {
		i++
	}
	k := i
	for k < len(t) && strings.IndexByte(" \t\n;&|<>()", t[k]) < 0 {
		k++
	}
	raw := t[i:k]
	end := raw
	if strings.ContainsAny(raw, "\\\"'") {
		end = strings.Map(func(c rune) rune {
			if c == '\\' || c == '"' || c == '\'' {
				return -1
			}
			return c
		}, raw)
	}
	n.docs = append(n.docs, heredoc{end: end, quoted: end != raw})
	return k
}

// bodies goes over the here-documents that begin at a line's end. In an unquoted one, substitutions nest.
func (n *nester) bodies(i int) int {
	n.words = true
	t := n.text
	docs := n.docs
	n.docs = nil
	for _, d := range docs {
		open := 0
		for i < len(t) {
			end := i + indexOr(t[i:], '\n')
			line := t[i:end]
			i = min(end+1, len(t))
			if strings.TrimLeft(line, "\t") == d.end {
				break
			}
			if d.quoted {
				continue
			}
			opened := strings.Count(line, "$(") + strings.Count(line, "${") + strings.Count(line, "`")
			n.deep = max(n.deep, len(n.open)+open+opened)
			open = max(0, open+opened-strings.Count(line, ")")-strings.Count(line, "}"))
		}
	}
	return i
}
