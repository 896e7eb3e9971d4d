package terminal

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/secret"
	"github.com/hermes-runtime/hermes/internal/session"
	"github.com/hermes-runtime/hermes/tool"
)

const (
	sudoProgram  = "sudo"
	sudoVariable = "SUDO_PASSWORD"
	askFor       = 45 * time.Second // how long a person has to type a password
	probeFor     = 3 * time.Second  // sudo -n true
	verifyFor    = 30 * time.Second // sudo -v: PAM may wait some seconds after a wrong one
	tries        = 3                // times that a person may mistype
)

const (
	sudoNote   = "sudo could not get a password, because nobody can be asked here. " + sudoRemedy
	sudoAhead  = "if a sudo in it wants a password it will fail, because nobody can be asked here. " + sudoRemedy
	sudoRemedy = "The user can set SUDO_PASSWORD (in the environment or in .env) or terminal.sudo_password, or allow sudo without a password."
)

// sudoCall is what there is to know of sudo in one call.
type sudoCall struct {
	place   environment.Place
	reading *analysis.Reading
}

// sudoPlan is how the sudo commands of one call authenticate.
type sudoPlan struct {
	spans    []analysis.Span // where to put -A
	secret   func(ctx context.Context) (string, error)
	requests *atomic.Int64                                      // times that a password was handed out
	stranded bool                                               // a password would be needed, and nobody can give it
	recheck  func(ctx context.Context, place environment.Place) // forgets a remembered password that sudo no longer takes
}

// prepareSudo finds the source of a password before the command runs, so that a person's time counts against no timeout.
func prepareSudo(ctx context.Context, c *tool.Call, s sudoCall) sudoPlan {
	if s.reading == nil {
		return sudoPlan{}
	}
	spans, n := sudoSpans(s.reading)
	if n == 0 {
		return sudoPlan{}
	}
	plan := sudoPlan{requests: new(atomic.Int64)}
	password, ok := configuredPassword(c)
	if !ok {
		memory, known := tool.Service[*session.Sudo](c)
		if !known {
			memory = &session.Sudo{}
		}
		password, ok = plan.find(ctx, c, memory, s)
		plan.recheck = func(ctx context.Context, place environment.Place) {
			if ctx.Err() == nil && !accepted(ctx, place, password) {
				memory.Forget(c.Session)
			}
		}
	}
	if ok {
		if known, has := tool.Service[*secret.Set](c); has {
			known.Add(sudoVariable, password) // so that it is taken out of whatever shows it
		}
		plan.spans = spans
		plan.secret = func(context.Context) (string, error) { plan.requests.Add(1); return password, nil }
	}
	return plan
}

// configuredPassword is one that the user set; an empty one counts.
func configuredPassword(c *tool.Call) (string, bool) {
	if l, ok := tool.Service[LookupEnver](c); ok {
		if v, set := l.LookupEnv(sudoVariable); set {
			return v, true
		}
	} else if v := c.Host.Getenv(sudoVariable); v != "" {
		return v, true
	}
	if p := settings(c.Host).SudoPassword; p != nil {
		return *p, true
	}
	return "", false
}

// LookupEnver tells an empty variable from one that isn't set. Without such a service an empty SUDO_PASSWORD counts as not set.
type LookupEnver interface {
	LookupEnv(name string) (string, bool)
}

// find looks for a password beyond the configuration: remembered, not needed, asked for.
func (p *sudoPlan) find(ctx context.Context, c *tool.Call, memory *session.Sudo, s sudoCall) (string, bool) {
	if v, ok := memory.Password(c.Session); ok {
		return v, true
	}
	info := s.place.Info()
	if memory.Free(ctx, info.Backend+"\x00"+info.ID, func(ctx context.Context) bool { return needsNone(ctx, s.place) }) {
		return "", false
	}
	v, ok, err := memory.Ask(ctx, c.Session, func(ctx context.Context) (string, bool, error) { return ask(ctx, c, s) })
	p.stranded = err != nil && ctx.Err() == nil && !errors.Is(err, channel.ErrInterrupted)
	return v, ok
}

// needsNone tries sudo in the place itself. A place without sudo needs no password either.
func needsNone(ctx context.Context, place environment.Place) bool {
	r, err := place.Run(ctx, environment.Command{Argv: []string{sudoProgram, "-n", "true"}, Timeout: probeFor})
	return err == nil && (r.ExitCode == 0 || r.ExitCode == 127)
}

// ask has a person type the password until sudo takes it. An empty answer means to go on without. The error says that nobody could
// be asked.
func ask(ctx context.Context, c *tool.Call, s sudoCall) (string, bool, error) {
	q := channel.Question{Kind: channel.KindSecret, Session: c.Session, Task: c.Task, Call: c.ID, Tool: c.Name,
		Title:   "A command uses sudo. Type the password, or nothing to go on without.",
		Command: s.reading.Text, Environment: s.place.Info().Backend, Elevated: true}
	for range tries {
		q.Created = time.Now()
		q.Expires = q.Created.Add(askFor)
		a, err := c.Host.Ask(ctx, q)
		switch {
		case errors.Is(err, channel.ErrTimeout):
			return "", false, nil // a person who doesn't answer isn't asked with every command
		case err != nil:
			return "", false, err
		case a.Secret == "":
			return "", false, nil
		case accepted(ctx, s.place, a.Secret):
			return a.Secret, true, nil
		}
		q.Title = "sudo did not take that password. Type it again, or nothing to go on without."
	}
	return "", false, nil
}

// accepted has sudo check a password. A second request for it within one run means that the first was wrong.
func accepted(ctx context.Context, place environment.Place, password string) bool {
	var handed atomic.Bool
	secret := func(context.Context) (string, error) {
		if handed.Swap(true) {
			return "", errors.New("the password was not accepted")
		}
		return password, nil
	}
	r, err := place.Run(ctx, environment.Command{Argv: []string{sudoProgram, "-A", "-k", "-v"}, Timeout: verifyFor, SudoSecret: secret})
	return err == nil && r.ExitCode == 0
}

// script puts -A behind each sudo that is to ask our askpass.
func (p sudoPlan) script(text string) string {
	if len(p.spans) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, s := range p.spans {
		b.WriteString(text[at:s.End])
		b.WriteString(" -A")
		at = s.End
	}
	b.WriteString(text[at:])
	return b.String()
}

// finish draws the conclusions of the run. Where sudo took a remembered password and the command failed, sudo itself is asked whether
// that is still the right one: nothing that a command prints tells it.
func (p sudoPlan) finish(ctx context.Context, place environment.Place, r environment.Result) string {
	if p.recheck != nil && p.requests.Load() > 0 && r.Reason == environment.Exited && r.ExitCode != 0 {
		p.recheck(ctx, place)
	}
	if p.stranded && r.ExitCode != 0 {
		return sudoNote
	}
	return ""
}

// ownWay are the options with which a sudo brings its own way to a password, or wants none.
var ownWay = []string{"-A", "-S", "-n", "--askpass", "--stdin", "--non-interactive"}

// takesValue are sudo's options whose value may stand apart.
var takesValue = []string{"-C", "-D", "-g", "-h", "-p", "-R", "-r", "-T", "-t", "-U", "-u",
	"--close-from", "--chdir", "--group", "--host", "--prompt", "--chroot", "--role", "--command-timeout", "--type", "--other-user", "--user"}

// sudoSpans counts the sudo commands that don't bring a way of their own to a password, and lists those of their words behind which
// -A can go. One that a shell reads from another text can't be changed; it finds our askpass by its variable where sudo looks there.
func sudoSpans(r *analysis.Reading) (spans []analysis.Span, n int) {
	for i := range r.Commands {
		c := &r.Commands[i]
		if c.Program != sudoProgram || len(c.Words) == 0 || bringsOwnWay(c.Words[1:]) {
			continue
		}
		n++
		if s := c.Words[0].Span; !c.Payload && writtenOut(s.Slice(r.Text)) && !slices.Contains(spans, s) {
			spans = append(spans, s)
		}
	}
	slices.SortFunc(spans, func(a, b analysis.Span) int { return a.Start - b.Start })
	return spans, n
}

// writtenOut reports whether the word itself is sudo, with or without a path and quotes. A variable that may hold sudo may as well
// hold nothing, and then an -A behind it would be the command.
func writtenOut(word string) bool {
	word = strings.Trim(strings.TrimPrefix(word, `\`), `"'`)
	return word == sudoProgram || strings.HasSuffix(word, "/"+sudoProgram) && !strings.ContainsAny(word, "$`")
}

func bringsOwnWay(args []analysis.Word) bool {
	for i := 0; i < len(args); i++ {
		a := args[i].Text
		switch {
		case len(a) < 2 || a[0] != '-' || a == "--":
			return false // the command begins
		case contains(ownWay, a):
			return true
		case contains(takesValue, a):
			i++
		case a[1] != '-' && clusterHas(a[1:]):
			return true
		}
	}
	return false
}

// clusterHas looks for A, S and n among letters such as in -nE, up to one that takes the rest as its value.
func clusterHas(letters string) bool {
	for _, l := range letters {
		if contains(ownWay, "-"+string(l)) {
			return true
		}
		if contains(takesValue, "-"+string(l)) {
			return false
		}
	}
	return false
}
