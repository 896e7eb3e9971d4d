//go:build modal

package modaltest

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// image is what sandboxes are made from. Its fields are guarded by the server.
type image struct {
	files    string    // directory of its files; "" = one of a registry
	expires  time.Time // zero = never
	building int
}

// shot is a snapshot that is taken, which is done when over is closed.
type shot struct {
	over  chan struct{}
	image string
	err   error
}

// picture gives an image that is still there. The server is locked.
func (s *Server) picture(id string) (*image, error) {
	i := s.images[id]
	if i == nil || !i.expires.IsZero() && !s.now().Before(i.expires) {
		return nil, status.Error(codes.NotFound, "Image '"+id+"' not found")
	}
	return i, nil
}

// ImageGetOrCreate makes an image of a Dockerfile: «image.go», Build. The same lines give the same image. One that isn't made yet has no
// result.
func (a *api) ImageGetOrCreate(_ context.Context, r *pb.ImageGetOrCreateRequest) (*pb.ImageGetOrCreateResponse, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	id := "im-" + strings.NewReplacer(" ", "-", "/", "-", ":", "-").Replace(strings.Join(r.GetImage().GetDockerfileCommands(), "-"))
	i := a.s.images[id]
	if i == nil {
		i = &image{building: a.s.Building}
		a.s.images[id] = i
	}
	answer := pb.ImageGetOrCreateResponse_builder{ImageId: id}.Build()
	if i.building == 0 {
		answer.SetResult(result(pb.GenericResult_GENERIC_STATUS_SUCCESS, 0))
	}
	return answer, nil
}

// ImageJoinStreaming tells how the making of an image goes on, and ends now and then without its result: «image.go»,
// waitForBuildIteration.
func (a *api) ImageJoinStreaming(r *pb.ImageJoinStreamingRequest, out grpc.ServerStreamingServer[pb.ImageJoinStreamingResponse]) error {
	if err := out.Send(pb.ImageJoinStreamingResponse_builder{EntryId: "1"}.Build()); err != nil {
		return err
	}
	a.s.mu.Lock()
	i, err := a.s.picture(r.GetImageId())
	made := err == nil && i.building == 0
	if err == nil && !made {
		i.building--
	}
	a.s.mu.Unlock()
	if err != nil || !made {
		return err
	}
	return out.Send(pb.ImageJoinStreamingResponse_builder{EntryId: "2", Result: result(pb.GenericResult_GENERIC_STATUS_SUCCESS, 0), Eof: true}.Build())
}

// ImageFromId finds an image: «image.go», FromID.
func (a *api) ImageFromId(_ context.Context, r *pb.ImageFromIdRequest) (*pb.ImageFromIdResponse, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if _, err := a.s.picture(r.GetImageId()); err != nil {
		return nil, err
	}
	return pb.ImageFromIdResponse_builder{ImageId: r.GetImageId()}.Build(), nil
}

// ImageDelete deletes an image: «image.go», Delete.
func (a *api) ImageDelete(_ context.Context, r *pb.ImageDeleteRequest) (*emptypb.Empty, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if _, err := a.s.picture(r.GetImageId()); err != nil {
		return nil, err
	}
	delete(a.s.images, r.GetImageId())
	return &emptypb.Empty{}, nil
}

// TaskSnapshotFilesystem makes an image of a sandbox's files, one for each id that it is asked for under: «proto»,
// TaskSnapshotFilesystemRequest, which says what its time may be too.
func (r *router) TaskSnapshotFilesystem(ctx context.Context, q *pb.TaskSnapshotFilesystemRequest) (*pb.TaskSnapshotFilesystemResponse, error) {
	if ttl := q.GetTtlSeconds(); ttl < -1 || ttl == 0 {
		return nil, status.Error(codes.InvalidArgument, "ttl_seconds must be positive, or -1")
	}
	b, err := r.task(ctx, q.GetTaskId())
	if err != nil {
		return nil, err
	}
	r.s.mu.Lock()
	c, again := r.s.shots[q.GetSnapshotId()]
	if !again {
		c = &shot{over: make(chan struct{})}
		r.s.shots[q.GetSnapshotId()] = c
	}
	r.s.mu.Unlock()
	if !again {
		r.s.shoot(c, b, q)
	}
	select {
	case <-c.over:
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if c.err != nil {
		return nil, status.Error(codes.Internal, c.err.Error())
	}
	return pb.TaskSnapshotFilesystemResponse_builder{ImageId: c.image}.Build(), nil
}

// shoot takes a snapshot, whose time counts from its making: «proto», TaskSnapshotFilesystemRequest.
func (s *Server) shoot(c *shot, b *box, q *pb.TaskSnapshotFilesystemRequest) {
	id := "im-" + random(11)
	to := s.fresh(id)
	c.err = os.Mkdir(to, 0o700)
	for _, d := range []string{"root", "tmp"} {
		if c.err == nil {
			c.err = exec.Command("cp", "-a", b.machine.Dir()+"/"+d, to).Run()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.err != nil {
		delete(s.shots, q.GetSnapshotId())
	} else {
		i := &image{files: to}
		if ttl := q.GetTtlSeconds(); ttl > 0 {
			i.expires = s.now().Add(time.Duration(ttl) * time.Second)
		}
		c.image, s.images[id] = id, i
	}
	close(c.over)
}

// Snapshots are the images that were made of files, and are still there.
func (s *Server) Snapshots() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for id := range s.images {
		if i, err := s.picture(id); err == nil && i.files != "" {
			all = append(all, id)
		}
	}
	return all
}

// Lose deletes an image behind its user's back.
func (s *Server) Lose(image string) { s.mu.Lock(); defer s.mu.Unlock(); delete(s.images, image) }
