package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/runtime"
)

// exitOfTrial says how `approvals test` exits.
var exitOfTrial = map[string]int{approval.TrialAllow: exitOK, approval.TrialAsk: exitUsage, approval.TrialDeny: exitDenied}

func (a *app) approvals() *cobra.Command {
	cmd := &cobra.Command{
		Use: "approvals", Short: "Judge commands without running them; what is approved for ever",
		Example: "  hermes approvals test -- git status\n  hermes approvals list --json",
	}
	cmd.AddCommand(a.approvalsTest(), a.approvalsList(), a.approvalsForget())
	return cmd
}

// trying is what `approvals test` was told.
type trying struct {
	dir, kind              string
	asJSON, stdin, scoring bool
}

func (a *app) approvalsTest() *cobra.Command {
	var t trying
	cmd := &cobra.Command{
		Use: "test [--env TYPE] [--cwd DIR] -- COMMAND", Short: "What would become of a command: allow (exit 0), ask (2), deny (3)",
		Long: "Judges a command as a call in a new session would be judged: with your patterns and your list, and nobody there to answer. Nothing is run.\n\n" +
			"--stdin reads one JSON object a line, {\"command\": …} with optional cwd, home and env (a kind of environment, or an object of variables),\n" +
			"and answers each with a line. Lines may say what is expected in \"verdict\": allow, ask or deny. Then --score prints one document of\n" +
			"figures in place of the answers: recall, false positives, what of the floor was denied, times; without it they go to stderr.",
		Example: "  hermes approvals test -- rm -r build || test $? = 2\n  hermes approvals test --json -- 'cd src && ls'\n  echo '{\"command\": \"rm -r build\"}' | hermes approvals test --stdin --json",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			rt, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			switch {
			case t.stdin && len(args) > 0:
				return usage("--stdin reads the commands; give none besides")
			case t.stdin:
				return a.tryLines(rt, t)
			case t.scoring:
				return usage("--score needs --stdin: figures are about many commands")
			case len(args) == 0:
				return usage("give a command behind --, or --stdin")
			}
			dir, err := absolute(t.dir)
			if err != nil {
				return usage("--cwd: %v", err)
			}
			got, err := rt.Try(runtime.TryRequest{Command: commandOf(args), Dir: dir, Kind: t.kind})
			if err != nil {
				return usage("%v", err)
			}
			if t.asJSON {
				err = a.printJSON(trialOf(got))
			} else {
				err = a.printTrial(got)
			}
			if code := exitOfTrial[got.Verdict]; err == nil && code != exitOK {
				return &exit{code: code}
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&t.kind, "env", "", "judge as in a `TYPE` of environment")
	f.StringVar(&t.dir, "cwd", "", "judge as if it ran in `DIR`, which need not be there")
	f.BoolVar(&t.asJSON, "json", false, "one JSON document, or with --stdin a line each")
	f.BoolVar(&t.stdin, "stdin", false, "one JSON object a line")
	f.BoolVar(&t.scoring, "score", false, "figures in place of answers")
	return cmd
}

// commandOf is one word as it stands, and several as the shell would have to be told them.
func commandOf(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	quoted := make([]string, len(args))
	for i, w := range args {
		quoted[i] = w
		if w == "" || strings.ContainsAny(w, " \t\n;&|<>()'\"$`\\*?[]#~!{}") {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// trialShape is a verdict as JSON.
type trialShape struct {
	ID        json.RawMessage `json:"id,omitempty"` // of the line, given back
	Verdict   string          `json:"verdict"`
	Findings  []findingShape  `json:"findings"`
	Key       *string         `json:"key"`
	Keys      []string        `json:"keys"`
	AllowedBy *string         `json:"allowed_by"`
}

type findingShape struct {
	ID          string        `json:"id"`
	Description string        `json:"description"`
	Family      string        `json:"family"`
	Span        [2]int        `json:"span"`
	Text        string        `json:"text"`
	Reason      string        `json:"reason"`
	Floor       bool          `json:"floor"`
	Argv        []string      `json:"argv"`
	Targets     []targetShape `json:"targets"`
	Origin      []string      `json:"origin"`
}

type targetShape struct {
	Path  string `json:"path"`
	Class string `json:"class"`
	Kind  string `json:"kind,omitempty"`
	All   bool   `json:"all,omitempty"`
}

func trialOf(t approval.Trial) trialShape {
	s := trialShape{Verdict: t.Verdict, Findings: []findingShape{}, Keys: []string{}}
	seen := map[string]bool{}
	for _, f := range t.Findings {
		shape := findingShape{ID: f.Row.ID, Description: f.Row.Key, Family: f.Row.Family, Span: [2]int{f.Span.Start, f.Span.End}, Text: f.Text,
			Reason: f.Reason, Floor: f.Floor, Argv: []string{}, Targets: []targetShape{}, Origin: []string{}}
		if t.Reading != nil && f.Command >= 0 && f.Command < len(t.Reading.Commands) {
			c := &t.Reading.Commands[f.Command]
			for _, w := range c.Words {
				shape.Argv = append(shape.Argv, analysis.Show(w.Text))
			}
			for o := c.Origin; o != nil; o = o.Parent {
				shape.Origin = append([]string{o.Name}, shape.Origin...)
			}
		}
		for _, p := range f.Targets {
			shape.Targets = append(shape.Targets, targetShape{analysis.Show(p.Path), string(p.Class), string(p.Kind), p.All})
		}
		s.Findings = append(s.Findings, shape)
		if !seen[f.Row.Key] {
			seen[f.Row.Key] = true
			s.Keys = append(s.Keys, f.Row.Key)
		}
	}
	if len(s.Keys) > 0 {
		s.Key = &s.Keys[0]
	}
	if len(t.AllowedBy) > 0 {
		s.AllowedBy = &t.AllowedBy[0]
	}
	return s
}

func (a *app) printTrial(t approval.Trial) error {
	var b strings.Builder
	b.WriteString(t.Verdict)
	switch {
	case len(t.AllowedBy) > 0 && t.Verdict == approval.TrialAllow:
		fmt.Fprintf(&b, ", by your list: %s", strings.Join(t.AllowedBy, ", "))
	case t.How != "":
		fmt.Fprintf(&b, ", by %s", t.How)
	}
	b.WriteString("\n")
	for _, f := range t.Findings {
		floor := ""
		if f.Floor {
			floor = ", nobody may approve it"
		}
		fmt.Fprintf(&b, "  %s (%s%s)\n    %s\n    %s\n", f.Row.Key, f.Row.ID, floor, visible(f.Text), visible(f.Reason))
	}
	_, err := io.WriteString(a.out, b.String())
	return err
}

// visible keeps control characters of a command away from the terminal.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '�'
		}
		return r
	}, s)
}

// maxTryLine is the longest line that is read, in bytes: a command may have 128 KiB, and JSON may take six for one.
const maxTryLine = 1 << 20

// tryLine is one line of input.
type tryLine struct {
	ID      json.RawMessage `json:"id"`
	Command *string         `json:"command"`
	Dir     string          `json:"cwd"`
	Home    string          `json:"home"`
	Env     json.RawMessage `json:"env"`
	Verdict string          `json:"verdict"`
	IDs     []string        `json:"ids"`
}

func (l *tryLine) request(t trying) (runtime.TryRequest, error) {
	if l.Command == nil {
		return runtime.TryRequest{}, errors.New(`it has no "command"`)
	}
	dir := l.Dir
	if dir == "" {
		dir = t.dir
	}
	dir, err := absolute(dir)
	r := runtime.TryRequest{Command: *l.Command, Dir: dir, Home: l.Home, Kind: t.kind}
	if len(l.Env) > 0 && !bytes.Equal(l.Env, []byte("null")) && json.Unmarshal(l.Env, &r.Kind) != nil && json.Unmarshal(l.Env, &r.Vars) != nil {
		return r, errors.New(`its "env" is neither the name of a kind of environment nor an object of variables`)
	}
	return r, err
}

// tryLines answers each line. A line that can't be read is answered by what is wrong with it, and the next one is read.
func (a *app) tryLines(rt *runtime.Runtime, t trying) error {
	in, out := bufio.NewReaderSize(a.in, 64<<10), json.NewEncoder(a.out)
	out.SetEscapeHTML(false)
	var s score
	for n := 1; ; n++ {
		text, err := readLine(in)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		var line tryLine
		var got approval.Trial
		if err == nil {
			if err = json.Unmarshal(text, &line); err != nil {
				err = fmt.Errorf("it is no JSON object of a command: %w", err)
			}
		}
		if err == nil {
			got, err = a.tryOne(rt, t, &line, &s)
		}
		if errors.Is(err, errRead) {
			return err
		}
		if err = a.answerLine(out, t, answered{n, line.ID, got, err}); err != nil {
			return err
		}
	}
	switch {
	case t.scoring:
		return a.printJSON(s.summary())
	case s.expected > 0:
		text, err := json.Marshal(s.summary())
		fmt.Fprintf(a.err, "hermes: score: %s\n", text)
		return err
	}
	return nil
}

func (a *app) tryOne(rt *runtime.Runtime, t trying, line *tryLine, s *score) (approval.Trial, error) {
	req, err := line.request(t)
	if err != nil {
		return approval.Trial{}, err
	}
	got, err := rt.Try(req)
	if err == nil {
		s.add(line, got)
	}
	return got, err
}

type answered struct {
	number int
	id     json.RawMessage
	trial  approval.Trial
	err    error
}

func (a *app) answerLine(out *json.Encoder, t trying, g answered) error {
	switch {
	case g.err != nil && (t.asJSON && !t.scoring):
		return out.Encode(struct {
			ID    json.RawMessage `json:"id,omitempty"`
			Error string          `json:"error"`
		}{g.id, fmt.Sprintf("line %d: %v", g.number, g.err)})
	case g.err != nil:
		fmt.Fprintf(a.err, "hermes: line %d: %s\n", g.number, oneLine(g.err))
		if t.scoring {
			return nil
		}
		_, err := fmt.Fprintln(a.out, "error")
		return err
	case t.scoring:
		return nil
	case t.asJSON:
		shape := trialOf(g.trial)
		shape.ID = g.id
		return out.Encode(shape)
	}
	shape := trialOf(g.trial)
	_, err := fmt.Fprintln(a.out, strings.TrimSuffix(g.trial.Verdict+"\t"+strings.Join(shape.Keys, ", "), "\t"))
	return err
}

var errRead = errors.New("read the commands")

// readLine reads one line; one that is too long is an error, and is passed over.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := in.ReadSlice('\n')
		if !long {
			line = append(line, part...)
		}
		if len(line) > maxTryLine {
			long, line = true, nil
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) == 0 && !long:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("%w: %w", errRead, err)
		case long:
			return nil, fmt.Errorf("it is longer than %d bytes", maxTryLine)
		}
		return line, nil
	}
}

func (a *app) approvalsList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "What is approved for ever, what each entry opens, and since when", Example: "  hermes approvals list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			rt, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			rows := entriesOf(rt, time.Now())
			if asJSON {
				return a.printJSON(rows)
			}
			if len(rows) == 0 {
				fmt.Fprintln(a.err, "hermes: nothing is approved for ever")
			}
			w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
			for _, r := range rows {
				does := "opens " + strings.Join(r.Opens, ", ")
				if r.Nothing != "" {
					does = "opens nothing: it " + r.Nothing
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", visible(r.Key), r.Scope, does, r.Age, r.Source)
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	return cmd
}

// entryShape is one entry of the permanent list.
type entryShape struct {
	Key     string   `json:"key"`
	Scope   string   `json:"scope"` // any, exact …, under …
	Opens   []string `json:"opens"` // ids
	Nothing string   `json:"opens_nothing,omitempty"`
	Source  string   `json:"source"` // file and line
	Added   string   `json:"added,omitempty"`
	By      string   `json:"by,omitempty"`
	Expires string   `json:"expires,omitempty"`
	Age     string   `json:"age"`
}

func entriesOf(rt *runtime.Runtime, now time.Time) []entryShape {
	out := []entryShape{}
	for _, e := range rt.Allowlist().Entries {
		s := entryShape{Key: e.Name, Scope: "any", Opens: append([]string{}, e.Opens...), Nothing: e.Nothing, By: e.By, Age: "age unknown",
			Source: fmt.Sprintf("%s:%d", rt.Config().Path, e.Line)}
		switch {
		case e.Exact != "" && e.Dir != "":
			s.Scope = fmt.Sprintf("exact %q in %s", e.Exact, e.Dir)
		case e.Exact != "":
			s.Scope = fmt.Sprintf("exact %q", e.Exact)
		case e.Under != "":
			s.Scope = "under " + e.Under
		case e.Program != "":
			s.Scope = "program"
		}
		if !e.Added.IsZero() {
			s.Added = e.Added.Format(time.RFC3339)
			s.Age = fmt.Sprintf("%d days old", max(int(now.Sub(e.Added).Hours()/24), 0))
		}
		if !e.Expires.IsZero() {
			s.Expires = e.Expires.Format(time.RFC3339)
			if !now.Before(e.Expires) {
				s.Nothing = "has expired"
			}
		}
		out = append(out, s)
	}
	return out
}

func (a *app) approvalsForget() *cobra.Command {
	return &cobra.Command{
		Use: "forget KEY", Short: "Take a key off the list of what is approved for ever", Example: "  hermes config set command_allowlist '[recursive delete]' && hermes approvals forget 'recursive delete'",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			rt, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			n, err := rt.Forget(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if n == 0 {
				return fmt.Errorf("%q is not on the list; `hermes approvals list` shows what is", args[0])
			}
			_, err = fmt.Fprintf(a.out, "forgotten: %s\n", visible(args[0]))
			return err
		},
	}
}
