package singularity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

const (
	// versionTime, stopTime and askTime are how long Apptainer may take to say its version, to stop an instance and to list them.
	versionTime = 10 * time.Second
	stopTime    = 30 * time.Second
	askTime     = 10 * time.Second
	// stopGrace is how long an instance may take to end by itself, in seconds.
	stopGrace = "5"
	// keptErrors is how much of what Apptainer says on standard error is kept, to explain what went wrong.
	keptErrors = 4 << 10
	// keptOutput bounds what it may answer.
	keptOutput = 4 << 20
)

// programs are the commands that are looked for, in this order.
var programs = []string{"apptainer", name}

// passed are the variables that the command is run with: what it needs to find its things. Each flag of it can be set by a variable, so
// APPTAINER_BIND and the like must not get through, and neither must credentials: what the command has, others of this machine can see.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"APPTAINER_CACHEDIR", "APPTAINER_TMPDIR", "APPTAINER_CONFIGDIR", "SINGULARITY_CACHEDIR", "SINGULARITY_TMPDIR", "SINGULARITY_CONFIGDIR",
}

// passedForImages are those that it has beside when it fetches an image, and only then: they may hold credentials.
var passedForImages = []string{
	"http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "DOCKER_CONFIG", "APPTAINER_DOCKER_USERNAME", "APPTAINER_DOCKER_PASSWORD",
	"SINGULARITY_DOCKER_USERNAME", "SINGULARITY_DOCKER_PASSWORD",
}

// client works the command of Apptainer or Singularity.
type client struct {
	program string
	getenv  func(string) string
}

// lookFor finds the command on PATH.
func lookFor(getenv func(string) string) (*client, error) {
	missing := func(why string) error {
		return &environment.Error{Kind: environment.ErrUnavailable, Op: "look for apptainer or singularity", Err: errors.New(why)}
	}
	if runtime.GOOS != "linux" {
		return nil, missing("they run on Linux only, and this is " + runtime.GOOS)
	}
	for _, p := range programs {
		for _, dir := range filepath.SplitList(getenv("PATH")) {
			at := filepath.Join(dir, p)
			if i, err := os.Stat(at); filepath.IsAbs(at) && err == nil && i.Mode().IsRegular() && i.Mode()&0o111 != 0 {
				return &client{program: at, getenv: getenv}, nil
			}
		}
	}
	return nil, missing("neither is on PATH; install Apptainer, or load its module")
}

func (c *client) environ(names ...string) []string {
	var env []string
	for _, n := range names {
		if v := c.getenv(n); v != "" {
			env = append(env, n+"="+v)
		}
	}
	return env
}

// failedError is a run of the command that did not work out.
type failedError struct {
	what string
	code int // -1 = it was ended
	said string
	err  error
}

func (f *failedError) Error() string {
	text := f.what + ": " + f.err.Error()
	if f.said != "" {
		text += ": " + f.said
	}
	return text
}

func (f *failedError) Unwrap() error { return f.err }

// command is a run of the command in a process group of its own: what a person types at a terminal to interrupt isn't meant for it. What this
// process was itself started with open is neither.
func (c *client) command(env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(c.program, args...) //nolint:gosec // found on the user's PATH
	cmd.Env, cmd.Dir = env, "/"
	detach(cmd)
	return cmd
}

// run runs the command to its end and gives what it prints.
func (c *client) run(ctx context.Context, limit time.Duration, args ...string) (string, error) {
	return c.runWith(ctx, limit, c.environ(passed...), args...)
}

func (c *client) runWith(ctx context.Context, limit time.Duration, env []string, args ...string) (string, error) {
	what := filepath.Base(c.program) + " " + strings.Join(args[:min(2, len(args))], " ")
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %v", limit))
	defer cancel()
	cmd := c.command(env, args...)
	out, errs := &tail{most: keptOutput}, &tail{most: keptErrors}
	cmd.Stdout, cmd.Stderr = out, errs
	cmd.WaitDelay = time.Second // an instance may have inherited the pipes
	if err := cmd.Start(); err != nil {
		return "", &failedError{what: what, code: -1, err: err}
	}
	stop := context.AfterFunc(ctx, func() { kill(cmd) })
	err := cmd.Wait()
	stop()
	switch {
	case ctx.Err() != nil:
		return "", &failedError{what: what, code: -1, said: errs.String(), err: context.Cause(ctx)}
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return "", &failedError{what: what, code: cmd.ProcessState.ExitCode(), said: errs.String(), err: err}
	}
	return string(out.kept), nil
}

// version asks the command what it is.
func (c *client) version(ctx context.Context) (string, error) {
	out, err := c.run(ctx, versionTime, "version")
	if err != nil {
		return "", &environment.Error{Kind: environment.ErrUnavailable, Op: "ask " + c.program + " for its version", Err: err}
	}
	return strings.TrimSpace(out), nil
}

// instance is one that runs.
type instance struct {
	Name string `json:"instance"`
	PID  int    `json:"pid"`

	began string // tells its process from a later one of the same number
}

// list gives the instances that run, of a name, or all of them.
func (c *client) list(ctx context.Context, of string) ([]instance, error) {
	args := []string{"instance", "list", "--json"}
	if of != "" {
		args = append(args, of)
	}
	out, err := c.run(ctx, askTime, args...)
	if err != nil {
		return nil, err
	}
	var all struct {
		Instances []instance `json:"instances"`
	}
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		return nil, fmt.Errorf("read the list of instances: %w", err)
	}
	var alive []instance
	for _, i := range all.Instances {
		if i.began, _ = began(i.PID); i.began != "" {
			alive = append(alive, i)
		}
	}
	return alive, nil
}

// find gives the instance of a name, nil if it doesn't run. The end of one that is about to end is waited for.
func (c *client) find(ctx context.Context, name string) (*instance, error) {
	all, err := c.list(ctx, name)
	switch {
	case err != nil || len(all) == 0:
		return nil, err
	case !all[0].alive():
		return nil, all[0].over(ctx)
	}
	return &all[0], nil
}

// stop ends an instance with everything in it. One that is there no more is none to stop.
func (c *client) stop(ctx context.Context, name string) error {
	i, err := c.find(ctx, name)
	if err != nil || i == nil {
		return err
	}
	if _, err = c.run(ctx, stopTime, "instance", "stop", "--timeout", stopGrace, name); err != nil && i.alive() {
		return err
	}
	return i.over(ctx) // the command doesn't wait for one that it had to kill
}

// tail keeps the beginning of what is written to it.
type tail struct {
	kept []byte // not a buffer of the library, which would read past the bound by itself
	most int    // bytes
}

func (t *tail) Write(b []byte) (int, error) {
	t.kept = append(t.kept, b[:min(len(b), t.most-len(t.kept))]...)
	return len(b), nil
}

func (t *tail) String() string { return strings.TrimSpace(string(t.kept)) }
