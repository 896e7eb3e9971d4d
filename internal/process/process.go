// Package process is one table over all keepers of background jobs: whose each job is, who may see it, what it shows, and the delivery
// of what it has to tell.
package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// Home is a place that keeps jobs.
type Home struct {
	Key  string // of the environment
	Keep environment.Keeper
}

// Options makes a Table. The zero value is a table without places.
type Options struct {
	// Homes gives the places that may keep jobs. They are held until ctx ends. The error says which could not be asked; those that
	// could are given all the same.
	Homes func(ctx context.Context) ([]Home, error)
	// Elsewhere gives further places that may keep jobs of the user, those of other configurations. Only the user themself is shown them.
	// The error says which can't be seen. nil = there are none.
	Elsewhere func(ctx context.Context) ([]Home, error)
	// Note is told of the place before a job is started there, so that Homes finds it again after a restart; nil = nobody is. An error
	// refuses the start.
	Note   func(environment.Info) error
	Bounds environment.JobBounds // of every job; the zero value leaves them to who keeps it
	// ForgetWithSession has what has ended be forgotten once its session ends, before Bounds.Keep is over.
	ForgetWithSession bool

	Redact func(string) string // takes secrets out of what jobs print; nil = nothing is taken out
	Log    *slog.Logger        // nil = nothing is logged
}

// Table is all jobs of a user. It is safe for concurrent use and holds nothing open.
type Table struct {
	o Options
}

// New makes a table. It does no I/O.
func New(o Options) *Table {
	if o.Redact == nil {
		o.Redact = func(s string) string { return s }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Table{o: o}
}

func (t *Table) homes(ctx context.Context) ([]Home, error) {
	if t.o.Homes == nil {
		return nil, nil
	}
	return t.o.Homes(ctx)
}

// homesFor gives the places where a caller may have jobs.
func (t *Table) homesFor(ctx context.Context, by Caller) ([]Home, error) {
	homes, failed := t.homes(ctx)
	if !by.User || t.o.Elsewhere == nil {
		return homes, failed
	}
	more, err := t.o.Elsewhere(ctx)
	return append(homes, more...), errors.Join(failed, err)
}

// Start starts a job in a place. The error matches environment.ErrUnsupported where the place can't have jobs. A start isn't broken off
// halfway, where nobody would know what has begun: if ctx ends meanwhile the job is given all the same, and is its starter's to end.
func (t *Table) Start(ctx context.Context, place environment.Place, s Start) (Job, error) {
	starter, ok := place.Environment.(environment.Starter)
	if !ok {
		return Job{}, &environment.Error{Kind: environment.ErrUnsupported, Op: "start a background job", Err: errors.New(Lacking(place.Info()))}
	}
	if t.o.Note != nil {
		if err := t.o.Note(place.Info()); err != nil {
			return Job{}, &environment.Error{Kind: environment.ErrNotStarted, Op: "start a background job", Err: err}
		}
	}
	s.Job.Labels, s.Job.Bounds = s.labels(), t.o.Bounds
	s.Job.Shown = t.o.Redact(cmp.Or(s.Job.Shown, s.Job.Command.Script))
	if err := ctx.Err(); err != nil {
		return Job{}, &environment.Error{Kind: environment.ErrNotStarted, Op: "start a background job", Err: context.Cause(ctx)}
	}
	ctx, cancel := outlast(ctx, startTime)
	defer cancel()
	p, err := starter.Start(ctx, s.Job)
	if err != nil {
		return Job{}, err
	}
	return t.job(ctx, p)
}

// startTime is how much longer than its context a start may take.
const startTime = 10 * time.Second

// outlast is a context that ends some time after another.
func outlast(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		late := time.AfterFunc(by, func() { cancel(context.Cause(ctx)) })
		context.AfterFunc(longer, func() { late.Stop() })
	})
	return longer, func() { stop(); cancel(nil) }
}

// Adopt gives what a command of the session left running an entry that belongs to the session.
func (t *Table) Adopt(ctx context.Context, place environment.Place, s Start, r environment.Result) (Job, error) {
	k, ok := place.Environment.(environment.Keeper)
	if !ok || r.LeftGroup == "" {
		return Job{}, &environment.Error{Kind: environment.ErrUnsupported, Op: "list what a command left running", Err: errors.New(Lacking(place.Info()))}
	}
	if t.o.Note != nil {
		if err := t.o.Note(place.Info()); err != nil {
			return Job{}, err
		}
	}
	s.Kind = KindLeftover
	p, err := k.Adopt(ctx, environment.Leftover{
		Group: r.LeftGroup, Left: t.refs(r.Left), Shown: t.o.Redact(cmp.Or(s.Job.Shown, s.Job.Command.Script)), Dir: r.Dir,
		Labels: s.labels(), Bounds: t.o.Bounds,
	})
	if err != nil {
		return Job{}, err
	}
	return t.job(ctx, p)
}

// AbilityJobs and AbilityTerminal are under what a place says why it has no jobs, and why they get no terminal.
const (
	AbilityJobs     = "jobs"
	AbilityTerminal = "pty"
)

// Lacking says why a place has no jobs.
func Lacking(i environment.Info) string {
	return cmp.Or(i.Lacking[AbilityJobs], "commands can't go on in the background in this environment")
}

// ErrUnknown is the kind of an error for an id that names no job which the caller may see.
var ErrUnknown = errors.New("no such process")

// ErrAmbiguous is the kind of an error for the beginning of several ids.
var ErrAmbiguous = errors.New("several processes begin so")

// Find finds a job of the caller. One that isn't theirs is as unknown as one that there isn't.
func (t *Table) Find(ctx context.Context, by Caller, id string) (Job, error) {
	homes, failed := t.homesFor(ctx, by)
	for _, h := range homes {
		p, err := h.Keep.Attach(ctx, id)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				failed = errors.Join(failed, fmt.Errorf("ask environment %s for process %s: %w", h.Key, id, err))
			}
			continue
		}
		j, err := t.job(ctx, p)
		if err != nil {
			return Job{}, err
		}
		if !by.sees(j.info.Labels) {
			break
		}
		return j, nil
	}
	if failed != nil {
		return Job{}, failed // it may be there
	}
	return Job{}, fmt.Errorf("%w: %q; list shows those that there are", ErrUnknown, id)
}

// Resolve completes the beginning of an id, or its beginning behind "proc_".
func (t *Table) Resolve(ctx context.Context, by Caller, prefix string) (string, error) {
	all, err := t.all(ctx, by)
	var found []string
	for i := range all {
		switch id := all[i].ID; {
		case id == prefix:
			return id, nil
		case prefix != "" && (strings.HasPrefix(id, prefix) || strings.HasPrefix(id, "proc_"+prefix)):
			found = append(found, id)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		slices.Sort(found)
		return "", fmt.Errorf("%w with %q: %s", ErrAmbiguous, prefix, strings.Join(found, ", "))
	case err != nil:
		return "", err
	}
	return "", fmt.Errorf("%w: %q", ErrUnknown, prefix)
}

// all lists the jobs that a caller sees, those that run first and the youngest of each kind before the others.
func (t *Table) all(ctx context.Context, by Caller) ([]environment.JobInfo, error) {
	homes, failed := t.homesFor(ctx, by)
	var out []environment.JobInfo
	for _, h := range homes {
		list, err := h.Keep.Jobs(ctx)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("list the processes of environment %s: %w", h.Key, err))
			continue
		}
		for i := range list {
			if by.sees(list[i].Labels) {
				out = append(out, list[i])
			}
		}
	}
	slices.SortStableFunc(out, func(a, b environment.JobInfo) int {
		if r := running(b) - running(a); r != 0 {
			return r
		}
		return b.Started.Compare(a.Started)
	})
	return slices.CompactFunc(out, func(a, b environment.JobInfo) bool { return a.ID == b.ID }), failed
}

func running(i environment.JobInfo) int {
	if i.Status == environment.JobRunning {
		return 1
	}
	return 0
}

// Busy reports whether jobs run in a place, or have left someone running there.
func (t *Table) Busy(ctx context.Context, place environment.Environment) bool {
	k, ok := place.(environment.Keeper)
	if !ok {
		return false
	}
	list, err := k.Jobs(ctx)
	return err != nil || slices.ContainsFunc(list, func(i environment.JobInfo) bool {
		return i.Status == environment.JobRunning || len(i.StillRunning) > 0
	})
}
