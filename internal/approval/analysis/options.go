package analysis

import (
	"slices"
	"strings"
)

// flag is one option word.
type flag struct {
	letters string // short options of the bundle, in order
	name    string // long option
	value   string // attached value
	wants   bool   // its value is the next word
	valued  byte   // the short option that takes the value
}

func (f flag) takes(letter string) bool { return f.valued != 0 && string(f.valued) == letter }

// parseFlag reads an option word by the letters and names that take a value.
func parseFlag(text, short string, long []string) flag {
	if len(text) < 2 || text[0] != '-' && text[0] != '+' {
		return flag{}
	}
	if strings.HasPrefix(text, "--") {
		name, value, attached := strings.Cut(text[2:], "=")
		return flag{name: name, value: value, wants: !attached && slices.Contains(long, name)}
	}
	f := flag{letters: text[1:]}
	for i := 1; i < len(text); i++ {
		if strings.IndexByte(short, text[i]) >= 0 {
			f.letters = text[1 : i+1]
			f.valued, f.value = text[i], text[i+1:]
			f.wants = f.value == ""
			break
		}
	}
	return f
}

// whole is the option that a name abbreviates, if it is one only; else the name itself.
func whole(name string, long []string) string {
	found := ""
	for _, n := range long {
		switch {
		case n == name:
			return name
		case len(name) > 2 && strings.HasPrefix(n, name) && found != "":
			return name
		case len(name) > 2 && strings.HasPrefix(n, name):
			found = n
		}
	}
	if found != "" {
		return found
	}
	return name
}

// Grammar is the option grammar of a program: the letters and long names of options that take a value.
type Grammar struct {
	Short string
	Long  []string
	Brief bool // long options may be abbreviated, as getopt_long reads them
}

// Args are the parsed arguments of a command.
type Args struct {
	Letters  string            // every short option given
	Names    []string          // every long option given, without value
	Values   map[string][]Word // values by letter or long name
	Operands []Word
}

// Has tells whether one of the letters was given.
func (a *Args) Has(letters string) bool { return strings.ContainsAny(a.Letters, letters) }

// Long tells whether a long option was given, abbreviated to at least min characters or whole.
func (a *Args) Long(name string, min int) bool {
	return slices.ContainsFunc(a.Names, func(n string) bool { return len(n) >= min && strings.HasPrefix(name, n) })
}

// manyWords is from how many words on room is made for all of them at once.
const manyWords = 16

// Args parses the command's arguments. Each possible value of a word is seen; a word whose beginning isn't known is an operand.
func (c *Command) Args(g Grammar) *Args {
	a := &Args{}
	var letters strings.Builder
	words := c.Words[1:]
	front := 0 // operands before the first option are not copied: they may be ten thousand
	for front < len(words) && len(words[front].Alts) == 0 && (len(words[front].Text) < 2 || words[front].Text[0] != '-') {
		front++
	}
	if front > 0 {
		a.Operands = words[:front:front]
	}
	for i := front; i < len(words); i++ {
		w := words[i]
		if w.Text == "--" {
			a.Operands = append(a.Operands, words[i+1:]...)
			break
		}
		operand := false
		for _, text := range w.Values() {
			if len(text) < 2 || text[0] != '-' {
				operand = true
				continue
			}
			if g.Brief && strings.HasPrefix(text, "--") {
				name, value, attached := strings.Cut(text[2:], "=")
				if text = "--" + whole(name, g.Long); attached {
					text += "=" + value
				}
			}
			f := parseFlag(text, g.Short, g.Long)
			letters.WriteString(f.letters)
			key := f.name
			if key != "" {
				a.Names = append(a.Names, key)
			} else if f.valued != 0 {
				key = string(f.valued)
			}
			value := Word{Text: f.value, Span: w.Span, From: w.From}
			if f.wants && i+1 < len(words) && len(w.Alts) == 0 {
				i++
				value = words[i]
			}
			if f.wants || f.value != "" {
				if a.Values == nil {
					a.Values = map[string][]Word{}
				}
				a.Values[key] = append(a.Values[key], value)
			}
		}
		if operand {
			if len(a.Operands) == front && len(words)-i > manyWords {
				a.Operands = slices.Grow(a.Operands, len(words)-i)
			}
			a.Operands = append(a.Operands, w)
		}
	}
	a.Letters = letters.String()
	return a
}
