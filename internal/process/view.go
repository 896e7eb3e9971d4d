package process

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// Bounds of what is shown, in characters.
const (
	commandChars = 200
	listChars    = 200
	pollChars    = 1000
	waitChars    = 1000 // of a job that runs on
	endChars     = 2000 // of one that ended
	// margin is read besides, so that a secret that a cut would halve is found.
	margin = environment.DescribedPreview - pollChars
)

// Job is one job of a caller.
type Job struct {
	t       *Table
	process environment.Process
	info    environment.JobInfo
}

func (t *Table) job(ctx context.Context, p environment.Process) (Job, error) {
	if d, ok := p.(environment.Described); ok {
		return Job{t: t, process: p, info: d.Standing()}, nil
	}
	i, err := p.Info(ctx, pollChars+margin)
	if err != nil {
		return Job{}, fmt.Errorf("ask for the state of a process: %w", err)
	}
	return Job{t: t, process: p, info: i}, nil
}

// Info is how the job stood when it was found. Its texts are as the job printed them.
func (j Job) Info() environment.JobInfo { return j.info }

// Process is the job itself.
func (j Job) Process() environment.Process { return j.process }

// Owned reports whether the caller's own session started the job.
func (j Job) Owned(by Caller) bool {
	return !by.User && by.Session != "" && j.info.Labels[LabelSession] == by.Session
}

// Listed is a job in a list.
type Listed struct {
	ID       string  `json:"session_id"`
	Command  string  `json:"command"`
	Dir      string  `json:"cwd"`
	PID      int     `json:"pid"`
	Started  string  `json:"started_at"` // ISO 8601
	Uptime   float64 `json:"uptime_seconds"`
	Status   string  `json:"status"`
	Preview  string  `json:"output_preview"`
	ExitCode *int    `json:"exit_code,omitempty"`
	Reason   string  `json:"completion_reason,omitempty"` // of one that ended
	Kind     string  `json:"kind,omitempty"`
	Detached bool    `json:"detached,omitempty"`
	PTY      bool    `json:"pty,omitempty"`

	StillRunning []environment.ProcessRef `json:"still_running,omitempty"`
}

// List is the answer to list.
type List struct {
	Processes []Listed `json:"processes"`
	Note      string   `json:"note,omitempty"` // what could not be asked
}

// List shows the jobs that a caller sees, those that run first. The error is one that left nothing to show.
func (t *Table) List(ctx context.Context, by Caller) (List, error) {
	all, err := t.all(ctx, by)
	if err != nil && len(all) == 0 {
		return List{}, err
	}
	l := List{Processes: []Listed{}}
	if err != nil {
		l.Note = "not all processes are shown: " + err.Error()
	}
	for i := range all {
		l.Processes = append(l.Processes, t.listed(all[i]))
	}
	return l, nil
}

func (t *Table) listed(i environment.JobInfo) Listed {
	return Listed{
		ID: i.ID, Command: t.head(i.Command, commandChars), Dir: string(i.Dir), PID: i.PID, Started: i.Started.UTC().Format(time.RFC3339),
		Uptime: uptime(i), Status: string(i.Status), Preview: t.tail(i, listChars), ExitCode: i.ExitCode, Reason: string(i.End), Kind: i.Labels[LabelKind],
		Detached: i.Detached, PTY: i.Terminal != nil, StillRunning: t.refs(i.StillRunning),
	}
}

func uptime(i environment.JobInfo) float64 {
	end := i.Ended
	if end.IsZero() {
		end = time.Now()
	}
	return math.Round(max(0, end.Sub(i.Started).Seconds())*1000) / 1000
}

// End is how a job ended. A nil one leaves its members out.
type End struct {
	ExitCode *int   `json:"exit_code"` // null where nobody saw it
	Reason   string `json:"completion_reason"`
	Source   string `json:"termination_source"` // "" = it ended by itself
	Limit    string `json:"limit,omitempty"`
}

func endOf(i environment.JobInfo) *End {
	if i.Status != environment.JobExited {
		return nil
	}
	return &End{ExitCode: i.ExitCode, Reason: string(i.End), Source: i.Source, Limit: i.Limit}
}

// Cursor is where the cursor of a terminal stands, counted from 0.
type Cursor struct {
	Row int `json:"row"`
	Col int `json:"col"`
}

// Poll is the answer to poll.
type Poll struct {
	ID      string  `json:"session_id"`
	Command string  `json:"command"`
	Status  string  `json:"status"`
	PID     int     `json:"pid"`
	Uptime  float64 `json:"uptime_seconds"`
	Preview string  `json:"output_preview"`
	Log     string  `json:"log_path"`
	*End
	Screen       *string                  `json:"screen,omitempty"`
	Cursor       *Cursor                  `json:"cursor,omitempty"`
	Size         *environment.Size        `json:"size,omitempty"`
	Waiting      *bool                    `json:"waiting_for_input,omitempty"`
	StillRunning []environment.ProcessRef `json:"still_running,omitempty"`
	Note         string                   `json:"note,omitempty"`
}

// Poll shows how the job stands.
func (j Job) Poll(ctx context.Context) (Poll, error) {
	i := j.info
	p := Poll{
		ID: i.ID, Command: j.t.o.Redact(i.Command), Status: string(i.Status), PID: i.PID, Uptime: uptime(i), Preview: j.t.tail(i, pollChars),
		Log: string(i.Log), End: endOf(i), Size: i.Terminal, Waiting: i.Waiting, StillRunning: j.t.refs(i.StillRunning), Note: i.Note,
	}
	if i.Terminal == nil || i.Detached {
		return p, nil
	}
	s, err := j.process.Screen(ctx)
	switch {
	case errors.Is(err, environment.ErrUnsupported): // nobody has it any more
	case err != nil:
		return p, fmt.Errorf("read the screen of %s: %w", i.ID, err)
	default:
		text := j.t.o.Redact(s.Text)
		p.Screen, p.Cursor, p.Size = &text, &Cursor{s.Row, s.Col}, &s.Size
	}
	return p, nil
}

// Log is the answer to log.
type Log struct {
	ID      string `json:"session_id"`
	Status  string `json:"status"`
	Output  string `json:"output"`
	Total   int    `json:"total_lines"`
	Showing string `json:"showing"`
	Path    string `json:"log_path"`
	Dropped int    `json:"dropped,omitempty"`

	Next int `json:"-"` // the line behind those that are shown
}

// Log shows limit lines of the output from a line on, counted from 0 over the whole life of the job; below 0 the last ones.
func (j Job) Log(ctx context.Context, offset, limit int) (Log, error) {
	p, err := j.process.Log(ctx, offset, limit)
	if err != nil {
		return Log{}, fmt.Errorf("read the output of %s: %w", j.info.ID, err)
	}
	l := Log{
		ID: j.info.ID, Status: string(j.info.Status), Output: j.t.o.Redact(p.Text), Total: p.Total, Showing: "no lines",
		Path: string(j.info.Log), Dropped: p.Dropped, Next: p.First + p.Count,
	}
	if p.Count > 0 {
		l.Showing = fmt.Sprintf("lines %d-%d of %d, counted from 0", p.First, p.First+p.Count-1, p.Total)
	}
	return l, nil
}

// Wait is the answer to wait.
type Wait struct {
	Status string `json:"status"`
	*End
	Output       string                   `json:"output"`
	TimeoutNote  string                   `json:"timeout_note,omitempty"`
	Note         string                   `json:"note,omitempty"`
	StillRunning []environment.ProcessRef `json:"still_running,omitempty"`
}

// The statuses of a wait that didn't see the end.
const (
	WaitTimeout     = "timeout"
	WaitInterrupted = "interrupted"
)

// Wait waits for the end of the job, no longer than d. Its running out is no error, nor is the end of ctx.
func (j Job) Wait(ctx context.Context, d time.Duration) (Wait, error) {
	waiting, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	if err := j.process.Wait(waiting); err != nil && waiting.Err() == nil {
		return Wait{}, fmt.Errorf("wait for %s: %w", j.info.ID, err)
	}
	asking, done := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer done()
	i, err := j.process.Info(asking, endChars+margin)
	switch {
	case err != nil:
		return Wait{}, fmt.Errorf("ask for the state of %s: %w", j.info.ID, err)
	case i.Status == environment.JobExited:
		return Wait{Status: string(i.Status), End: endOf(i), Output: j.t.tail(i, endChars), StillRunning: j.t.refs(i.StillRunning), Note: i.Note}, nil
	case ctx.Err() != nil:
		return Wait{Status: WaitInterrupted, Output: j.t.tail(i, waitChars), Note: "the wait was interrupted; the process runs on"}, nil
	}
	return Wait{Status: WaitTimeout, Output: j.t.tail(i, waitChars), TimeoutNote: fmt.Sprintf("waited %g s; the process runs on", d.Seconds())}, nil
}

// askTime bounds a question about a job once its call has ended.
const askTime = 5 * time.Second

// SourceKill is the termination source of jobs that a call of kill ended.
const SourceKill = "process.kill"

// Killed is the answer to kill.
type Killed struct {
	Status    string                   `json:"status"` // killed or already_exited
	ID        string                   `json:"session_id"`
	ExitCode  *int                     `json:"exit_code,omitempty"`
	Reason    string                   `json:"completion_reason,omitempty"`
	Source    string                   `json:"termination_source,omitempty"`
	Survivors []environment.ProcessRef `json:"survivors,omitempty"`
}

// The statuses of a kill.
const (
	KillDone    = "killed"
	KillTooLate = "already_exited"
)

// Kill ends all that the job started, and answers when that is done or nothing more can be done.
func (j Job) Kill(ctx context.Context) (Killed, error) {
	if j.info.Status == environment.JobExited && len(j.info.StillRunning) == 0 {
		return Killed{Status: KillTooLate, ID: j.info.ID, ExitCode: j.info.ExitCode}, nil
	}
	left, err := j.process.Kill(ctx, SourceKill)
	if err != nil {
		return Killed{}, fmt.Errorf("end %s: %w", j.info.ID, err)
	}
	k := Killed{Status: KillDone, ID: j.info.ID, Reason: string(environment.EndKilled), Source: SourceKill, Survivors: j.t.refs(left)}
	if i, err := j.process.Info(ctx, 0); err == nil && i.Status == environment.JobExited { // else what was asked for stands
		k.ExitCode, k.Reason = i.ExitCode, string(i.End)
		if j.info.Status == environment.JobRunning && i.End == environment.EndExited {
			k.Status, k.Reason, k.Source = KillTooLate, "", "" // it came to its own end meanwhile
		}
	}
	return k, nil
}
