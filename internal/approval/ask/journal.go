package ask

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/internal/atomicfile"
)

const (
	journalFile = "requests.jsonl"
	// journalSize is where the journal is made shorter: what is open stays whole, of the rest the outcomes of the newest.
	journalSize = 1 << 20
	// journalMost bounds what is read, in case others wrote there: the end counts.
	journalMost = 16 << 20
	// journalEnded is how many outcomes a shortened journal keeps.
	journalEnded = 2000
	// lineMost bounds one line.
	lineMost = 64 << 10
	// commandMost is how much of a command is kept: enough for a person to know which one it was.
	commandMost = 2 << 10
	// lockTime bounds the wait for the journal.
	lockTime = 2 * time.Second
	// probeTime is how long a look at another process's lock takes at most.
	probeTime = 20 * time.Millisecond
)

// journal is the file in which requests outlive their process. Many processes share it. A nil journal writes nothing.
type journal struct {
	dir, path string
	owner     string
	alive     *atomicfile.Held // held as long as this process may answer for its requests
	redact    func(string) string
}

// openJournal takes a name in the journal and expires what dead processes left open.
func openJournal(ctx context.Context, dir string, redact func(string) string) (*journal, []Request, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	j := &journal{dir: dir, path: filepath.Join(dir, journalFile), owner: newID(), redact: redact}
	held, err := atomicfile.Lock(ctx, j.lockOf(j.owner))
	if err != nil {
		return nil, nil, err
	}
	j.alive = held
	var orphans []Request
	err = j.locked(ctx, func() error {
		orphans, err = j.sweep()
		return err
	})
	if err != nil {
		return nil, nil, errors.Join(err, j.close())
	}
	return j, orphans, nil
}

func (j *journal) lockOf(owner string) string { return filepath.Join(j.dir, "owner-"+owner+".lock") }

// locked runs f while no other process touches the journal.
func (j *journal) locked(ctx context.Context, f func() error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	held, err := atomicfile.Lock(ctx, j.path+".lock")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Unlock()) }()
	return f()
}

// sweep expires the open requests of dead processes. The caller holds the lock.
func (j *journal) sweep() ([]Request, error) {
	all, err := j.read()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	dead := map[string]bool{}
	var expired []record
	var orphans []Request
	for _, r := range all {
		if r.Status != Pending {
			continue
		}
		gone, known := dead[r.Owner]
		if !known {
			gone = j.dead(r.Owner)
			dead[r.Owner] = gone
		}
		if !gone {
			continue
		}
		end := record{ID: r.ID, Status: Expired, Ended: now}
		r.add(end)
		expired, orphans = append(expired, end), append(orphans, r.request())
	}
	if err := j.write(expired...); err != nil {
		return nil, err
	}
	for owner, gone := range dead {
		if gone && plainOwner(owner) {
			_ = os.Remove(j.lockOf(owner)) // it holds nothing open any more
		}
	}
	return orphans, nil
}

// plainOwner tells whether a name is one that newID made: it becomes part of a path.
func plainOwner(s string) bool { return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == "" }

// dead tells whether the process that asked is gone: its lock ends with it.
func (j *journal) dead(owner string) bool {
	if owner == j.owner {
		return false
	}
	if !plainOwner(owner) {
		return true
	}
	path := j.lockOf(owner)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	held, err := atomicfile.Lock(ctx, path)
	if err != nil {
		return false
	}
	_ = held.Unlock()
	return true
}

func (j *journal) asked(ctx context.Context, r Request) error {
	if j == nil {
		return nil
	}
	line := record{ID: r.ID, Owner: j.owner, Status: Pending, Kind: r.Kind, Text: shortened(j.redact(r.Text)), Session: r.Session, Task: r.Task, Call: r.Call, Surface: r.Surface,
		Owners: r.Owners, Command: shortened(j.redact(r.Command)), Choices: r.Choices, Created: r.Created, Expires: r.Expires}
	for _, f := range r.Findings {
		if len(line.Findings) < 20 && !slices.Contains(line.Findings, f.Key) {
			line.Findings = append(line.Findings, f.Key)
		}
	}
	return j.locked(ctx, func() error { return j.write(line) })
}

func shortened(s string) string {
	if len(s) <= commandMost {
		return s
	}
	return strings.ToValidUTF8(s[:commandMost/2], "") + " … " + strings.ToValidUTF8(s[len(s)-commandMost/2:], "")
}

func (j *journal) delivered(id, name, receipt string) error {
	return j.later(record{ID: id, Receipts: map[string]string{name: receipt}})
}

func (j *journal) ended(r Request) error {
	if j == nil {
		return nil
	}
	return j.later(record{ID: r.ID, Status: r.Status, Choice: r.Choice, Answer: shortened(j.redact(r.Answer)), Keys: r.Keys, Who: r.Who, Ended: r.Ended})
}

func (j *journal) later(r record) error {
	if j == nil {
		return nil
	}
	return j.locked(context.Background(), func() error { return j.write(r) })
}

// find returns a request of any process, expired if its own is gone.
func (j *journal) find(ctx context.Context, id string) (r Request, err error) {
	if j == nil {
		return r, ErrUnknown
	}
	err = j.locked(ctx, func() error {
		all, err := j.read()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(r record) bool { return r.ID == id })
		if i < 0 {
			return ErrUnknown
		}
		if all[i].Status == Pending && j.dead(all[i].Owner) {
			end := record{ID: id, Status: Expired, Ended: time.Now()}
			all[i].add(end)
			err = j.write(end)
		}
		r = all[i].request()
		return err
	})
	return r, err
}

// write appends lines, and makes the file shorter when it is long. The caller holds the lock.
func (j *journal) write(records ...record) error {
	if len(records) == 0 {
		return nil
	}
	var text bytes.Buffer
	for _, r := range records {
		line, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("encode request %s: %w", r.ID, err)
		}
		if len(line) > lineMost {
			return fmt.Errorf("request %s makes a line of %d bytes, %d are allowed", r.ID, len(line), lineMost)
		}
		text.Write(append(line, '\n'))
	}
	f, err := os.OpenFile(j.path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	size, err := appendLines(f, text.Bytes())
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("append to %s: %w", j.path, err)
	}
	if size < journalSize {
		return nil
	}
	return j.shorten()
}

// appendLines writes lines that are on disk when it returns. A torn last line, of a process that died in the middle, is ended first.
func appendLines(f *os.File, lines []byte) (int64, error) {
	if err := f.Chmod(0o600); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	var last [1]byte
	if n := info.Size(); n > 0 {
		if _, err := f.ReadAt(last[:], n-1); err == nil && last[0] != '\n' {
			lines = append([]byte{'\n'}, lines...)
		}
	}
	if _, err := f.Write(lines); err != nil {
		return 0, err
	}
	return info.Size() + int64(len(lines)), f.Sync()
}

// shorten keeps what is open and the newest outcomes.
func (j *journal) shorten() error {
	all, err := j.read()
	if err != nil {
		return err
	}
	var keep []record
	ended := 0
	for _, r := range slices.Backward(all) {
		if r.Status != Pending {
			if ended++; ended > journalEnded {
				continue
			}
			r = record{ID: r.ID, Status: r.Status, Session: r.Session, Choice: r.Choice, Keys: r.Keys, Who: r.Who, Created: r.Created, Ended: r.Ended}
		}
		keep = append(keep, r)
	}
	slices.Reverse(keep)
	var text bytes.Buffer
	for _, r := range keep {
		line, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("encode request %s: %w", r.ID, err)
		}
		text.Write(append(line, '\n'))
	}
	return atomicfile.Write(j.path, text.Bytes(), 0o600)
}

// close gives up the name: what is still open under it is expired by the next process.
func (j *journal) close() error {
	if j == nil {
		return nil
	}
	if err := j.alive.Unlock(); err != nil {
		return fmt.Errorf("give up the name in the journal: %w", err)
	}
	if err := os.Remove(j.lockOf(j.owner)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("give up the name in the journal: %w", err)
	}
	return nil
}
