//go:build modal

package modaltest

import (
	"context"
	"maps"
	"os/exec"
	"slices"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hermes-runtime/hermes/internal/cloud/cloudtest"
)

// api is the control plane. What differs between the two versions of sandboxes are names of methods and shapes of ids: «sandbox.go».
type api struct {
	pb.UnimplementedModalClientServer
	s *Server
}

// AppGetOrCreate finds an app by its name: «app.go».
func (a *api) AppGetOrCreate(_ context.Context, r *pb.AppGetOrCreateRequest) (*pb.AppGetOrCreateResponse, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	name := r.GetEnvironmentName() + "/" + r.GetAppName()
	if a.s.apps[name] == "" {
		if r.GetObjectCreationType() != pb.ObjectCreationType_OBJECT_CREATION_TYPE_CREATE_IF_MISSING {
			return nil, status.Error(codes.NotFound, "App '"+r.GetAppName()+"' not found")
		}
		a.s.apps[name] = "ap-" + random(11)
	}
	return pb.AppGetOrCreateResponse_builder{AppId: a.s.apps[name]}.Build(), nil
}

// EnvironmentGetOrCreate tells which builder makes images: «environment.go».
func (a *api) EnvironmentGetOrCreate(context.Context, *pb.EnvironmentGetOrCreateRequest) (*pb.EnvironmentGetOrCreateResponse, error) {
	return pb.EnvironmentGetOrCreateResponse_builder{EnvironmentId: "en-1", Metadata: pb.EnvironmentMetadata_builder{
		Name: "main", Settings: pb.EnvironmentSettings_builder{ImageBuilderVersion: "2024.10"}.Build(),
	}.Build()}.Build(), nil
}

// SecretGetOrCreate keeps variables for sandboxes of the first version: «secret.go», secretFromMapHydrator.
func (a *api) SecretGetOrCreate(_ context.Context, r *pb.SecretGetOrCreateRequest) (*pb.SecretGetOrCreateResponse, error) {
	if r.GetObjectCreationType() != pb.ObjectCreationType_OBJECT_CREATION_TYPE_EPHEMERAL {
		return nil, status.Error(codes.NotFound, "Secret '"+r.GetDeploymentName()+"' not found")
	}
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	id := "st-" + random(11)
	a.s.secrets[id] = r.GetEnvDict()
	return pb.SecretGetOrCreateResponse_builder{SecretId: id}.Build(), nil
}

// variables gives what secrets hold, in their order: «proto», SecretSource. The server is locked.
func (s *Server) variables(sources []*pb.SecretSource, ids []string) (env []string) {
	add := func(m map[string]string) {
		for _, n := range slices.Sorted(maps.Keys(m)) {
			env = append(env, n+"="+m[n])
		}
	}
	for _, id := range ids {
		add(s.secrets[id])
	}
	for _, one := range sources {
		add(s.secrets[one.GetSecretId()])
		add(one.GetEnv().GetContents())
	}
	return env
}

// SandboxCreateV2 makes a sandbox.
func (a *api) SandboxCreateV2(_ context.Context, r *pb.SandboxCreateV2Request) (*pb.SandboxCreateV2Response, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	b := &box{ID: "sb-" + random(16), App: r.GetAppId(), Definition: r.GetDefinition(), env: a.s.variables(r.GetSecretSources(), nil)}
	if err := a.s.create(b, r.GetTags()); err != nil {
		return nil, err
	}
	answer := pb.SandboxCreateV2Response_builder{SandboxId: b.ID}.Build()
	if a.s.Direct {
		jwt, url := a.s.reach(b)
		answer.SetTaskId(b.task)
		answer.SetCommandRouterAccess(pb.CommandRouterAccess_builder{Jwt: jwt, Url: url}.Build())
	}
	return answer, nil
}

// SandboxCreate makes one of the first version, whose ids have 22 letters and digits: «sandbox.go», isV1SandboxID.
func (a *api) SandboxCreate(_ context.Context, r *pb.SandboxCreateRequest) (*pb.SandboxCreateResponse, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	d := r.GetDefinition()
	b := &box{ID: "sb-" + random(11), App: r.GetAppId(), Definition: d, former: true, env: a.s.variables(nil, d.GetSecretIds())}
	if err := a.s.create(b, r.GetTags()); err != nil {
		return nil, err
	}
	return pb.SandboxCreateResponse_builder{SandboxId: b.ID}.Build(), nil
}

// create makes a sandbox. Names are unique among those of an app that run: «sandbox.go», ExperimentalSetName and FromName. What there may
// be at once is limited: «errors.go», ResourceExhaustedError. The server is locked.
func (s *Server) create(b *box, tags []*pb.SandboxTag) error {
	d := b.Definition
	from, err := s.picture(d.GetImageId())
	on := 0
	for _, o := range s.boxes {
		if o.result == nil {
			on++
		}
	}
	switch {
	case err != nil:
		return err
	case !slices.Contains(slices.Collect(maps.Values(s.apps)), b.App):
		return status.Error(codes.NotFound, "App not found")
	case b.time() > longestTime:
		return status.Error(codes.InvalidArgument, "timeout must be at most 24 hours")
	case d.GetName() != "" && s.named(b.App, d.GetName()) != nil:
		return status.Error(codes.AlreadyExists, "Sandbox with name '"+d.GetName()+"' already exists")
	case s.Quota > 0 && on >= s.Quota:
		return status.Error(codes.ResourceExhausted, "Sandbox limit of the workspace is reached")
	}
	b.Name, b.Image, b.Tags, b.looks, b.task = d.GetName(), d.GetImageId(), tagsOf(tags), s.Slow, "ta-"+random(8)
	b.made, b.used, b.over, b.execs = s.tick(), s.now(), make(chan struct{}), map[string]*process{}
	if b.machine, err = cloudtest.NewMachine(s.fresh(b.ID)); err == nil && from.files != "" {
		err = exec.Command("cp", "-a", from.files+"/.", b.machine.Dir()).Run()
	}
	if err == nil {
		err = s.start(b)
	}
	if err != nil {
		b.machine.Stop()
		return status.Error(codes.Internal, err.Error())
	}
	s.boxes = append(s.boxes, b)
	return nil
}

// named gives the sandbox of an app that runs under a name. The server is locked.
func (s *Server) named(app, name string) *box {
	for _, b := range s.boxes {
		if b.result == nil && b.App == app && b.Name == name {
			return b
		}
	}
	return nil
}

// find gives a sandbox by its id or that of its task. The server is locked.
func (s *Server) find(id string) (*box, error) {
	for _, b := range s.boxes {
		if b.ID == id || b.task == id && id != "" {
			return b, nil
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

// SandboxWaitV2 tells how a sandbox ended, once it has, or nothing after a time: «sandbox.go», Wait and Poll.
func (a *api) SandboxWaitV2(ctx context.Context, r *pb.SandboxWaitRequest) (*pb.SandboxWaitResponse, error) {
	a.s.mu.Lock()
	b, err := a.s.find(r.GetSandboxId())
	a.s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	limit := time.NewTimer(time.Duration(r.GetTimeout() * float32(time.Second)))
	defer limit.Stop()
	select {
	case <-b.over:
	case <-limit.C:
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	return pb.SandboxWaitResponse_builder{Result: b.result}.Build(), nil
}

// SandboxTerminateV2 ends a sandbox: «sandbox.go», Terminate.
func (a *api) SandboxTerminateV2(_ context.Context, r *pb.SandboxTerminateRequest) (*pb.SandboxTerminateResponse, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	b, err := a.s.find(r.GetSandboxId())
	if err != nil {
		return nil, err
	}
	before := b.result
	b.end(terminated)
	return pb.SandboxTerminateResponse_builder{ExistingResult: before}.Build(), nil
}

// SandboxSetName names a sandbox that has no name: «sandbox.go», ExperimentalSetName.
func (a *api) SandboxSetName(_ context.Context, r *pb.SandboxSetNameRequest) (*pb.SandboxSetNameResponse, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	b, err := a.s.find(r.GetSandboxId())
	switch {
	case err != nil:
		return nil, err
	case b.Name != "" || b.result != nil:
		return nil, status.Error(codes.FailedPrecondition, "Sandbox has a name, or has ended")
	case a.s.named(b.App, r.GetName()) != nil:
		return nil, status.Error(codes.AlreadyExists, "Sandbox with name '"+r.GetName()+"' already exists")
	}
	b.Name = r.GetName()
	return &pb.SandboxSetNameResponse{}, nil
}
