package analysis

import (
	"slices"
	"strings"
)

// maxDecoded bounds what is decoded of a literal (A4's figure for payloads).
const maxDecoded = 64 << 10

// printer gives what computes a program's output when that depends on literals alone, nil for other programs.
func printer(program string) func(*reader, *state, *Command) output {
	switch program {
	case "echo":
		return echo
	case "printf":
		return printf
	case "cat":
		return cat
	case "basename", "dirname":
		return pathPart(program)
	case "realpath", "readlink":
		return realPath
	case "whoami", "logname":
		return whoami
	case "mktemp":
		return temporary
	case "pwd":
		return pwd
	case "which", "command", "type":
		return locate
	case "jq":
		return jqText
	case "getent":
		return account
	case "lsblk", "blkid", "findmnt", "fdisk", "sfdisk", "df", "mount", "swapon", "pvs", "diskutil", "ls", "find":
		return deviceNames
	case "true", "false", ":", "cd", "set", "export", "sleep":
		return silent
	}
	return nil
}

// someDevice is what programs print that list devices: the name of one.
const someDevice = "/dev/" + markSome

// deviceNames is what such a program prints when it prints paths below /dev.
func deviceNames(_ *reader, _ *state, c *Command) output {
	for _, w := range c.Words[1:] {
		var lists bool
		switch text := w.Text; c.Program {
		case "ls", "find":
			lists = strings.HasPrefix(text, "/dev/") && !Literal(text) || c.Program == "find" && (text == "/dev" || text == "/dev/")
		case "lsblk":
			lists = text == "--paths" || len(text) > 1 && text[0] == '-' && text[1] != '-' && strings.IndexByte(text, 'p') > 0 || strings.Contains(text, "PATH")
		case "findmnt":
			lists = strings.Contains(text, "SOURCE")
		case "fdisk", "sfdisk":
			lists = strings.HasPrefix(text, "-l") || text == "--list"
		default:
			lists = true
		}
		if lists {
			return output{text: someDevice + "\n"}
		}
	}
	return output{}
}

// prints returns what a command prints, as far as it is known.
func (r *reader) prints(st *state, c *Command) output {
	p := printer(c.Program)
	if p == nil {
		if f, ok := filterOf(c.Program); ok {
			return r.filtered(f, c)
		}
		return output{}
	}
	out := p(r, st, c)
	if len(out.text) > maxDecoded {
		return output{}
	}
	return out
}

// literals returns the words as text; ok is false when one isn't known. A glob counts as itself: it is most often no file's name.
func literals(words []Word) (texts []string, ok bool) {
	texts, ok = printed(words)
	for _, t := range texts {
		ok = ok && Known(t)
	}
	return texts, ok
}

// printed is literals for programs that print their words as they are: unknown parts stay as marks.
func printed(words []Word) (texts []string, ok bool) {
	for _, w := range words {
		if len(w.Alts) > 0 {
			return nil, false
		}
		texts = append(texts, Plain(w.Text))
	}
	return texts, true
}

func silent(*reader, *state, *Command) output { return nothing }

func echo(_ *reader, _ *state, c *Command) output {
	texts, ok := printed(c.Words[1:])
	if !ok {
		return output{}
	}
	end, escapes := "\n", false
	for len(texts) > 0 && len(texts[0]) > 1 && texts[0][0] == '-' && strings.Trim(texts[0][1:], "neE") == "" {
		if strings.Contains(texts[0], "n") {
			end = ""
		}
		escapes = escapes || strings.Contains(texts[0], "e")
		texts = texts[1:]
	}
	text := strings.Join(texts, " ")
	if escapes {
		text = ansiC(text)
	}
	return output{text + end, Known(text)}
}

func printf(_ *reader, _ *state, c *Command) output {
	texts, ok := printed(c.Words[1:])
	if len(texts) > 0 && texts[0] == "--" {
		texts = texts[1:]
	}
	if !ok || len(texts) == 0 || texts[0] == "-v" || !Known(texts[0]) {
		return output{}
	}
	format, args := texts[0], texts[1:]
	var b strings.Builder
	for {
		rest, used, ok := printfOnce(&b, format, args)
		if !ok || b.Len() > maxDecoded {
			return output{}
		}
		if len(rest) == 0 || !used {
			return output{b.String(), Known(b.String())}
		}
		args = rest
	}
}

// printfOnce applies a format once. used tells whether it took an argument.
func printfOnce(b *strings.Builder, format string, args []string) (rest []string, used, ok bool) {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 >= len(format) {
			end := i + 1
			for end < len(format) && format[end] != '%' {
				end++
			}
			b.WriteString(ansiC(format[i:end]))
			i = end - 1
			continue
		}
		i++
		arg := ""
		if format[i] != '%' {
			used = true
			if len(args) > 0 {
				arg, args = args[0], args[1:]
			}
		}
		switch format[i] {
		case '%':
			b.WriteByte('%')
		case 's', 'd', 'i', 'q':
			b.WriteString(arg)
		case 'b':
			b.WriteString(ansiC(arg))
		case 'c':
			b.WriteString(arg[:min(1, len(arg))])
		default:
			return nil, used, false
		}
	}
	return args, used, true
}

// input is what a filter without file operands reads.
func (r *reader) input(c *Command, files []string) output {
	if len(files) > 0 && files[0] != "-" {
		return r.contents(c, files)
	}
	if c.Stdin.Kind == StdinFile {
		return r.contents(c, []string{c.Stdin.File.Text})
	}
	return output{c.Stdin.Text, c.Stdin.Known}
}

// contents is what files hold that the session wrote.
func (r *reader) contents(c *Command, files []string) output {
	out := nothing
	for _, name := range files {
		f, ok := r.fileAt(Join(c.Dirs[0], name))
		if !ok || !f.known || c.Inside != nil {
			return output{}
		}
		out = r.then(out, output{f.text, true})
	}
	return out
}

func cat(r *reader, _ *state, c *Command) output {
	if len(c.Words) == 2 && !c.Words[1].From.Empty() {
		if out, ok := r.processOut[c.Words[1].From]; ok {
			return out
		}
	}
	texts, ok := literals(c.Words[1:])
	if !ok {
		return output{}
	}
	return r.input(c, slices.DeleteFunc(texts, func(t string) bool { return t == "-u" }))
}

// jqText is the text that jq -n prints of a literal.
func jqText(_ *reader, _ *state, c *Command) output {
	args := c.Args(Grammar{})
	if len(args.Operands) != 1 || !args.Has("rj") && !args.Long("raw-output", 3) {
		return output{}
	}
	s, after, ok := "", "", false
	if text := strings.TrimSpace(args.Operands[0].Text); strings.HasPrefix(text, `"`) {
		s, after, ok = quotedString(text)
	}
	return output{s + "\n", ok && strings.TrimSpace(after) == "" && !strings.Contains(args.Operands[0].Text, `\(`)}
}

// account is what getent passwd prints of a user, as every system is set up.
func account(_ *reader, _ *state, c *Command) output {
	if len(c.Words) != 3 || !c.Words[1].Is("passwd") || !Literal(c.Words[2].Text) {
		return output{}
	}
	user := c.Words[2].Text
	home := "/home/" + user
	if user == "root" {
		home = "/root"
	}
	return output{user + ":x:1000:1000::" + home + ":/bin/bash\n", true}
}

func pwd(_ *reader, st *state, _ *Command) output {
	if len(st.dirs) == 1 && st.dirs[0] != "" {
		return output{st.dirs[0] + "\n", true}
	}
	return output{}
}

// locate handles which NAME, command -v NAME and type -p NAME: the path's base name is all that matters.
func locate(_ *reader, _ *state, c *Command) output {
	words := c.Words[1:]
	if c.Program != "which" {
		if len(words) == 0 || !words[0].Is("-v") && !words[0].Is("-p") && !words[0].Is("-P") {
			return output{}
		}
		words = words[1:]
	}
	if len(words) != 1 {
		return output{}
	}
	name, ok := words[0].Exact()
	return output{name + "\n", ok}
}
