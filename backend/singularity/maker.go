package singularity

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/hold"
)

const (
	// makeTime is how long starting an instance may take, once its image is there.
	makeTime = 120 * time.Second
	// removeTime bounds the end of what a start that failed has left.
	removeTime = stopTime + 5*time.Second
	// waitTime is how often somebody looks who waits for an instance to be stopped.
	waitTime = 20 * time.Millisecond
)

// maker finds or starts the instance of a plan.
type maker struct {
	client *client
	plan   *plan
	holds  hold.Holds
	o      environment.OpenOptions
	config *Config
	log    *slog.Logger
}

// box is an instance that runs and is held.
type box struct {
	instance
	hold *hold.Hold
	anew bool
	kept bool // it may be used again by others
}

// obtain gives an instance that runs. One whose files are kept is shared by all who want the same; of several who ask for it at once, in
// this process or others, one starts it.
func (m *maker) obtain(ctx context.Context) (*box, error) {
	image, err := m.file(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, m.limit(image), fmt.Errorf("the instance was not up within %v", m.limit(image)))
	defer cancel()
	if m.plan.overlay == "" {
		h, err := m.holds.Share(m.plan.name)
		if err != nil {
			return nil, err
		}
		return m.start(ctx, image, h)
	}
	release, err := m.holds.Alone(ctx, m.plan.name)
	if err != nil {
		return nil, err
	}
	defer release()
	for {
		h, err := m.share(ctx)
		if err != nil {
			return nil, err
		}
		found, err := m.client.find(ctx, m.plan.name)
		switch {
		case err != nil:
			h.Release()
			return nil, err
		case found == nil:
			return m.start(ctx, image, h)
		case m.made() == m.plan.digest:
			return &box{instance: *found, hold: h, kept: true}, nil
		}
		h.Release()
		if err := m.replace(ctx, found); err != nil {
			return nil, err
		}
	}
}

// limit is how long a start may take. One that has to fetch the image takes longer.
func (m *maker) limit(image string) time.Duration {
	if isRemote(image) {
		return makeTime + m.config.PullTimeout
	}
	return makeTime
}

// share holds the instance. Who is about to stop it is waited for.
func (m *maker) share(ctx context.Context) (*hold.Hold, error) {
	for {
		h, err := m.holds.Share(m.plan.name)
		if err == nil {
			return h, nil
		}
		select {
		case <-time.After(waitTime):
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), err)
		}
	}
}

// made is the digest of the plan that the instance of this name was started by. note writes it down.
func (m *maker) made() string {
	b, err := os.ReadFile(m.plan.overlay + ".made")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func (m *maker) note() error {
	return os.WriteFile(m.plan.overlay+".made", []byte(m.plan.digest+"\n"), 0o600)
}

// replace stops an instance that was started for another configuration. Two can't have the same files at once.
func (m *maker) replace(ctx context.Context, i *instance) error {
	inUse := func(by string) error {
		return &environment.Error{Kind: environment.ErrUnavailable, Op: "start the instance " + i.Name, Err: fmt.Errorf(
			"it runs with another configuration and is in use by %s; end that, or stop it with: %s instance stop %[3]s", by, m.client.program, i.Name)}
	}
	done, ok := m.holds.Seize(i.Name)
	if !ok {
		return inUse("another hermes")
	}
	defer done(false)
	busy, err := i.busy()
	switch {
	case err != nil:
		return err
	case busy:
		return inUse("background processes")
	}
	return m.client.stop(ctx, i.Name)
}

// start starts the instance. What a failure leaves is stopped. Bounds that this machine doesn't grant are left out, which is said.
func (m *maker) start(ctx context.Context, image string, h *hold.Hold) (*box, error) {
	b, err := m.tries(ctx, image)
	if err != nil {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
		defer cancel()
		err = errors.Join(err, m.client.stop(clean, m.plan.name))
		h.Release()
		if m.plan.overlay == "" {
			h.Forget()
		}
		return nil, &environment.Error{Kind: environment.ErrUnavailable, Op: "start an instance of " + m.plan.image, Err: err}
	}
	b.hold, b.anew, b.kept = h, true, m.plan.overlay != ""
	return b, nil
}

func (m *maker) tries(ctx context.Context, image string) (*box, error) {
	if m.plan.overlay != "" {
		if err := os.MkdirAll(m.plan.overlay, 0o700); err != nil {
			return nil, fmt.Errorf("make a directory for the files of the instance: %w", err)
		}
		if err := m.note(); err != nil {
			return nil, err
		}
	}
	b, err := m.once(ctx, image, m.plan.bounds)
	if err == nil || len(m.plan.bounds) == 0 || ctx.Err() != nil {
		return b, err
	}
	b, again := m.once(ctx, image, nil)
	if again != nil { // then it isn't for the bounds
		return nil, err
	}
	m.plan.notes = append(m.plan.notes, "container_cpu and container_memory are not kept: this machine lets no instance be bounded")
	return b, nil
}

func (m *maker) once(ctx context.Context, image string, bounds []string) (*box, error) {
	args := slices.Concat([]string{"instance", "start"}, m.plan.args, bounds, []string{image, m.plan.name})
	if _, err := m.client.run(ctx, m.limit(image), args...); err != nil {
		return nil, err
	}
	found, err := m.client.find(ctx, m.plan.name)
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		return nil, errors.New("it ended as soon as it was started")
	}
	return &box{instance: *found}, nil
}

// find gives the instance that runs, to look into. Nothing is started for it.
func (m *maker) find(ctx context.Context) (*box, error) {
	gone := &environment.Error{Kind: environment.ErrGone, Op: "find an instance", Err: errors.New("none runs")}
	if m.plan.overlay == "" {
		return nil, gone
	}
	found, err := m.client.find(ctx, m.plan.name)
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		return nil, gone
	}
	h, err := m.holds.Share(m.plan.name)
	if err != nil {
		return nil, &environment.Error{Kind: environment.ErrGone, Op: "find an instance", Err: err}
	}
	return &box{instance: *found, hold: h, kept: true}, nil
}

// file gives the image as a file or directory of this machine. One that is fetched becomes a file once; where that can't be had, Apptainer
// fetches it for the instance alone.
func (m *maker) file(ctx context.Context) (string, error) {
	if !isRemote(m.plan.image) || m.o.Find {
		return m.plan.image, nil
	}
	sif := m.plan.scratch.sif(m.plan.image)
	if _, err := os.Stat(sif); err == nil {
		return sif, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, m.config.PullTimeout, fmt.Errorf("it took longer than terminal.pull_timeout (%v)", m.config.PullTimeout))
	defer cancel()
	release, err := hold.At(filepath.Dir(sif)).Alone(ctx, filepath.Base(sif))
	if err != nil {
		return "", &environment.Error{Kind: environment.ErrUnavailable, Op: "fetch the image " + m.plan.image, Err: errors.Join(context.Cause(ctx), err)}
	}
	defer release()
	if _, err := os.Stat(sif); err == nil { // another has fetched it meanwhile
		return sif, nil
	}
	err = m.build(ctx, sif)
	switch {
	case err == nil:
		return sif, nil
	case ctx.Err() != nil:
		return "", &environment.Error{Kind: environment.ErrUnavailable, Op: "fetch the image " + m.plan.image, Err: errors.Join(context.Cause(ctx), err)}
	}
	m.log.Warn("the image can't be kept as a file; it is fetched for the instance alone", "image", m.plan.image, "error", err)
	return m.plan.image, nil
}

// build fetches the image into a file, which has its name only once it is whole. The lock for it is held.
func (m *maker) build(ctx context.Context, sif string) error {
	all, _ := os.ReadDir(filepath.Dir(sif))
	for _, f := range all { // of those who were killed; their run of the command may go on, so that no two write one file
		if strings.HasPrefix(f.Name(), filepath.Base(sif)+".") && strings.HasSuffix(f.Name(), ".part") {
			_ = os.Remove(filepath.Join(filepath.Dir(sif), f.Name()))
		}
	}
	var b [6]byte
	_, _ = rand.Read(b[:])
	part := sif + "." + hex.EncodeToString(b[:]) + ".part"
	defer os.Remove(part)
	m.say("fetching the image %s\n", m.plan.image)
	env := m.client.environ(slices.Concat(passed, passedForImages)...)
	if _, err := m.client.runWith(ctx, m.config.PullTimeout, env, "build", part, m.plan.image); err != nil {
		return err
	}
	if err := os.Rename(part, sif); err != nil {
		return fmt.Errorf("put the image in its place: %w", err)
	}
	m.say("fetched\n")
	return nil
}

func (m *maker) say(format string, args ...any) {
	if m.o.Stderr != nil {
		fmt.Fprintf(m.o.Stderr, format, args...)
	}
}
