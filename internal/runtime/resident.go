package runtime

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/hermes-runtime/hermes/internal/atomicfile"
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

// Keeper is the hidden role that keeps the jobs of HERMES_HOME, whoever comes and goes. Where another one does already there is
// nothing to do. What goes wrong is noted beside its socket: nobody listens to it. build names the program, for messages.
func Keeper(ctx context.Context, build string) error {
	home := os.Getenv("HERMES_HOME")
	if home == "" {
		return errors.New("HERMES_HOME doesn't say whose jobs to keep")
	}
	notes := keeperLog{home: home, file: &atomicfile.Rotating{Path: filepath.Join(home, "run", "keeper.log")}}
	log := slog.New(slog.NewTextHandler(notes, &slog.HandlerOptions{Level: slog.LevelWarn}))
	err := resident.Detach()
	if err == nil {
		err = resident.ServeKeeper(ctx, resident.KeeperServeOptions{Home: home, Scope: os.Getenv(resident.ScopeVariable), Build: build, Log: log})
	}
	if errors.Is(err, resident.ErrKept) {
		return nil
	}
	if err != nil {
		log.Error("the keeper of jobs ended", "error", err)
	}
	return err
}

// keeperLog takes lines as long as there is a HERMES_HOME. One that was removed is not made again for what ends because of that.
type keeperLog struct {
	home string
	file *atomicfile.Rotating
}

func (l keeperLog) Write(line []byte) (int, error) {
	if _, err := os.Stat(l.home); errors.Is(err, fs.ErrNotExist) {
		return len(line), nil
	}
	return l.file.Write(line)
}
