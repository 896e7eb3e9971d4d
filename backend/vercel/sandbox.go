package vercel

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
	"github.com/hermes-runtime/hermes/internal/cloud/sandbox"
)

const (
	// firstLook and longestLook are the pauses between looks at a sandbox that is on its way.
	firstLook, longestLook = 50 * time.Millisecond, time.Second
	// pageSize is how many sandboxes are listed at once, and maxPages how often.
	pageSize, maxPages = "50", 50
	// namePrefix begins the names of sandboxes.
	namePrefix = "hermes-"
)

// The tags of sandboxes.
const (
	tagTask = "hermes_task_id"
	tagHome = "hermes_home"
	tagUse  = "hermes_use" // sandbox.Order.Use
)

// box is what the API says of a sandbox: its files have a name, and each time it runs is a session of its own.
type box struct {
	Name    string            `json:"name"`
	Status  string            `json:"status"`
	Session string            `json:"currentSessionId"`
	Tags    map[string]string `json:"tags"`
}

// known is what hermes wants to know of it.
func (b *box) known() sandbox.Box {
	return sandbox.Box{ID: b.Name, Name: b.Name, Use: b.Tags[tagUse], State: states[b.Status], Says: b.Status, Session: b.Session}
}

// answer is how the API tells of one sandbox.
type answer struct {
	Sandbox box `json:"sandbox"`
	Session struct {
		ID     string `json:"id"`
		Status string `json:"status"`
	} `json:"session"`
	Resumed bool `json:"resumed"`
}

// box is the sandbox that an answer tells of. What its session says of itself is newer.
func (r *answer) box(name string) (*box, error) {
	b := r.Sandbox
	if r.Session.ID != "" {
		b.Session, b.Status = r.Session.ID, r.Session.Status
	}
	if b.Name == "" || b.Session == "" {
		return nil, fmt.Errorf("the answer about sandbox %s names no sandbox or no session", name)
	}
	return &b, nil
}

// create is what a sandbox is asked for with.
type create struct {
	Name       string            `json:"name"`
	Project    string            `json:"projectId"`
	Runtime    string            `json:"runtime"`
	Timeout    int64             `json:"timeout"` // ms
	Resources  resources         `json:"resources"`
	Persistent bool              `json:"persistent"`
	Keep       *keepLast         `json:"keepLastSnapshots,omitempty"`
	Network    *policy           `json:"networkPolicy,omitempty"`
	Tags       map[string]string `json:"tags"`
}

type resources struct {
	CPUs int `json:"vcpus"`
}

type keepLast struct {
	Count         int  `json:"count"`
	DeleteEvicted bool `json:"deleteEvicted"`
}

type policy struct {
	Mode string `json:"mode"`
}

// states are all that the API names.
var states = map[string]sandbox.State{
	"running": sandbox.Ready, "pending": sandbox.Coming, "stopping": sandbox.Leaving, "snapshotting": sandbox.Leaving,
	"stopped": sandbox.Asleep, "failed": sandbox.Broken, "aborted": sandbox.Broken,
}

func at(name string) string { return "/v2/sandboxes/" + url.PathEscape(name) }

func session(id string) string { return "/v2/sandboxes/sessions/" + url.PathEscape(id) }

// get asks for a sandbox by name. One that isn't there any more is ErrGone.
func (a *access) get(ctx context.Context, name string) (*box, error) {
	b, _, err := a.look(ctx, name, "false")
	return b, err
}

// look asks for a sandbox by name; with resume one that is stopped is run again.
func (a *access) look(ctx context.Context, name, resume string) (b *box, resumed bool, err error) {
	var r answer
	q := a.named()
	q.Set("resume", resume)
	err = a.api.Do(ctx, cloud.Call{Method: http.MethodGet, Path: at(name), Query: q, Into: &r})
	switch {
	case isSpoiled(err):
		return nil, false, fmt.Errorf("%w: %w", sandbox.ErrSpoiled, err)
	case isGone(err):
		return nil, false, goneError(name)
	case err != nil:
		return nil, false, err
	}
	b, err = r.box(name)
	return b, r.Resumed, err
}

// isSpoiled tells whether an error says that the snapshot is gone which a sandbox would be started from.
func isSpoiled(err error) bool { return strings.EqualFold(cloud.Code(err), "snapshot_not_found") }

func isGone(err error) bool {
	return cloud.Status(err) == http.StatusNotFound || cloud.Status(err) == http.StatusGone
}

func goneError(name string) error {
	return &environment.Error{Kind: environment.ErrGone, Op: "reach sandbox " + name, Err: errors.New("it was deleted")}
}

// Find looks for a sandbox by its name, which is its id, too.
func (s *service) Find(ctx context.Context, r cloud.Record) (sandbox.Box, error) {
	b, err := knownOr(s.get(ctx, r.Name))
	if err == nil {
		s.runs(b.Session, time.Time{})
	}
	return b, err
}

// Make asks for a sandbox.
func (s *service) Make(ctx context.Context, o sandbox.Order) (b sandbox.Box, begun bool, err error) {
	want := s.want
	want.Name, want.Tags = o.Name, map[string]string{tagTask: o.Task, tagHome: o.Owner, tagUse: o.Use}
	var r answer
	ends := time.Now().Add(idle)
	b, begun, err = sandbox.Making{
		API: s.api, Call: cloud.Call{Method: http.MethodPost, Path: "/v2/sandboxes", Query: s.query(), Body: want, Into: &r}, Order: o,
		Answer: func() (sandbox.Box, error) { return knownOr(r.box(o.Name)) },
		Find:   func(ctx context.Context) (sandbox.Box, error) { return knownOr(s.get(ctx, o.Name)) },
	}.Do(ctx)
	if err == nil {
		s.runs(b.Session, ends)
	}
	return b, begun, err
}

// knownOr is what hermes wants to know, unless that failed.
func knownOr(b *box, err error) (sandbox.Box, error) {
	if err != nil {
		return sandbox.Box{}, err
	}
	return b.known(), nil
}

// Up waits until a sandbox runs, and starts it if it sleeps. One that isn't persistent is gone with its session.
func (s *service) Up(ctx context.Context, b sandbox.Box, limit time.Duration) (up sandbox.Box, anew bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not start within %v", limit))
	defer cancel()
	for pause := firstLook; ; pause = min(pause*3/2, longestLook) {
		ends := time.Now().Add(idle)
		now, again, err := s.look(ctx, b.Name, fmt.Sprint(s.want.Persistent))
		if err != nil {
			return up, anew, err
		}
		if again {
			anew = true
			s.runs(now.Session, ends)
		}
		switch up = now.known(); {
		case up.State == sandbox.Ready:
			s.runs(up.Session, time.Time{})
			_ = s.Touch(ctx, up) // one that was found running may be near its end; the next sign of use says what is wrong
			return up, anew, nil
		case up.State == sandbox.Broken:
			return up, anew, fmt.Errorf("it is %s; to end it: %s", up.Says, howToEnd)
		case up.State == sandbox.Unknown:
			return up, anew, fmt.Errorf("it is in state %q, which hermes doesn't know", up.Says)
		case up.State != sandbox.Coming && !s.want.Persistent:
			return up, anew, &environment.Error{Kind: environment.ErrGone, Op: "reach sandbox " + b.Name, Err: fmt.Errorf("it is %s, and its files ended with it", up.Says)}
		}
		if err := cloud.Rest(ctx, pause); err != nil {
			return up, anew, fmt.Errorf("%w; it is %s", err, up.Says)
		}
	}
}

// End stops a sandbox that is kept, of which Vercel keeps the files, and deletes another.
func (s *service) End(ctx context.Context, r cloud.Record) error {
	if !r.Kept {
		return s.Remove(ctx, r)
	}
	return s.stop(ctx, r.Name)
}

func (a *access) stop(ctx context.Context, name string) error {
	b, err := a.get(ctx, name)
	if err != nil || states[b.Status] != sandbox.Ready && states[b.Status] != sandbox.Coming {
		return err
	}
	err = a.api.Do(ctx, cloud.Call{Method: http.MethodPost, Path: session(b.Session) + "/stop", Query: a.query()})
	if isGone(err) || cloud.Status(err) == http.StatusConflict || cloud.Status(err) == http.StatusUnprocessableEntity {
		return nil // it ended meanwhile, or is about to
	}
	return err
}

// Remove deletes a sandbox with its files.
func (s *service) Remove(ctx context.Context, r cloud.Record) error {
	if err := s.stop(ctx, r.Name); err != nil {
		return err
	}
	err := s.api.Do(ctx, cloud.Call{Method: http.MethodDelete, Path: at(r.Name), Query: s.named()})
	if isGone(err) {
		return goneError(r.Name)
	}
	return err
}

// extend has a session run for longer.
func (a *access) extend(ctx context.Context, id string, by time.Duration) error {
	body := map[string]int64{"duration": by.Milliseconds()}
	return a.api.Do(ctx, cloud.Call{Method: http.MethodPost, Path: session(id) + "/extend-timeout", Query: a.query(), Body: body, Once: true})
}

// Machine makes contact with a session.
func (s *service) Machine(_ context.Context, b sandbox.Box) (sandbox.Machine, error) {
	return newMachine(s.access, b), nil
}

// List gives the sandboxes of a HERMES_HOME.
func (s *service) List(ctx context.Context, owner string) ([]sandbox.Box, error) {
	all, err := s.list(ctx)
	var mine []sandbox.Box
	for i := range all {
		if all[i].Tags[tagHome] == owner {
			mine = append(mine, all[i].known())
		}
	}
	return mine, err
}

// list gives the sandboxes of the project that hermes made, page by page.
func (a *access) list(ctx context.Context) ([]box, error) {
	var all []box
	q := a.query()
	q.Set("project", a.project)
	q.Set("limit", pageSize)
	q.Set("sortBy", "name")
	q.Set("namePrefix", namePrefix)
	for range maxPages {
		var page struct {
			Sandboxes  []box `json:"sandboxes"`
			Pagination struct {
				Next string `json:"next"`
			} `json:"pagination"`
		}
		if err := a.api.Do(ctx, cloud.Call{Method: http.MethodGet, Path: "/v2/sandboxes", Query: q, Into: &page}); err != nil {
			return nil, err
		}
		if all = append(all, page.Sandboxes...); page.Pagination.Next == "" {
			return all, nil
		}
		q.Set("cursor", page.Pagination.Next)
	}
	return all, nil
}
