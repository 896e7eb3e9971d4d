//go:build linux || darwin

package jobs

import (
	"bytes"
	"strings"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/textcap"
)

const (
	// watchWindow lies at least between two events of one job.
	watchWindow = 15 * time.Second
	// watchStrikes is after how many windows in a row with more matches the watching ends.
	watchStrikes = 3
	// longLine is the length from which a line is matched in pieces, in bytes.
	longLine = 8 << 10
	// eventLines bounds the lines of an event.
	eventLines = 20
)

// watcher looks for patterns in finished lines of a job's output. A nil one does nothing.
type watcher struct {
	j        *job
	patterns []string
	overlap  int // bytes that two pieces of a long line share, so that no match is cut
	part     []byte

	mu         sync.Mutex
	window     *time.Timer // nil = none is open
	number     int         // of the next event
	strikes    int
	over, gave bool
	held       held
}

// held is what matched since the last event.
type held struct {
	pattern string
	lines   []string
	n       int
}

func newWatcher(j *job) *watcher {
	w := &watcher{j: j}
	for _, p := range j.rec.Watch {
		if p != "" {
			w.patterns = append(w.patterns, p)
			w.overlap = max(w.overlap, len(p)-1)
		}
	}
	if len(w.patterns) == 0 {
		return nil
	}
	return w
}

// Write takes what was printed. It never fails.
func (w *watcher) Write(b []byte) (int, error) {
	if w == nil {
		return len(b), nil
	}
	all := len(b)
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			break
		}
		line := b[:i]
		if len(w.part) > 0 {
			w.part = append(w.part, line...)
			line = w.part
		}
		w.line(line)
		w.part, b = w.part[:0], b[i+1:]
	}
	for w.part = append(w.part, b...); len(w.part) > max(longLine, 2*w.overlap); {
		w.line(w.part)
		w.part = append(w.part[:0], w.part[len(w.part)-w.overlap:]...)
	}
	if len(w.part) == 0 {
		w.part = nil // a silent job holds no memory
	}
	return all, nil
}

func (w *watcher) line(b []byte) {
	line := string(b)
	for _, p := range w.patterns {
		if strings.Contains(line, p) {
			w.match(p, line)
			return
		}
	}
}

func (w *watcher) match(pattern, line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || w.gave {
		return
	}
	if w.held.n++; w.held.n == 1 {
		w.held.pattern = pattern
	}
	if len(w.held.lines) < eventLines {
		w.held.lines = append(w.held.lines, line)
	}
	if w.window == nil {
		w.held.n--
		w.tell()
		w.open()
	}
}

func (w *watcher) open() { w.window = time.AfterFunc(w.j.t.watchWindow, w.closed) }

// closed is the end of a window: what was held is told, or the window was clean.
func (w *watcher) closed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.window = nil
	switch {
	case w.over || w.gave:
	case w.held.n == 0:
		w.strikes = 0
	default:
		w.strikes++
		w.tell()
		if w.strikes >= watchStrikes {
			w.giveUp()
			return
		}
		w.open()
	}
}

// tell makes an event of what is held. The caller holds mu.
func (w *watcher) tell() {
	e := w.j.event(environment.EventWatch)
	e.ID, e.Pattern, e.Suppressed = w.id(), w.held.pattern, w.held.n
	e.Output = textcap.Head(strings.Join(w.held.lines, "\n"), eventOutput, "…")
	w.held = held{}
	w.j.t.events.watched(w.j, e)
}

func (w *watcher) id() string {
	w.number++
	return w.j.rec.ID + ".w" + itoa(w.number)
}

// giveUp ends the watching of a job that matches all the time: its end is told instead.
func (w *watcher) giveUp() {
	w.gave = true
	e := w.j.event(environment.EventWatchDisabled)
	e.ID = w.id()
	w.j.t.events.watched(w.j, e)
	rec := w.j.rec
	rec.Notify = true
	if err := putRecord(w.j.dir, rec); err != nil {
		w.j.t.o.Log.Warn("the record of a job was not changed", "id", rec.ID, "error", err)
	}
}

// gaveUp reports whether the end of the job is to be told because the watching ended.
func (w *watcher) gaveUp() bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gave
}

// rest takes the line that was never finished, once nothing more comes.
func (w *watcher) rest() {
	if w != nil && len(w.part) > 0 {
		w.line(w.part)
		w.part = nil
	}
}

// finish tells what is held, before the end of the job is: after it no match is told.
func (w *watcher) finish() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.window != nil {
		w.window.Stop()
		w.window = nil
	}
	if w.held.n > 0 && !w.gave {
		w.tell()
	}
	w.over = true
}
