package preview

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
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/internal/secret"
)

const (
	// maxUp is how many directories above a target are searched for a repository.
	maxUp = 40
	// maxListed is how many files of one kind are counted.
	maxListed = 100_000
	// maxCommits is how many commits are counted.
	maxCommits = 10_000
	// gitGrace is how long git's output may stay open after it was ended.
	gitGrace = 20 * time.Millisecond
)

// Repository is what would be lost of a git work tree: what its history doesn't hold.
type Repository struct {
	Root     string
	Whole    bool // its history goes, too
	Changed  List // tracked files that differ, or may differ, from the last commit
	New      List // untracked
	Ignored  List
	Unpushed int  // commits that no remote has; counted only if the history goes
	Unknown  bool // git gave no answer, or not in time
	paths    []string
}

// List counts files and has the names of the first few.
type List struct {
	Count   int
	Names   []string
	AtLeast bool
	known   map[string]bool
}

// enclosing finds the repositories that targets lie in.
func enclosing(targets []Target) (out []*Repository) {
	for _, t := range targets {
		path := filepath.Clean(t.Path)
		start := filepath.Dir(path)
		if t.All {
			start = path
		}
		root, ok := workTree(start)
		if !ok {
			continue
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			continue
		}
		i := slices.IndexFunc(out, func(r *Repository) bool { return r.Root == root })
		if i < 0 {
			if len(out) == maxRepositories {
				continue
			}
			i = len(out)
			out = append(out, &Repository{Root: root})
		}
		if kept := filepath.Join(root, ".git"); path == kept || below(path, kept) {
			out[i].Whole = true
			continue
		}
		out[i].paths = append(out[i].paths, rel)
	}
	return out
}

func workTree(dir string) (root string, ok bool) {
	for range maxUp {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir, true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", false
		}
		dir = up
	}
	return "", false
}

// repositories lists those that lie in what is deleted, the known ones left out; a known one whose history was met goes as a whole.
func (w *walker) repositories(known []*Repository) (out []*Repository) {
	for _, root := range w.repos {
		if i := slices.IndexFunc(known, func(r *Repository) bool { return r.Root == root }); i >= 0 {
			continue // everything in the root, which a shell's * is, leaves .git where it is
		}
		if len(known)+len(out) < maxRepositories {
			out = append(out, &Repository{Root: root, Whole: true, paths: []string{"."}})
		}
	}
	return out
}

// look asks git. Nothing that a repository's configuration names is run: no monitor, no hook, nothing of a submodule, no object is fetched,
// and no file's content is compared, since that is where filters run: what the index knows of each file has to do.
func (r *Repository) look(ctx context.Context) {
	for _, q := range []struct {
		args []string
		read func(*bufio.Reader) error
	}{
		{[]string{"diff-index", "--cached", "--name-only", "--ignore-submodules=all", "-z", "HEAD"}, r.Changed.read},
		{[]string{"ls-files", "--stage", "--debug", "-z"}, func(in *bufio.Reader) error { return r.compare(ctx, in) }},
		{[]string{"ls-files", "--others", "--exclude-standard", "-z"}, r.New.read},
		{[]string{"ls-files", "--others", "--ignored", "--exclude-standard", "-z"}, r.Ignored.read},
	} {
		if len(r.paths) == 0 { // the history alone: without a path git would tell of every file
			break
		}
		if err := r.git(ctx, append(append(q.args, "--"), r.paths...), q.read); err != nil {
			r.Unknown = true
		}
	}
	if !r.Whole {
		return
	}
	if info, err := os.Lstat(filepath.Join(r.Root, ".git")); err != nil || !info.IsDir() {
		return // a linked work tree: its history is kept elsewhere
	}
	err := r.git(ctx, []string{"rev-list", "--count", "--max-count=" + strconv.Itoa(maxCommits), "--branches", "--tags", "HEAD", "--not", "--remotes"},
		func(out *bufio.Reader) error {
			text, err := io.ReadAll(io.LimitReader(out, 64))
			if err == nil {
				r.Unpushed, err = strconv.Atoi(strings.TrimSpace(string(text)))
			}
			return err
		})
	r.Unknown = r.Unknown || err != nil
}

// git runs one question.
func (r *Repository) git(ctx context.Context, args []string, read func(*bufio.Reader) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c := exec.CommandContext(ctx, "git", slices.Concat([]string{"--no-pager", "--literal-pathspecs", "--no-replace-objects", "-C", r.Root,
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.untrackedCache=false"}, args)...)
	c.Env = environ()
	c.WaitDelay = gitGrace
	var said bytes.Buffer
	out, err := c.StdoutPipe()
	if err != nil {
		return fmt.Errorf("ask git: %w", err)
	}
	c.Stderr = &limited{b: &said}
	if err := c.Start(); err != nil {
		return fmt.Errorf("ask git: %w", err)
	}
	readErr := read(bufio.NewReader(out))
	if readErr != nil {
		_ = c.Process.Kill() // it may still write
	}
	if err := errors.Join(readErr, c.Wait()); err != nil {
		return fmt.Errorf("ask git %s in %s: %w: %s", args[0], r.Root, err, said.String())
	}
	return nil
}

// errMany ends a list that is long enough.
var errMany = errors.New("there are too many files to count")

// read counts names that end with a zero byte.
func (l *List) read(in *bufio.Reader) error {
	for {
		name, err := in.ReadString(0)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := l.add(strings.TrimSuffix(name, "\x00")); err != nil {
			return err
		}
	}
}

func (l *List) add(name string) error {
	if l.known == nil {
		l.known = map[string]bool{}
	}
	if l.known[name] {
		return nil
	}
	if l.Count >= maxListed {
		l.AtLeast = true
		return errMany
	}
	l.known[name] = true
	if l.Count++; len(l.Names) < maxNames {
		l.Names = append(l.Names, name)
	}
	return nil
}

// compare adds to Changed the tracked files whose size or time isn't what the index has. in is what ls-files --debug -z writes.
func (r *Repository) compare(ctx context.Context, in *bufio.Reader) error {
	for ctx.Err() == nil {
		head, err := in.ReadString(0)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		tracked, err := readTracked(in)
		if err != nil {
			return err
		}
		mode, name, _ := strings.Cut(strings.TrimSuffix(head, "\x00"), "\t")
		if strings.HasPrefix(mode, "160000 ") { // a submodule
			continue
		}
		info, err := os.Lstat(filepath.Join(r.Root, filepath.FromSlash(name)))
		if err != nil || tracked.same(info) { // what is gone already can't be lost
			continue
		}
		if err := r.Changed.add(name); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// tracked is what the index knows of a file.
type tracked struct {
	sec, nsec int64
	size      uint32 // as far as 32 bits go
}

// readTracked reads the lines that git writes behind each name: times, numbers, owner and size, of which two are of use.
func readTracked(in *bufio.Reader) (t tracked, err error) {
	for range 5 {
		line, err := in.ReadString('\n')
		if err != nil {
			return t, fmt.Errorf("read what git's index knows: %w", err)
		}
		if text, ok := strings.CutPrefix(line, "  mtime: "); ok {
			sec, nsec, _ := strings.Cut(strings.TrimSpace(text), ":")
			t.sec, _ = strconv.ParseInt(sec, 10, 64) // what is no number is no file's time
			t.nsec, _ = strconv.ParseInt(nsec, 10, 64)
		}
		if text, ok := strings.CutPrefix(line, "  size: "); ok {
			size, _, _ := strings.Cut(text, "\t")
			n, _ := strconv.ParseUint(size, 10, 32)
			t.size = uint32(n)
		}
	}
	return t, nil
}

func (t tracked) same(info os.FileInfo) bool {
	at := info.ModTime()
	return uint32(info.Size()) == t.size && at.Unix() == t.sec && (t.nsec == 0 || int64(at.Nanosecond()) == t.nsec)
}

// limited keeps the beginning of what is written.
type limited struct{ b *bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := 1024 - l.b.Len(); room > 0 {
		l.b.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// environ is what git gets: nothing that leads it elsewhere, no secrets, and no way to fetch.
func environ() []string {
	out := []string{"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "LC_ALL=C"}
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(name, "GIT_") && name != "LC_ALL" && !secret.IsSecretName(name) {
			out = append(out, e)
		}
	}
	return out
}
