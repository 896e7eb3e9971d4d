//go:build modal

package modaltest

import (
	"context"
	"maps"
	"slices"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

func tagsOf(all []*pb.SandboxTag) map[string]string {
	m := map[string]string{}
	for _, t := range all {
		m[t.GetTagName()] = t.GetTagValue()
	}
	return m
}

// SandboxTagsSetV2 replaces the tags of a sandbox: «sandbox.go», SetTags.
func (a *api) SandboxTagsSetV2(_ context.Context, r *pb.SandboxTagsSetRequest) (*emptypb.Empty, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	b, err := a.s.find(r.GetSandboxId())
	if err != nil {
		return nil, err
	}
	b.Tags = tagsOf(r.GetTags())
	return &emptypb.Empty{}, nil
}

// SandboxTagsGetV2 gives the tags of a sandbox: «sandbox.go», GetTags.
func (a *api) SandboxTagsGetV2(_ context.Context, r *pb.SandboxTagsGetRequest) (*pb.SandboxTagsGetResponse, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	b, err := a.s.find(r.GetSandboxId())
	if err != nil {
		return nil, err
	}
	var tags []*pb.SandboxTag
	for _, n := range slices.Sorted(maps.Keys(b.Tags)) {
		tags = append(tags, pb.SandboxTag_builder{TagName: n, TagValue: b.Tags[n]}.Build())
	}
	return pb.SandboxTagsGetResponse_builder{Tags: tags}.Build(), nil
}

// lookup finds a sandbox of an app that runs, or the newest that ran if that is asked for: «sandbox.go», FromName.
func (a *api) lookup(r *pb.SandboxGetFromNameRequest, former bool) (*pb.SandboxGetFromNameResponse, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	app := a.s.apps[r.GetEnvironmentName()+"/"+r.GetAppName()]
	b := a.s.named(app, r.GetSandboxName())
	if b == nil && r.GetIncludeTerminated() {
		for _, o := range slices.Backward(a.s.boxes) {
			if b == nil && o.App == app && o.Name == r.GetSandboxName() {
				b = o
			}
		}
	}
	if b == nil || b.former != former {
		return nil, status.Error(codes.NotFound, "Sandbox not found")
	}
	return pb.SandboxGetFromNameResponse_builder{SandboxId: b.ID}.Build(), nil
}

// list gives a page of sandboxes that have all of some tags, the newest first, made before a time: «sandbox.go», List and
// ExperimentalList. An empty page is the last one.
func (a *api) list(r *pb.SandboxListRequest, fits func(*box) bool) (*pb.SandboxListResponse, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	limit := a.s.Pieces
	if limit == 0 {
		limit = 100
	}
	var page []*pb.SandboxInfo
	for _, b := range slices.Backward(a.s.boxes) {
		made := float64(b.made.UnixNano()) / 1e9
		ok := fits(b) && (b.result == nil || r.GetIncludeFinished()) && (r.GetAppId() == "" || b.App == "" || b.App == r.GetAppId())
		ok = ok && (r.GetBeforeTimestamp() == 0 || made < r.GetBeforeTimestamp())
		for _, t := range r.GetTags() {
			ok = ok && b.Tags[t.GetTagName()] == t.GetTagValue()
		}
		if ok && len(page) < limit {
			page = append(page, pb.SandboxInfo_builder{Id: b.ID, CreatedAt: made, AppId: b.App, Name: b.Name, ImageId: b.Image}.Build())
		}
	}
	return pb.SandboxListResponse_builder{Sandboxes: page}.Build(), nil
}

// SandboxListV2 lists sandboxes of both versions: «sandbox.go», ExperimentalList.
func (a *api) SandboxListV2(_ context.Context, r *pb.SandboxListRequest) (*pb.SandboxListResponse, error) {
	return a.list(r, func(*box) bool { return true })
}

// SandboxList lists those of the first version: «sandbox.go», ExperimentalCreate.
func (a *api) SandboxList(_ context.Context, r *pb.SandboxListRequest) (*pb.SandboxListResponse, error) {
	return a.list(r, func(b *box) bool { return b.former })
}

// SandboxGetFromNameV2 finds a sandbox by its name.
func (a *api) SandboxGetFromNameV2(_ context.Context, r *pb.SandboxGetFromNameRequest) (*pb.SandboxGetFromNameResponse, error) {
	return a.lookup(r, false)
}

// SandboxGetFromName is the same for the first version.
func (a *api) SandboxGetFromName(_ context.Context, r *pb.SandboxGetFromNameRequest) (*pb.SandboxGetFromNameResponse, error) {
	return a.lookup(r, true)
}

// The first version has methods of its own that do the same: «sandbox.go», sandboxWait and those after it.

// SandboxTagsSet replaces tags.
func (a *api) SandboxTagsSet(ctx context.Context, r *pb.SandboxTagsSetRequest) (*emptypb.Empty, error) {
	return a.SandboxTagsSetV2(ctx, r)
}

// SandboxTagsGet gives tags.
func (a *api) SandboxTagsGet(ctx context.Context, r *pb.SandboxTagsGetRequest) (*pb.SandboxTagsGetResponse, error) {
	return a.SandboxTagsGetV2(ctx, r)
}

// SandboxGetTaskId gives the task.
func (a *api) SandboxGetTaskId(ctx context.Context, r *pb.SandboxGetTaskIdRequest) (*pb.SandboxGetTaskIdResponse, error) {
	return a.SandboxGetTaskIdV2(ctx, r)
}

// SandboxWait waits for the end.
func (a *api) SandboxWait(ctx context.Context, r *pb.SandboxWaitRequest) (*pb.SandboxWaitResponse, error) {
	return a.SandboxWaitV2(ctx, r)
}

// SandboxTerminate ends a sandbox.
func (a *api) SandboxTerminate(ctx context.Context, r *pb.SandboxTerminateRequest) (*pb.SandboxTerminateResponse, error) {
	return a.SandboxTerminateV2(ctx, r)
}
