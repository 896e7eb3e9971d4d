package analysis

import (
	"slices"
	"strings"
)

// escapeRow says how a program's own language gives a line to a shell.
type escapeRow struct {
	options  string   // letters and long options whose value is in that language
	short    string   // letters of all options that take a value
	operands bool     // operands are, too
	stdin    bool     // standard input is
	begins   []string // what a line begins with in front of the command
}

var escapeRows = map[string]escapeRow{
	"sqlite3": {options: "cmd", operands: true, stdin: true, begins: []string{".shell ", ".system ", ".sh "}},
	"duckdb":  {options: "c cmd s", short: "cs", operands: true, stdin: true, begins: []string{".shell ", ".system ", ".sh "}},
	"sqlite":  {options: "cmd", operands: true, stdin: true, begins: []string{".shell ", ".system "}},
	"psql":    {options: "c command", short: "cdfhpUvLoFPRT", stdin: true, begins: []string{`\! `, `\!`, `\o |`, `\g |`, `\copy program `}},
	"mysql":   {options: "e execute init-command", short: "eDhPSu", stdin: true, begins: []string{"system ", `\! `, `\!`}},
	"mariadb": {options: "e execute init-command", short: "eDhPSu", stdin: true, begins: []string{"system ", `\! `, `\!`}},
	"ftp":     {stdin: true, begins: []string{"!"}}, "sftp": {stdin: true, begins: []string{"!"}}, "telnet": {stdin: true, begins: []string{"!"}},
	"lftp": {options: "c e", short: "cefpuU", stdin: true, begins: []string{"!", "shell "}},
	"mail": {stdin: true, begins: []string{"~!", "~|"}}, "mailx": {stdin: true, begins: []string{"~!", "~|"}},
	"ed": {stdin: true, begins: []string{"!", "r !", "w !", "e !"}}, "bc": {stdin: true, begins: []string{"!"}}, "dc": {options: "e expression", short: "ef", stdin: true, begins: []string{"!"}},
	"less": {operands: true, begins: []string{"+!", "+:!"}}, "more": {operands: true, begins: []string{"+!"}},
}

// escapes reads the lines by which a program's own language runs a shell's command.
func escapes(r *reader, st *state, c *Command, at place) {
	row := escapeRows[c.Program]
	as := at
	as.stdin = Stdin{}
	try := func(text string, span Span) {
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			for part := range strings.SplitSeq(line, ";") {
				part = strings.TrimSpace(part)
				if i := slices.IndexFunc(row.begins, func(b string) bool { return strings.HasPrefix(part, b) }); i >= 0 {
					r.commandValue(st.clone(), Word{Text: strings.TrimLeft(line[strings.Index(line, part)+len(row.begins[i]):], " |"), Span: span}, c, false, as)
					break
				}
			}
		}
		if program := programClause(text); program != "" {
			r.commandValue(st.clone(), Word{Text: program, Span: span}, c, false, as)
		}
	}
	args := c.Args(Grammar{Short: row.short, Long: strings.Fields(row.options)})
	for name := range strings.FieldsSeq(row.options) {
		for _, w := range args.Values[name] {
			try(w.Text, w.Span)
		}
	}
	if row.operands {
		for _, w := range c.Words[1:] {
			try(w.Text, w.Span)
		}
	}
	if row.stdin && c.Stdin.Text != "" {
		try(c.Stdin.Text, c.Span)
	}
}

// programClause is the command in SQL's COPY … FROM PROGRAM 'command'.
func programClause(text string) string {
	upper := strings.ToUpper(text)
	i := strings.Index(upper, "PROGRAM '")
	if i < 0 || !strings.Contains(upper[:i], "COPY") {
		return ""
	}
	rest := text[i+len("PROGRAM '"):]
	end := strings.IndexByte(rest, '\'')
	if end < 0 {
		end = len(rest)
	}
	return rest[:end]
}

// socat reads the commands in its addresses.
func socat(r *reader, st *state, c *Command, at place) {
	for _, w := range c.Words[1:] {
		kind, rest, _ := strings.Cut(w.Text, ":")
		kind = strings.ToUpper(kind)
		if kind != "EXEC" && kind != "SYSTEM" && kind != "SHELL" {
			continue
		}
		cmd, _, _ := strings.Cut(rest, ",")
		r.commandValue(st.clone(), Word{Text: strings.Trim(cmd, `"'`), Span: w.Span}, c, false, at)
	}
}

// nmap notes scripts that it is given by path: they are programs in Lua.
func nmap(r *reader, st *state, c *Command, at place) {
	args := c.Args(Grammar{Short: "pTDSeg", Long: []string{"script"}})
	for _, w := range args.Values["script"] {
		if out, ok := r.processOut[w.From]; ok && !w.From.Empty() {
			as := *c
			as.Program = "lua"
			r.inline(st.clone(), Word{Text: out.value(), From: w.From, Span: w.Span}, &as, at)
			continue
		}
		if strings.Contains(w.Text, "/") {
			r.loads(st, w.Text, w, c, true)
		}
	}
}

// expect reads the programs that an expect script spawns or executes.
func expect(r *reader, st *state, c *Command, at place) {
	args := c.Args(Grammar{Short: "cf"})
	texts := args.Values["c"]
	if c.Stdin.Known && len(args.Operands) == 0 {
		texts = append(texts, Word{Text: c.Stdin.Text, Span: c.Span})
	}
	for _, w := range texts {
		for line := range strings.FieldsFuncSeq(w.Text, func(r rune) bool { return r == '\n' || r == ';' }) {
			line = strings.TrimSpace(line)
			if rest, ok := strings.CutPrefix(line, "send "); ok {
				if i := strings.IndexByte(rest, '"'); i >= 0 {
					if keys, _, ok := quotedString(rest[i:]); ok {
						r.typed(st, Word{Text: strings.ReplaceAll(keys, "\r", "\n"), Span: w.Span}, c, at)
					}
				}
			}
			for _, p := range [...]string{"spawn ", "exec ", "system ", "set x [exec "} {
				if rest, ok := strings.CutPrefix(line, p); ok {
					rest = strings.TrimPrefix(strings.TrimPrefix(rest, "-noecho "), "-- ")
					r.commandValue(st.clone(), Word{Text: strings.NewReplacer("{", "'", "}", "'").Replace(rest), Span: w.Span}, c, false, at)
				}
			}
		}
	}
}

// systemsManager reads the commands that aws ssm sends to machines: commands=TEXT, commands=[…], {"commands":[…]}.
func systemsManager(r *reader, st *state, c *Command, at place) {
	args := c.Args(Grammar{Long: []string{"parameters", "document-name", "targets", "instance-ids", "target", "region", "profile"}})
	if len(args.Operands) < 2 || !args.Operands[0].Is("ssm") || !oneOf(args.Operands[1], "send-command", "start-session") {
		return
	}
	for _, w := range args.Values["parameters"] {
		_, text, ok := strings.Cut(w.Text, "command")
		if !ok {
			continue
		}
		text = strings.TrimLeft(strings.TrimPrefix(text, "s"), `":= `)
		var lines []string
		if strings.HasPrefix(text, "[") {
			for rest := text; ; {
				i := strings.IndexAny(rest, `"'`)
				if i < 0 {
					break
				}
				line, after, ok := quotedString(rest[i:])
				if !ok {
					break
				}
				lines, rest = append(lines, line), after
			}
		}
		if len(lines) == 0 {
			lines = []string{strings.Trim(text, "[]{}\"")}
		}
		sub := st.clone()
		sub.abroad("")
		at.inside = &Inside{Name: "instances", Remote: true, Parent: at.inside}
		r.commandValue(sub, Word{Text: strings.Join(lines, "\n"), Span: w.Span}, c, false, at)
	}
}
