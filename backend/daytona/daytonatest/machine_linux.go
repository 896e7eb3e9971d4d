package daytonatest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/hermes-runtime/hermes/internal/cloud/cloudtest"
)

// role makes the program that runs the tests the toolbox of a sandbox.
const role = "HERMES_TEST_DAYTONA_TOOLBOX"

// machine is what a sandbox runs on, with the service of the toolbox in it.
type machine struct {
	*cloudtest.Machine
	toolbox *exec.Cmd
	proxy   *httputil.ReverseProxy
}

func newMachine(dir string) (*machine, error) {
	m, err := cloudtest.NewMachine(dir)
	return &machine{Machine: m}, err
}

// start has it run.
func (m *machine) start() error {
	if m.toolbox != nil {
		return nil
	}
	if err := m.Start(); err != nil {
		return err
	}
	at := filepath.Join(m.Dir(), "toolbox")
	_ = os.Remove(at)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: at, Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	f, err := l.File()
	_ = l.Close()
	if err != nil {
		return err
	}
	defer f.Close()
	self, err := os.Open("/proc/self/exe") // whose path means something else there
	if err != nil {
		return err
	}
	defer self.Close()
	cmd := m.Command("/proc/self/fd/4")
	cmd.Env = append([]string{role + "=1"}, cmd.Env...)
	cmd.ExtraFiles = []*os.File{f, self}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	m.toolbox = cmd
	m.proxy = httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "toolbox"})
	m.proxy.Transport = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", at)
	}}
	m.proxy.FlushInterval = -1
	m.proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	m.proxy.ErrorLog = quiet
	return nil
}

// stop ends all that runs there.
func (m *machine) stop() {
	if m == nil || m.toolbox == nil {
		return
	}
	m.Stop()
	_ = m.toolbox.Wait()
	m.toolbox = nil
}

// Main makes the program a part of a sandbox, if it was started as one. TestMain calls it first.
func Main() {
	cloudtest.Main()
	if os.Getenv(role) == "" {
		return
	}
	_ = os.Unsetenv(role)
	if err := serveToolbox(); err != nil {
		fmt.Fprintln(os.Stderr, "toolbox:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
