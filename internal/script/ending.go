package script

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/tool"
)

// end is how the child ended.
type end struct {
	res   environment.Result
	err   error // the place failed
	cause error // why the run's context ended; nil = it hasn't
}

// cut reports whether the child was ended from outside. One that ended by itself in the last moment wasn't.
func (e end) cut() bool {
	if e.cause == nil {
		return false
	}
	return e.err != nil || e.res.Reason == environment.TimedOut || e.res.Reason == environment.Interrupted
}

// report makes a report of the end and of what was printed. ctx is that of whoever wants it.
func (x *run) report(ctx context.Context, e end) *Report {
	rep := &Report{Status: StatusSuccess}
	out, errs := x.stdout.text(), x.stderr.text()
	rep.Output = out.whole(x.cutNotes(out)...)
	x.countOutput(rep, out)
	rep.ended(e.res)
	switch {
	case e.cut() && errors.Is(e.cause, errTimeUp):
		rep.Status, rep.Error = StatusTimeout, fmt.Sprintf(timedOutText, Seconds(x.cfg.Timeout))
	case e.cut():
		rep.Status = StatusInterrupted
	case e.err != nil:
		rep.Status, rep.Error = StatusError, oneLine(e.err.Error())
	case x.proof.missing(e.res) != "":
		rep.Status, rep.Error = StatusError, fmt.Sprintf("the script did not begin: %s, in the place %s", x.proof.missing(e.res), x.place.Info().Backend)
	case e.res.Reason != environment.Exited || e.res.ExitCode != 0:
		rep.Status, rep.Error = StatusError, x.reason(e.res, errs)
	}
	if rep.Status == StatusSuccess {
		x.warnSilent(rep, errs)
	} else if errs.total > 0 && strings.TrimSpace(errs.head+errs.tail) != "" {
		notes := []string{fmt.Sprintf("[stderr truncated at %s: %d bytes left out]", Kilobytes(x.cfg.MaxStderr), errs.omitted)}
		rep.Output = appendLine(rep.Output, stderrMarker+"\n") + errs.whole(notes...)
	}
	if rep.Status == StatusError {
		rep.Hint = x.hint(ctx, e.res, errs)
	}
	switch rep.Status {
	case StatusTimeout:
		rep.Output = appendLine(rep.Output, rep.Error)
	case StatusInterrupted:
		x.interrupted(rep, e.cause)
	}
	if n := len(e.res.Left); n > 0 {
		x.warn(fmt.Sprintf("%s left running by the script ended with it; what is to stay belongs into terminal with background=true.", processes(n)))
	}
	if n := len(e.res.Survivors); n > 0 {
		x.warn(fmt.Sprintf("%s of the script could not be ended.", processes(n)))
	}
	return rep
}

func processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}

// ended takes over how the child itself ended.
func (rep *Report) ended(res environment.Result) {
	switch res.Reason {
	case environment.Exited:
		code := res.ExitCode
		rep.ExitCode = &code
	case environment.Signaled, environment.TimedOut, environment.Interrupted, environment.LimitHit:
		rep.Signal = res.Signal
	}
}

// cutNotes are the lines where output was cut.
func (x *run) cutNotes(out text) []string {
	where := "the rest was not kept"
	switch {
	case out.spillErr != nil:
		where = "no file with the whole could be written"
	case x.spill != "":
		where = "read_file " + x.spill + " has the whole"
		if out.total > int64(x.cfg.SpillMax) {
			where = fmt.Sprintf("read_file %s has the first %d bytes", x.spill, x.cfg.SpillMax)
		}
	}
	return []string{
		fmt.Sprintf(truncatedText, Kilobytes(x.cfg.MaxStdout)),
		fmt.Sprintf("[%d bytes, %d lines left out; %s]", out.omitted, out.lines, where),
	}
}

func (x *run) countOutput(rep *Report, out text) {
	if !out.cut {
		return
	}
	rep.StdoutTruncated = true
	rep.StdoutTotal, rep.StdoutCaptured, rep.StdoutOmitted = &out.total, &out.captured, &out.omitted
	if out.spillErr == nil {
		rep.StdoutSpillPath = x.spill
	}
}

// warnSilent says that a script ended well and nothing came of it.
func (x *run) warnSilent(rep *Report, errs text) {
	if strings.TrimSpace(rep.Output) != "" {
		return
	}
	made, _ := x.gate.counts()
	note := "The script ran to its end and printed nothing."
	if made > 0 {
		note = fmt.Sprintf("The script ran to its end and printed nothing: the results of its %d tool calls were fetched, not printed. Print what you need.", made)
	}
	if errs.total > 0 {
		note += " The end of its stderr: "
		all := []byte(errs.head + errs.tail)
		end := []rune(strings.ToValidUTF8(string(all[max(0, len(all)-endKept):]), ""))
		note += string(end[max(0, len(end)-max(0, noteMax-len(note)-len(strings.Join(x.warnings, " "))-1)):])
	}
	x.warn(note)
}

// interrupted makes rep the report of a run that was ended because nobody wants it any more.
func (x *run) interrupted(rep *Report, cause error) {
	rep.Status, rep.Error = StatusInterrupted, ""
	var named tool.Interruption
	switch {
	case errors.As(cause, &named):
	case errors.Is(cause, context.DeadlineExceeded):
		named = outOfTime
	default:
		named = cancelled
	}
	rep.InterruptCause = string(named)
	rep.Output = appendLine(rep.Output, interruptedLine(named))
}

// Causes of contexts that whoever cancelled didn't name.
const (
	outOfTime tool.Interruption = "deadline"
	cancelled tool.Interruption = "cancelled"
)
