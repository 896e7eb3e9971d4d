package python

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// facts is what an interpreter says of itself.
type facts struct {
	version    string
	executable string
}

// question is Python of every version, so that an old one can say how old it is.
const question = `import sys; sys.stdout.write("python %d %d %d\n%s\n" % (sys.version_info[0], sys.version_info[1], sys.version_info[2], sys.executable))`

// probe starts the candidate and asks who it is. What it answers with is run later: a version manager's wrapper answers with the
// interpreter behind it, a virtual environment's link with itself.
func probe(ctx context.Context, path string, wait time.Duration) (facts, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-E", "-s", "-S", "-c", question)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LC_ALL=C.UTF-8"}
	var out bytes.Buffer
	cmd.Stdout = &limited{buf: &out, left: 64 << 10}
	cmd.WaitDelay = 100 * time.Millisecond
	ownGroup(cmd)
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return facts{}, fmt.Errorf("ask %s for its version: no answer in %s", path, wait)
		}
		return facts{}, fmt.Errorf("ask %s for its version: %w", path, err)
	}
	return parseFacts(path, out.String())
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
	if i, err := os.Stat(f.executable); err != nil || !i.Mode().IsRegular() {
		f.executable = path // it doesn't know itself: the name that worked will do
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
