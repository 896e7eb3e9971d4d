package terminal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/payload"
	"github.com/hermes-runtime/hermes/tool"
)

// typed is what a call would send to a job: lines that are complete with it, and the one that is begun.
type typed struct {
	texts []string // program text that would run, oldest first
	now   input    // what is remembered once it was sent
	was   input
	tty   bool
	keep  func(any)
}

// input is what was sent to a job and may still be read together with what comes.
type input struct {
	line   line
	before string // complete lines of a statement that isn't
}

// commit remembers what was sent.
func (t *typed) commit() {
	if t.keep != nil {
		t.keep(t.now)
	}
}

// partial remembers the part of it that was taken.
func (t *typed) partial(data string) {
	p := typist{line: t.was.clone(), terminal: t.tty}
	p.data(data)
	t.now.line = p.line
	t.commit()
}

func (i input) clone() line {
	l := i.line
	l.text = slices.Clone(l.text)
	return l
}

var errBlind = errors.New("what stands on the line after those keys can't be known before they are pressed: press them first, look with poll, and press enter in a call of its own")

// foresee finds out what the call's data and keys would make a program run.
func (v *visit) foresee(ctx context.Context) (typed, error) {
	info := v.job.Info()
	held, keep := v.table.Input(info.ID)
	was, _ := held.(input)
	t := typed{was: was, keep: keep, tty: info.Terminal != nil}
	p := typist{line: was.clone(), terminal: t.tty}
	p.data(v.args.Data)
	for _, k := range v.args.Keys {
		p.key(k)
	}
	if v.args.Action == actSubmit || v.args.Action == actClose && (len(p.text) > 0 || p.odd) {
		p.enter()
	}
	if p.fresh && readsPrograms(info.Command) {
		return t, errBlind
	}
	if p.recalled {
		row, err := v.row(ctx)
		if err != nil {
			return t, err
		}
		t.texts = append(t.texts, row)
	}
	t.now = input{line: p.line, before: was.before}
	if len(p.sent) > 0 {
		text := was.before + strings.Join(p.sent, "\n")
		t.texts = append(t.texts, text)
		t.now.before = ""
		if goesOn(text) && len(text) < maxLine {
			t.now.before = text + "\n"
		}
	}
	return t, nil
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
		for _, command := range list {
			out = append(out, tool.Action{Kind: tool.ActionCommand, Text: fed(command, text), Dir: string(info.Dir)})
		}
	}
	return out, nil
}
