//go:build linux || darwin

package jobs

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/group"
)

// format is that of records and receipts. Those of a higher one are shown and left alone.
const format = 1

// record is what is known of a job before it runs: job.json.
type record struct {
	Format    int               `json:"format"`
	ID        string            `json:"session_id"`
	Command   string            `json:"command"`
	Dir       environment.Path  `json:"cwd"`
	PID       int               `json:"pid,omitempty"`
	Start     uint64            `json:"pid_start,omitempty"` // in the unit of the system
	Boot      string            `json:"boot"`
	Scope     string            `json:"pid_scope"` // host or sandbox: whose process table PID belongs to
	Group     group.Record      `json:"group"`
	Keeper    string            `json:"keeper"` // the process that holds it
	Terminal  *environment.Size `json:"pty,omitempty"`
	KeepStdin bool              `json:"keep_stdin,omitempty"`
	Notify    bool              `json:"notify_on_complete,omitempty"`
	Watch     []string          `json:"watch_patterns,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Life      time.Duration     `json:"longest_life,omitempty"` // 0 = as long as it likes
	Started   time.Time         `json:"started_at"`
	Leftover  bool              `json:"leftover,omitempty"`   // a command in the foreground left it running: its group is all there is of it
	Keep      time.Duration     `json:"keep,omitempty"`       // how long it is remembered after its end
	EventKeep time.Duration     `json:"event_keep,omitempty"` // how long what it has to tell waits
}

// eventKeep is how long what the job has to tell waits for somebody to take it.
func (r record) eventKeep() time.Duration { return cmp.Or(r.EventKeep, eventKeep) }

// receipt is how it ended: receipt.json.
type receipt struct {
	Format    int                   `json:"format"`
	ExitCode  *int                  `json:"exit_code"` // null where nobody saw it
	Signal    string                `json:"signal,omitempty"`
	End       environment.JobEnd    `json:"completion_reason"`
	Source    string                `json:"termination_source,omitempty"`
	Limit     string                `json:"limit,omitempty"`
	Ended     time.Time             `json:"ended_at"`
	GroupOver bool                  `json:"group_over"` // nobody of its group was left
	Output    counts                `json:"output"`
	CPU       float64               `json:"cpu_seconds,omitempty"`
	PeakKB    int64                 `json:"peak_memory_kb,omitempty"`
	Note      string                `json:"note,omitempty"`
	Event     *environment.JobEvent `json:"event,omitempty"`
}

// scopes of a process id.
const (
	ScopeHost    = "host"
	ScopeSandbox = "sandbox"
)

// reserved is how much room a receipt is kept on the disk from the start, in bytes: 2,000 characters of output at four bytes each,
// the labels, and the rest.
const reserved = 16 << 10

// reserve keeps room for the receipt.
func reserve(dir string) error {
	return os.WriteFile(filepath.Join(dir, reserveFile), make([]byte, reserved), 0o600)
}

// putRecord writes the record whole or not at all. It isn't synced: after a crash of the machine the job is gone in any case.
func putRecord(dir string, r record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, recordFile)
	if err := os.WriteFile(name+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// putReceipt writes the receipt into the room that was kept for it, synced before it gets its name.
func putReceipt(dir string, r receipt) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, reserveFile)
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	if err == nil {
		err = f.Truncate(int64(len(b)))
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the receipt of %s: %w", filepath.Base(dir), err)
	}
	return os.Rename(name, filepath.Join(dir, receiptFile))
}

// getRecord reads the record of a directory.
func getRecord(dir string) (record, error) {
	var r record
	b, err := os.ReadFile(filepath.Join(dir, recordFile))
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	switch {
	case err != nil:
		return r, err
	case r.ID != filepath.Base(dir):
		return r, fmt.Errorf("it says that it is of %q", r.ID)
	case r.Format < 1:
		return r, fmt.Errorf("format %d", r.Format)
	}
	return r, nil
}

// getReceipt reads the receipt of a directory, nil where there is none.
func getReceipt(dir string) (*receipt, error) {
	var r receipt
	b, err := os.ReadFile(filepath.Join(dir, receiptFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // no receipt is no error
	}
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		return nil, err
	}
	return &r, nil
}
