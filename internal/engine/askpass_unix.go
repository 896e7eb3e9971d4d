//go:build linux || darwin

package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// askpass answers sudo's questions for a password during one call. In a private directory lie a program, which sudo runs, and a
// FIFO on which each run of it asks; the answer goes over a FIFO of that run's own, so that several sudo of one command don't take
// each other's. The secret is in no file, argument or variable. A nil askpass does nothing.
type askpass struct {
	program string
	dir     string
	ask     *os.File
	secret  func(context.Context) (string, error)
	cancel  context.CancelFunc
	done    chan struct{}
}

// askpassProgram says its number on the common FIFO and prints what comes back on its own.
const askpassProgram = `#!/bin/sh
d=${0%/*}
mkfifo -m 600 "$d/$$" || exit 1
echo $$ >"$d/ask"
cat "$d/$$"
rm -f "$d/$$"
`

// askpassNumber is what may be asked for: the number of a process, no path.
var askpassNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{1,10}$`) })

// askpassPatience is how long an answer waits for its reader.
const askpassPatience = 5 * time.Second

// newAskpass uses the first of the directories that programs can be run from.
func newAskpass(dirs []string, secret func(context.Context) (string, error)) (_ *askpass, err error) {
	at := slices.IndexFunc(dirs, runsPrograms)
	if at < 0 {
		return nil, fmt.Errorf("no program can be run from any of %q", dirs)
	}
	dir, err := os.MkdirTemp(dirs[at], "hermes-ask-") // 0700
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	a := &askpass{dir: dir, program: filepath.Join(dir, "askpass"), secret: secret, done: make(chan struct{})}
	syscall.ForkLock.RLock() // a child that is forked meanwhile would have it open for writing too, and sudo couldn't run it
	err = os.WriteFile(a.program, []byte(askpassProgram), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, err
	}
	if err := unix.Mkfifo(filepath.Join(dir, "ask"), 0o600); err != nil {
		return nil, &os.PathError{Op: "mkfifo", Path: dir, Err: err}
	}
	// Open for both: there is never an end-of-file between two questions.
	fd, err := unix.Open(filepath.Join(dir, "ask"), unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	a.ask = os.NewFile(uintptr(fd), "ask")
	var ctx context.Context
	ctx, a.cancel = context.WithCancel(context.Background())
	go a.serve(ctx)
	return a, nil
}

func (a *askpass) serve(ctx context.Context) {
	defer close(a.done)
	in := bufio.NewScanner(a.ask)
	for in.Scan() {
		if !askpassNumber().MatchString(in.Text()) {
			continue
		}
		secret, err := a.secret(ctx)
		a.answer(ctx, filepath.Join(a.dir, in.Text()), secret, err)
	}
}

// answer hands the secret to one asker; after a refusal it gets nothing, which sudo takes as giving up.
func (a *askpass) answer(ctx context.Context, fifo, secret string, refused error) {
	for end := time.Now().Add(askpassPatience); time.Now().Before(end) && ctx.Err() == nil; {
		fd, err := unix.Open(fifo, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		if errors.Is(err, unix.ENXIO) { // not reading yet
			time.Sleep(2 * time.Millisecond)
			continue
		}
		if err != nil {
			return
		}
		if refused == nil {
			_, _ = unix.Write(fd, []byte(secret+"\n")) // a reader who went away needs none
		}
		unix.Close(fd)
		return
	}
}

func (a *askpass) close() {
	if a == nil {
		return
	}
	a.cancel()
	a.ask.Close()
	<-a.done
	os.RemoveAll(a.dir)
}
