package daytona

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
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
	pageSize, maxPages = "100", 50
)

// sandbox is what the API says of one.
type sandbox struct {
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	State      string            `json:"state"`
	Reason     string            `json:"errorReason"`
	Labels     map[string]string `json:"labels"`
	ToolboxURL string            `json:"toolboxProxyUrl"`
}

// create is what a sandbox is asked for with.
type create struct {
	Name       string            `json:"name"`
	Labels     map[string]string `json:"labels"`
	Snapshot   string            `json:"snapshot,omitempty"`
	Build      *build            `json:"buildInfo,omitempty"`
	CPU        int               `json:"cpu,omitempty"`
	Memory     int               `json:"memory,omitempty"`
	Disk       int               `json:"disk,omitempty"`
	Target     string            `json:"target,omitempty"`
	BlockAll   bool              `json:"networkBlockAll,omitempty"`
	AutoStop   int               `json:"autoStopInterval"`
	AutoDelete int               `json:"autoDeleteInterval"` // 0 = as soon as it is stopped
}

type build struct {
	Dockerfile string `json:"dockerfileContent"`
}

// kind is what a state of a sandbox means here.
type kind int

const (
	unknown kind = iota
	ready
	coming  // it will be something else without being asked
	leaving // likewise, and not for good
	asleep
	broken
	gone
)

// states are all that the API names (its enumeration SandboxState).
var states = map[string]kind{
	"started":  ready,
	"creating": coming, "restoring": coming, "starting": coming, "pending_build": coming, "building_snapshot": coming, "pulling_snapshot": coming,
	"stopping": leaving, "archiving": leaving, "snapshotting": leaving, "forking": leaving,
	"stopped": asleep, "archived": asleep,
	"error": broken, "build_failed": broken,
	"destroyed": gone, "destroying": gone,
}

func at(id string) string { return "/sandbox/" + url.PathEscape(id) }

// get asks for a sandbox by id or name. One that isn't there any more is ErrGone.
func (a *access) get(ctx context.Context, id string) (*sandbox, error) {
	var s sandbox
	err := a.api.Do(ctx, cloud.Call{Method: http.MethodGet, Path: at(id), Into: &s})
	switch {
	case cloud.Status(err) == http.StatusNotFound || err == nil && states[s.State] == gone:
		return nil, goneError(id)
	case err != nil:
		return nil, err
	case s.ID == "":
		return nil, fmt.Errorf("sandbox %s has no id in the answer", id)
	}
	return &s, nil
}

func goneError(id string) error {
	return &environment.Error{Kind: environment.ErrGone, Op: "reach sandbox " + id, Err: errors.New("it was deleted")}
}

// make asks for a sandbox that is called c.Name. Where it isn't known whether that was heard, it is looked for by name: it is never made
// twice. begun says that there may be one all the same.
func (a *access) make(ctx context.Context, c create) (s *sandbox, begun bool, err error) {
	call := cloud.Call{Method: http.MethodPost, Path: "/sandbox", Body: c, Into: &sandbox{}}
	call.Before = func(ctx context.Context) (bool, error) {
		_, err := a.get(ctx, c.Name)
		if errors.Is(err, environment.ErrGone) {
			return false, nil
		}
		return err == nil, err
	}
	err = a.api.Do(ctx, call)
	if s = call.Into.(*sandbox); err == nil && s.ID != "" {
		return s, true, nil
	}
	if cloud.Refused(err) && cloud.Status(err) != http.StatusConflict {
		return nil, false, err
	}
	found, gerr := a.get(context.WithoutCancel(ctx), c.Name)
	switch {
	case gerr != nil && err == nil:
		return nil, true, fmt.Errorf("the answer names no sandbox: %w", gerr)
	case gerr != nil:
		return nil, !errors.Is(gerr, environment.ErrGone), err
	case found.Labels[labelUse] != c.Labels[labelUse]:
		return nil, false, fmt.Errorf("the name %s is taken by a sandbox that is not of this HERMES_HOME", c.Name)
	}
	return found, true, nil
}

// up waits until a sandbox runs, and starts it if it doesn't. started says that it did.
func (a *access) up(ctx context.Context, id string, limit time.Duration) (s *sandbox, started bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not start within %v", limit))
	defer cancel()
	var refused error
	for pause := firstLook; ; pause = min(pause*3/2, longestLook) {
		if s, err = a.get(ctx, id); err != nil {
			return nil, started, err
		}
		switch states[s.State] {
		case ready:
			return s, started, nil
		case asleep:
			started = true
			err := a.api.Do(ctx, cloud.Call{Method: http.MethodPost, Path: at(id) + "/start"})
			if err != nil && (!changing(err) || refused != nil) { // once it may have been on its way here
				return nil, started, err
			}
			refused = err
		case broken:
			return nil, started, fmt.Errorf("it is in state %s: %s; to end it: %s", s.State, s.Reason, howToEnd)
		case unknown:
			return nil, started, fmt.Errorf("it is in state %q, which hermes doesn't know", s.State)
		}
		if err := rest(ctx, pause); err != nil {
			return nil, started, fmt.Errorf("%w; its state is %s", err, s.State)
		}
	}
}

// changing tells whether the API may not hear of something because the sandbox is on its way elsewhere.
func changing(err error) bool {
	return cloud.Status(err) == http.StatusConflict || cloud.Status(err) == http.StatusBadRequest
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

// stop stops a sandbox and sees it on its way.
func (a *access) stop(ctx context.Context, id string) error {
	return a.end(ctx, id, cloud.Call{Method: http.MethodPost, Path: at(id) + "/stop"}, asleep, leaving)
}

// remove deletes a sandbox and sees it on its way.
func (a *access) remove(ctx context.Context, id string) error {
	return a.end(ctx, id, cloud.Call{Method: http.MethodDelete, Path: at(id)}, gone)
}

// end asks for an end until the sandbox is on its way there: while it changes its state it hears of nothing else.
func (a *access) end(ctx context.Context, id string, c cloud.Call, there ...kind) error {
	for pause := firstLook; ; pause = min(pause*2, longestLook) {
		err := a.api.Do(ctx, c)
		switch {
		case err == nil:
			return nil
		case cloud.Status(err) == http.StatusNotFound:
			return goneError(id)
		case !changing(err):
			return err
		}
		s, gerr := a.get(ctx, id)
		if gerr != nil {
			return gerr
		}
		switch k := states[s.State]; {
		case slices.Contains(there, k):
			return nil
		case k != coming && k != leaving || rest(ctx, pause) != nil:
			return err
		}
	}
}

// touch tells that a sandbox is in use.
func (a *access) touch(ctx context.Context, id string) error {
	return a.api.Do(ctx, cloud.Call{Method: http.MethodPost, Path: at(id) + "/last-activity"})
}

// toolbox is where the programs and files of a sandbox are asked for.
func (a *access) toolbox(ctx context.Context, s *sandbox) (*cloud.API, error) {
	address := s.ToolboxURL
	if address == "" {
		var answer struct{ URL string }
		if err := a.api.Do(ctx, cloud.Call{Method: http.MethodGet, Path: at(s.ID) + "/toolbox-proxy-url", Into: &answer}); err != nil {
			return nil, err
		}
		address = answer.URL
	}
	base, err := cloud.Base("the toolbox of sandbox "+s.ID, address)
	if err != nil {
		return nil, err
	}
	t := *a.api
	t.Base = base.JoinPath(s.ID)
	return &t, nil
}

// list gives the sandboxes that have a label, page by page. Older servers give them all at once.
func (a *access) list(ctx context.Context, label, value string) ([]sandbox, error) {
	labels, err := json.Marshal(map[string]string{label: value})
	if err != nil {
		return nil, err
	}
	var all []sandbox
	q := url.Values{"labels": {string(labels)}, "limit": {pageSize}}
	for range maxPages {
		var raw json.RawMessage
		if err := a.api.Do(ctx, cloud.Call{Method: http.MethodGet, Path: "/sandbox", Query: q, Into: &raw}); err != nil {
			return nil, err
		}
		var whole []sandbox
		if json.Unmarshal(raw, &whole) == nil {
			return append(all, whole...), nil
		}
		var page struct {
			Items      []sandbox
			NextCursor string
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, fmt.Errorf("read the list of sandboxes: %w", err)
		}
		if all = append(all, page.Items...); page.NextCursor == "" {
			return all, nil
		}
		q.Set("cursor", page.NextCursor)
	}
	return all, nil
}
