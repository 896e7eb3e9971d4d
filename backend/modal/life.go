//go:build modal

package modal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modal-labs/modal-client/go"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
	"github.com/hermes-runtime/hermes/internal/cloud/sandbox"
)

// The tags of sandboxes.
const (
	tagTask  = "hermes_task_id"
	tagHome  = "hermes_home"
	tagUse   = "hermes_use" // sandbox.Order.Use
	tagName  = "hermes_name"
	tagFiles = "hermes_files" // stands for the image; see service.key
)

// maxListed bounds how many sandboxes are listed.
const maxListed = 1000

// running is the state of every sandbox that hasn't ended, in words.
const running = "running"

// sleeper is what a sandbox does until it ends: it waits for longer than one may live.
var sleeper = []string{"sleep", "86400"}

// reach gives a sandbox of the ledger. One that ended is ErrGone.
func (s *service) reach(ctx context.Context, r cloud.Record) (*sdk.Sandbox, error) {
	var sb *sdk.Sandbox
	var err error
	if r.ID != "" {
		sb, err = s.client.Sandboxes.FromID(ctx, r.ID, nil)
	} else {
		sb, err = s.client.Sandboxes.FromName(ctx, appName, r.Name, nil)
	}
	if err == nil {
		err = s.lives(ctx, sb)
	}
	if isMissing(err) {
		return nil, goneError(r.Name, "there is none that runs")
	}
	return sb, err
}

// lives asks whether a sandbox has ended.
func (s *service) lives(ctx context.Context, sb *sdk.Sandbox) error {
	code, err := sb.Poll(ctx, nil)
	if err == nil && code != nil {
		return ended(sb.SandboxID, *code)
	}
	return err
}

// Find looks for a sandbox by its id or name.
func (s *service) Find(ctx context.Context, r cloud.Record) (sandbox.Box, error) {
	sb, err := s.reach(ctx, r)
	if err != nil {
		return sandbox.Box{}, err
	}
	if r.ID != "" { // whose it is was asked before
		return sandbox.Box{ID: r.ID, Name: r.Name, State: sandbox.Ready, Says: running}, nil
	}
	return s.known(ctx, sb)
}

// known asks what hermes wants to know of a sandbox that runs.
func (s *service) known(ctx context.Context, sb *sdk.Sandbox) (sandbox.Box, error) {
	tags, err := sb.GetTags(ctx, nil)
	if err != nil {
		return sandbox.Box{}, err
	}
	return sandbox.Box{ID: sb.SandboxID, Name: tags[tagName], Use: tags[tagUse], State: sandbox.Ready, Says: running}, nil
}

// Make asks for a sandbox, with the files that the task has left if there are any.
func (s *service) Make(ctx context.Context, o sandbox.Order) (b sandbox.Box, begun bool, err error) {
	app, err := s.client.Apps.FromName(ctx, appName, &sdk.AppFromNameParams{CreateIfMissing: true})
	if err != nil {
		return b, false, fmt.Errorf("get the app %s: %w", appName, err)
	}
	left := ""
	if s.c.Kept {
		if left, err = s.files.Get(s.key()); err != nil {
			return b, false, err
		}
	}
	var bad error
	if left != "" {
		if b, begun, bad = s.makeFrom(ctx, app, left, o); bad == nil || begun || !unusable(bad) {
			return b, begun, bad
		}
	}
	if b, begun, err = s.makeFrom(ctx, app, s.image, o); err == nil && left != "" {
		b.Notes = []string{fmt.Sprintf("the files that this task left in %s can't be used; it begins anew from %s: %v", left, s.image, s.told(bad))}
		if err = s.files.Drop(ctx, s.key(), left); err == nil {
			s.forget(ctx, left) // it may be there and of no use
		}
	}
	return b, begun, err
}

// unusable tells whether nothing will ever be made from an image.
func unusable(err error) bool {
	code := status.Code(err)
	return isMissing(err) || code == codes.FailedPrecondition || code == codes.InvalidArgument
}

// makeFrom makes a sandbox from an image of Modal or of a registry.
func (s *service) makeFrom(ctx context.Context, app *sdk.App, image string, o sandbox.Order) (b sandbox.Box, begun bool, err error) {
	made := s.client.Images.FromRegistry(image, nil)
	if strings.HasPrefix(image, "im-") {
		if made, err = s.client.Images.FromID(ctx, image, nil); err != nil {
			return b, false, fmt.Errorf("get the image %s: %w", image, err)
		}
	} else if made, err = made.Build(ctx, app, nil); err != nil {
		return b, false, fmt.Errorf("get the image %s: %w", image, err)
	}
	return s.create(ctx, app, made, o)
}

// create asks for a sandbox. Where it isn't known whether that was heard, it is looked for by name: it is never made twice.
func (s *service) create(ctx context.Context, app *sdk.App, image *sdk.Image, o sandbox.Order) (b sandbox.Box, begun bool, err error) {
	want := &sdk.SandboxCreateParams{
		Name: o.Name, Command: sleeper, Timeout: s.c.Timeout, IdleTimeout: s.c.idle(), CPU: s.c.CPU, CPULimit: s.c.CPU,
		MemoryMiB: s.c.MemoryMB, MemoryLimitMiB: s.c.MemoryMB, BlockNetwork: !s.c.Network, GPU: s.c.GPU,
		Tags: map[string]string{tagTask: o.Task, tagHome: o.Owner, tagUse: o.Use, tagName: o.Name},
	}
	if made := s.made(); made != "" {
		want.Tags[tagFiles] = made
	}
	for r := range strings.SplitSeq(s.c.Region, ",") {
		if r = strings.TrimSpace(r); r != "" {
			want.Regions = append(want.Regions, r)
		}
	}
	sb, err := s.client.Sandboxes.Create(ctx, app, image, want)
	if err == nil && sb.SandboxID != "" {
		return sandbox.Box{ID: sb.SandboxID, Name: o.Name, Use: o.Use, State: sandbox.Coming, Says: "starting"}, true, sb.Detach()
	}
	if err == nil {
		err = errors.New("the answer names no sandbox")
	}
	looking, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	found, ferr := s.Find(looking, cloud.Record{Name: o.Name})
	switch {
	case errors.Is(ferr, environment.ErrGone):
		return b, false, err
	case ferr != nil:
		return b, !refused(err), err
	case found.Use != o.Use:
		return b, false, sandbox.Taken(o.Name)
	}
	return found, true, nil
}

// Up waits until programs run in a sandbox.
func (s *service) Up(ctx context.Context, b sandbox.Box, limit time.Duration) (up sandbox.Box, anew bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not start within %v", limit))
	defer cancel()
	sb, err := s.client.Sandboxes.FromID(ctx, b.ID, nil)
	if err != nil {
		return b, false, err
	}
	defer sb.Detach() //nolint:errcheck // it has no error
	p, err := sb.Exec(ctx, []string{"sh", "-c", ":"}, &sdk.SandboxExecParams{Stdout: sdk.Ignore, Stderr: sdk.Ignore})
	if err == nil {
		_, err = p.Wait(ctx, nil)
	}
	if err != nil {
		if ctx.Err() != nil {
			return b, false, context.Cause(ctx)
		}
		if gone := s.lives(ctx, sb); errors.Is(gone, environment.ErrGone) {
			return b, false, gone
		}
		return b, false, fmt.Errorf("run something in it: %w", err)
	}
	b.State, b.Says = sandbox.Ready, running
	return b, false, nil
}

// Remove ends a sandbox. One that was about to be made is looked for by its name.
func (s *service) Remove(ctx context.Context, r cloud.Record) error {
	sb, err := s.reach(ctx, r)
	if err != nil {
		return err
	}
	return s.terminate(ctx, sb)
}

func (s *service) terminate(ctx context.Context, sb *sdk.Sandbox) error {
	_, err := sb.Terminate(ctx, nil)
	if isMissing(err) {
		return goneError(sb.SandboxID, "it is there no more")
	}
	return err
}

// List gives the sandboxes of a HERMES_HOME.
func (s *service) List(ctx context.Context, owner string) ([]sandbox.Box, error) {
	app, err := s.client.Apps.FromName(ctx, appName, nil)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := s.client.Sandboxes.List(ctx, &sdk.SandboxListParams{AppID: app.AppID, Tags: map[string]string{tagHome: owner}})
	if err != nil {
		return nil, err
	}
	var boxes []sandbox.Box
	for sb, err := range all {
		if err != nil {
			return nil, err
		}
		b, err := s.known(ctx, sb)
		if isMissing(err) { // it ended meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		if boxes = append(boxes, b); len(boxes) == maxListed {
			break
		}
	}
	return boxes, nil
}
