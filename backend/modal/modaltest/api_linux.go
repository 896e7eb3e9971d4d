//go:build modal

package modaltest

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/hermes-runtime/hermes/internal/cloud/cloudtest"
)

// api is the control plane. What differs between the two versions of sandboxes are names of methods and shapes of ids: «sandbox.go».
type api struct {
	pb.UnimplementedModalClientServer
	s *Server
}

// AuthTokenGet gives the token that all other requests carry: «auth_token_manager.go».
func (a *api) AuthTokenGet(context.Context, *pb.AuthTokenGetRequest) (*pb.AuthTokenGetResponse, error) {
	return pb.AuthTokenGetResponse_builder{Token: token(time.Now().Add(20 * time.Minute))}.Build(), nil
}

// AppGetOrCreate finds an app by its name: «app.go».
func (a *api) AppGetOrCreate(_ context.Context, r *pb.AppGetOrCreateRequest) (*pb.AppGetOrCreateResponse, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if a.s.app == "" && r.GetObjectCreationType() != pb.ObjectCreationType_OBJECT_CREATION_TYPE_CREATE_IF_MISSING {
		return nil, status.Error(codes.NotFound, "App not found")
	}
	a.s.app = "ap-" + r.GetAppName()
	return pb.AppGetOrCreateResponse_builder{AppId: a.s.app}.Build(), nil
}

// EnvironmentGetOrCreate tells which builder makes images: «environment.go».
func (a *api) EnvironmentGetOrCreate(context.Context, *pb.EnvironmentGetOrCreateRequest) (*pb.EnvironmentGetOrCreateResponse, error) {
	return pb.EnvironmentGetOrCreateResponse_builder{EnvironmentId: "en-1", Metadata: pb.EnvironmentMetadata_builder{
		Name: "main", Settings: pb.EnvironmentSettings_builder{ImageBuilderVersion: "2024.10"}.Build(),
	}.Build()}.Build(), nil
}

// ImageGetOrCreate makes an image of a Dockerfile: «image.go», Build. The same lines give the same image.
func (a *api) ImageGetOrCreate(_ context.Context, r *pb.ImageGetOrCreateRequest) (*pb.ImageGetOrCreateResponse, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	id := "im-" + strings.NewReplacer(" ", "-", "/", "-", ":", "-").Replace(strings.Join(r.GetImage().GetDockerfileCommands(), "-"))
	a.s.images[id] = ""
	return pb.ImageGetOrCreateResponse_builder{ImageId: id, Result: result(pb.GenericResult_GENERIC_STATUS_SUCCESS, 0)}.Build(), nil
}

// ImageFromId finds an image: «image.go», FromID.
func (a *api) ImageFromId(_ context.Context, r *pb.ImageFromIdRequest) (*pb.ImageFromIdResponse, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if _, ok := a.s.images[r.GetImageId()]; !ok {
		return nil, status.Error(codes.NotFound, "Image not found")
	}
	return pb.ImageFromIdResponse_builder{ImageId: r.GetImageId()}.Build(), nil
}

// ImageDelete deletes an image: «image.go», Delete.
func (a *api) ImageDelete(_ context.Context, r *pb.ImageDeleteRequest) (*emptypb.Empty, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if _, ok := a.s.images[r.GetImageId()]; !ok {
		return nil, status.Error(codes.NotFound, "Image not found")
	}
	delete(a.s.images, r.GetImageId())
	return &emptypb.Empty{}, nil
}

// SandboxCreateV2 makes a sandbox. Names are unique among those of an app that run: «Sandboxes», named sandboxes.
func (a *api) SandboxCreateV2(_ context.Context, r *pb.SandboxCreateV2Request) (*pb.SandboxCreateV2Response, error) {
	b, err := a.s.create("sb-"+random(16), r.GetAppId(), r.GetDefinition(), r.GetTags())
	if err != nil {
		return nil, err
	}
	return pb.SandboxCreateV2Response_builder{SandboxId: b.ID}.Build(), nil
}

// SandboxCreate makes one of the first version, whose ids have 22 letters and digits: «sandbox.go», isV1SandboxID.
func (a *api) SandboxCreate(_ context.Context, r *pb.SandboxCreateRequest) (*pb.SandboxCreateResponse, error) {
	b, err := a.s.create("sb-"+random(11), r.GetAppId(), r.GetDefinition(), r.GetTags())
	if err != nil {
		return nil, err
	}
	return pb.SandboxCreateResponse_builder{SandboxId: b.ID}.Build(), nil
}

func (s *Server) create(id, app string, d *pb.Sandbox, tags []*pb.SandboxTag) (*box, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	files, ok := s.images[d.GetImageId()]
	on := 0
	for _, o := range s.boxes {
		if o.result == nil {
			on++
		}
	}
	switch {
	case !ok || app != s.app:
		return nil, status.Error(codes.NotFound, "Image or App not found")
	case d.GetName() != "" && slices.ContainsFunc(s.boxes, func(o *box) bool { return o.result == nil && o.Name == d.GetName() }):
		return nil, status.Error(codes.AlreadyExists, "Sandbox with name '"+d.GetName()+"' already exists")
	case s.Quota > 0 && on >= s.Quota:
		return nil, status.Error(codes.ResourceExhausted, "Sandbox limit of the workspace is reached")
	}
	b := &box{ID: id, Name: d.GetName(), Image: d.GetImageId(), Definition: d, Tags: map[string]string{}, looks: s.Slow, made: s.now(), used: s.now(),
		task: "ta-" + random(8), over: make(chan struct{}), execs: map[string]*process{}}
	for _, t := range tags {
		b.Tags[t.GetTagName()] = t.GetTagValue()
	}
	var err error
	if b.machine, err = cloudtest.NewMachine(s.fresh(id)); err == nil && files != "" {
		err = exec.Command("cp", "-a", files+"/.", b.machine.Dir()).Run()
	}
	if err == nil {
		err = b.machine.Start()
	}
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	s.boxes = append(s.boxes, b)
	return b, nil
}

// find gives a sandbox by its id or that of its task.
func (s *Server) find(id string) (*box, error) {
	for _, b := range s.boxes {
		if b.ID == id || b.task == id {
			return b, nil
		}
	}
	return nil, status.Error(codes.NotFound, "Sandbox not found")
}

// SandboxGetFromNameV2 finds a sandbox that runs: «sandbox.go», FromName.
func (a *api) SandboxGetFromNameV2(_ context.Context, r *pb.SandboxGetFromNameRequest) (*pb.SandboxGetFromNameResponse, error) {
	return a.named(r, false)
}

// SandboxGetFromName is the same for the first version.
func (a *api) SandboxGetFromName(_ context.Context, r *pb.SandboxGetFromNameRequest) (*pb.SandboxGetFromNameResponse, error) {
	return a.named(r, true)
}

func (a *api) named(r *pb.SandboxGetFromNameRequest, former bool) (*pb.SandboxGetFromNameResponse, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	for _, b := range a.s.boxes {
		if b.result == nil && b.Name == r.GetSandboxName() && (len(b.ID) == 25) == former {
			return pb.SandboxGetFromNameResponse_builder{SandboxId: b.ID}.Build(), nil
		}
	}
	return nil, status.Error(codes.NotFound, "Sandbox not found")
}

// SandboxGetTaskIdV2 gives the task of a sandbox once it is scheduled, or how it ended: «sandbox.go», waitForTaskID.
func (a *api) SandboxGetTaskIdV2(_ context.Context, r *pb.SandboxGetTaskIdRequest) (*pb.SandboxGetTaskIdResponse, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	b, err := a.s.find(r.GetSandboxId())
	if err != nil {
		return nil, err
	}
	if b.result != nil {
		return pb.SandboxGetTaskIdResponse_builder{TaskResult: b.result}.Build(), nil
	}
	if b.looks--; b.looks >= 0 {
		return &pb.SandboxGetTaskIdResponse{}, nil
	}
	return pb.SandboxGetTaskIdResponse_builder{TaskId: &b.task}.Build(), nil
}

// SandboxGetTaskId is the same for the first version.
func (a *api) SandboxGetTaskId(ctx context.Context, r *pb.SandboxGetTaskIdRequest) (*pb.SandboxGetTaskIdResponse, error) {
	return a.SandboxGetTaskIdV2(ctx, r)
}

// SandboxGetCommandRouterAccess tells where programs of a sandbox are run: «task_command_router_client.go».
func (a *api) SandboxGetCommandRouterAccess(_ context.Context, r *pb.SandboxGetCommandRouterAccessRequest) (*pb.SandboxGetCommandRouterAccessResponse, error) {
	jwt, url, err := a.s.access(r.GetSandboxId())
	return pb.SandboxGetCommandRouterAccessResponse_builder{Jwt: jwt, Url: url}.Build(), err
}

// TaskGetCommandRouterAccess is the same for the first version.
func (a *api) TaskGetCommandRouterAccess(_ context.Context, r *pb.TaskGetCommandRouterAccessRequest) (*pb.TaskGetCommandRouterAccessResponse, error) {
	jwt, url, err := a.s.access(r.GetTaskId())
	return pb.TaskGetCommandRouterAccessResponse_builder{Jwt: jwt, Url: url}.Build(), err
}

func (s *Server) access(id string) (jwt, url string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.find(id)
	if err != nil {
		return "", "", err
	}
	b.expires = s.now().Add(10 * time.Minute).Add(s.skew)
	b.jwt = token(b.expires)
	return b.jwt, strings.Replace(s.URL, "http:", "https:", 1), nil
}

// SandboxWaitV2 tells how a sandbox ended, once it has, or nothing after a time: «sandbox.go», Wait and Poll.
func (a *api) SandboxWaitV2(ctx context.Context, r *pb.SandboxWaitRequest) (*pb.SandboxWaitResponse, error) {
	a.s.mu.Lock()
	b, err := a.s.find(r.GetSandboxId())
	a.s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	limit := time.NewTimer(max(time.Duration(r.GetTimeout()*float32(time.Second)), time.Millisecond)) // one that is over is said to be so at once
	defer limit.Stop()
	select {
	case <-b.over:
		a.s.mu.Lock()
		defer a.s.mu.Unlock()
		return pb.SandboxWaitResponse_builder{Result: b.result}.Build(), nil
	case <-limit.C:
	case <-ctx.Done():
	}
	return &pb.SandboxWaitResponse{}, ctx.Err()
}

// SandboxWait is the same for the first version.
func (a *api) SandboxWait(ctx context.Context, r *pb.SandboxWaitRequest) (*pb.SandboxWaitResponse, error) {
	return a.SandboxWaitV2(ctx, r)
}

// SandboxTerminateV2 ends a sandbox: «sandbox.go», Terminate.
func (a *api) SandboxTerminateV2(_ context.Context, r *pb.SandboxTerminateRequest) (*pb.SandboxTerminateResponse, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	b, err := a.s.find(r.GetSandboxId())
	if err != nil {
		return nil, err
	}
	b.end(terminated)
	return &pb.SandboxTerminateResponse{}, nil
}

// SandboxTerminate is the same for the first version.
func (a *api) SandboxTerminate(ctx context.Context, r *pb.SandboxTerminateRequest) (*pb.SandboxTerminateResponse, error) {
	return a.SandboxTerminateV2(ctx, r)
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
	for n, v := range b.Tags {
		tags = append(tags, pb.SandboxTag_builder{TagName: n, TagValue: v}.Build())
	}
	return pb.SandboxTagsGetResponse_builder{Tags: tags}.Build(), nil
}

// SandboxTagsGet is the same for the first version.
func (a *api) SandboxTagsGet(ctx context.Context, r *pb.SandboxTagsGetRequest) (*pb.SandboxTagsGetResponse, error) {
	return a.SandboxTagsGetV2(ctx, r)
}

// SandboxListV2 gives a page of sandboxes that have all of some tags, the newest first, made before a time: «sandbox.go», List.
func (a *api) SandboxListV2(_ context.Context, r *pb.SandboxListRequest) (*pb.SandboxListResponse, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	limit := a.s.Pieces
	if limit == 0 {
		limit = 100
	}
	var page []*pb.SandboxInfo
	for _, b := range slices.Backward(a.s.boxes) {
		made := float64(b.made.UnixNano()) / 1e9
		fits := (b.result == nil || r.GetIncludeFinished()) && (r.GetBeforeTimestamp() == 0 || made < r.GetBeforeTimestamp())
		for _, t := range r.GetTags() {
			fits = fits && b.Tags[t.GetTagName()] == t.GetTagValue()
		}
		if fits && len(page) < limit {
			page = append(page, pb.SandboxInfo_builder{Id: b.ID, CreatedAt: made}.Build())
		}
	}
	return pb.SandboxListResponse_builder{Sandboxes: page}.Build(), nil
}

// ImageJoinStreaming tells how the making of an image goes on: «image.go», waitForBuildIteration.
func (a *api) ImageJoinStreaming(_ *pb.ImageJoinStreamingRequest, out grpc.ServerStreamingServer[pb.ImageJoinStreamingResponse]) error {
	if err := out.Send(pb.ImageJoinStreamingResponse_builder{EntryId: "1"}.Build()); err != nil {
		return err
	}
	return out.Send(pb.ImageJoinStreamingResponse_builder{EntryId: "2", Result: result(pb.GenericResult_GENERIC_STATUS_SUCCESS, 0)}.Build())
}

// copyFiles takes a snapshot of a machine.
func (s *Server) copyFiles(b *box) (string, error) {
	id := "im-" + random(11)
	to := s.fresh(id)
	if err := os.Mkdir(to, 0o700); err != nil {
		return "", err
	}
	for _, d := range []string{"root", "tmp"} {
		if err := exec.Command("cp", "-a", b.machine.Dir()+"/"+d, to).Run(); err != nil {
			return "", err
		}
	}
	return id, nil
}
