//go:build linux || darwin

package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/ansi"
	"github.com/hermes-runtime/hermes/internal/engine"
	"github.com/hermes-runtime/hermes/internal/textcap"
)

const (
	// writePatience is how long a full pipe or terminal is waited for.
	writePatience = 5 * time.Second
	// endTime bounds the wait for a receipt once the ladder is over.
	endTime = 5 * time.Second
)

// job is one job of a table, whether it runs, has ended, or was found after its keeper died.
type job struct {
	t     *Table
	dir   string
	rec   record        // doesn't change once begun is closed
	begun chan struct{} // closed when the start is over, one way or the other
	over  chan struct{} // closed when the command has ended and its receipt is written

	log    *journal // nil unless held
	sink   io.WriteCloser
	screen *screen // nil without a terminal
	watch  *watcher

	mu     sync.Mutex
	st     *engine.Started // nil unless held
	rcpt   *receipt        // nil while it runs
	ending *ending         // who ends it
	left   []environment.ProcessRef
	lost   *counts // of a log that isn't written here
	seen   stamp   // of that log, when it was counted
	after  bool    // the command has ended and others of its group go on
	away   bool    // another process keeps it, one of another version: what it has to tell is told there
	life   *time.Timer
	typed  []byte // the end of what was written to it
}

// ending is why a job is being ended.
type ending struct {
	As     environment.JobEnd `json:"completion_reason"`
	Source string             `json:"termination_source"`
}

var (
	_ environment.Process   = (*job)(nil)
	_ environment.Described = (*job)(nil)
)

func newJob(t *Table, id string) *job {
	return &job{t: t, dir: filepath.Join(t.o.Dir, id), begun: make(chan struct{}), over: make(chan struct{})}
}

// start starts the command. The record is on the disk before it gets its go; one that can't start has a record that says so.
func (j *job) start(ctx context.Context, s Spec) error {
	defer j.t.changed()
	st, err := j.launch(ctx, s)
	if err != nil {
		j.failed(err)
		return err
	}
	j.mu.Lock()
	j.st = st
	if j.rec.Life > 0 {
		j.life = time.AfterFunc(j.rec.Life, func() { j.kill(ending{environment.EndTimeout, "timeout"}, 0) })
	}
	j.mu.Unlock()
	close(j.begun)
	return nil
}

func (j *job) launch(ctx context.Context, s Spec) (*engine.Started, error) {
	wrong := func(op string, err error) error {
		return &environment.Error{Kind: environment.ErrNotStarted, Op: op, Err: err}
	}
	if z := s.Job.Terminal; z != nil {
		if err := checkSize(*z); err != nil {
			return nil, wrong("give the job a terminal", err)
		}
	}
	j.log = newJournal(filepath.Join(j.dir, logName), j.t.o.LogHead, cmp.Or(s.Job.Bounds.LogBytes, j.t.o.LogTail))
	j.log.warn = func(err error) { j.t.o.Log.Warn("the log of a job is incomplete", "id", j.rec.ID, "error", err) }
	j.watch = newWatcher(j)
	if err := j.filter(s.Job); err != nil {
		return nil, wrong("read the output", err)
	}
	c := s.Job.Command
	c.Timeout, c.Output, c.OnStart = 0, j.sink, nil // the life of the job is ours to end
	if c.Grace == 0 {
		c.Grace = s.Grace
	}
	if c.Environ == nil {
		c.Env = withDefault(c.Env, "PYTHONUNBUFFERED", "1")
	}
	files := make(chan error, 1)
	go func() { files <- j.makeFiles() }() // while the command is made ready: both take about as long
	st, err := j.t.engine.Start(ctx, c, s.Base, engine.Starting{
		Terminal: s.Job.Terminal, KeepStdin: s.Job.KeepStdin, Ended: j.end,
		Ready: func(b engine.Begun) error {
			err := <-files
			files <- err
			if err != nil {
				return err
			}
			j.mu.Lock()
			j.rec.PID, j.rec.Dir, j.rec.Group, j.rec.Start = b.PID, b.Dir, b.Group, b.Group.Start
			j.mu.Unlock()
			if err := putRecord(j.dir, j.rec); err != nil {
				return fmt.Errorf("write the record of the job: %w", err)
			}
			if j.screen != nil {
				j.screen.open()
			}
			return nil
		},
	})
	<-files // they are there, or can't be, whatever became of the command
	return st, err
}

// makeFiles makes what has to lie there before the command runs, besides its record.
func (j *job) makeFiles() error {
	if err := reserve(j.dir); err != nil {
		return fmt.Errorf("keep room for the receipt: %w", err)
	}
	if err := j.log.open(); err != nil {
		return fmt.Errorf("make the log: %w", err)
	}
	return nil
}

// filter makes what output passes on its way to the log.
func (j *job) filter(s environment.Job) error {
	to := io.MultiWriter(j.log, j.watch)
	var next io.WriteCloser = ansi.NewWriter(to)
	if s.Terminal != nil {
		j.screen = newScreen(j, *s.Terminal, to)
		next = j.screen
	}
	text, err := textcap.NewDecoder(next, s.Encoding)
	j.sink = chain{text, next}
	return err
}

// chain is a decoder with what comes behind it.
type chain struct {
	io.WriteCloser
	next io.Closer
}

func (c chain) Close() error { return errors.Join(c.WriteCloser.Close(), c.next.Close()) }

func withDefault(env map[string]string, name, value string) map[string]string {
	if _, set := env[name]; set {
		return env
	}
	out := map[string]string{name: value}
	for k, v := range env {
		out[k] = v
	}
	return out
}

// failed completes a job that never began.
func (j *job) failed(why error) {
	r := receipt{Format: format, End: environment.EndFailedStart, Ended: time.Now(), GroupOver: true, Note: why.Error()}
	if j.log != nil {
		j.log.close()
	}
	if j.screen != nil {
		_ = j.screen.Close()
	}
	if err := errors.Join(putRecord(j.dir, j.rec), putReceipt(j.dir, r)); err != nil {
		j.t.o.Log.Warn("a job that could not start left no record", "id", j.rec.ID, "error", err)
	}
	j.mu.Lock()
	j.rcpt = &r
	j.mu.Unlock()
	close(j.begun)
	close(j.over)
}

// ready reports whether the start is over.
func (j *job) ready() bool {
	select {
	case <-j.begun:
		return true
	default:
		return false
	}
}

// holds reports whether the job counts as running.
func (j *job) holds() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.rcpt == nil
}

// lingers reports whether others of its group go on after its end.
func (j *job) lingers() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.after
}

// held reports whether there is something for this process to end.
func (j *job) held() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.st != nil && (j.rcpt == nil || j.after)
}

// handle gives the running command, nil where this process doesn't hold it.
func (j *job) handle() *engine.Started {
	<-j.begun
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.st
}

// Wait waits for the end of the command.
func (j *job) Wait(ctx context.Context) error {
	for {
		every := time.Hour
		if j.detached() {
			every = 50 * time.Millisecond // nothing tells of its end
		}
		timer := time.NewTimer(every)
		select {
		case <-j.over:
			timer.Stop()
			return nil
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
			j.look()
		}
	}
}

// Kill ends all that the job started.
func (j *job) Kill(_ context.Context, source string) ([]environment.ProcessRef, error) {
	return j.kill(ending{environment.EndKilled, source}, 0), nil
}

func (j *job) kill(e ending, grace time.Duration) []environment.ProcessRef {
	st := j.handle()
	j.mu.Lock()
	if j.rcpt == nil && j.ending == nil {
		j.ending = &e
	}
	done := j.rcpt != nil && !j.after
	j.mu.Unlock()
	switch {
	case done:
		return nil
	case st == nil:
		return j.killDetached(grace)
	}
	left := st.Kill(grace)
	if len(left) == 0 {
		t := time.NewTimer(endTime)
		defer t.Stop()
		select {
		case <-j.over:
		case <-t.C:
		}
	}
	j.look()
	return left
}

// Write sends bytes to its input.
func (j *job) Write(_ context.Context, b []byte) (int, error) {
	st, err := j.input()
	if err != nil {
		return 0, err
	}
	n, err := st.Write(b, writePatience)
	j.remember(b[:n])
	return n, err
}

// remember keeps the end of what was written. It stays in memory: passwords may be in it.
func (j *job) remember(b []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.typed = append(j.typed, b...)
	if extra := len(j.typed) - environment.TypedKept; extra > 0 {
		j.typed = append([]byte(nil), j.typed[extra:]...)
	}
}

// endOfFile is the character that a terminal takes for the end of its input.
const endOfFile = 0x04

// input says why nothing can be written.
func (j *job) input() (*engine.Started, error) {
	st := j.handle()
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.rcpt != nil:
		return nil, fmt.Errorf("the job has ended: %w", io.ErrClosedPipe)
	case j.rec.Leftover:
		return nil, fmt.Errorf("a command left it running, which had its input: %w", io.ErrClosedPipe)
	case st == nil && j.away:
		return nil, fmt.Errorf("%s: %w", keptNote, io.ErrClosedPipe)
	case st == nil:
		return nil, fmt.Errorf("the keeper that held the job's input is gone: %w", io.ErrClosedPipe)
	case j.rec.Terminal == nil && !j.rec.KeepStdin:
		return nil, fmt.Errorf("the job was started without input: start it with keep_stdin or with pty: %w", io.ErrClosedPipe)
	}
	return st, nil
}

// CloseInput ends its input.
func (j *job) CloseInput(context.Context) error {
	st, err := j.input()
	if err != nil {
		return err
	}
	err = st.CloseInput()
	if err == nil && j.rec.Terminal != nil {
		j.remember([]byte{endOfFile})
	}
	return err
}
