package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hermes-runtime/hermes/internal/ansi"
	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
)

func (a *app) sessions() *cobra.Command {
	cmd := &cobra.Command{
		Use: "sessions", Short: "List, show, search, export and delete conversations",
		Long: "Conversations that were kept, in sessions.db of HERMES_HOME.\n" +
			"A REF names one by its id, the beginning of its id, its title, or \"last\".",
		Example: "  hermes sessions list\n  hermes sessions show last",
	}
	cmd.AddCommand(a.sessionsList(), a.sessionsShow(), a.sessionsSearch(), a.sessionsExport(), a.sessionsDelete(), a.sessionsPrune(), a.sessionsRecover())
	return cmd
}

// sessionView is a session as people and programs are shown it.
type sessionView struct {
	ID           string     `json:"id"`
	Title        string     `json:"title"`
	Source       string     `json:"source"`
	User         string     `json:"user,omitempty"`
	Model        string     `json:"model"`
	Dir          string     `json:"cwd"`
	Parent       string     `json:"parent_session_id,omitempty"`
	StartedAt    time.Time  `json:"started_at"`
	LastActive   time.Time  `json:"last_active"`
	EndedAt      *time.Time `json:"ended_at,omitempty"`
	EndReason    string     `json:"end_reason,omitempty"`
	MessageCount int        `json:"message_count"`
	CallCount    int        `json:"tool_call_count"`
	InputTokens  int        `json:"input_tokens"`
	OutputTokens int        `json:"output_tokens"`
	Archived     bool       `json:"archived"`
	Preview      string     `json:"preview,omitempty"`
}

func viewOf(s *store.Session) sessionView {
	v := sessionView{
		ID: s.ID, Title: s.Title, Source: s.Source, User: s.User, Model: s.Model, Dir: s.Dir, Parent: s.Parent, StartedAt: s.Started, LastActive: s.Active,
		EndReason: s.EndReason, MessageCount: s.Messages, CallCount: s.Calls, InputTokens: s.Input, OutputTokens: s.Output, Archived: s.Archived,
	}
	if !s.Ended.IsZero() {
		v.EndedAt = &s.Ended
	}
	return v
}

// begunByAgents are sources of conversations that no person had.
var begunByAgents = []string{"subagent", "tool"}

func (a *app) sessionsList() *cobra.Command {
	var asJSON, all bool
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "Conversations, those that went on last first",
		Example: "  hermes sessions list --limit 5\n  hermes sessions list --all --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return usage("--limit is a number from 0 up")
			}
			kept, err := a.kept(cmd.Context())
			if err != nil {
				return err
			}
			f := store.Filter{Limit: limit, Hidden: begunByAgents}
			if all {
				f = store.Filter{Limit: limit, Archived: true}
			}
			list, err := kept.List(cmd.Context(), f)
			if err != nil {
				return err
			}
			views := make([]sessionView, len(list))
			for i := range list {
				views[i] = viewOf(&list[i].Session)
				views[i].Preview = list[i].Preview
			}
			if asJSON {
				return a.printJSON(views)
			}
			if len(views) == 0 {
				fmt.Fprintln(a.err, "hermes: no conversations yet")
			}
			w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
			for i := range views {
				v := &views[i]
				about := v.Title
				if about == "" {
					about = v.Preview
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", v.ID, local(v.LastActive), v.Source, counted(v.MessageCount, "message"), onLine(about))
			}
			return w.Flush()
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "one JSON document")
	f.BoolVar(&all, "all", false, "those of child agents and archived ones, too")
	f.IntVar(&limit, "limit", 0, "`N` at most; 0 = all")
	return cmd
}

// counted is a number of things.
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprint(n, " ", thing)
}

func local(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// onLine makes text of others harmless to a terminal, on one line.
func onLine(text string) string { return oneLine(errors.New(text)) }

// messageView is a message as people and programs are shown it.
type messageView struct {
	ID int64 `json:"id"`
	provider.Message
	Time     time.Time `json:"time"`
	Status   string    `json:"status,omitempty"`
	Finish   string    `json:"finish_reason,omitempty"`
	Replaced bool      `json:"replaced,omitempty"`
}

// shownOfResult is how many characters of a tool's result are shown to people who didn't ask for all.
const shownOfResult = 500

func (a *app) sessionsShow() *cobra.Command {
	var asJSON, full bool
	cmd := &cobra.Command{
		Use: "show REF", Short: "A conversation, message by message",
		Example: "  hermes sessions show last\n  hermes sessions show last --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			kept, s, err := a.find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			x, err := kept.Look(cmd.Context(), s.ID, store.Whole)
			if err != nil {
				return err
			}
			if !asJSON {
				return a.printConversation(&s, x.Start, full)
			}
			shown := struct {
				sessionView
				Messages []messageView `json:"messages"`
			}{viewOf(&s), make([]messageView, 0, len(x.Start))}
			for i := range x.Start {
				m := &x.Start[i]
				shown.Messages = append(shown.Messages, messageView{m.ID, m.Message, m.Time, m.Status, m.Finish, !m.Active})
			}
			return a.printJSON(shown)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "one JSON document")
	f.BoolVar(&full, "full", false, "the whole of long results")
	return cmd
}

// find gives the store, and the session that a reference names.
func (a *app) find(ctx context.Context, ref string) (store.Store, store.Session, error) {
	kept, err := a.kept(ctx)
	if err != nil {
		return nil, store.Session{}, err
	}
	s, err := kept.Find(ctx, ref)
	if missing, ok := errors.AsType[*store.NotFound](err); ok && len(missing.Near) == 0 {
		err = fmt.Errorf("%w; `hermes sessions list --all` shows what there is", err)
	}
	return kept, s, err
}

// kept gives the store, once its file has been opened or there is none yet.
func (a *app) kept(ctx context.Context) (store.Store, error) {
	if _, err := a.disk(ctx); err != nil {
		return nil, err
	}
	return a.rt.Store(), nil
}

// disk gives the file itself, to change what is in it.
func (a *app) disk(ctx context.Context) (*store.Database, error) {
	rt, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	return rt.Store().Disk(ctx)
}

func (a *app) printConversation(s *store.Session, messages []store.Message, full bool) error {
	w := bufio.NewWriter(ansi.ForPeople(a.out))
	fmt.Fprintf(w, "%s  %s\n", s.ID, onLine(s.Title))
	fmt.Fprintf(w, "%s  %s  %s  %d messages, %d calls, %d tokens in, %d out\n", local(s.Started), s.Source, s.Model, s.Messages, s.Calls, s.Input, s.Output)
	for i := range messages {
		m := &messages[i]
		fmt.Fprintf(w, "\n[%d] %s", m.ID, m.Role)
		for _, more := range []string{m.Name, m.Status} {
			if more != "" {
				fmt.Fprintf(w, " %s", onLine(more))
			}
		}
		if !m.Active {
			fmt.Fprint(w, " (replaced by a summary)")
		}
		fmt.Fprintln(w)
		text := ansi.Clean(m.Text)
		if r := []rune(text); m.Role == provider.Tool && !full && len(r) > shownOfResult {
			text = fmt.Sprintf("%s… (%d more characters; --full shows them)", string(r[:shownOfResult]), len(r)-shownOfResult)
		}
		if text != "" {
			fmt.Fprintln(w, strings.TrimRight(text, "\n"))
		}
		for _, c := range m.Calls {
			fmt.Fprintf(w, "→ %s %s\n", onLine(c.Name), onLine(c.Arguments))
		}
	}
	return w.Flush()
}

func (a *app) sessionsSearch() *cobra.Command {
	var asJSON bool
	var limit int
	var sort string
	cmd := &cobra.Command{
		Use: "search WORD...", Short: "Find conversations by what was said in them",
		Long: "The best match of each conversation in which one message holds all of the words, as parts of longer ones too and in any case.\n" +
			"An argument with blanks is looked for as it stands.",
		Example: "  hermes sessions search parser\n  hermes sessions search 'the parser' shell --sort newest --json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			order := store.Sort(sort)
			if order != store.ByRelevance && order != store.Newest && order != store.Oldest || limit < 1 {
				return usage("--sort is newest or oldest, and --limit a number from 1 up")
			}
			kept, err := a.kept(cmd.Context())
			if err != nil {
				return err
			}
			roles := []provider.Role{provider.User, provider.Assistant, provider.Tool}
			found, err := kept.Search(cmd.Context(), store.Query{Text: quoted(args), Roles: roles, Sort: order, Limit: limit})
			if err != nil {
				return err
			}
			return a.printFound(found, asJSON)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "one JSON document")
	f.IntVar(&limit, "limit", 10, "`N` conversations at most")
	f.StringVar(&sort, "sort", "", "newest or oldest first; by relevance if not given")
	return cmd
}

// quoted is a query for arguments of which those with blanks are phrases.
func quoted(args []string) string {
	parts := make([]string, len(args))
	for i, a := range args {
		parts[i] = a
		if len(args) > 1 && strings.ContainsAny(a, " \t\n") && !strings.Contains(a, `"`) {
			parts[i] = `"` + a + `"`
		}
	}
	return strings.Join(parts, " ")
}

// foundView is what a search has found.
type foundView struct {
	Results  []hitView `json:"results"`
	Count    int       `json:"count"`
	Searched int       `json:"sessions_searched"`
}

type hitView struct {
	Session   sessionView   `json:"session"`
	MessageID int64         `json:"message_id"`
	Role      provider.Role `json:"role"`
	Time      time.Time     `json:"time"`
	Snippet   string        `json:"snippet"`
}

func (a *app) printFound(found store.Found, asJSON bool) error {
	if asJSON {
		out := foundView{Results: []hitView{}, Count: len(found.Hits), Searched: found.Sessions}
		for i := range found.Hits {
			h := &found.Hits[i]
			out.Results = append(out.Results, hitView{viewOf(&h.Session), h.Message.ID, h.Message.Role, h.Message.Time, h.Snippet})
		}
		return a.printJSON(out)
	}
	for i := range found.Hits {
		h := &found.Hits[i]
		if _, err := fmt.Fprintf(a.out, "%s  %s  %s  [%d] %s\n    %s\n", h.Session.ID, local(h.Message.Time), onLine(h.Session.Title), h.Message.ID, h.Message.Role, onLine(h.Snippet)); err != nil {
			return err
		}
	}
	if len(found.Hits) == 0 {
		fmt.Fprintf(a.err, "hermes: nothing found in %d conversations\n", found.Sessions)
	}
	return nil
}

func (a *app) sessionsExport() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use: "export [REF...]", Short: "Conversations as JSON Lines, all of them where none is named",
		Long: "One line for each conversation and each message, as JSON. The file of one conversation is a tape: `hermes chat -m replay:FILE`\n" +
			"answers as its model did.",
		Example: "  hermes sessions export last >talk.jsonl\n  hermes sessions export --output all.jsonl && wc -l <all.jsonl",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen, err := a.chosen(cmd.Context(), args)
			if err != nil {
				return err
			}
			if to == "" {
				return a.export(cmd.Context(), a.out, chosen)
			}
			f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
			if err != nil {
				return err
			}
			return errors.Join(a.export(cmd.Context(), f, chosen), f.Close())
		},
	}
	cmd.Flags().StringVarP(&to, "output", "o", "", "write to `FILE` instead of stdout")
	cmd.Flags().Bool("json", true, "JSON Lines, which they always are")
	return cmd
}

// chosen are the sessions that references name; all where there are none.
func (a *app) chosen(ctx context.Context, refs []string) (out []store.Session, err error) {
	for _, ref := range refs {
		_, s, err := a.find(ctx, ref)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	if len(refs) > 0 {
		return out, nil
	}
	kept, err := a.kept(ctx)
	if err != nil {
		return nil, err
	}
	all, err := kept.List(ctx, store.Filter{Archived: true})
	for i := range all {
		out = append(out, all[len(all)-1-i].Session)
	}
	return out, err
}

// export writes sessions; secrets that became known after they were kept are taken out now.
func (a *app) export(ctx context.Context, w io.Writer, sessions []store.Session) error {
	buffered := bufio.NewWriter(w)
	for i := range sessions {
		var text strings.Builder
		if err := store.Export(ctx, a.rt.Store(), sessions[i], &text); err != nil {
			return err
		}
		if _, err := buffered.WriteString(a.rt.Known(text.String())); err != nil {
			return err
		}
	}
	return buffered.Flush()
}
