//go:build linux || darwin

package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hermes-runtime/hermes/internal/engine/group"
)

// A runtime that runs commands has a record below its home: a file named after it, gone when it closes in order. What a runtime left
// that died with its guard is found by that name. The lines of the file are groups that are meant to go on: what a command left
// running when it ended by itself.
const (
	recordDir    = "run"
	recordPrefix = "commands-"
	sweepGrace   = 500 * time.Millisecond
)

// record is this process's own. A nil one does nothing.
type record struct {
	path string
	mu   sync.Mutex
	made bool
}

// records numbers the engines of this process: each has a file of its own.
var records atomic.Uint64

func newRecord(home string, o group.Owner) *record {
	if home == "" {
		return nil
	}
	return &record{path: filepath.Join(home, recordDir, recordPrefix+o.String()+"."+strconv.FormatUint(records.Add(1), 10))}
}

// begin makes the file, once. Failing that there is none: the guard remains.
func (r *record) begin() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.made {
		r.made = r.append("") == nil
	}
}

// left notes a group that goes on.
func (r *record) left(id string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.append(id + "\n") // at worst it is ended after a crash
}

func (r *record) append(text string) error {
	if err := os.MkdirAll(filepath.Dir(r.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(r.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func (r *record) remove() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	os.Remove(r.path)
}

// Sweep ends what runtimes of the same home left that died without closing and whose guard missed it. It returns at once; Close
// waits for the work.
func (e *Engine) Sweep() {
	if e.o.Home == "" {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	dir := filepath.Join(e.o.Home, recordDir)
	files, _ := os.ReadDir(dir) // no directory: no runtime before us
	dead := map[group.Owner][]string{}
	for _, f := range files {
		id, ours := strings.CutPrefix(f.Name(), recordPrefix)
		if !ours {
			continue
		}
		if o, err := group.ParseOwner(id); err == nil && !o.Alive() {
			dead[o] = append(dead[o], filepath.Join(dir, f.Name()))
		}
	}
	for o, files := range dead {
		e.calls.Go(func() { e.sweep(o, files) })
	}
	e.calls.Go(group.Tidy)
}

// sweep ends what a dead owner left, as its records tell.
func (e *Engine) sweep(o group.Owner, files []string) {
	var goOn []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return // another runtime was faster
		}
		goOn = append(goOn, strings.Fields(string(b))...)
	}
	if o.ThisBoot() {
		for _, g := range group.Orphans(o, goOn) {
			left := g.End(sweepGrace)
			g.Close()
			e.o.Log.Warn("ended what a runtime that died had left running", "group", g.ID(), "survivors", len(left))
		}
	}
	for _, f := range files {
		os.Remove(f)
	}
}
