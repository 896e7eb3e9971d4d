package docker

import (
	"archive/tar"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/contact"
	"github.com/hermes-runtime/hermes/internal/engine/hold"
)

const (
	// makeTime is how long making and starting a container may take, once its image is there.
	makeTime = 120 * time.Second
	// removeTime bounds the removal of what a start that failed has left.
	removeTime = 20 * time.Second
)

// maker finds or makes the container of a plan.
type maker struct {
	d        *daemon
	p        *plan
	holds    hold.Holds
	fetch    fetch
	resident program
	persist  bool
	uid, gid int // who gets the directories that are made; -1 = nobody else
}

// made is a container that is up and held.
type made struct {
	id   string
	name string
	hold *hold.Hold
	anew bool
	info container.InspectResponse
}

// obtain gives a container that is up. Of several who ask for the same at once, in this process or others, one makes it.
func (m *maker) obtain(ctx context.Context) (*made, error) {
	m.p.hash = m.p.digest(m.resident.id)
	if !m.persist {
		return m.create(ctx)
	}
	release, err := m.holds.Alone(ctx, m.p.labels.use())
	if err != nil {
		return nil, err
	}
	defer release()
	all, err := m.d.former(ctx, m.p.labels)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if c.Labels[labelConfig] != m.p.hash {
			m.replace(ctx, c)
			continue
		}
		if found, err := m.reuse(ctx, c); err == nil {
			return found, nil
		} else if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return m.create(ctx)
}

// former gives the containers of earlier runs for the same use, those that run first.
func (d *daemon) former(ctx context.Context, l labels) ([]container.Summary, error) {
	all, err := d.listed(ctx, l.home)
	if err != nil {
		return nil, fmt.Errorf("look for the container of an earlier run: %w", err)
	}
	all = slices.DeleteFunc(all, func(c container.Summary) bool {
		return c.Labels[labelTask] != l.task || c.Labels[labelProfile] != l.profile
	})
	slices.SortStableFunc(all, func(a, b container.Summary) int { return rank(a) - rank(b) })
	return all, nil
}

func rank(c container.Summary) int {
	switch c.State {
	case container.StateRunning:
		return 0
	case container.StatePaused:
		return 1
	}
	return 2
}

// replace removes a container that was made for another configuration, unless it is in use. That it stays is no failure.
func (m *maker) replace(ctx context.Context, c container.Summary) {
	if busy, err := m.d.busy(ctx, c); busy || err != nil {
		m.p.notes = append(m.p.notes, fmt.Sprintf("background processes may go on in container %s, which was made for an earlier configuration; docker rm -f %[1]s ends them", nameOf(c)))
		return
	}
	done, ok := m.holds.Seize(nameOf(c))
	if !ok {
		return
	}
	done(m.d.remove(ctx, c.ID) == nil)
}

// reuse takes a container that is there.
func (m *maker) reuse(ctx context.Context, c container.Summary) (*made, error) {
	h, err := m.holds.Share(nameOf(c))
	if err != nil {
		return nil, err
	}
	info, err := m.d.up(ctx, c.ID)
	if err != nil {
		h.Release()
		return nil, err
	}
	return &made{id: c.ID, name: nameOf(c), hold: h, info: info}, nil
}

// awake gives what a container is like that runs.
func (d *daemon) awake(ctx context.Context, id string) (container.InspectResponse, error) {
	r, err := d.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err == nil && (!r.Container.State.Running || r.Container.State.Paused) {
		err = contact.ErrAsleep
	}
	return r.Container, err
}

// up has a container run and gives what it is like.
func (d *daemon) up(ctx context.Context, id string) (container.InspectResponse, error) {
	r, err := d.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil {
		return r.Container, err
	}
	switch s := r.Container.State; {
	case s.Status == container.StateRemoving || s.Dead:
		return r.Container, d.removed(ctx, id)
	case s.Paused:
		_, err = d.ContainerUnpause(ctx, id, client.ContainerUnpauseOptions{})
	case !s.Running:
		_, err = d.ContainerStart(ctx, id, client.ContainerStartOptions{})
	default:
		return r.Container, nil
	}
	if err != nil {
		return r.Container, err
	}
	r, err = d.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	return r.Container, err
}

// removed waits for the end of a removal that somebody has begun, and says that the container is gone.
func (d *daemon) removed(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, removeTime, fmt.Errorf("its removal is not over within %v", removeTime))
	defer cancel()
	w := d.ContainerWait(ctx, id, client.ContainerWaitOptions{Condition: container.WaitConditionRemoved})
	select {
	case <-w.Result:
	case err := <-w.Error:
		if err != nil {
			return causeOf(ctx, err)
		}
	}
	return errdefs.ErrNotFound
}

// create makes a container and starts it. What a failure leaves is removed.
func (m *maker) create(ctx context.Context) (*made, error) {
	f := m.fetch
	f.image = m.p.config.Image
	image, err := m.d.image(ctx, f)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, makeTime, fmt.Errorf("the container was not up within %v", makeTime))
	defer cancel()
	if err := m.p.makeDirs(m.uid, m.gid); err != nil {
		return nil, err
	}
	n := "hermes-" + random()
	h, err := m.holds.Share(n)
	if err != nil {
		return nil, err
	}
	c, err := m.start(ctx, n, image)
	if err != nil {
		err = causeOf(ctx, err)
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
		defer cancel()
		err = errors.Join(err, m.d.remove(clean, n))
		h.Release()
		h.Forget()
		return nil, err
	}
	return &made{id: c.ID, name: n, hold: h, anew: true, info: c}, nil
}

func random() string {
	var b [4]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// makeDirs makes the directories that hold the container's files, for the user that commands run as.
func (p *plan) makeDirs(uid, gid int) error {
	for _, d := range p.made {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return fmt.Errorf("make a directory for the container's files: %w", err)
		}
		if uid >= 0 && os.Getuid() == 0 {
			if err := os.Chown(d, uid, gid); err != nil {
				return fmt.Errorf("give %s to the user that commands run as: %w", d, err)
			}
		}
	}
	if uid >= 0 {
		p.makePoints(uid, gid)
	}
	return nil
}

// makePoints makes the directories in the kept home that something is mounted on: those that the daemon makes are root's, and the user
// that commands run as could put nothing beside what is mounted. The container may have put links in their place, which aren't followed
// out of the home; there the daemon does it.
func (p *plan) makePoints(uid, gid int) {
	for _, m := range p.host.Mounts {
		if m.Target != rootHome || len(p.below) == 0 {
			continue
		}
		root, err := os.OpenRoot(m.Source)
		if err != nil {
			return
		}
		defer root.Close()
		for _, d := range p.below {
			if root.Mkdir(d, 0o700) == nil && os.Getuid() == 0 {
				_ = root.Lchown(d, uid, gid)
			}
		}
		return
	}
}

// start makes the container under a name and has it run.
func (m *maker) start(ctx context.Context, n string, image client.ImageInspectResult) (container.InspectResponse, error) {
	var none container.InspectResponse
	config, host := *m.p.config, *m.p.host
	config.Labels = maps.Clone(config.Labels)
	if config.Labels == nil {
		config.Labels = map[string]string{}
	}
	maps.Copy(config.Labels, m.p.labels.text())
	config.Labels[labelConfig] = m.p.hash
	ownInit(&config, &host, image)
	copyIn := m.resident.path != "" && !m.d.at.local()
	if m.resident.path != "" && !copyIn {
		host.Mounts = append(slices.Clone(host.Mounts), mount.Mount{Type: mount.TypeBind, Source: m.resident.path, Target: carried, ReadOnly: true})
	}
	m.bound(&host, image)
	id, err := m.make(ctx, n, &config, &host)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return none, err
	}
	if copyIn {
		if err := m.carry(ctx, id); err != nil {
			return none, fmt.Errorf("bring the hermes binary into the container: %w", err)
		}
	}
	if _, err := m.d.ContainerStart(ctx, id, client.ContainerStartOptions{}); err != nil {
		return none, fmt.Errorf("start the container: %w", err)
	}
	r, err := m.d.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	return r.Container, err
}

// make creates the container. A bound of the disk that the storage turns out not to keep is left out.
func (m *maker) make(ctx context.Context, n string, config *container.Config, host *container.HostConfig) (string, error) {
	ctx, cancel := patient(ctx)
	defer cancel()
	r, err := m.d.ContainerCreate(ctx, client.ContainerCreateOptions{Config: config, HostConfig: host, Name: n})
	if err != nil && len(host.StorageOpt) > 0 && !errdefs.IsNotFound(err) && ctx.Err() == nil {
		host.StorageOpt = nil
		m.p.notes = append(m.p.notes, noDisk)
		r, err = m.d.ContainerCreate(ctx, client.ContainerCreateOptions{Config: config, HostConfig: host, Name: n})
	}
	if err != nil {
		return "", fmt.Errorf("make the container: %w", err)
	}
	return r.ID, nil
}

// patient gives a request that the engine would finish behind our back some time after ctx has ended: what it makes could not be removed
// otherwise.
func patient(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		late := time.AfterFunc(removeTime, cancel)
		context.AfterFunc(longer, func() { late.Stop() })
	})
	return longer, func() { stop(); cancel() }
}

const noDisk = "container_disk is not kept: the storage of this container engine can't bound a container"

// bounding are the storages that can keep a bound of the disk; overlay2 says at the making whether the file system below it does.
var bounding = []string{"btrfs", "zfs", "devicemapper", "windowsfilter", "overlay2"}

// bound drops the bound of the disk where the storage is known not to keep one.
func (m *maker) bound(host *container.HostConfig, image client.ImageInspectResult) {
	if len(host.StorageOpt) == 0 || image.GraphDriver != nil && slices.Contains(bounding, image.GraphDriver.Name) {
		return
	}
	host.StorageOpt = nil
	m.p.notes = append(m.p.notes, noDisk)
}

// ownInit leaves images alone that bring an init of their own: it has to be the first process, and starts from /run.
func ownInit(config *container.Config, host *container.HostConfig, image client.ImageInspectResult) {
	if image.Config == nil || len(image.Config.Entrypoint) == 0 || image.Config.Entrypoint[0] != "/init" {
		return
	}
	no := false
	host.Init = &no
	config.Entrypoint, config.Cmd = nil, sleeper
	host.Tmpfs = maps.Clone(host.Tmpfs)
	if opts, ok := host.Tmpfs["/run"]; ok {
		host.Tmpfs["/run"] = strings.Replace(opts, "noexec", "exec", 1)
	}
}

// carry copies the binary to where it is run.
func (m *maker) carry(ctx context.Context, id string) error {
	f, err := os.Open(m.resident.path)
	if err != nil {
		return err
	}
	defer f.Close()
	i, err := f.Stat()
	if err != nil {
		return err
	}
	r, w := io.Pipe()
	defer r.Close()
	go func() { // ends with the reader
		t := tar.NewWriter(w)
		err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: carried[1:strings.LastIndex(carried, "/")] + "/", Mode: 0o755})
		if err == nil {
			err = t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: carried[1:], Mode: 0o755, Size: i.Size()})
		}
		if err == nil {
			_, err = io.Copy(t, f)
		}
		if err == nil {
			err = t.Close()
		}
		_ = w.CloseWithError(err)
	}()
	_, err = m.d.CopyToContainer(ctx, id, client.CopyToContainerOptions{DestinationPath: "/", Content: r})
	return err
}

// unavailable is the error of a container that can't be had.
func unavailable(err error) error {
	if errors.Is(err, environment.ErrConfig) || errors.Is(err, environment.ErrUnavailable) {
		return err
	}
	return &environment.Error{Kind: environment.ErrUnavailable, Op: "get a container", Err: err}
}
