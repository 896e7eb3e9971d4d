//go:build linux

// Package dockertest gives tests a real container engine of their own, with images that are made from programs of this machine.
package dockertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/hermes-runtime/hermes/internal/engine/rootfstest"
)

// HostVariable names the address of an engine that runs already, so that a run of all tests shares one.
const HostVariable = "HERMES_TEST_DOCKER"

// The images.
const (
	Bash    = "hermes-test:bash"    // bash, and busybox for all else
	Busybox = "hermes-test:busybox" // busybox alone
	Bare    = "hermes-test:bare"    // busybox alone, in no directory but /bin: no /tmp, no home, no list of users
	Python  = "hermes-test:python"  // see Daemon.Python
)

// startTime is how long an engine may take to be there.
const startTime = 30 * time.Second

// Daemon is a running engine.
type Daemon struct {
	Host string // as in DOCKER_HOST
	dir  string
	cmd  *exec.Cmd
}

var shared struct {
	sync.Mutex
	daemon *Daemon
}

// Shared gives the engine that the tests of this process share; it is started at the first use and ends with Done. The test is left
// out where there is none and none can be started, which is a failure where CI is true.
func Shared(tb testing.TB) *Daemon {
	tb.Helper()
	if testing.Short() {
		tb.Skip("needs a container engine, which takes its time")
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.daemon != nil {
		return shared.daemon
	}
	if h := os.Getenv(HostVariable); h != "" {
		shared.daemon = &Daemon{Host: h}
	} else {
		shared.daemon = launch(tb)
	}
	shared.daemon.images(tb)
	return shared.daemon
}

// Own starts an engine for one test, which may stop it and start it again.
func Own(tb testing.TB) *Daemon {
	tb.Helper()
	if testing.Short() {
		tb.Skip("starts a container engine, which takes its time")
	}
	d := launch(tb)
	tb.Cleanup(d.clean)
	d.images(tb)
	return d
}

// Done ends what Shared has made. TestMain calls it.
func Done() {
	shared.Lock()
	defer shared.Unlock()
	if shared.daemon != nil && shared.daemon.cmd != nil {
		shared.daemon.clean()
	}
	shared.daemon = nil
}

// Missing says why no engine can be started here, "" if one can.
func Missing() string {
	switch _, err := exec.LookPath("dockerd"); {
	case err != nil:
		return "dockerd is not on PATH"
	case os.Getuid() != 0:
		return "an engine can only be started by root"
	}
	return ""
}

func launch(tb testing.TB) *Daemon {
	tb.Helper()
	if why := Missing(); why != "" {
		skip(tb, why)
	}
	dir, err := os.MkdirTemp("", "hermes-dockerd")
	if err != nil {
		tb.Fatal(err)
	}
	d := &Daemon{Host: "unix://" + filepath.Join(dir, "s"), dir: dir}
	if err := d.Start(); err != nil {
		said, _ := os.ReadFile(filepath.Join(dir, "log"))
		d.clean()
		skip(tb, fmt.Sprintf("no container engine can be started: %v\n%s", err, said))
	}
	return d
}

func skip(tb testing.TB, why string) {
	tb.Helper()
	if os.Getenv("CI") == "true" {
		tb.Fatal(why)
	}
	tb.Skip(why)
}

// Start starts the engine, for the first time or after Stop.
func (d *Daemon) Start() error {
	log, err := os.OpenFile(filepath.Join(d.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	d.cmd = exec.Command("dockerd", "--data-root", filepath.Join(d.dir, "data"), "--exec-root", filepath.Join(d.dir, "exec"), "-H", d.Host,
		"--pidfile", filepath.Join(d.dir, "pid"), "--iptables=false", "--ip6tables=false", "--bridge=none")
	d.cmd.Stdout, d.cmd.Stderr = log, log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM} // a test that is killed cleans nothing up
	if err := d.cmd.Start(); err != nil {
		return err
	}
	for end := time.Now().Add(startTime); ; time.Sleep(50 * time.Millisecond) {
		if err = d.answers(); err == nil {
			return nil
		}
		if time.Now().After(end) {
			return err
		}
	}
}

func (d *Daemon) answers() error {
	c, err := d.Client()
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err = c.Ping(ctx, client.PingOptions{})
	return err
}

// Stop ends the engine and the containers that run.
func (d *Daemon) Stop() error {
	if d.cmd == nil || d.cmd.Process == nil {
		return nil
	}
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(startTime, func() { _ = d.cmd.Process.Kill() })
	defer timer.Stop()
	err := d.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil
	}
	return err
}

func (d *Daemon) clean() {
	_ = d.removeAll()
	_ = d.Stop()
	_ = os.RemoveAll(d.dir)
}

// removeAll removes the containers, so that nothing of them is still mounted.
func (d *Daemon) removeAll() error {
	c, err := d.Client()
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	l, err := c.ContainerList(ctx, client.ContainerListOptions{All: true})
	for _, i := range l.Items {
		_, _ = c.ContainerRemove(ctx, i.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	}
	return err
}

// Client speaks to the engine. The caller closes it.
func (d *Daemon) Client() (*client.Client, error) { return client.New(client.WithHost(d.Host)) }

func (d *Daemon) images(tb testing.TB) {
	tb.Helper()
	c, err := d.Client()
	if err != nil {
		tb.Fatal(err)
	}
	defer c.Close()
	image(tb, c, Bash, rootfstest.Bash)
	image(tb, c, Busybox, rootfstest.Busybox)
	image(tb, c, Bare, rootfstest.Bare)
}

// Python gives an image with bash, busybox, and the Python of this machine. It is made at the first use.
func (d *Daemon) Python(tb testing.TB) string {
	tb.Helper()
	c, err := d.Client()
	if err != nil {
		tb.Fatal(err)
	}
	defer c.Close()
	image(tb, c, Python, rootfstest.Python)
	return Python
}

// image makes an image, unless it is there.
func image(tb testing.TB, c *client.Client, name string, kind rootfstest.Kind) {
	tb.Helper()
	if _, err := c.ImageInspect(tb.Context(), name); err == nil {
		return
	}
	fs, err := rootfstest.Tar(kind)
	if err != nil {
		skip(tb, "no image can be made: "+err.Error())
	}
	r, err := c.ImageImport(tb.Context(), client.ImageImportSource{Source: bytes.NewReader(fs), SourceName: "-"}, name, client.ImageImportOptions{})
	if err == nil {
		_, err = io.Copy(io.Discard, r)
		_ = r.Close()
	}
	if err != nil {
		tb.Fatalf("make the image %s: %v", name, err)
	}
}
