package cloud

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// lateDelete is how long after its lifetime a stopped place is taken for deleted: clouds look at such things now and then.
const lateDelete = 24 * time.Hour

// Sweeping says which places are looked after.
type Sweeping struct {
	Backend, At, Account string
	// End ends a place that nobody uses: it stops one that is kept, deletes another. ErrGone is an answer like any other.
	End func(context.Context, Record) error
}

// covers tells whether a place can be ended with what is at hand.
func (s Sweeping) covers(r Record) bool {
	return r.Backend == s.Backend && r.At == s.At && r.Account == s.Account
}

// Sweep ends the recorded places whose users are dead, if they were made here. One that can't be ended stops nothing, stays recorded and
// is told.
func (l *Ledger) Sweep(ctx context.Context, s Sweeping) (ended []Record, errs []error) {
	all, err := l.List()
	if err != nil {
		return nil, []error{err}
	}
	for _, r := range all {
		if r.Owner != l.owner || !s.covers(r) {
			continue
		}
		switch done, err := l.sweep(ctx, r, s.End); {
		case err != nil:
			errs = append(errs, fmt.Errorf("end %s, which nobody uses any more: %w", r.Name, err))
		case done:
			ended = append(ended, r)
		}
	}
	return ended, errs
}

func (l *Ledger) sweep(ctx context.Context, r Record, end func(context.Context, Record) error) (bool, error) {
	if !r.Stopped.IsZero() {
		if time.Since(r.Stopped) > time.Duration(r.Lifetime)*time.Second+lateDelete {
			return false, l.drop(ctx, r)
		}
		return false, nil
	}
	if len(l.living(r.Uses)) > 0 {
		return false, nil
	}
	alone, err := l.Alone(ctx, r.Name)
	if err != nil {
		return false, err
	}
	defer alone()
	now, err := l.List() // somebody may have come back to it meanwhile
	if err != nil {
		return false, err
	}
	for _, n := range now {
		if n.is(r) && n.Stopped.IsZero() && len(l.living(n.Uses)) == 0 {
			return true, l.finish(ctx, n, end)
		}
	}
	return false, nil
}

// Lines tell people of the places of a backend that are recorded, and how to end those that hermes can't end from here.
func (l *Ledger) Lines(s Sweeping, how string) []string {
	all, unread, err := l.read()
	if err != nil {
		return []string{err.Error()}
	}
	var lines []string
	if len(unread) > 0 {
		lines = append(lines, fmt.Sprintf("lines of %s that can't be read: %d; places that stand there are not ended by hermes", l.Path(), len(unread)))
	}
	for _, r := range all {
		if r.Backend != s.Backend {
			continue
		}
		line := fmt.Sprintf("sandbox %s (%s), made %s ago", r.Name, orUnknown(r.ID), age(time.Since(r.Created)))
		switch {
		case !r.Stopped.IsZero():
			line += fmt.Sprintf(", stopped, deleted by the cloud %s after it was stopped", age(time.Duration(r.Lifetime)*time.Second))
		case len(l.living(r.Uses)) > 0:
			line += ", in use"
		case r.Owner == l.owner && s.covers(r):
			line += ", left by a runtime that is gone; hermes ends it when it uses " + s.Backend + " next"
		default:
			line += ", made by another machine, home or account; to end it: " + how
		}
		lines = append(lines, line)
	}
	return lines
}

func orUnknown(id string) string {
	if id == "" {
		return "its making was not seen to end"
	}
	return id
}

// age is a time for people.
func age(d time.Duration) string {
	switch {
	case d < 0: // the clock was set back
		return "0 minutes"
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", int(d.Hours()))
	}
	return fmt.Sprintf("%d minutes", int(d.Minutes()))
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
