package runtime

import (
	"context"
	"errors"
	"io"

	"github.com/hermes-runtime/hermes/internal/engine/guard"
	"github.com/hermes-runtime/hermes/internal/engine/resident"
)

// Guard is the hidden role that ends what a runtime leaves behind when it dies. It reads from the pipe that the runtime holds.
func Guard(in io.Reader) error { return guard.Serve(context.Background(), in) }

// spareThreads are enough for as many commands at once as a session has; each waits in a thread of its own.
const spareThreads = 24

// Resident is the hidden role that runs commands where a backend put the program. It serves one client over standard input and output.
func Resident(ctx context.Context, o resident.ServeOptions) error {
	resident.Reserve(spareThreads)
	return resident.Serve(ctx, resident.Stdio(), o)
}

// Keeper is the hidden role that keeps the jobs of a home, whoever comes and goes. Where another one does already there is nothing to do.
func Keeper(ctx context.Context, o resident.KeeperServeOptions) error {
	if err := resident.Detach(); err != nil {
		return err
	}
	err := resident.ServeKeeper(ctx, o)
	if errors.Is(err, resident.ErrKept) {
		return nil
	}
	return err
}
