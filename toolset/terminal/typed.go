package terminal

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/payload"
	"github.com/hermes-runtime/hermes/tool"
)

// typed is what a call would send to a job.
type typed struct {
	said  string   // what it was told before and may count for what comes: definitions
	texts []string // program text that would run, oldest first
}

// foresee finds out what the call's data and keys would make a program run. What stands on its line already, and what it was told
// before, is known from the job itself: another process may have written it.
func (v *visit) foresee(ctx context.Context) (typed, error) {
	info := v.job.Info()
	var t typed
	p := typist{terminal: info.Terminal != nil}
	p.data(string(info.Typed))
	before := t.hear(p.sent, info.Command)
	if len(info.Typed) == environment.TypedKept && len(p.sent) == 0 {
		p.strange() // the line is longer than what is known of it
	}
	p = typist{line: p.line, terminal: p.terminal}
	p.data(v.args.Data)
	for _, k := range v.args.Keys {
		p.key(k)
	}
	if v.args.Action == actSubmit || v.args.Action == actClose && (len(p.text) > 0 || p.odd) {
		p.enter()
	}
	if readsPrograms(info.Command) {
		if err := p.unseen(info.Command); err != nil {
			return t, err
		}
	}
	if p.recalled && p.terminal {
		row, err := v.row(ctx)
		if err != nil {
			return t, err
		}
		if takesHistory(row) && mayBeShell(info.Command) {
			return t, errHistory
		}
		t.texts = append(t.texts, row)
	}
	if len(p.sent) > 0 {
		t.texts = append(t.texts, before+strings.Join(p.sent, "\n"))
	}
	return t, nil
}

// defines finds what may give a later line another meaning: definitions, imports, settings.
var defines = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|[\n;&|{(\s])(alias|function|export|declare|typeset|bind|trap|enable|hash|source|eval|cd|pushd|import|from|def|class|let|var|const|use|require)\b|=|\(\)|(^|\n)\s*\.\s`)
})

// maxSaid bounds what is remembered of definitions, in bytes.
const maxSaid = 16 << 10

// hear takes the lines that a job was sent before: definitions among them count later, and a statement that isn't complete is given
// back. A line in which something was found was decided about then, and isn't held against those that follow.
func (t *typed) hear(lines []string, command string) (before string) {
	list, _ := readers(command)
	for _, line := range lines {
		text := before + line
		before = ""
		if goesOn(text) && len(text) < maxLine {
			before = text + "\n"
			continue
		}
		if len(list) > 0 && defines().MatchString(text) && len(t.said)+len(text) < maxSaid && !dangerous(list, text) {
			t.said += text + "\n"
		}
	}
	return before
}

// dangerous reports whether a program that reads the text would do something that is asked about.
func dangerous(list []string, text string) bool {
	return slices.ContainsFunc(list, func(command string) bool {
		return len(approval.Analyze(fed(command, text), analysis.Input{}).Findings) > 0
	})
}

// goesOn reports whether a program waits for more lines before it runs what it has.
func goesOn(text string) bool {
	if _, err := analysis.Parse(text); err != nil {
		return true
	}
	last := text[strings.LastIndexByte(text, '\n')+1:]
	trimmed := strings.TrimRight(last, " \t")
	if trimmed == "" {
		return false
	}
	return strings.ContainsRune("\\:,([{|&", rune(trimmed[len(trimmed)-1])) || last[0] == ' ' || last[0] == '\t'
}

// row is the line on the screen where the cursor stands, behind the prompt.
func (v *visit) row(ctx context.Context) (string, error) {
	s, err := v.job.Process().Screen(ctx)
	if err != nil {
		return "", fmt.Errorf("read what stands on the line: %w", err)
	}
	rows := strings.Split(s.Text, "\n")
	if s.Row < 0 || s.Row >= len(rows) {
		return "", nil
	}
	text := rows[s.Row]
	for at := s.Row - 1; at >= 0 && len([]rune(rows[at])) >= s.Size.Cols; at-- { // it is longer than the screen is wide
		text = rows[at] + text
	}
	first := len(text)
	for _, end := range []string{"$ ", "# ", "% ", "> "} {
		if at := strings.Index(text, end); at >= 0 && at+len(end) < first {
			first = at + len(end)
		}
	}
	if first == len(text) {
		return text, nil
	}
	return text[first:], nil
}

// sqlClients read SQL from their input; the dialect makes no difference to what is looked for.
var sqlClients = []string{"psql", "mysql", "mariadb", "sqlite3", "sqlcmd", "clickhouse-client", "clickhouse", "duckdb", "cockroach", "sqlplus", "mongosh", "mongo", "redis-cli", "cqlsh"}

// probe is a program that no machine has.
const probe = "hermes_input_probe"

// readers are the programs of a command that take what is written to them for programs, as the command writes them.
func readers(command string) (list []string, known bool) {
	script, err := analysis.Parse(command)
	if err != nil {
		return nil, false
	}
	r := script.Read(analysis.Input{})
	for i := range r.Commands {
		c := &r.Commands[i]
		text := strings.TrimSpace(c.Span.Slice(r.Text))
		if c.Payload || text == "" || slices.Contains(list, text) {
			continue
		}
		if _, code := payload.LangOf(c.Program); code || contains(sqlClients, c.Program) || readsShell(text) {
			list = append(list, text)
		}
	}
	return list, true
}

// readsShell reports whether a command runs the lines of its input as a shell does.
func readsShell(command string) bool {
	script, err := analysis.Parse(fed(command, probe))
	if err != nil {
		return false
	}
	r := script.Read(analysis.Input{})
	return slices.ContainsFunc(r.Commands, func(c analysis.Command) bool { return c.Program == probe })
}

// readsPrograms reports whether what a job reads may be run.
func readsPrograms(command string) bool {
	list, known := readers(command)
	return len(list) > 0 || !known
}

// fed is a command with text for its input.
func fed(command, text string) string {
	end := "HERMES_INPUT"
	for strings.Contains(text, end) {
		end += "_"
	}
	return command + " <<'" + end + "'\n" + text + "\n" + end + "\n"
}

// acts are what a person may have to approve: each program of the job with the text that it would get. Of a job that is none of those
// programs that are known to read commands, the text is judged as a shell's: it may be one.
func (t *typed) acts(info environment.JobInfo) ([]tool.Action, error) {
	var out []tool.Action
	list, _ := readers(info.Command)
	for _, text := range t.texts {
		if strings.TrimSpace(text) == "" {
			continue
		}
		if len(list) == 0 {
			out = append(out, tool.Action{Kind: tool.ActionCommand, Text: text, Dir: string(info.Dir)})
		}
		if t.said != "" && dangerous(list, t.said+text) {
			text = t.said + text // what it means comes from what was said before
		}
		for _, command := range list {
			out = append(out, tool.Action{Kind: tool.ActionCommand, Text: fed(command, text), Dir: string(info.Dir)})
		}
	}
	return out, nil
}
