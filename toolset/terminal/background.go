package terminal

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/process"
	"github.com/hermes-runtime/hermes/internal/session"
	"github.com/hermes-runtime/hermes/tool"
)

const (
	patternsIgnored = "notify_on_complete was asked for too, and tells the end once: the patterns are not watched. Start it with watch_patterns alone to be told of lines"
	hintNotTold     = "nothing tells of its end or its output by itself: look with process poll or wait, or start it with notify_on_complete or watch_patterns"
	ptyPipedToken   = "gh reads the token from standard input, not from a terminal: it runs on a pipe"
)

// Bounds of a terminal, in characters.
const (
	minRows, maxRows = 2, 500
	minCols, maxCols = 10, 1000
)

// ptySize reads terminal.pty_size.
func ptySize(text string) (environment.Size, error) {
	rows, cols, ok := strings.Cut(strings.ToLower(strings.ReplaceAll(text, " ", "")), "x")
	r, err1 := strconv.Atoi(rows)
	c, err2 := strconv.Atoi(cols)
	if z := (environment.Size{Rows: r, Cols: c}); ok && err1 == nil && err2 == nil && sizeOK(z) {
		return z, nil
	}
	return environment.Size{}, &environment.Error{Kind: environment.ErrConfig, Op: "terminal.pty_size", Err: fmt.Errorf(
		"%q is not rows x columns, such as %s: %d to %d rows, %d to %d columns", text, defaultPTYSize, minRows, maxRows, minCols, maxCols)}
}

func sizeOK(z environment.Size) bool {
	return z.Rows >= minRows && z.Rows <= maxRows && z.Cols >= minCols && z.Cols <= maxCols
}

// caller is whose calls these are.
func caller(c *tool.Call) process.Caller {
	if by, ok := tool.Service[process.Caller](c); ok {
		return by
	}
	return process.Caller{Session: c.Session}
}

// jobs is the table of background processes.
func jobs(c *tool.Call) (*process.Table, error) {
	if t, ok := tool.Service[*process.Table](c); ok && t != nil {
		return t, nil
	}
	return nil, &environment.Error{Kind: environment.ErrUnsupported, Op: "start a background job", Err: errors.New("nothing here keeps background processes")}
}

// plan makes the job of a request, with what its answer says of it.
func plan(ctx context.Context, c *tool.Call, r request, place environment.Place) (process.Start, started, error) {
	say := started{Notify: r.Notify}
	if r.Notify && len(r.Watch) > 0 {
		r.Watch, say.PatternsIgnored = nil, patternsIgnored
	}
	say.WatchPatterns = r.Watch
	if !r.Notify && len(r.Watch) == 0 {
		say.Hint = hintNotTold
	}
	state := place.State
	if state != nil {
		state = state.Clone() // the job's own
	}
	sudo := prepareSudo(ctx, c, sudoCall{place: place, reading: r.reading})
	if sudo.stranded && !r.PTY { // on a terminal it asks there
		say.note = sudoAhead
	}
	s := process.Start{
		By: caller(c), Task: c.Task, Persist: r.Persist,
		Job: environment.Job{
			Command: environment.Command{
				Script: sudo.script(r.Command), Dir: r.Workdir, Timeout: r.timeout, Env: variables(ctx, c, place), State: state, SudoSecret: sudo.secret,
			},
			Shown: r.Command, Encoding: r.cfg.Encoding, KeepStdin: r.KeepStdin, Watch: r.Watch, Notify: r.Notify,
		},
	}
	s.Origin, _ = tool.Service[process.Origin](c)
	if !r.PTY {
		return s, say, nil
	}
	switch why := noTerminal(r.reading, place.Info()); {
	case why != "":
		say.PTYNote = why
	default:
		z, err := ptySize(r.cfg.PTYSize)
		if err != nil {
			return s, say, err
		}
		s.Job.Terminal = &z
		delete(s.Job.Command.Env, "TERM") // the terminal's own
	}
	return s, say, nil
}

// noTerminal says why a command gets no terminal though one was asked for, "" = it does.
func noTerminal(r *analysis.Reading, i environment.Info) string {
	if r != nil {
		for k := range r.Commands {
			if pipesToken(&r.Commands[k]) {
				return ptyPipedToken
			}
		}
	}
	if why := i.Lacking[process.AbilityTerminal]; why != "" {
		return "it runs on pipes: " + why
	}
	return ""
}

// pipesToken finds gh auth login --with-token.
func pipesToken(c *analysis.Command) bool {
	if c.Program != "gh" || len(c.Words) == 0 {
		return false
	}
	words, options := arguments(c)
	return leads(words, [][]string{{"auth"}, {"login"}}) && contains(options, "--with-token")
}

// launch starts a command that goes on by itself.
func launch(ctx context.Context, c *tool.Call, r request, place environment.Place) any {
	table, err := jobs(c)
	if err != nil {
		return failed(ctx, c, session.Answer{}, err)
	}
	s, say, err := plan(ctx, c, r, place)
	if err != nil {
		return failed(ctx, c, session.Answer{}, err)
	}
	j, err := table.Start(ctx, place, s)
	if err != nil {
		return notStarted(ctx, c, err)
	}
	if ctx.Err() != nil { // nobody will hear of it
		return undone(ctx, c, j)
	}
	i := j.Info()
	say.SessionID, say.PID = i.ID, i.PID
	res := answer{Output: "Started in the background as " + i.ID + "; process takes this session_id.", started: say}
	res.Note = say.note
	if c.Approval != nil && c.Approval.Asked {
		res.Approval = c.Approval
	}
	return res
}

// undone ends a job that had begun when its call ended.
func undone(ctx context.Context, c *tool.Call, j process.Job) any {
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	if _, err := j.Kill(ending); err != nil {
		return failed(ending, c, session.Answer{}, &environment.Error{Kind: environment.ErrLost, Op: "end a job whose call has ended", Err: err})
	}
	return cutShort(ctx, answer{ExitCode: nothingRan}, "the call ended while the command was being started, so it was ended too")
}

// notStarted tells a command that could not start, which says why, from a place that failed.
func notStarted(ctx context.Context, c *tool.Call, err error) any {
	if !errors.Is(err, environment.ErrNotStarted) || errors.Is(err, environment.ErrLost) || errors.Is(err, environment.ErrGone) || ctx.Err() != nil {
		return failed(ctx, c, session.Answer{}, err)
	}
	why := err
	if e, ok := errors.AsType[*environment.Error](err); ok && e.Err != nil {
		why = e.Err
	}
	res := answer{ExitCode: nothingRan, Status: statusError}
	res.Error.text = "the command was not started: " + strings.Join(strings.Fields(why.Error()), " ")
	return tool.Outcome{Value: res, Status: tool.StatusError, Type: tool.ErrTypeTool}
}

// onTerminal runs a command on a terminal and waits for its end: a job that nobody is told of, and that ends with its call.
func onTerminal(ctx context.Context, c *tool.Call, r request, place environment.Place) (res any, note string) {
	if why := noTerminal(r.reading, place.Info()); why != "" {
		return nil, why
	}
	table, err := jobs(c)
	if err != nil {
		return nil, "it runs on pipes: nothing here keeps a terminal"
	}
	s, _, err := plan(ctx, c, r, place)
	if err != nil {
		return failed(ctx, c, session.Answer{}, err), ""
	}
	s.Kind = process.KindForeground
	begin := time.Now()
	j, err := table.Start(ctx, place, s)
	if errors.Is(err, environment.ErrUnsupported) {
		return nil, "it runs on pipes: " + process.Lacking(place.Info())
	}
	if err != nil {
		return notStarted(ctx, c, err), ""
	}
	w, waitErr := j.Wait(ctx, r.timeout+lifeSlack) // the life of the job is its timeout
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	if waitErr != nil || w.End == nil {
		if _, err := j.Kill(ending); err != nil {
			return failed(ctx, c, session.Answer{}, &environment.Error{Kind: environment.ErrLost, Op: "end a command on a terminal", Err: errors.Join(waitErr, err)}), ""
		}
	}
	return answerOf(ending, c, finished{request: r, job: j, wait: w, elapsed: time.Since(begin), interrupted: ctx.Err() != nil}), ""
}

const (
	// lifeSlack is how much longer than its timeout the end of a command on a terminal is waited for: it is ended by its keeper.
	lifeSlack = 10 * time.Second
	endTime   = 10 * time.Second
)

// finished is a command on a terminal that came to its end.
type finished struct {
	request     request
	job         process.Job
	wait        process.Wait
	elapsed     time.Duration
	interrupted bool
}

func answerOf(ctx context.Context, c *tool.Call, f finished) any {
	a := session.Answer{}
	a.Elapsed, a.Dir, a.Reason = f.elapsed, f.job.Info().Dir, environment.Exited
	switch e := f.wait.End; {
	case f.interrupted:
		a.Reason, a.ExitCode = environment.Interrupted, 130
	case e == nil || e.Reason == string(environment.EndTimeout):
		a.Reason, a.ExitCode = environment.TimedOut, 124
	case e.ExitCode == nil:
		return failed(ctx, c, a, &environment.Error{Kind: environment.ErrLost, Op: "run a command on a terminal"})
	default:
		a.ExitCode, a.Limit = *e.ExitCode, e.Limit
	}
	text, err := f.job.Log(ctx, -1, math.MaxInt32)
	if err != nil {
		return failed(ctx, c, a, &environment.Error{Kind: environment.ErrLost, Op: "read what the command printed", Err: err})
	}
	if err := a.Replace(ctx, text.Output, output(c, f.request.cfg)); err != nil {
		return failed(ctx, c, a, err)
	}
	res := ended(c, f.request, a)
	res.LeftRunning = leftovers(f.wait.StillRunning, f.job.Info().ID)
	return outcome(a.Reason, res)
}

// listLeft gives what the command left running an entry that belongs to the session. The text says why there is none.
func listLeft(ctx context.Context, c *tool.Call, r request, a session.Answer) ([]leftover, string) {
	if len(a.Left) == 0 {
		return nil, ""
	}
	table, err := jobs(c)
	if err != nil {
		return leftovers(a.Left, ""), ""
	}
	listing, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	s := process.Start{By: caller(c), Task: c.Task, Job: environment.Job{Shown: r.Command}}
	s.Origin, _ = tool.Service[process.Origin](c)
	j, err := table.Adopt(listing, a.Place, s, a.Result)
	switch {
	case errors.Is(err, environment.ErrUnsupported):
		return leftovers(a.Left, ""), ""
	case err != nil:
		return leftovers(a.Left, ""), "what it left running is not among the background processes: " + cause(err)
	}
	return leftovers(a.Left, j.Info().ID), ""
}
