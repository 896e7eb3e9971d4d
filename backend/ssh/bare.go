package ssh

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// bare is the ssh program with a connection that stays open, as people set it up who want it fast, and the login alone.
var bare = environment.Bare{
	Client: "ssh with ControlMaster",
	Budgets: map[environment.Measure]float64{
		environment.MeasureEcho: 0.35, environment.MeasureRead: 0.35, environment.MeasureScript: 1.2, environment.MeasureOpen: 1.2, environment.MeasureFlood: 0.5,
	},
	Settle: 50 * time.Millisecond,
	Begin:  beginBare,
}

func beginBare(ctx context.Context, o environment.OpenOptions, _ environment.Info) (environment.BareClient, error) {
	var none environment.BareClient
	program, err := exec.LookPath("ssh")
	if err != nil {
		return none, fmt.Errorf("the bare equivalent is the ssh program: %w", err)
	}
	dir, err := os.MkdirTemp("", "hermes-") // short: a socket's path has little room
	if err != nil {
		return none, err
	}
	c := configOf(o.Config)
	argv := []string{program, "-o", "BatchMode=yes", "-o", "ControlMaster=auto", "-o", "ControlPath=" + filepath.Join(dir, "c"), "-o", "ControlPersist=60"}
	for _, f := range [][2]string{{"-F", c.SSHConfig}, {"-l", c.User}, {"-i", c.Key}} {
		if f[1] != "" {
			argv = append(argv, f[0], f[1])
		}
	}
	if c.Port > 0 {
		argv = append(argv, "-p", strconv.Itoa(c.Port))
	}
	host := append(argv, "--", c.Host)
	hangUp := func() error {
		_ = exec.Command(program, append([]string{"-O", "exit"}, host[1:]...)...).Run() //nolint:gosec // the user's own settings
		return os.RemoveAll(dir)
	}
	if out, err := exec.CommandContext(ctx, host[0], append(host[1:], "true")...).CombinedOutput(); err != nil { //nolint:gosec // likewise
		_ = hangUp()
		return none, fmt.Errorf("log in with the ssh program: %w: %s", err, out)
	}
	p := visit(c, o)
	login := func(ctx context.Context) (func() error, error) {
		conn, err := p.dialer.dial(ctx)
		if err != nil {
			return nil, err
		}
		return conn.Close, nil
	}
	return environment.BareClient{Argv: host, Open: login, Close: hangUp}, nil
}
