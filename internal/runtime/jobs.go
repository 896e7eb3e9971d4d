package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/envs"
	"github.com/hermes-runtime/hermes/internal/process"
)

// busyTime bounds the question whether jobs run in an environment that nobody uses.
const busyTime = 5 * time.Second

// Jobs are the background processes, of this runtime and of others on the same HERMES_HOME.
func (r *Runtime) Jobs() *process.Table { return r.jobs }

// busy keeps an environment from being closed because it is idle: jobs run in it, or a person is still to say whether a command may.
func (r *Runtime) busy(key string) bool {
	if r.awaited.any(key) {
		return true
	}
	env, open := r.places.Environments()[key]
	if !open {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), busyTime)
	defer cancel()
	return r.jobs.Busy(ctx, env)
}

// jobHomes are the places that may keep jobs: those that are open, and the one that tasks share where it may hold what an earlier process
// started. It is not made for that.
func (r *Runtime) jobHomes(ctx context.Context) ([]process.Home, error) {
	var failed error
	open := r.places.Environments()
	if _, there := open[envs.DefaultKey]; !there {
		e, err := r.mayKeepJobs(ctx)
		if err != nil {
			failed = fmt.Errorf("look for background processes: %w", err)
		} else if e != nil {
			open[envs.DefaultKey] = e
		}
	}
	var homes []process.Home
	for _, key := range slices.Sorted(maps.Keys(open)) {
		if k, ok := open[key].(environment.Keeper); ok {
			homes = append(homes, process.Home{Key: key, Keep: k})
		}
	}
	return homes, failed
}

// mayKeepJobs gives the place that tasks share, if it can hold jobs of an earlier process. One that has to be made is looked into as it is;
// only where it stands still, and what was lost with that is to be told, is it set going.
func (r *Runtime) mayKeepJobs(ctx context.Context) (environment.Environment, error) {
	b, err := r.backend()
	if err != nil || !r.keptAt(b) {
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	if !b.Finds {
		e, err := r.distant.find(ctx, r, b)
		if err == nil || errors.Is(err, environment.ErrGone) {
			return e, nil
		}
	}
	p, err := r.places.Place(ctx, envs.DefaultKey)
	return p.Environment, err
}

// keptAt tells whether places of a backend can hold jobs of an earlier process: on this machine they have a directory, and of any other
// place it was noted when the first was started there.
func (r *Runtime) keptAt(b environment.Backend) bool {
	file := filepath.Join(r.home, "jobs")
	if b.Namespace != environment.NamespaceHost {
		file = r.keptMark(b.Name)
	}
	_, err := os.Stat(file)
	return err == nil
}

func (r *Runtime) keptMark(backend string) string {
	return filepath.Join(r.home, "run", "kept", url.PathEscape(backend))
}

// noteJobs notes that a place is about to keep a job, so that it is looked for there after a restart.
func (r *Runtime) noteJobs(i environment.Info) error {
	if i.Namespace == environment.NamespaceHost {
		return nil
	}
	mark := r.keptMark(i.Backend)
	if err := os.MkdirAll(filepath.Dir(mark), 0o700); err != nil {
		return fmt.Errorf("note that %s keeps background processes: %w", i.Backend, err)
	}
	return os.WriteFile(mark, nil, 0o600)
}

// endJobs ends what a session has running in the background, and tells the user.
func (r *Runtime) endJobs(ctx context.Context, session string) error {
	ended, err := r.jobs.EndSession(ctx, session)
	for i := range ended {
		r.tell(fmt.Sprintf("ended with its session: background process %s (%s)", ended[i].ID, ended[i].Command))
	}
	if err != nil {
		return fmt.Errorf("end the background processes of session %s: %w", session, err)
	}
	return nil
}
