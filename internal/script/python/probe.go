package python

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// facts is what an interpreter says of itself.
type facts struct {
	version    string
	executable string
}

// question is Python of every version, so that an old one can say how old it is.
const question = `import sys; sys.stdout.write("python %d %d %d\n%s\n" % (sys.version_info[0], sys.version_info[1], sys.version_info[2], sys.executable))`

// Site is a machine that interpreters stand on. Run runs a program and ends with it everything that it started, wherever that went;
// Stat follows links.
type Site interface {
	Run(ctx context.Context, c environment.Command) (environment.Result, error)
	Stat(ctx context.Context, path string) (environment.FileInfo, error)
}

// probe starts the candidate and asks who it is. What it answers with is run later: a version manager's wrapper answers with the
// interpreter behind it, a virtual environment's link with itself.
func (r *Resolver) probe(ctx context.Context, path string) (facts, error) {
	var out bytes.Buffer
	res, err := r.site.Run(ctx, environment.Command{
		Argv: []string{path, "-E", "-s", "-S", "-c", question}, Environ: r.environ,
		Dir: "/", Output: &limited{buf: &out, left: 64 << 10}, Stderr: io.Discard,
		Timeout: r.wait, Grace: 100 * time.Millisecond, EndLeft: true,
	})
	switch {
	case err != nil:
		return facts{}, fmt.Errorf("ask %s for its version: %w", path, err)
	case res.Reason == environment.TimedOut:
		return facts{}, fmt.Errorf("ask %s for its version: no answer in %s", path, r.wait)
	case res.Reason != environment.Exited || res.ExitCode != 0:
		return facts{}, fmt.Errorf("ask %s for its version: it ended with code %d", path, res.ExitCode)
	}
	f, err := parseFacts(path, out.String())
	if err != nil {
		return f, err
	}
	if i, err := r.site.Stat(ctx, f.executable); err != nil || !i.Mode.IsRegular() {
		f.executable = path // it doesn't know itself: the name that worked will do
	}
	return f, nil
}

// direct is this machine where no environment is at hand. It ends a candidate's process group with it.
type direct struct{}

func (direct) Stat(_ context.Context, path string) (environment.FileInfo, error) {
	i, err := os.Stat(path)
	if err != nil {
		return environment.FileInfo{}, err
	}
	return environment.FileInfo{Size: i.Size(), Mode: i.Mode(), ModTime: i.ModTime(), Inode: inode(i)}, nil
}

func (direct) Run(ctx context.Context, c environment.Command) (environment.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout = c.Dir, c.Environ, c.Output
	cmd.WaitDelay = c.Grace
	ownGroup(cmd)
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return environment.Result{Reason: environment.TimedOut}, nil
	case errors.As(err, &exit):
		return environment.Result{Reason: environment.Exited, ExitCode: exit.ExitCode()}, nil
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return environment.Result{}, err
	}
	return environment.Result{Reason: environment.Exited}, nil
}

func parseFacts(path, out string) (facts, error) {
	head, rest, ok := strings.Cut(out, "\n")
	parts := strings.Fields(head)
	if !ok || len(parts) != 4 || parts[0] != "python" {
		return facts{}, fmt.Errorf("%s is no Python interpreter", path)
	}
	major, err1 := strconv.Atoi(parts[1])
	minor, err2 := strconv.Atoi(parts[2])
	if err1 != nil || err2 != nil {
		return facts{}, fmt.Errorf("%s is no Python interpreter", path)
	}
	f := facts{version: strings.Join(parts[1:], "."), executable: strings.TrimSuffix(rest, "\n")}
	if major < 3 || major == 3 && minor < oldestMinor {
		return facts{}, fmt.Errorf("%s is Python %s, older than %s", path, f.version, Oldest)
	}
	if f.executable == "" {
		return facts{}, fmt.Errorf("%s doesn't say where it is", path)
	}
	return f, nil
}

// limited keeps the first bytes; a candidate may be any program.
type limited struct {
	buf  *bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.buf.Write(p[:n])
	l.left -= n
	return len(p), nil
}
