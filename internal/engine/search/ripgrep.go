package search

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ripgrep is the engine that runs rg: to count matching lines per file, and once more, on the files of the page only, to show them if
// the pattern is one that only it knows. So what crosses the pipe stays small however much matches.
type ripgrep struct {
	path     string
	showsToo bool // it shows all pages: for tests that compare
	once     sync.Once
	err      error
}

func (*ripgrep) name() string { return Ripgrep }
func (*ripgrep) sorted() bool { return false }

// minVersion is the first major version whose structured output and options are those used here.
const minVersion = 13

// probeTime bounds asking for the version.
const probeTime = 5 * time.Second

// usable finds the program and checks its version, once.
func (r *ripgrep) usable(ctx context.Context) error {
	r.once.Do(func() {
		if r.path == "" {
			if r.path, r.err = exec.LookPath("rg"); r.err != nil {
				return
			}
		}
		r.path, r.err = filepath.Abs(r.path)
		if r.err == nil {
			r.err = r.probe(context.WithoutCancel(ctx))
		}
	})
	return r.err
}

func (r *ripgrep) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	c := exec.CommandContext(ctx, r.path, "--no-config", "--version")
	c.Env = childEnv()
	c.WaitDelay = time.Second
	out, err := c.Output()
	if err != nil {
		return fmt.Errorf("ask ripgrep for its version: %w", err)
	}
	word, _, _ := strings.Cut(strings.TrimPrefix(string(out), "ripgrep "), ".")
	if major, err := strconv.Atoi(word); err != nil || major < minVersion {
		return fmt.Errorf("ripgrep is older than version %d", minVersion)
	}
	return nil
}

// childEnv is what a search needs of the environment.
func childEnv() []string {
	env := []string{"LC_ALL=C.UTF-8"}
	for _, name := range []string{"SystemRoot"} {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// common are the options of every run: no configuration of the user's, and the rules of the dialect.
func common(j *job) []string {
	args := []string{
		"--no-config", "--color=never", "--no-mmap", "--no-ignore-global", "--no-require-git", "--no-ignore-messages",
		// A word of its own: behind an equals sign some versions lose a pattern that begins with one too.
		"--regexp", j.pattern.rg,
	}
	if j.glob.hidden {
		args = append(args, "--hidden")
	}
	return args
}

func (r *ripgrep) count(ctx context.Context, j *job, report func(rel string, lines int) bool) (int, error) {
	args := append(common(j), "--count", "--null", "--with-filename")
	if t := j.glob.nameType(); t != "" && j.file == "" {
		args = append(args, "--type-add=hermes:"+t, "--type=hermes")
	}
	target := "." + string(os.PathSeparator)
	if j.file != "" {
		switch bad, err := binary(filepath.Join(j.root, j.file)); {
		case errors.Is(err, errLongLine):
			return 1, nil
		case bad || err != nil:
			return 0, err
		}
		target += j.file
	}
	return r.run(ctx, j, append(args, "--", target), func(out *bufio.Reader) error {
		for {
			name, err := out.ReadString(0)
			if err == io.EOF && name == "" {
				return nil
			}
			if err != nil {
				return err
			}
			number, err := out.ReadString('\n')
			if err != nil {
				return err
			}
			n, err := strconv.Atoi(strings.TrimSuffix(number, "\n"))
			if err != nil {
				return fmt.Errorf("read ripgrep's counts: %w", err)
			}
			rel := filepath.Clean(strings.TrimSuffix(name, "\x00"))
			if j.file == "" && (!j.glob.admits(rel) || !admitsType(j, rel)) || j.skipped(rel) {
				continue
			}
			if !report(rel, n) {
				return nil
			}
		}
	})
}

// admitsType corrects what choosing by type brings along: hidden files that no rule lets in.
func admitsType(j *job, rel string) bool {
	if j.glob.hidden || j.glob.nameType() == "" || filepath.Base(rel)[0] != '.' {
		return true
	}
	path := filepath.ToSlash(filepath.Join(j.root, rel))
	return rootRules(filepath.Dir(path)).judge(path, filepath.Base(rel), false) == admitted
}

// run runs ripgrep and has its output read. It gives the number of files that couldn't be read.
func (r *ripgrep) run(ctx context.Context, j *job, args []string, read func(*bufio.Reader) error) (int, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c := exec.CommandContext(ctx, r.path, args...)
	c.Dir = j.root
	c.Env = childEnv()
	c.WaitDelay = stopTime
	said := &messages{}
	c.Stderr = said
	out, err := c.StdoutPipe()
	if err != nil {
		return 0, fmt.Errorf("start ripgrep: %w", err)
	}
	if err := c.Start(); err != nil {
		return 0, fmt.Errorf("start ripgrep: %w", err)
	}
	ended := make(chan struct{})
	var readErr, waitErr error
	go func() {
		defer close(ended)
		readErr = read(bufio.NewReaderSize(out, 64<<10))
		if readErr != nil {
			stop()
		}
		_, _ = io.Copy(io.Discard, out) // a writer that is not read would never end
		waitErr = c.Wait()
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		if !waitBriefly(ended) {
			return 0, ctx.Err()
		}
	}
	switch {
	case ctx.Err() != nil && readErr == nil:
		return said.unreadable, ctx.Err()
	case readErr != nil:
		return said.unreadable, fmt.Errorf("read ripgrep's output: %w", readErr)
	}
	return said.unreadable, r.verdict(j, waitErr, said)
}

// stopTime is what a search that was called off may still take; together with the time to notice it stays under 100 ms.
const stopTime = 60 * time.Millisecond

func waitBriefly(ended <-chan struct{}) bool {
	t := time.NewTimer(stopTime)
	defer t.Stop()
	select {
	case <-ended:
		return true
	case <-t.C:
		return false
	}
}

// verdict reads the exit status: 0 and 1 tell found and not found, 2 an error, which is no failure if it was about files.
func (r *ripgrep) verdict(j *job, err error, said *messages) error {
	var exit *exec.ExitError
	if err == nil || errors.As(err, &exit) && exit.ExitCode() == 1 {
		return nil
	}
	if exit == nil || exit.ExitCode() != 2 {
		return fmt.Errorf("ripgrep ended badly: %w", err)
	}
	if other := said.other.String(); other != "" {
		return said.patternError(j)
	}
	return nil
}

// messages sorts what ripgrep says on standard error: lines about files are counted, all else is about the query.
type messages struct {
	unreadable int
	partial    []byte
	other      strings.Builder
}

// maxMessages bounds what is kept.
const maxMessages = 16 << 10

func (m *messages) Write(b []byte) (int, error) {
	m.partial = append(m.partial, b...)
	for {
		line, rest, found := bytes.Cut(m.partial, []byte{'\n'})
		if !found {
			if len(m.partial) > maxMessages {
				m.partial = m.partial[:0]
			}
			return len(b), nil
		}
		switch {
		case bytes.Contains(line, []byte("(os error ")):
			m.unreadable++
		case m.other.Len() < maxMessages && len(line) > 0:
			m.other.Write(append(line, '\n'))
		}
		m.partial = rest
	}
}

// patternError is what ripgrep has to say about a pattern, with the place if it shows one.
func (m *messages) patternError(j *job) error {
	e := &Error{What: "pattern", Text: j.Pattern, At: -1, Err: strings.TrimSpace(m.other.String())}
	for line := range strings.Lines(m.other.String()) {
		if why, ok := strings.CutPrefix(line, "error: "); ok {
			e.Err = strings.TrimSpace(why)
		}
		if mark := strings.TrimRight(line, "\n"); strings.Trim(mark, " ^") == "" && strings.Contains(mark, "^") && j.pattern.rg == j.Pattern {
			e.At = max(strings.Index(mark, "^")-4, 0) // the pattern is shown indented by four
		}
	}
	return e
}
