package vercel

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
)

const (
	// wakeTime is how long a sandbox that is there may take to start.
	wakeTime = 60 * time.Second
	// firstLook and longestLook are the pauses between looks at a sandbox that is on its way.
	firstLook, longestLook = 50 * time.Millisecond, time.Second
	// pageSize is how many sandboxes are listed at once, and maxPages how often.
	pageSize, maxPages = "50", 50
)

// sandbox is what the API says of one: its files have a name, and each time it runs is a session of its own.
type sandbox struct {
	Name    string            `json:"name"`
	Status  string            `json:"status"`
	Session string            `json:"currentSessionId"`
	Tags    map[string]string `json:"tags"`
}

// answer is how the API tells of one sandbox.
type answer struct {
	Sandbox sandbox `json:"sandbox"`
	Session struct {
		ID     string `json:"id"`
		Status string `json:"status"`
	} `json:"session"`
	Resumed bool `json:"resumed"`
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

// kind is what a status means here.
type kind int

const (
	unknown kind = iota
	ready
	coming  // it will be something else without being asked
	leaving // likewise
	asleep
	broken
)

// states are all that the API names.
var states = map[string]kind{
	"running": ready, "pending": coming, "stopping": leaving, "snapshotting": leaving, "stopped": asleep, "failed": broken, "aborted": broken,
}

func at(name string) string { return "/v2/sandboxes/" + url.PathEscape(name) }

func session(id string) string { return "/v2/sandboxes/sessions/" + url.PathEscape(id) }

// get asks for a sandbox by name; wake has one that is stopped run again. One that isn't there any more is ErrGone.
func (a *access) get(ctx context.Context, name string, wake bool) (s *sandbox, resumed bool, err error) {
	var r answer
	q := a.named()
	q.Set("resume", fmt.Sprint(wake))
	err = a.api.Do(ctx, cloud.Call{Method: http.MethodGet, Path: at(name), Query: q, Into: &r})
	switch {
	case isGone(err):
		return nil, false, goneError(name)
	case err != nil:
		return nil, false, err
	}
	s, err = r.sandbox(name)
	return s, r.Resumed, err
}

func isGone(err error) bool {
	return cloud.Status(err) == http.StatusNotFound || cloud.Status(err) == http.StatusGone
}

// sandbox is the one that an answer tells of. What its session says of itself is newer.
func (r *answer) sandbox(name string) (*sandbox, error) {
	s := r.Sandbox
	if r.Session.ID != "" {
		s.Session, s.Status = r.Session.ID, r.Session.Status
	}
	if s.Name == "" || s.Session == "" {
		return nil, fmt.Errorf("the answer about sandbox %s names no sandbox or no session", name)
	}
	return &s, nil
}

func goneError(name string) error {
	return &environment.Error{Kind: environment.ErrGone, Op: "reach sandbox " + name, Err: errors.New("it was deleted")}
}

// make asks for a sandbox that is called c.Name. Where it isn't known whether that was heard, it is looked for by name: it is never made
// twice. begun says that there may be one all the same.
func (a *access) make(ctx context.Context, c create) (s *sandbox, begun bool, err error) {
	var r answer
	call := cloud.Call{Method: http.MethodPost, Path: "/v2/sandboxes", Query: a.query(), Body: c, Into: &r}
	call.Before = func(ctx context.Context) (bool, error) {
		_, _, err := a.get(ctx, c.Name, false)
		if errors.Is(err, environment.ErrGone) {
			return false, nil
		}
		return err == nil, err
	}
	err = a.api.Do(ctx, call)
	if err == nil {
		if s, err = r.sandbox(c.Name); err == nil {
			return s, true, nil
		}
	}
	if cloud.Refused(err) && cloud.Status(err) != http.StatusConflict {
		return nil, false, err
	}
	found, _, gerr := a.get(context.WithoutCancel(ctx), c.Name, false)
	switch {
	case gerr != nil:
		return nil, !errors.Is(gerr, environment.ErrGone), err
	case found.Tags[tagUse] != c.Tags[tagUse]:
		return nil, false, takenError(c.Name)
	}
	return found, true, nil
}

func takenError(name string) error {
	return fmt.Errorf("the name %s is taken by a sandbox that is not of this HERMES_HOME", name)
}

// up waits until a sandbox runs, and starts it if it doesn't. resumed says that what ran there before is gone.
func (a *access) up(ctx context.Context, name string, limit time.Duration) (s *sandbox, resumed bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not start within %v", limit))
	defer cancel()
	for pause := firstLook; ; pause = min(pause*3/2, longestLook) {
		var again bool
		s, again, err = a.get(ctx, name, true)
		if err != nil {
			return nil, resumed, err
		}
		resumed = resumed || again
		switch states[s.Status] {
		case ready:
			return s, resumed, nil
		case broken:
			return nil, resumed, fmt.Errorf("it is %s; to end it: %s", s.Status, howToEnd)
		case unknown:
			return nil, resumed, fmt.Errorf("it is in state %q, which hermes doesn't know", s.Status)
		}
		if err := rest(ctx, pause); err != nil {
			return nil, resumed, fmt.Errorf("%w; it is %s", err, s.Status)
		}
	}
}

func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// stop stops a sandbox; Vercel keeps its files.
func (a *access) stop(ctx context.Context, name string) error {
	s, _, err := a.get(ctx, name, false)
	if err != nil || states[s.Status] != ready && states[s.Status] != coming {
		return err
	}
	err = a.api.Do(ctx, cloud.Call{Method: http.MethodPost, Path: session(s.Session) + "/stop", Query: a.query()})
	if isGone(err) || cloud.Status(err) == http.StatusConflict {
		return nil // it ended meanwhile
	}
	return err
}

// remove deletes a sandbox with its files. Gone already is ErrGone.
func (a *access) remove(ctx context.Context, name string) error {
	if err := a.stop(ctx, name); err != nil {
		return err
	}
	err := a.api.Do(ctx, cloud.Call{Method: http.MethodDelete, Path: at(name), Query: a.named()})
	if isGone(err) {
		return goneError(name)
	}
	return err
}

// extend has a session run for longer.
func (a *access) extend(ctx context.Context, id string, by time.Duration) error {
	body := map[string]int64{"duration": by.Milliseconds()}
	return a.api.Do(ctx, cloud.Call{Method: http.MethodPost, Path: session(id) + "/extend-timeout", Query: a.query(), Body: body, Once: true})
}

// list gives the sandboxes of the project that hermes made, page by page.
func (a *access) list(ctx context.Context) ([]sandbox, error) {
	var all []sandbox
	q := a.query()
	q.Set("project", a.project)
	q.Set("limit", pageSize)
	q.Set("sortBy", "name")
	q.Set("namePrefix", namePrefix)
	for range maxPages {
		var page struct {
			Sandboxes  []sandbox `json:"sandboxes"`
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
