package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/session"
	"github.com/hermes-runtime/hermes/tool"
)

// nothingRan is the exit code of a call for which no command ran.
const nothingRan = -1

// The statuses of an answer to a call that ran nothing, or whose outcome isn't known.
const (
	statusError    = "error"
	statusDisabled = "disabled"
	statusBlocked  = "blocked"
	statusDegraded = "degraded"
)

// answer is the result object. Its first three members are always there, the third not for scripts.
type answer struct {
	Output   string    `json:"output"`
	ExitCode int       `json:"exit_code"`
	Error    errorText `json:"error,omitzero"`

	Status               string                   `json:"status,omitempty"`
	Cwd                  string                   `json:"cwd,omitempty"`
	DurationSeconds      *float64                 `json:"duration_seconds,omitempty"`
	ExitCodeMeaning      string                   `json:"exit_code_meaning,omitempty"`
	Approval             *tool.Approval           `json:"approval,omitempty"`
	Spilled              *tool.Spill              `json:"spilled,omitempty"`
	Truncated            bool                     `json:"truncated,omitempty"` // scripts only: the middle is missing
	EnvironmentRecreated bool                     `json:"environment_recreated,omitempty"`
	CwdNote              string                   `json:"cwd_note,omitempty"`
	LeftRunning          []leftover               `json:"left_running,omitempty"`
	NotEnded             []environment.ProcessRef `json:"not_ended,omitempty"`
	Limit                string                   `json:"limit,omitempty"`
	Note                 string                   `json:"note,omitempty"`

	started
}

// started are the members of an answer that a background start adds.
type started struct {
	SessionID       string   `json:"session_id,omitempty"`
	PID             int      `json:"pid,omitempty"`
	Notify          bool     `json:"notify_on_complete,omitempty"`
	WatchPatterns   []string `json:"watch_patterns,omitempty"`
	PatternsIgnored string   `json:"watch_patterns_ignored,omitempty"`
	PTYNote         string   `json:"pty_note,omitempty"`
	Hint            string   `json:"hint,omitempty"`

	note string // goes into the answer's own
}

// leftover is a process that goes on after its command, under the entry that lists it.
type leftover struct {
	environment.ProcessRef
	SessionID string `json:"session_id,omitempty"` // process takes it; absent where nothing here keeps background processes
}

func leftovers(refs []environment.ProcessRef, id string) []leftover {
	var out []leftover
	for _, r := range refs {
		out = append(out, leftover{r, id})
	}
	return out
}

// errorText is null where there is no error, and nothing at all then for a script: its authors look for the word.
type errorText struct {
	text   string
	script bool
}

// IsZero tells the encoder to leave the member out.
func (e errorText) IsZero() bool { return e.script && e.text == "" }

// MarshalJSON gives null or the text, in which <, > and & stay as they are.
func (e errorText) MarshalJSON() ([]byte, error) {
	if e.text == "" {
		return []byte("null"), nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(e.text)
	return b.Bytes(), err
}

// ended is the answer for a command that ran.
func ended(c *tool.Call, r request, a session.Answer) answer {
	secs := seconds(a.Elapsed)
	res := answer{
		ExitCode: a.ExitCode, Error: errorText{script: c.Caller == tool.CallerScript},
		Cwd: string(a.Dir), DurationSeconds: &secs, EnvironmentRecreated: a.Recreated, CwdNote: a.DirNote,
		NotEnded: a.Survivors, Limit: a.Limit,
	}
	if c.Approval != nil && c.Approval.Asked {
		res.Approval = c.Approval
	}
	if a.Reason == environment.Exited {
		res.ExitCodeMeaning = meaning(r.reading, a.ExitCode)
	}
	show(c, &res, a)
	switch a.Reason {
	case environment.TimedOut:
		res.Output = withLine(res.Output, fmt.Sprintf("[the command was ended after %s: its time was over]", inSeconds(timeUsed(r, a))))
	case environment.Interrupted:
		res.Output = withLine(res.Output, fmt.Sprintf("[the command was interrupted after %s]", inSeconds(a.Elapsed)))
	}
	return res
}

// neverRan turns what the place printed in the command's stead into the reason why nothing ran.
func neverRan(res answer) answer {
	res.Status, res.Error.text, res.Output = statusError, strings.TrimPrefix(res.Output, "hermes: "), ""
	res.DurationSeconds = nil
	return res
}

// timeUsed is the limit that struck: the call's own, unless a shorter one of its caller came first.
func timeUsed(r request, a session.Answer) time.Duration {
	if a.Elapsed > 0 && a.Elapsed < r.timeout {
		return a.Elapsed
	}
	return r.timeout
}

// show puts what was printed into the answer.
func show(c *tool.Call, res *answer, a session.Answer) {
	if c.Caller == tool.CallerScript {
		res.Output, res.Truncated = trim(a.Text.Head+a.Text.Tail), a.Text.Truncated
		return
	}
	res.Output = trim(a.Shown(name))
	if a.Spill != nil {
		res.Spilled = &tool.Spill{Path: a.Spill.Path, Chars: a.Spill.Chars, Lines: a.Spill.Lines, Field: "output"}
	}
}

func trim(s string) string { return strings.TrimRight(s, "\r\n") }

// withLine adds a line that stands on a line of its own.
func withLine(text, line string) string {
	if text == "" {
		return line
	}
	return text + "\n" + line
}

// outcome gives an answer the status that callers in Go see.
func outcome(r environment.Reason, res answer) any {
	switch r {
	case environment.TimedOut:
		return tool.Outcome{Value: res, Status: tool.StatusTimeout, Type: tool.ErrTypeTimeout}
	case environment.Interrupted:
		return tool.Outcome{Value: res, Status: tool.StatusCancelled, Type: tool.ErrTypeInterrupted}
	}
	return res
}

func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }

func inSeconds(d time.Duration) string {
	if d >= time.Second {
		d = d.Round(100 * time.Millisecond)
	}
	return fmt.Sprintf("%g s", seconds(d))
}

// placing is the answer of a session that has no place yet.
var placing session.Answer

// failures says what a model is told of a failed place, by the kind of the failure; the first match counts.
var failures = []struct {
	kind   error
	status string
	text   string
}{
	{environment.ErrConfig, statusError, "the command did not run, because the environment is not configured right (%s). The user has to mend that; another command won't."},
	{environment.ErrUnsupported, statusDisabled, "the command did not run, because commands can't be run here (%s)."},
	{environment.ErrNotStarted, statusDegraded, "the environment failed before the command was started (%s). Nothing of it ran, so it may be tried again."},
	{environment.ErrLost, statusDegraded, "contact with the environment was lost while the command ran (%s). Whether it came to its end is unknown: look at what it did before it is repeated."},
	{environment.ErrGone, statusDegraded, "the environment is gone (%s). Whether the command came to its end is unknown; what was not saved outside is lost. The next command gets a new environment."},
	{environment.ErrUnavailable, statusDegraded, "the command did not run, because the environment can't be made or reached (%s). It is not run anywhere else. Try again once; if that fails too, the user has to look at the terminal settings."},
}

const failedOtherwise = "the environment failed (%s). Whether the command ran is unknown: look at what it did before it is repeated."

// failed is the answer where the place failed, or the call ended before the command could start.
func failed(ctx context.Context, c *tool.Call, a session.Answer, err error) any {
	res := answer{ExitCode: nothingRan, Status: statusDegraded}
	res.Error.script = c.Caller == tool.CallerScript
	show(c, &res, a)
	for _, f := range failures {
		if errors.Is(err, f.kind) {
			res.Status, res.Error.text = f.status, fmt.Sprintf(f.text, cause(err))
			return res
		}
	}
	if ctx.Err() != nil {
		return cutShort(ctx, res, "the command was not started: the call ended first")
	}
	res.Error.text = fmt.Sprintf(failedOtherwise, cause(err))
	return res
}

// cutShort is the answer to a call that ended before its command was under way.
func cutShort(ctx context.Context, res answer, why string) any {
	res.Status, res.Error.text = statusError, why
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return outcome(environment.TimedOut, res)
	}
	return outcome(environment.Interrupted, res)
}

// hostPath matches an absolute path of two names or more; the last is kept.
var hostPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:[A-Za-z]:)?(?:[/\\][^\s/\\:"'()]+){1,}[/\\]([^\s/\\:"'()]+)`)
})

// cause is what a failure says of itself, without the paths of the machine that the runtime stands on.
func cause(err error) string {
	return hostPath().ReplaceAllString(strings.Join(strings.Fields(err.Error()), " "), "…/$1")
}
