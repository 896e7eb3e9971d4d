package resident

import (
	"context"
	"errors"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// opJob opens a stream for one request about jobs: the request goes there, the answer comes back.
const opJob = "job"

// jobOp is what is asked about jobs.
type jobOp string

const (
	jobStart  jobOp = "start"
	jobList   jobOp = "list"
	jobFind   jobOp = "find"
	jobAdopt  jobOp = "adopt"
	jobForget jobOp = "forget"
	jobEvents jobOp = "events"
	jobTaken  jobOp = "taken"
	jobInfo   jobOp = "info"
	jobWait   jobOp = "wait"
	jobKill   jobOp = "kill"
	jobWrite  jobOp = "write"
	jobKeys   jobOp = "keys"
	jobClose  jobOp = "close"
	jobResize jobOp = "resize"
	jobScreen jobOp = "screen"
	jobLog    jobOp = "log"
)

// jobRequest is one request. ID names the job, or for taken the event.
type jobRequest struct {
	Op      jobOp             `json:"op"`
	ID      string            `json:"id,omitempty"`
	Start   *startRequest     `json:"start,omitempty"`
	Preview int               `json:"preview,omitempty"`
	Source  string            `json:"source,omitempty"`
	Data    []byte            `json:"data,omitempty"`
	Keys    []string          `json:"keys,omitempty"`
	Size    *environment.Size `json:"size,omitempty"`
	Offset  int               `json:"offset,omitempty"`
	Limit   int               `json:"limit,omitempty"`

	Labels   map[string]string     `json:"labels,omitempty"`
	Leftover *environment.Leftover `json:"leftover,omitempty"`
}

// startRequest is a job on its way.
type startRequest struct {
	Job   environment.Job `json:"job"`
	State *snapshot       `json:"state,omitempty"`
	Base  *baseRequest    `json:"base,omitempty"` // nil = that of the place
	Grace time.Duration   `json:"grace,omitempty"`
	Sudo  *string         `json:"sudo,omitempty"` // what its sudo is told; kept in memory until the job is over
}

// baseRequest is what a place gives a command.
type baseRequest struct {
	Environ []string `json:"environ"`
	Home    string   `json:"home"`
	Temp    string   `json:"temp"`
	Login   string   `json:"login,omitempty"` // text for the shell
}

// jobAnswer answers a request.
type jobAnswer struct {
	Info   *environment.JobInfo     `json:"info,omitempty"`
	Jobs   []environment.JobInfo    `json:"jobs,omitempty"`
	Events []environment.JobEvent   `json:"events,omitempty"`
	Left   []environment.ProcessRef `json:"left,omitempty"`
	Bytes  int                      `json:"bytes,omitempty"`
	Screen *environment.Screen      `json:"screen,omitempty"`
	Page   *environment.LogPage     `json:"page,omitempty"`
	Error  *failure                 `json:"error,omitempty"`
}

// listPreview is how many characters of output a list shows of each job.
const listPreview = 200

// asker sends a request and gives the answer. The error is that of the transport; what the far side says stands in the answer.
type asker interface {
	ask(ctx context.Context, r jobRequest) (jobAnswer, error)
}

// askFor is ask with one error.
func askFor(ctx context.Context, a asker, r jobRequest) (jobAnswer, error) {
	answer, err := a.ask(ctx, r)
	if err == nil {
		err = answer.Error.err()
	}
	return answer, err
}

// farJob is a job that is kept elsewhere.
type farJob struct {
	at    asker
	id    string
	stood environment.JobInfo // when it was given
}

var (
	_ environment.Process   = farJob{}
	_ environment.Described = farJob{}
)

// Standing tells how the job stood when it was given.
func (j farJob) Standing() environment.JobInfo { return j.stood }

// farJobOf is the job that an answer gives.
func farJobOf(at asker, a jobAnswer, err error) (environment.Process, error) {
	switch {
	case err != nil:
		return nil, err
	case a.Info == nil:
		return nil, &environment.Error{Kind: environment.ErrLost, Op: "find a job", Err: errors.New("the answer names none")}
	}
	return farJob{at, a.Info.ID, *a.Info}, nil
}

// Info tells how the job stands.
func (j farJob) Info(ctx context.Context, preview int) (environment.JobInfo, error) {
	a, err := askFor(ctx, j.at, jobRequest{Op: jobInfo, ID: j.id, Preview: preview})
	if a.Info == nil {
		a.Info = &environment.JobInfo{}
	}
	return *a.Info, err
}

// Wait waits for the end of the command.
func (j farJob) Wait(ctx context.Context) error {
	_, err := askFor(ctx, j.at, jobRequest{Op: jobWait, ID: j.id})
	return err
}

// Kill ends all that the job started.
func (j farJob) Kill(ctx context.Context, source string) ([]environment.ProcessRef, error) {
	a, err := askFor(ctx, j.at, jobRequest{Op: jobKill, ID: j.id, Source: source})
	return a.Left, err
}

// Write sends bytes to its input.
func (j farJob) Write(ctx context.Context, b []byte) (int, error) {
	a, err := askFor(ctx, j.at, jobRequest{Op: jobWrite, ID: j.id, Data: b})
	return a.Bytes, err
}

// Keys presses keys.
func (j farJob) Keys(ctx context.Context, names []string) error {
	_, err := askFor(ctx, j.at, jobRequest{Op: jobKeys, ID: j.id, Keys: names})
	return err
}

// CloseInput ends its input.
func (j farJob) CloseInput(ctx context.Context) error {
	_, err := askFor(ctx, j.at, jobRequest{Op: jobClose, ID: j.id})
	return err
}

// Resize changes the terminal's size.
func (j farJob) Resize(ctx context.Context, z environment.Size) error {
	_, err := askFor(ctx, j.at, jobRequest{Op: jobResize, ID: j.id, Size: &z})
	return err
}

// Screen tells what stands on the terminal.
func (j farJob) Screen(ctx context.Context) (environment.Screen, error) {
	a, err := askFor(ctx, j.at, jobRequest{Op: jobScreen, ID: j.id})
	if a.Screen == nil {
		a.Screen = &environment.Screen{}
	}
	return *a.Screen, err
}

// Log reads lines of its output.
func (j farJob) Log(ctx context.Context, offset, limit int) (environment.LogPage, error) {
	a, err := askFor(ctx, j.at, jobRequest{Op: jobLog, ID: j.id, Offset: offset, Limit: limit})
	if a.Page == nil {
		a.Page = &environment.LogPage{}
	}
	return *a.Page, err
}

// startAt starts a job elsewhere.
func startAt(ctx context.Context, a asker, s startRequest) (environment.Process, error) {
	if len(s.Job.Command.Extra) > 0 {
		return nil, &environment.Error{Kind: environment.ErrUnsupported, Op: "hand over a descriptor", Err: errors.New("a job has none of its starter")}
	}
	if secret := s.Job.Command.SudoSecret; secret != nil { // the job may ask when nobody of its starter is there any more
		v, err := secret(ctx)
		if err != nil {
			return nil, &environment.Error{Kind: environment.ErrNotStarted, Op: "find the password for sudo", Err: err}
		}
		s.Sudo = &v
	}
	s.State = snapshotOf(s.Job.Command.State)
	answer, err := askFor(ctx, a, jobRequest{Op: jobStart, Start: &s})
	return farJobOf(a, answer, err)
}

func jobsAt(ctx context.Context, a asker, preview int) ([]environment.JobInfo, error) {
	answer, err := askFor(ctx, a, jobRequest{Op: jobList, Preview: preview})
	return answer.Jobs, err
}

func attachAt(ctx context.Context, a asker, id string) (environment.Process, error) {
	answer, err := askFor(ctx, a, jobRequest{Op: jobFind, ID: id, Preview: environment.DescribedPreview})
	return farJobOf(a, answer, err)
}

func adoptAt(ctx context.Context, a asker, l environment.Leftover) (environment.Process, error) {
	answer, err := askFor(ctx, a, jobRequest{Op: jobAdopt, Leftover: &l})
	return farJobOf(a, answer, err)
}

func forgetAt(ctx context.Context, a asker, id string) error {
	_, err := askFor(ctx, a, jobRequest{Op: jobForget, ID: id})
	return err
}

func eventsAt(ctx context.Context, a asker, labels map[string]string) ([]environment.JobEvent, error) {
	answer, err := askFor(ctx, a, jobRequest{Op: jobEvents, Labels: labels})
	return answer.Events, err
}

func takenAt(ctx context.Context, a asker, id string) error {
	_, err := askFor(ctx, a, jobRequest{Op: jobTaken, ID: id})
	return err
}
