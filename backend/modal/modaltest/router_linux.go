//go:build modal

package modaltest

import (
	"context"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// router runs programs in sandboxes: «task_command_router_client.go».
type router struct {
	pb.UnimplementedTaskCommandRouterServer
	s *Server
}

// process is a program in a sandbox.
type process struct {
	cmd      *exec.Cmd
	stdin    *spool
	out, err *spool
	done     chan struct{}
}

// spool keeps what was written for readers that come back.
type spool struct {
	mu   sync.Mutex
	b    []byte
	over bool
	news chan struct{}
}

func newSpool() *spool { return &spool{news: make(chan struct{})} }

// Write keeps.
func (s *spool) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b = append(s.b, b...)
	close(s.news)
	s.news = make(chan struct{})
	return len(b), nil
}

func (s *spool) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.over = true
		close(s.news)
	}
}

// from gives what is behind an offset, waiting for it; nothing = it is over.
func (s *spool) from(ctx context.Context, at int) ([]byte, error) {
	for {
		s.mu.Lock()
		b, over, news := s.b, s.over, s.news
		s.mu.Unlock()
		if at < len(b) {
			return b[at:min(len(b), at+64<<10)], nil
		}
		if over {
			return nil, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// TaskExecStart starts a program, once for each id: «sandbox.go», execInternal.
func (r *router) TaskExecStart(_ context.Context, q *pb.TaskExecStartRequest) (*pb.TaskExecStartResponse, error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	b, err := r.s.find(q.GetTaskId())
	if err != nil || b.result != nil {
		return nil, status.Error(codes.NotFound, "task is not running")
	}
	if b.execs[q.GetExecId()] != nil {
		return &pb.TaskExecStartResponse{}, nil
	}
	args := q.GetCommandArgs()
	p := &process{cmd: b.machine.Command(args[0], args[1:]...), stdin: newSpool(), out: newSpool(), err: newSpool(), done: make(chan struct{})}
	if err := p.start(); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	b.execs[q.GetExecId()], b.used = p, r.s.now()
	return &pb.TaskExecStartResponse{}, nil
}

func (p *process) start() error {
	in, feed, err := os.Pipe()
	if err != nil {
		return err
	}
	p.cmd.Stdin = in
	given := []*os.File{in}
	read := map[*os.File]*spool{}
	for w, s := range map[*io.Writer]*spool{&p.cmd.Stdout: p.out, &p.cmd.Stderr: p.err} {
		from, to, err := os.Pipe()
		if err != nil {
			return err
		}
		*w = to
		given, read[from] = append(given, to), s
	}
	err = p.cmd.Start()
	for _, f := range given {
		_ = f.Close()
	}
	if err != nil {
		return err
	}
	for f, s := range read {
		go func() { // ends with the machine at the latest
			_, _ = io.Copy(s, f)
			_ = f.Close()
			s.end()
		}()
	}
	go func() { // likewise
		_ = p.cmd.Wait()
		close(p.done)
		p.stdin.end()
	}()
	go func() {
		for at := 0; ; {
			b, _ := p.stdin.from(context.Background(), at)
			n, err := feed.Write(b)
			if at += n; len(b) == 0 || err != nil {
				_ = feed.Close()
				return
			}
		}
	}()
	return nil
}

func (r *router) process(task, id string) (*box, *process, error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	b, err := r.s.find(task)
	if err != nil || b.result != nil {
		return nil, nil, status.Error(codes.NotFound, "task is not running")
	}
	p := b.execs[id]
	if p == nil {
		return nil, nil, status.Error(codes.NotFound, "exec not found")
	}
	return b, p, nil
}

// TaskExecStdinWrite gives a program something to read, each byte once by its offset: «sandbox.go», cpStdin.
func (r *router) TaskExecStdinWrite(_ context.Context, q *pb.TaskExecStdinWriteRequest) (*pb.TaskExecStdinWriteResponse, error) {
	_, p, err := r.process(q.GetTaskId(), q.GetExecId())
	if err != nil {
		return nil, err
	}
	p.stdin.mu.Lock()
	have, over := uint64(len(p.stdin.b)), p.stdin.over
	p.stdin.mu.Unlock()
	switch data := q.GetData(); {
	case q.GetOffset() > have:
		return nil, status.Error(codes.InvalidArgument, "offset is beyond what was written")
	case q.GetOffset()+uint64(len(data)) > have && over:
		return nil, status.Error(codes.FailedPrecondition, "stdin is closed")
	case q.GetOffset()+uint64(len(data)) > have:
		_, _ = p.stdin.Write(data[have-q.GetOffset():])
	}
	if q.GetEof() {
		p.stdin.end()
	}
	return &pb.TaskExecStdinWriteResponse{}, nil
}

// TaskExecStdioRead sends what a program prints, from an offset on: «task_command_router_client.go», execStdioReader.
func (r *router) TaskExecStdioRead(q *pb.TaskExecStdioReadRequest, out grpc.ServerStreamingServer[pb.TaskExecStdioReadResponse]) error {
	_, p, err := r.process(q.GetTaskId(), q.GetExecId())
	if err != nil {
		return err
	}
	s := p.out
	if q.GetFileDescriptor() == pb.TaskExecStdioFileDescriptor_TASK_EXEC_STDIO_FILE_DESCRIPTOR_STDERR {
		s = p.err
	}
	for at := int(q.GetOffset()); ; {
		b, err := s.from(out.Context(), at)
		if err != nil || len(b) == 0 {
			return err
		}
		if err := out.Send(pb.TaskExecStdioReadResponse_builder{Data: b}.Build()); err != nil {
			return err
		}
		at += len(b)
	}
}

// TaskExecWait tells how a program ended: «task_command_router_client.go», ExecWait.
func (r *router) TaskExecWait(ctx context.Context, q *pb.TaskExecWaitRequest) (*pb.TaskExecWaitResponse, error) {
	b, p, err := r.process(q.GetTaskId(), q.GetExecId())
	if err != nil {
		return nil, err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	case <-b.over:
		return nil, status.Error(codes.Unavailable, "task has ended")
	}
	w, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if w.Signaled() {
		n := int32(w.Signal())
		return pb.TaskExecWaitResponse_builder{Signal: &n}.Build(), nil
	}
	n := int32(w.ExitStatus())
	return pb.TaskExecWaitResponse_builder{Code: &n}.Build(), nil
}

// TaskSnapshotFilesystem makes an image of a sandbox's files: «Snapshots».
func (r *router) TaskSnapshotFilesystem(_ context.Context, q *pb.TaskSnapshotFilesystemRequest) (*pb.TaskSnapshotFilesystemResponse, error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	b, err := r.s.find(q.GetTaskId())
	if err != nil || b.result != nil {
		return nil, status.Error(codes.NotFound, "task is not running")
	}
	id, err := r.s.copyFiles(b)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	r.s.images[id] = r.s.fresh(id)
	return pb.TaskSnapshotFilesystemResponse_builder{ImageId: id}.Build(), nil
}
