package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/internal/ansi"
)

// order is what a command does.
type order struct {
	name, takes, help string
	between           bool // only between turns
	do                func(t *talk, ctx context.Context, rest string) error
}

// orders are the commands. /help lists them in this order.
var orders []order

func init() {
	orders = []order{
		{"help", "", "this list", false, (*talk).help},
		{"tools", "", "the tools that the model may call", false, (*talk).tools},
		{"toolsets", "", "the same, by toolset", false, (*talk).toolsets},
		{"model", "[NAME]", "which model answers; with a name, go on with that one", true, (*talk).change},
		{"sessions", "", "stored conversations", false, (*talk).sessions},
		{"resume", "ID|last", "go on with a stored conversation", true, (*talk).resume},
		{"todo", "", "the model's plan", false, (*talk).todo},
		{"compact", "", "make the conversation shorter", true, (*talk).compact},
		{"stop", "", "end the turn that runs, as Ctrl-C does, and children in the background", false, (*talk).halt},
		{"new", "", "begin another conversation", true, (*talk).fresh},
		{"exit", "", "leave, as Ctrl-D does", false, (*talk).exit},
	}
}

// command tells whether a line is a command, and which. A path isn't one, nor is a line that begins with a space.
func command(text string) (name, rest string, ok bool) {
	line, ok := strings.CutPrefix(text, "/")
	name, rest, _ = strings.Cut(line, " ")
	if !ok || name == "" || strings.ContainsAny(name, "/\n") {
		return "", "", false
	}
	return name, strings.TrimSpace(rest), true
}

func (t *talk) command(ctx context.Context, name, rest string) {
	i := slices.IndexFunc(orders, func(o order) bool { return o.name == name })
	var err error
	switch {
	case i < 0:
		err = t.skill(ctx, name, rest)
	case orders[i].between && t.work != nil:
		err = fmt.Errorf("/%s has to wait until the turn has ended; /stop ends it", name)
	default:
		err = orders[i].do(t, ctx, rest)
	}
	if err != nil {
		t.screen.say(t.screen.paint(red, ansi.Visible(err.Error())))
	}
}

// useSkill is what a skill's command says to the model.
const useSkill = "Load the skill %q and follow it. %s"

// skill begins a skill. Nothing that isn't one reaches the model.
func (t *talk) skill(ctx context.Context, name, rest string) error {
	skills := t.o.Host.Skills(ctx, t.c)
	var names []string
	for _, o := range orders {
		names = append(names, o.name)
	}
	for _, s := range skills {
		if s.Name == name {
			t.message(ctx, strings.TrimSpace(fmt.Sprintf(useSkill, name, rest)))
			return nil
		}
		names = append(names, s.Name)
	}
	return fmt.Errorf("there is no command /%s; the nearest is /%s, and /help lists them; to say it to the model, begin the line with a space", name, nearest(name, names))
}

// nearest is the name that is the fewest changes away.
func nearest(name string, names []string) string {
	return slices.MinFunc(names, func(a, b string) int { return distance(name, a) - distance(name, b) })
}

// distance counts the characters that are to be added, taken away or changed to make b of a; what is a beginning is one change away.
func distance(a, b string) int {
	if strings.HasPrefix(b, a) {
		return 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			before, row[j+1] = row[j+1], min(before+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

func (t *talk) help(ctx context.Context, _ string) error {
	var b strings.Builder
	for _, o := range orders {
		fmt.Fprintf(&b, "%-17s %s\n", strings.TrimSpace("/"+o.name+" "+o.takes), o.help)
	}
	for _, s := range t.o.Host.Skills(ctx, t.c) {
		fmt.Fprintf(&b, "%-17s %s\n", "/"+oneLine(s.Name), oneLine(s.Description))
	}
	b.WriteString("Enter sends, Alt-Enter begins a line, Up brings back what you wrote. Ctrl-C ends the turn.")
	t.screen.say(b.String())
	return nil
}

func (t *talk) tools(context.Context, string) error {
	tools := t.o.Host.Tools(t.c)
	lines := make([]string, len(tools))
	for i, s := range tools {
		first, _, _ := strings.Cut(strings.TrimSpace(s.Description), "\n")
		lines[i] = fmt.Sprintf("%s: %s", t.screen.head(s.Name), fit(oneLine(first), mostArgument))
	}
	t.screen.say(orNone(lines, "no tools"))
	return nil
}

func (t *talk) toolsets(context.Context, string) error {
	tools := t.o.Host.Tools(t.c)
	sets := map[string][]string{}
	for _, s := range tools {
		sets[s.Toolset] = append(sets[s.Toolset], s.Name)
	}
	var lines []string
	for set, names := range sets {
		lines = append(lines, ansi.Visible(set+": "+strings.Join(names, ", ")))
	}
	slices.Sort(lines)
	t.screen.say(orNone(lines, "no tools"))
	return nil
}

func orNone(lines []string, none string) string {
	if len(lines) == 0 {
		return none
	}
	return strings.Join(lines, "\n")
}

func (t *talk) change(ctx context.Context, name string) error {
	if name == "" {
		m := t.c.Model()
		t.screen.say(ansi.Visible(m.Provider + "/" + m.Model))
		return nil
	}
	if !t.said {
		return t.open(ctx, Opening{Model: name})
	}
	id, before := t.c.ID(), t.model
	t.close(ctx) // it can be opened once only
	err := t.open(ctx, Opening{Resume: id, Model: name})
	if err != nil {
		if again := t.open(ctx, Opening{Resume: id, Model: before}); again != nil {
			t.leave(exitFailed)
			err = errors.Join(err, again)
		}
	}
	return err
}

func (t *talk) sessions(ctx context.Context, _ string) error {
	list, err := t.o.Host.Sessions(ctx)
	if err != nil {
		return err
	}
	lines := make([]string, len(list))
	for i, s := range list {
		about := s.Title
		if about == "" {
			about = s.Preview
		}
		lines[i] = fmt.Sprintf("%s  %s  %3d messages  %s", s.ID, s.Active.Local().Format(time.DateTime), s.Messages, fit(oneLine(about), mostArgument))
	}
	t.screen.say(orNone(lines, "nothing is stored yet"))
	return nil
}

func (t *talk) resume(ctx context.Context, ref string) error {
	if ref == "" {
		return fmt.Errorf("which one? /resume ID, the beginning of an id, a title, or last; /sessions lists them")
	}
	s, err := t.o.Host.Find(ctx, ref)
	if err == nil && s.ID == t.c.ID() {
		return fmt.Errorf("%s is this conversation", s.ID)
	}
	if err != nil {
		return err
	}
	return t.open(ctx, Opening{Resume: s.ID})
}

func (t *talk) todo(ctx context.Context, _ string) error {
	todos, err := t.o.Host.Todos(ctx, t.c.ID())
	if err != nil {
		return err
	}
	marks := map[string]string{"completed": "✓", "in_progress": "▸", "cancelled": "✗"}
	lines := make([]string, len(todos))
	for i, d := range todos {
		mark := marks[d.Status]
		if mark == "" {
			mark = "·"
		}
		lines[i] = mark + " " + oneLine(d.Content)
	}
	t.screen.say(orNone(lines, "there is no plan"))
	return nil
}

func (t *talk) compact(ctx context.Context, _ string) error {
	c := t.c
	t.screen.awaited()
	t.begin(ctx, func(ctx context.Context) func() {
		before := len(c.History())
		err := c.Compact(ctx)
		return func() {
			t.screen.endText()
			if err != nil {
				t.screen.say(t.screen.paint(red, ansi.Visible(err.Error())))
				return
			}
			t.screen.note(fmt.Sprintf("%d messages became %d", before, len(c.History())))
		}
	})
	return nil
}

func (t *talk) halt(context.Context, string) error {
	n := t.c.StopChildren()
	switch {
	case n == 1:
		t.screen.note("the child in the background is stopped; what it has done comes with your next message")
	case n > 1:
		t.screen.note(fmt.Sprintf("%d children in the background are stopped; what they have done comes with your next message", n))
	case t.work == nil:
		return fmt.Errorf("nothing runs")
	}
	if t.work != nil {
		t.stop()
	}
	return nil
}

func (t *talk) fresh(ctx context.Context, _ string) error {
	return t.open(ctx, Opening{Model: t.model})
}

func (t *talk) exit(context.Context, string) error {
	t.leave(exitOK)
	return nil
}
