package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hermes-runtime/hermes/internal/agent"
	"github.com/hermes-runtime/hermes/internal/ansi"
	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/chat"
	"github.com/hermes-runtime/hermes/internal/runtime"
)

// talk is what the flags of a conversation say.
type talk struct {
	choice
	query    string
	model    string
	resume   string
	json     bool
	maxTurns int
}

func (a *app) chat() *cobra.Command {
	var t talk
	cmd := &cobra.Command{
		Use: "chat", Short: "Talk with a model that uses the tools",
		Long: "A conversation with the model that is configured, or named with -m. What it says goes to stdout, everything else to stderr.\n" +
			"At a terminal it goes on until you leave: /help lists the commands, Ctrl-C ends a turn, Ctrl-D leaves.\n" +
			"With -q, or with a message on standard input, one turn is had and its outcome decides the exit code: 0 completed,\n" +
			"1 cut short or failed, 124 timed out, 130 interrupted. Nobody is asked then: what needs consent is refused unless\n" +
			"--yes-to or --yolo was given. The conversation is stored, and goes on with --resume.",
		Example: "  hermes chat -m replay:examples/tour.jsonl -q 'Show me around'\n" +
			"  hermes chat --resume last -m replay:examples/tour.jsonl -q 'Once more' --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if t.query == "" && !t.json && a.attended() {
				return a.sit(cmd.Context(), t)
			}
			return a.talk(cmd.Context(), t)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&t.query, "query", "q", "", "say this, and leave when it is answered")
	f.StringVarP(&t.model, "model", "m", "", "[PROVIDER/]`MODEL`; replay:FILE plays a recorded one, record:FILE=MODEL records it")
	f.StringVar(&t.resume, "resume", "", "go on with the stored conversation `ID`: also the beginning of an id, a title, or last")
	f.BoolVar(&t.json, "json", false, "print events, one JSON object a line")
	f.IntVar(&t.maxTurns, "max-turns", 0, "requests to the model that a message may set off (default as configured)")
	t.pick(cmd)
	f.StringArrayVar(&t.yes, "yes-to", nil, "approve this `KEY` in advance (repeatable)")
	f.BoolVar(&t.yolo, "yolo", false, "ask nothing; what nobody may approve is refused all the same")
	return cmd
}

// talk has one turn with what stands in the flags and on standard input.
func (a *app) talk(ctx context.Context, t talk) error {
	text, err := a.message(ctx, t)
	if err != nil {
		return err
	}
	a.alone = true
	rt, err := a.open(ctx)
	if err != nil {
		return err
	}
	show := a.tellText
	if t.json {
		show = a.tellJSON
	}
	said := &teller{runtime: rt, out: ansi.ForPeople(a.out), args: map[string]json.RawMessage{}, shared: oneFile(os.Stdout, os.Stderr)}
	o := t.options(a)
	o.Session.Setting, o.Listen = approval.SingleQuery, func(e agent.Event) { show(said, e) }
	c, err := rt.Converse(ctx, o)
	if err != nil && ctx.Err() != nil {
		return &exit{code: exitInterrupted}
	}
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	for _, n := range c.Notices {
		c.Send(agent.Event{Type: agent.EventNotice, Text: n})
	}
	c.Send(agent.Event{Type: agent.EventSession, Text: c.Stored.Model})
	out := c.Turn(ctx, text)
	c.Send(agent.Event{Type: agent.EventDone, Outcome: &out})
	a.left = append(a.left, c.ID())
	return leaveTurn(out)
}

// options are those of the conversation that the flags ask for.
func (t talk) options(a *app) runtime.ConversationOptions {
	return runtime.ConversationOptions{
		Session: runtime.SessionOptions{Platform: "cli", Enabled: t.enabled, Disabled: t.disabled, Yolo: t.yolo, YesTo: t.yes},
		Model:   t.model, Source: "cli", Resume: t.resume, Dir: a.dir, MaxTurns: t.maxTurns,
	}
}

// farewell says how to go on with the conversations that were left, as far as they are kept.
func (a *app) farewell() {
	for _, id := range a.left {
		switch lost := a.lost[id]; {
		case lost == nil:
			fmt.Fprintf(a.err, "hermes: session %s; go on with: hermes chat --resume %s\n", id, id)
		case lost.Whole:
			fmt.Fprintf(a.err, "hermes: session %s was not kept and can't be gone on with\n", id)
		default:
			fmt.Fprintf(a.err, "hermes: session %s; go on from where it was kept last with: hermes chat --resume %s\n", id, id)
		}
	}
}

// message is what is said: -q, and behind it what stands on standard input.
func (a *app) message(ctx context.Context, t talk) (string, error) {
	text := t.query
	if !term.IsTerminal(int(a.in.Fd())) {
		piped, err := a.argument(ctx, "-")
		if err != nil {
			return "", err
		}
		if strings.TrimSpace(piped) != "" {
			text = strings.TrimSpace(text + "\n\n" + piped)
		}
	}
	if strings.TrimSpace(text) == "" {
		return "", usage("there is nothing to say: give -q PROMPT, or a message on standard input")
	}
	return text, nil
}

// exitOfTurn says how the verb exits for a turn that was not completed; what isn't listed has failed.
var exitOfTurn = map[agent.ExitReason]int{agent.ExitInterrupted: exitInterrupted, agent.ExitTimeout: exitTimeout}

func leaveTurn(o agent.Outcome) error {
	if o.Status == agent.Completed {
		return nil
	}
	code := exitOfTurn[o.ExitReason]
	if code == 0 {
		code = exitFailed
	}
	return &exit{code, fmt.Errorf("%s (%s): %w", o.Status, o.ExitReason, o.Err)}
}

// teller shows a conversation on stdout and stderr.
type teller struct {
	runtime *runtime.Runtime
	out     *ansi.Writer               // what a model says can't drive the terminal
	open    bool                       // stdout stands within a line
	shared  bool                       // stderr goes the same way, a terminal or a file, and
	ours    bool                       // what stands there last is ours: line breaks before the text are left out
	args    map[string]json.RawMessage // of the calls that run
}

// oneFile tells that two files are one.
func oneFile(a, b *os.File) bool {
	one, err := a.Stat()
	other, err2 := b.Stat()
	return err == nil && err2 == nil && os.SameFile(one, other)
}

// line prints a line on stderr, which doesn't begin behind what the model says.
func (s *teller) line(w io.Writer, text string) {
	if s.open && s.shared {
		text = "\n" + text
	}
	s.open, s.ours = s.open && !s.shared, s.shared
	fmt.Fprintln(w, text)
}

// tellJSON prints each event as a line.
func (a *app) tellJSON(_ *teller, e agent.Event) {
	enc := json.NewEncoder(ansi.JSON(a.out))
	enc.SetEscapeHTML(false)
	_ = enc.Encode(e)
}

// callColumns is how wide a line of a call is at most, wherever it is read.
const callColumns = 110

// tellText prints what the model says on stdout, and on stderr a line for each call that has ended.
func (a *app) tellText(s *teller, e agent.Event) {
	switch e.Type {
	case agent.EventText:
		if s.ours {
			e.Text = strings.TrimLeft(e.Text, "\n")
			s.ours = e.Text == ""
		}
		_, _ = io.WriteString(s.out, e.Text)
		s.open = e.Text != "" && !strings.HasSuffix(e.Text, "\n")
	case agent.EventToolStart:
		s.args[e.Call] = e.Args
	case agent.EventToolEnd:
		args, begun := s.args[e.Call]
		if !begun {
			args = e.Args
		}
		delete(s.args, e.Call)
		s.line(a.err, "hermes: "+chat.Ended(s.runtime.Registry().Emoji(e.Tool), args, e, callColumns))
	case agent.EventNotice:
		s.line(a.err, "hermes: "+onLine(e.Text))
	case agent.EventDone:
		_ = s.out.Close()
		if s.open {
			_, _ = io.WriteString(a.out, "\n")
		}
	}
}
