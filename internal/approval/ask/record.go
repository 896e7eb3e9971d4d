package ask

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/hermes-runtime/hermes/channel"
)

// record is one line: what is new about a request. The lines of an id together are the request.
type record struct {
	ID       string            `json:"id"`
	Owner    string            `json:"owner,omitempty"` // process that asked
	Status   Status            `json:"status,omitempty"`
	Kind     channel.Kind      `json:"kind,omitempty"` // "" = approval: older lines have none
	Session  string            `json:"session,omitempty"`
	Task     string            `json:"task,omitempty"`
	Call     string            `json:"call,omitempty"`
	Surface  string            `json:"surface,omitempty"`
	Owners   []string          `json:"may_answer,omitempty"`
	Command  string            `json:"command,omitempty"` // secrets taken out, shortened; so are Text and Answer
	Text     string            `json:"text,omitempty"`
	Findings []string          `json:"findings,omitempty"`
	Choices  []channel.Choice  `json:"choices,omitempty"`
	Created  time.Time         `json:"created,omitzero"`
	Expires  time.Time         `json:"expires,omitzero"`
	Choice   channel.Choice    `json:"choice,omitempty"`
	Answer   string            `json:"answer,omitempty"`
	Keys     []string          `json:"keys,omitempty"`
	Who      string            `json:"who,omitempty"`
	Ended    time.Time         `json:"ended,omitzero"`
	Receipts map[string]string `json:"receipts,omitempty"`
}

func (r *record) request() Request {
	q := Request{Owners: r.Owners, Status: r.Status, Choice: r.Choice, Answer: r.Answer, Keys: r.Keys, Who: r.Who, Ended: r.Ended, Receipts: r.Receipts}
	q.ID, q.Kind, q.Session, q.Task, q.Call, q.Surface = r.ID, cmp.Or(r.Kind, channel.KindApproval), r.Session, r.Task, r.Call, r.Surface
	q.Text, q.Command, q.Choices, q.Created, q.Expires = r.Text, r.Command, r.Choices, r.Created, r.Expires
	for _, key := range r.Findings {
		q.Findings = append(q.Findings, channel.Finding{Key: key})
	}
	return q
}

// add takes over what a later line says. How a request ended never changes.
func (r *record) add(later record) {
	for name, receipt := range later.Receipts {
		if r.Receipts == nil {
			r.Receipts = map[string]string{}
		}
		r.Receipts[name] = receipt
	}
	if r.Status == Pending && later.Status != Pending && later.Status.valid() {
		r.Status, r.Choice, r.Answer, r.Keys, r.Who, r.Ended = later.Status, later.Choice, later.Answer, later.Keys, later.Who, later.Ended
	}
}

func (s Status) valid() bool {
	return slices.Contains([]Status{Pending, Approved, Denied, Answered, Expired, Cancelled, Undeliverable}, s)
}

// read returns what the journal holds, in order of the first line of each. The caller holds the lock.
func (j *journal) read() ([]record, error) {
	f, err := os.Open(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", j.path)
	}
	if over := info.Size() - journalMost; over > 0 {
		if _, err := f.Seek(over, io.SeekStart); err != nil {
			return nil, err
		}
	}
	return readJournal(f)
}

// readJournal puts lines together. Lines that are torn, odd or too long are passed over: they decide nothing.
func readJournal(from io.Reader) ([]record, error) {
	var all []record
	at := map[string]int{}
	in := bufio.NewReaderSize(from, lineMost+1)
	for {
		line, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = in.ReadSlice('\n')
			}
			if err == nil {
				continue
			}
			line = nil
		case err == nil || errors.Is(err, io.EOF):
		default:
			return nil, err
		}
		var r record
		if json.Unmarshal(line, &r) == nil && r.ID != "" {
			if i, known := at[r.ID]; known {
				all[i].add(r)
			} else if r.Status.valid() { // an end whose beginning was lost tells nothing to go on with, but the outcome
				at[r.ID] = len(all)
				all = append(all, r)
			}
		}
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
