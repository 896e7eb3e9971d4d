//go:build linux || darwin

package jobs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine"
)

const (
	// settleTime is how long the end of a command waits for the end of its output, which nearly always comes with it.
	settleTime = 50 * time.Millisecond
	// readTime bounds the wait for what lies there unread.
	readTime = 500 * time.Millisecond
	// eventOutput is how many characters of output an event brings.
	eventOutput = 2000
)

// end takes the end of the command: the receipt is written at once, whoever it left running.
func (j *job) end() {
	<-j.begun
	st := j.handle()
	ended := time.Now()
	j.settle(st)
	left := st.Members()
	announced := j.announced()
	j.mu.Lock()
	if j.life != nil {
		j.life.Stop()
	}
	if j.ending == nil {
		j.ending = announced
	}
	r := j.receiptOf(st.End())
	j.mu.Unlock()
	r.Ended, r.GroupOver = ended, len(left) == 0
	if r.GroupOver {
		j.letGo(st)
	}
	r.Output = j.log.tally()
	j.complete(&r, left)
	if !r.GroupOver {
		return // tend sees to it
	}
	j.log.close()
}

// receiptOf says how a command ended. The caller holds mu.
func (j *job) receiptOf(e engine.Ended) receipt {
	r := receipt{Format: format, Signal: e.Signal, CPU: e.CPU.Seconds(), PeakKB: e.PeakKB, Limit: e.Limit, End: environment.EndExited, Source: e.Signal}
	code := e.ExitCode
	switch {
	case j.ending != nil && j.ending.As == environment.EndTimeout:
		code, r.End, r.Source = 124, environment.EndTimeout, j.ending.Source
	case j.ending != nil:
		r.End, r.Source = environment.EndKilled, j.ending.Source
		if code = -15; e.Signal == "SIGKILL" {
			code = -9
		}
	case e.Limit != "":
		r.End = environment.EndLimit
	}
	r.ExitCode = &code
	return r
}

// complete makes the end known: on the disk, with its event, then to who waits.
func (j *job) complete(r *receipt, left []environment.ProcessRef) {
	notify := j.rec.Notify || j.watch.gaveUp()
	j.watch.finish()
	if notify {
		r.Event = j.completion(r, left)
	}
	if err := putReceipt(j.dir, *r); err != nil {
		j.t.o.Log.Warn("a job has no receipt on the disk", "id", j.rec.ID, "error", err)
		kept := *r
		j.t.tasks.Go(func() { j.retry(kept) })
	}
	j.mu.Lock()
	j.rcpt, j.left, j.after = r, left, len(left) > 0
	if r.Event != nil { // there for whoever sees the end and wants to say that it was told
		j.t.events.add(j, *r.Event)
	}
	j.mu.Unlock()
	close(j.over)
	j.t.changed()
}

// announce leaves a note of who ends a job that another process keeps, which will see no more of it than a signal.
func (j *job) announce() {
	j.mu.Lock()
	e := j.ending
	j.mu.Unlock()
	if e == nil {
		return
	}
	b, err := json.Marshal(e)
	if err == nil {
		err = os.WriteFile(filepath.Join(j.dir, endingFile), b, 0o600)
	}
	if err != nil {
		j.t.o.Log.Warn("the keeper of a job isn't told who ends it", "id", j.rec.ID, "error", err)
	}
}

// announced is such a note, nil where there is none.
func (j *job) announced() *ending {
	var e ending
	b, err := os.ReadFile(filepath.Join(j.dir, endingFile))
	if err != nil || json.Unmarshal(b, &e) != nil {
		return nil
	}
	return &e
}

func (j *job) completion(r *receipt, left []environment.ProcessRef) *environment.JobEvent {
	e := j.event(environment.EventCompletion)
	e.ID = j.rec.ID + ".end"
	e.ExitCode, e.End, e.Source, e.StillRunning = r.ExitCode, r.End, r.Source, left
	v, err := j.view()
	if err != nil {
		return &e
	}
	defer v.close()
	e.Output, _ = v.end(eventOutput)
	return &e
}

// event makes an event without what it tells.
func (j *job) event(t environment.JobEventType) environment.JobEvent {
	return environment.JobEvent{Type: t, Job: j.rec.ID, Command: j.rec.Command, Time: time.Now(), Labels: j.rec.Labels}
}

// retry writes the receipt once the disk takes it.
func (j *job) retry(r receipt) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-j.t.ctx.Done():
			return
		}
		if putReceipt(j.dir, r) == nil {
			return
		}
	}
}

// settle waits until what the command printed was read.
func (j *job) settle(st *engine.Started) {
	t := time.NewTimer(settleTime)
	defer t.Stop()
	select {
	case <-st.OutputOver():
		return
	case <-t.C:
	}
	for until := time.Now().Add(readTime); st.Unread() > 0 && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
}

// letGo reads what is left of the output and closes what the command had.
func (j *job) letGo(st *engine.Started) {
	st.Drain()
	st.Release()
	_ = j.sink.Close() // what it held goes to the log, which never fails
	j.watch.rest()
}

// finish takes the end of those that the command had left running.
func (j *job) finish() {
	st := j.handle()
	j.mu.Lock()
	if !j.after || j.rcpt == nil {
		j.mu.Unlock()
		return
	}
	r := *j.rcpt
	j.after, j.left = false, nil
	j.mu.Unlock()
	if st != nil {
		j.letGo(st)
		r.Output = j.log.tally()
		j.log.close()
	}
	r.GroupOver = true
	if err := putReceipt(j.dir, r); err != nil {
		j.t.o.Log.Warn("a receipt was not completed", "id", j.rec.ID, "error", err)
	}
	j.mu.Lock()
	j.rcpt = &r
	j.mu.Unlock()
	j.t.changed()
}
