//go:build modal

package modaltest

import (
	"context"
	"errors"
	"io"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// put takes each byte once, by its offset, for a program to read: «proto», TaskExecStdinWriteRequest. What comes after the end is refused
// with the code that «sandbox_fs_utils.go», isBinaryExitedEarly, takes for that.
func (s *spool) put(offset uint64, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	have := uint64(len(s.b))
	switch end := offset + uint64(len(data)); {
	case offset > have:
		return status.Error(codes.InvalidArgument, "offset is beyond what was written")
	case end <= have: // it came before
		return nil
	case s.over:
		return status.Error(codes.FailedPrecondition, "stdin is closed")
	}
	s.keep(data[have-offset:])
	return nil
}

// use notes that a sandbox is used: «Sandboxes», idle timeouts.
func (r *router) use(b *box) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	b.used = r.s.now()
}

// TaskExecStdinWrite gives a program something to read: «sandbox.go», cpStdin.
func (r *router) TaskExecStdinWrite(ctx context.Context, q *pb.TaskExecStdinWriteRequest) (*pb.TaskExecStdinWriteResponse, error) {
	b, p, err := r.process(ctx, q.GetTaskId(), q.GetExecId())
	if err != nil {
		return nil, err
	}
	r.use(b)
	if err := p.stdin.put(q.GetOffset(), q.GetData()); err != nil {
		return nil, err
	}
	if q.GetEof() {
		p.stdin.end()
	}
	return &pb.TaskExecStdinWriteResponse{}, nil
}

// TaskExecStdinStatus tells how much was taken: «proto», TaskExecStdinStatusResponse.
func (r *router) TaskExecStdinStatus(ctx context.Context, q *pb.TaskExecStdinStatusRequest) (*pb.TaskExecStdinStatusResponse, error) {
	_, p, err := r.process(ctx, q.GetTaskId(), q.GetExecId())
	if err != nil {
		return nil, err
	}
	p.stdin.mu.Lock()
	defer p.stdin.mu.Unlock()
	return pb.TaskExecStdinStatusResponse_builder{NumBytesWritten: uint64(len(p.stdin.b)), Closed: p.stdin.over}.Build(), nil
}

// TaskExecStdinWriteStream takes a start, pieces, and an end, without which the input stays open: «task_command_router_client.go»,
// execStdinWriteStreamAttempt.
func (r *router) TaskExecStdinWriteStream(in grpc.ClientStreamingServer[pb.TaskExecStdinWriteStreamRequest, pb.TaskExecStdinWriteStreamResponse]) error {
	m, err := in.Recv()
	if err != nil {
		return err
	}
	if !m.HasStart() {
		return status.Error(codes.InvalidArgument, "the first message must be start")
	}
	b, p, err := r.process(in.Context(), m.GetStart().GetTaskId(), m.GetStart().GetExecId())
	if err != nil {
		return err
	}
	for at := m.GetStart().GetOffset(); ; {
		switch m, err := in.Recv(); {
		case errors.Is(err, io.EOF):
			return status.Error(codes.InvalidArgument, "the last message must be end")
		case err != nil:
			return err
		case m.HasEnd():
			p.stdin.end()
			return in.SendAndClose(&pb.TaskExecStdinWriteStreamResponse{})
		default:
			r.use(b)
			if err := p.stdin.put(at, m.GetData()); err != nil {
				return err
			}
			at += uint64(len(m.GetData()))
		}
	}
}
