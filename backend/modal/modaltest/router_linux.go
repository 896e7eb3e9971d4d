//go:build modal

package modaltest

import (
	"context"
	"encoding/json"
	"strings"
	"syscall"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// maxArgs bounds the arguments of a program, in bytes: «sandbox.go», validateExecArgs.
	maxArgs = 1 << 16
	// filesTool is a program of Modal's in each sandbox: «sandbox_fs.go», sandboxFsToolsPath.
	filesTool = "/__modal/.bin/modal-sandbox-fs-tools"
)

// router runs programs in sandboxes: «task_command_router_client.go».
type router struct {
	pb.UnimplementedTaskCommandRouterServer
	s *Server
}

// task gives the sandbox of a task that runs, to whom has a token for it.
func (r *router) task(ctx context.Context, id string) (*box, error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if to, ok := r.s.valid(strings.TrimPrefix(first(ctx, "authorization"), "Bearer ")); ok && to != id {
		return nil, status.Error(codes.PermissionDenied, "the token is for another task")
	}
	b, err := r.s.find(id)
	if err != nil || b.result != nil || !b.up {
		return nil, status.Error(codes.NotFound, "task is not running")
	}
	return b, nil
}

func (r *router) process(ctx context.Context, task, id string) (*box, *process, error) {
	b, err := r.task(ctx, task)
	if err != nil {
		return nil, nil, err
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if p := b.execs[id]; p != nil {
		return b, p, nil
	}
	return nil, nil, status.Error(codes.NotFound, "exec not found")
}

// TaskExecStart starts a program, once for each id: «proto», TaskExecStartRequest, and «sandbox.go», execInternal.
func (r *router) TaskExecStart(ctx context.Context, q *pb.TaskExecStartRequest) (*pb.TaskExecStartResponse, error) {
	b, err := r.task(ctx, q.GetTaskId())
	if err != nil {
		return nil, err
	}
	size := 0
	for _, a := range q.GetCommandArgs() {
		size += len(a)
	}
	switch {
	case size == 0:
		return nil, status.Error(codes.InvalidArgument, "command is empty")
	case size > maxArgs:
		return nil, status.Error(codes.InvalidArgument, "Argument list too long")
	case q.GetPtyInfo() != nil:
		return nil, status.Error(codes.Unimplemented, "no terminals here")
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if p := b.execs[q.GetExecId()]; p != nil {
		p.asked++
		return &pb.TaskExecStartResponse{}, nil
	}
	if b.result != nil {
		return nil, status.Error(codes.NotFound, "task is not running")
	}
	p, err := r.s.program(b, q)
	if err == nil {
		err = p.start(r.s, func() { r.s.ended(b, p) })
	}
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	b.execs[q.GetExecId()], b.used = p, r.s.now()
	return &pb.TaskExecStartResponse{}, nil
}

// program makes a program of a request. The server is locked.
func (s *Server) program(b *box, q *pb.TaskExecStartRequest) (*process, error) {
	args := q.GetCommandArgs()
	p := &process{args: args, asked: 1, stdin: newSpool(), out: newSpool(), err: newSpool(), done: make(chan struct{})}
	if args[0] == filesTool {
		var err error
		if args, err = filesCommand(args); err != nil {
			return nil, err
		}
	}
	if dir := q.GetWorkdir(); dir != "" {
		args = append([]string{"sh", "-c", `cd "$0" && exec "$@"`, dir}, args...)
	}
	p.cmd = b.machine.Command(args[0], args[1:]...)
	p.cmd.Env = append(append(append([]string{}, p.cmd.Env...), b.env...), s.variables(q.GetSecretSources(), q.GetSecretIds())...)
	if q.GetStdoutConfig() == pb.TaskExecStdoutConfig_TASK_EXEC_STDOUT_CONFIG_DEVNULL {
		p.out.end()
	}
	if q.GetStderrConfig() == pb.TaskExecStderrConfig_TASK_EXEC_STDERR_CONFIG_DEVNULL {
		p.err.end()
	}
	if n := q.GetTimeoutSecs(); n > 0 {
		limit := time.Duration(n) * time.Second
		p.deadline, p.timer = s.now().Add(limit), time.AfterFunc(limit, func() { s.Later(0) })
	}
	return p, nil
}

func (s *Server) ended(b *box, p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.used = s.now()
	if p.timer != nil {
		p.timer.Stop()
	}
}

// filesCommand does what Modal's tool for files does when one is written or read: «sandbox_fs_utils.go», makeWriteFileCommand and
// makeReadFileCommand. Whatever else it can, it can't here.
func filesCommand(args []string) ([]string, error) {
	var q struct{ WriteFile, ReadFile *struct{ Path string } }
	if len(args) != 2 || json.Unmarshal([]byte(args[1]), &q) != nil {
		return nil, status.Error(codes.InvalidArgument, "the tool takes one command")
	}
	switch {
	case q.WriteFile != nil:
		return []string{"sh", "-c", `mkdir -p "$(dirname "$0")" && exec cat >"$0"`, q.WriteFile.Path}, nil
	case q.ReadFile != nil:
		return []string{"cat", q.ReadFile.Path}, nil
	}
	return []string{"sh", "-c", "echo unknown command >&2; exit 2"}, nil
}

// TaskExecStdioRead sends what a program prints, from an offset on: «task_command_router_client.go», execStdioReader.
func (r *router) TaskExecStdioRead(q *pb.TaskExecStdioReadRequest, out grpc.ServerStreamingServer[pb.TaskExecStdioReadResponse]) error {
	_, p, err := r.process(out.Context(), q.GetTaskId(), q.GetExecId())
	if err != nil {
		return err
	}
	s := p.out
	if q.GetFileDescriptor() == pb.TaskExecStdioFileDescriptor_TASK_EXEC_STDIO_FILE_DESCRIPTOR_STDERR {
		s = p.err
	}
	for at := int(q.GetOffset()); ; {
		b, err := s.from(out.Context(), at)
		if err != nil {
			return status.FromContextError(err).Err()
		}
		if len(b) == 0 {
			return nil
		}
		if err := out.Send(pb.TaskExecStdioReadResponse_builder{Data: b}.Build()); err != nil {
			return err
		}
		at += len(b)
	}
}

// exit is how a program ended.
func (p *process) exit() (code, signal *int32) {
	n := int32(p.cmd.ProcessState.ExitCode())
	if w, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		n = int32(w.Signal())
		return nil, &n
	}
	return &n, nil
}

// TaskExecWait tells how a program ended: «task_command_router_client.go», ExecWait. With its sandbox the router goes too.
func (r *router) TaskExecWait(ctx context.Context, q *pb.TaskExecWaitRequest) (*pb.TaskExecWaitResponse, error) {
	b, p, err := r.process(ctx, q.GetTaskId(), q.GetExecId())
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
	code, signal := p.exit()
	return pb.TaskExecWaitResponse_builder{Code: code, Signal: signal}.Build(), nil
}

// TaskExecPoll tells how a program ended, or nothing while it runs.
func (r *router) TaskExecPoll(ctx context.Context, q *pb.TaskExecPollRequest) (*pb.TaskExecPollResponse, error) {
	_, p, err := r.process(ctx, q.GetTaskId(), q.GetExecId())
	if err != nil || p.running() {
		return &pb.TaskExecPollResponse{}, err
	}
	code, signal := p.exit()
	return pb.TaskExecPollResponse_builder{Code: code, Signal: signal}.Build(), nil
}

// Exec is what a test sees of a program.
type Exec struct {
	ID      string
	Args    []string
	Asked   int // how often it was asked for
	Started int // how often it was started
	Running bool
}

// Execs are the programs that were started in a sandbox, in no order.
func (s *Server) Execs(id string) []Exec {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.find(id)
	if err != nil {
		return nil
	}
	var all []Exec
	for id, p := range b.execs {
		all = append(all, Exec{id, p.args, p.asked, p.started, p.running()})
	}
	return all
}

// Starts counts the programs that were started in a sandbox.
func (s *Server) Starts(id string) int { return len(s.Execs(id)) }
