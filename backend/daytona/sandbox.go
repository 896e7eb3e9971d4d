package daytona

import (
	"cmp"
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
	"github.com/hermes-runtime/hermes/internal/cloud/sandbox"
)

const (
	// firstLook and longestLook are the pauses between looks at a sandbox that is on its way.
	firstLook, longestLook = 50 * time.Millisecond, time.Second
	// pageSize is how many sandboxes are listed at once, and maxPages how often.
	pageSize, maxPages = "100", 50
)

// box is what the API says of a sandbox.
type box struct {
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	State      string            `json:"state"`
	Reason     string            `json:"errorReason"`
	Labels     map[string]string `json:"labels"`
	ToolboxURL string            `json:"toolboxProxyUrl"`
}

// known is what hermes wants to know of it.
func (b *box) known() sandbox.Box {
	return sandbox.Box{ID: b.ID, Name: b.Name, Use: b.Labels[labelUse], State: states[b.State], Says: b.State, Address: b.ToolboxURL}
}

// create is what a sandbox is asked for with.
type create struct {
	image string

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

// The labels of sandboxes.
const (
	labelTask = "hermes_task_id"
	labelHome = "hermes_home"
	labelUse  = "hermes_use" // sandbox.Order.Use
)

// states are all that the API names (its enumeration SandboxState).
var states = map[string]sandbox.State{
	"started":  sandbox.Ready,
	"creating": sandbox.Coming, "restoring": sandbox.Coming, "starting": sandbox.Coming, "pending_build": sandbox.Coming, "building_snapshot": sandbox.Coming, "pulling_snapshot": sandbox.Coming,
	"stopping": sandbox.Leaving, "archiving": sandbox.Leaving, "snapshotting": sandbox.Leaving, "forking": sandbox.Leaving,
	"stopped": sandbox.Asleep, "archived": sandbox.Asleep,
	"error": sandbox.Broken, "build_failed": sandbox.Broken,
	"destroyed": sandbox.Gone, "destroying": sandbox.Gone,
}

func at(id string) string { return "/sandbox/" + url.PathEscape(id) }

// get asks for a sandbox by id or name. One that isn't there any more is ErrGone.
func (a *access) get(ctx context.Context, id string) (*box, error) {
	var s box
	err := a.api.Do(ctx, cloud.Call{Method: http.MethodGet, Path: at(id), Into: &s})
	switch {
	case cloud.Status(err) == http.StatusNotFound || err == nil && states[s.State] == sandbox.Gone:
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

// Find looks for a sandbox by its id or name.
func (s *service) Find(ctx context.Context, r cloud.Record) (sandbox.Box, error) {
	b, err := s.get(ctx, cmp.Or(r.ID, r.Name))
	if err != nil {
		return sandbox.Box{}, err
	}
	return b.known(), nil
}

// Make asks for a sandbox.
func (s *service) Make(ctx context.Context, o sandbox.Order) (b sandbox.Box, begun bool, err error) {
	want := s.want
	want.Name, want.Labels = o.Name, map[string]string{labelTask: o.Task, labelHome: o.Owner, labelUse: o.Use}
	var made box
	return sandbox.Making{
		API: s.api, Call: cloud.Call{Method: http.MethodPost, Path: "/sandbox", Body: want, Into: &made}, Order: o,
		Answer: func() (sandbox.Box, error) {
			if made.ID == "" {
				return sandbox.Box{}, fmt.Errorf("the answer about sandbox %s names no sandbox", o.Name)
			}
			return made.known(), nil
		},
		Find: func(ctx context.Context) (sandbox.Box, error) { return s.Find(ctx, cloud.Record{Name: o.Name}) },
	}.Do(ctx)
}

// Up waits until a sandbox runs, and starts it if it doesn't.
func (s *service) Up(ctx context.Context, b sandbox.Box, limit time.Duration) (up sandbox.Box, started bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not start within %v", limit))
	defer cancel()
	var refused error
	for pause := firstLook; ; pause = min(pause*3/2, longestLook) {
		now, err := s.get(ctx, b.ID)
		if err != nil {
			return up, started, err
		}
		switch up = now.known(); up.State {
		case sandbox.Ready:
			return up, started, nil
		case sandbox.Asleep:
			started = true
			err := s.api.Do(ctx, cloud.Call{Method: http.MethodPost, Path: at(b.ID) + "/start"})
			if err != nil && (!changing(err) || refused != nil) { // once it may have been on its way here
				return up, started, err
			}
			refused = err
		case sandbox.Broken:
			return up, started, fmt.Errorf("it is in state %s: %s; to end it: %s", now.State, now.Reason, howToEnd)
		case sandbox.Unknown:
			return up, started, fmt.Errorf("it is in state %q, which hermes doesn't know", now.State)
		}
		if err := cloud.Rest(ctx, pause); err != nil {
			return up, started, fmt.Errorf("%w; its state is %s", err, now.State)
		}
	}
}

// changing tells whether the API may not hear of something because the sandbox is on its way elsewhere.
func changing(err error) bool {
	return cloud.Status(err) == http.StatusConflict || cloud.Status(err) == http.StatusBadRequest
}

// End stops a sandbox that is kept and deletes another, and sees it on its way.
func (s *service) End(ctx context.Context, r cloud.Record) error {
	if !r.Kept {
		return s.Remove(ctx, r)
	}
	id := cmp.Or(r.ID, r.Name)
	return s.end(ctx, id, cloud.Call{Method: http.MethodPost, Path: at(id) + "/stop"}, sandbox.Asleep, sandbox.Leaving)
}

// Remove deletes a sandbox and sees it on its way. One that was about to be made is looked for by its name.
func (s *service) Remove(ctx context.Context, r cloud.Record) error {
	id := cmp.Or(r.ID, r.Name)
	return s.end(ctx, id, cloud.Call{Method: http.MethodDelete, Path: at(id)}, sandbox.Gone)
}

// end asks for an end until the sandbox is on its way there: while it changes its state it hears of nothing else.
func (a *access) end(ctx context.Context, id string, c cloud.Call, there ...sandbox.State) error {
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
		case k != sandbox.Coming && k != sandbox.Leaving || cloud.Rest(ctx, pause) != nil:
			return err
		}
	}
}

// Touch tells that a sandbox is in use.
func (s *service) Touch(ctx context.Context, b sandbox.Box) error {
	return s.api.Do(ctx, cloud.Call{Method: http.MethodPost, Path: at(b.ID) + "/last-activity"})
}

// Machine finds out where the programs and files of a sandbox are asked for.
func (s *service) Machine(ctx context.Context, b sandbox.Box) (sandbox.Machine, error) {
	address := b.Address
	if address == "" {
		var answer struct{ URL string }
		if err := s.api.Do(ctx, cloud.Call{Method: http.MethodGet, Path: at(b.ID) + "/toolbox-proxy-url", Into: &answer}); err != nil {
			return nil, err
		}
		address = answer.URL
	}
	base, err := cloud.Base("the toolbox of sandbox "+b.ID, address)
	if err != nil {
		return nil, err
	}
	t := *s.api
	t.Base = base.JoinPath(b.ID)
	return newToolbox(&t, b.Name), nil
}

// List gives the sandboxes of a HERMES_HOME.
func (s *service) List(ctx context.Context, owner string) ([]sandbox.Box, error) {
	all, err := s.list(ctx, labelHome, owner)
	boxes := make([]sandbox.Box, len(all))
	for i := range all {
		boxes[i] = all[i].known()
	}
	return boxes, err
}

// list gives the sandboxes that have a label, page by page. Older servers give them all at once.
func (a *access) list(ctx context.Context, label, value string) ([]box, error) {
	labels, err := json.Marshal(map[string]string{label: value})
	if err != nil {
		return nil, err
	}
	var all []box
	q := url.Values{"labels": {string(labels)}, "limit": {pageSize}}
	for range maxPages {
		var raw json.RawMessage
		if err := a.api.Do(ctx, cloud.Call{Method: http.MethodGet, Path: "/sandbox", Query: q, Into: &raw}); err != nil {
			return nil, err
		}
		var whole []box
		if json.Unmarshal(raw, &whole) == nil {
			return append(all, whole...), nil
		}
		var page struct {
			Items      []box
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
