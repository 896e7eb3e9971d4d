// Package cloud keeps places that are paid for from being forgotten, and requests about them from being repeated or led astray: what the
// backends of clouds share.
package cloud

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/atomicfile"
)

// MaxPlaces is the default of terminal.max_sandboxes: how many places of clouds a HERMES_HOME may have running at once.
const MaxPlaces = 8

// ledgerFile and usesDir stand below HERMES_HOME/state.
const (
	ledgerFile = "sandboxes.jsonl"
	usesDir    = "sandboxes"
)

// Record is one place as the ledger knows it, one line of JSON.
type Record struct {
	Backend  string    `json:"backend"`
	Name     string    `json:"name"`         // no other place of the account has it
	ID       string    `json:"id,omitempty"` // "" = it was about to be made
	At       string    `json:"at"`           // base URL of the API
	Account  string    `json:"account"`      // see Account
	Task     string    `json:"task"`
	Owner    string    `json:"owner"` // the HERMES_HOME and machine whose it is
	Created  time.Time `json:"created"`
	Idle     int       `json:"idle_seconds"`     // after which the cloud stops it
	Lifetime int       `json:"lifetime_seconds"` // after which the cloud deletes it, counted as the cloud does
	Kept     bool      `json:"kept,omitempty"`   // at the end of its use it is stopped; others are deleted
	Stopped  time.Time `json:"stopped,omitzero"` // since when it costs no more than its disk
	Uses     []string  `json:"uses,omitempty"`   // names of lock files that its users hold
}

// is tells whether r and o are the same place.
func (r Record) is(o Record) bool { return r.Backend == o.Backend && r.At == o.At && r.Name == o.Name }

// Account stands for a credential in the ledger. It can't be turned back.
func Account(credential string) string { return digest(credential) }

// Ledger is the list of all places of clouds that a HERMES_HOME has made: HERMES_HOME/state/sandboxes.jsonl. A place is in it before it
// is made, and until it is known to be gone. Processes share it.
type Ledger struct{ dir, owner string }

// OpenLedger gives the ledger of a HERMES_HOME; "" = one in the directory for temporary files. owner stands for that home on this machine.
func OpenLedger(home, owner string) (*Ledger, error) {
	l := &Ledger{dir: stateOf(home), owner: owner}
	if err := os.MkdirAll(filepath.Join(l.dir, usesDir), 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the ledger of places: %w", err)
	}
	return l, nil
}

// stateOf is the directory below HERMES_HOME where clouds have their files. Without a home there is one for temporary files.
func stateOf(home string) string {
	if home == "" {
		home = filepath.Join(os.TempDir(), "hermes-"+strconv.Itoa(os.Getuid()))
	}
	return filepath.Join(home, "state")
}

// Path is where the ledger lies.
func (l *Ledger) Path() string { return filepath.Join(l.dir, ledgerFile) }

// List gives what is recorded. Lines that can't be read are left out, and stay where they are.
func (l *Ledger) List() ([]Record, error) {
	all, _, err := l.read()
	return all, err
}

// read gives what is recorded, and the lines that can't be read.
func (l *Ledger) read() (all []Record, unread [][]byte, err error) {
	b, err := os.ReadFile(l.Path())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("read the ledger of places: %w", err)
	}
	all, unread = parse(b)
	return all, unread, nil
}

func parse(b []byte) (all []Record, unread [][]byte) {
	for line := range bytes.Lines(b) {
		var r Record
		switch line = bytes.TrimSpace(line); {
		case len(line) == 0:
		case json.Unmarshal(line, &r) != nil || r.Backend == "" || r.Name == "":
			unread = append(unread, line)
		default:
			all = append(all, r)
		}
	}
	return all, unread
}

// edit changes the ledger, nobody else at the same time.
func (l *Ledger) edit(ctx context.Context, change func([]Record) ([]Record, error)) error {
	err := atomicfile.Update(ctx, l.Path(), 0o600, func(old []byte) ([]byte, error) {
		all, unread := parse(old)
		all, err := change(all)
		if err != nil {
			return nil, err
		}
		var out bytes.Buffer
		for _, r := range all {
			line, err := json.Marshal(r)
			if err != nil {
				return nil, err
			}
			out.Write(append(line, '\n'))
		}
		for _, line := range unread {
			out.Write(append(line, '\n'))
		}
		return out.Bytes(), nil
	})
	if err != nil {
		return fmt.Errorf("write the ledger of places: %w", err)
	}
	return nil
}

// Use is one use of a place. It ends with its process at the latest.
type Use struct {
	l    *Ledger
	r    Record
	id   string
	lock *atomicfile.Held
}

// Enter records that a place is about to be made or used, before either happens. A place that is recorded already has one more use. At
// most max may run at once; 0 = MaxPlaces. Owner, and Created of a new one, are filled in.
func (l *Ledger) Enter(ctx context.Context, r Record, max int) (*Use, error) {
	if max <= 0 {
		max = MaxPlaces
	}
	u := &Use{l: l, id: Token()}
	lock, ok, err := atomicfile.TryLock(l.usePath(u.id))
	if err != nil || !ok {
		return nil, fmt.Errorf("mark the use of a place: %w", errors.Join(err, ctx.Err()))
	}
	u.lock = lock
	r.Owner, r.Created, r.Stopped, r.Uses = l.owner, time.Now().UTC().Truncate(time.Second), time.Time{}, []string{u.id}
	err = l.edit(ctx, func(all []Record) ([]Record, error) {
		i := slices.IndexFunc(all, r.is)
		if running := l.running(all); len(running) >= max && (i < 0 || !all[i].Stopped.IsZero()) {
			return nil, full(running, max)
		}
		if i < 0 {
			u.r = r
			return append(all, r), nil
		}
		all[i].Stopped, all[i].Uses = time.Time{}, append(l.living(all[i].Uses), u.id)
		u.r = all[i]
		return all, nil
	})
	if err != nil {
		u.release()
		return nil, err
	}
	return u, nil
}

// running are the places of this owner that aren't stopped.
func (l *Ledger) running(all []Record) []Record {
	return slices.DeleteFunc(slices.Clone(all), func(r Record) bool { return r.Owner != l.owner || !r.Stopped.IsZero() })
}

func full(running []Record, max int) error {
	var names []string
	for _, r := range running {
		names = append(names, r.Name)
	}
	return &environment.Error{Kind: environment.ErrUnavailable, Op: "make another place", Err: fmt.Errorf("%d are running or may be, and terminal.max_sandboxes allows %d: %s; end one of them, or allow more: hermes doctor says how, and which are gone", len(running), max, strings.Join(names, ", "))}
}

// Record is the place as it stood when it was recorded or changed last.
func (u *Use) Record() Record { return u.r }

// Made records what the cloud calls the place.
func (u *Use) Made(ctx context.Context, id string) error {
	u.r.ID = id
	return u.l.set(ctx, u.r, func(r *Record) { r.ID = id })
}

// set changes the record of a place, if there still is one.
func (l *Ledger) set(ctx context.Context, of Record, change func(*Record)) error {
	return l.edit(ctx, func(all []Record) ([]Record, error) {
		if i := slices.IndexFunc(all, of.is); i >= 0 {
			change(&all[i])
		}
		return all, nil
	})
}

func (l *Ledger) drop(ctx context.Context, of Record) error {
	return l.edit(ctx, func(all []Record) ([]Record, error) { return slices.DeleteFunc(all, of.is), nil })
}

// Leave ends the use. Where it was the last one, end ends the place: it stops one that is kept, deletes another, and has no error for one
// that is gone already. A place that can't be ended stays recorded, for the next sweep.
func (u *Use) Leave(ctx context.Context, end func(context.Context, Record) error) error {
	if u.r.Kept { // others have names of their own, so that nobody joins them
		alone, err := u.l.Alone(ctx, u.r.Name)
		if err != nil {
			u.release()
			return err
		}
		defer alone()
	}
	return u.LeaveAlone(ctx, end)
}

// LeaveAlone is Leave for a caller who holds what Alone gives.
func (u *Use) LeaveAlone(ctx context.Context, end func(context.Context, Record) error) error {
	defer u.release()
	if !u.r.Kept { // nobody shares it, and it is to end where the ledger can't be written, too
		return u.l.finish(ctx, u.r, end)
	}
	last := true
	err := u.l.set(ctx, u.r, func(r *Record) {
		others := u.l.living(slices.DeleteFunc(r.Uses, func(id string) bool { return id == u.id }))
		last = len(others) == 0
		if !last {
			r.Uses = others
		}
	})
	if err != nil || !last {
		return err
	}
	return u.l.finish(ctx, u.r, end)
}

// Gone ends the use of a place that is known to be there no more.
func (u *Use) Gone(ctx context.Context) error {
	defer u.release()
	return u.l.drop(ctx, u.r)
}

// Throw ends the use and the place, whether it would be kept and whoever else uses it or not. ErrGone is an answer like any other.
func (u *Use) Throw(ctx context.Context, remove func(context.Context, Record) error) error {
	defer u.release()
	err := remove(ctx, u.r)
	switch {
	case errors.Is(err, environment.ErrGone):
		return u.l.gone(ctx, u.r)
	case err != nil:
		return err
	}
	return u.l.drop(ctx, u.r)
}

// lateMake is how long after its record a place may come about that the cloud doesn't know yet: a request may be heard after nobody waits
// for its answer any more.
const lateMake = 2 * callTime

// gone drops a place that the cloud says isn't there. One whose making wasn't seen to end stays for the next sweep while it may still come.
func (l *Ledger) gone(ctx context.Context, r Record) error {
	if age := time.Since(r.Created); r.ID == "" && age >= 0 && age < lateMake {
		return nil
	}
	return l.drop(ctx, r)
}

// finish ends a place and records that.
func (l *Ledger) finish(ctx context.Context, r Record, end func(context.Context, Record) error) error {
	switch err := end(ctx, r); {
	case errors.Is(err, environment.ErrGone):
		return l.gone(ctx, r)
	case err != nil:
		return err
	case !r.Kept:
		return l.drop(ctx, r)
	}
	return l.set(ctx, r, func(r *Record) { r.Stopped, r.Uses = time.Now().UTC().Truncate(time.Second), nil })
}

func (u *Use) release() {
	if u.lock != nil {
		_ = os.Remove(u.l.usePath(u.id)) // its name is never used again
		_ = u.lock.Unlock()
		u.lock = nil
	}
}

func (l *Ledger) usePath(id string) string { return filepath.Join(l.dir, usesDir, id+".use") }

// living are the uses whose process still holds them.
func (l *Ledger) living(uses []string) []string {
	return slices.DeleteFunc(slices.Clone(uses), func(id string) bool {
		path := l.usePath(filepath.Base(id)) // a ledger that was tampered with leads nowhere else
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return true
		}
		lock, ok, err := atomicfile.TryLock(path)
		if !ok || err != nil {
			return false
		}
		_ = os.Remove(path)
		_ = lock.Unlock()
		return true
	})
}

// alonePause is how long somebody waits before looking again whether a place is free.
const alonePause = 20 * time.Millisecond

// Alone waits until nobody else makes, wakes or ends the place of that name.
func (l *Ledger) Alone(ctx context.Context, name string) (release func(), err error) {
	path := filepath.Join(l.dir, usesDir, digest(name)+".place")
	for {
		lock, ok, err := atomicfile.TryLock(path)
		switch {
		case err != nil:
			return nil, err
		case ok:
			return func() { _ = lock.Unlock() }, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for another process that makes or ends %s: %w", name, context.Cause(ctx))
		case <-time.After(alonePause):
		}
	}
}

// Token is a name that nobody has had.
func Token() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
