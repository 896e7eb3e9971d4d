//go:build linux || darwin

package engine

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hermes-runtime/hermes/environment"
)

var errNotDir error = syscall.ENOTDIR

func searchable(dir string) error {
	if err := unix.Access(dir, unix.X_OK); err != nil {
		return err
	}
	return nil
}

// cause strips what names the path, which the message names already.
func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// program makes the pipes and the argument list.
func (r *run) program() error {
	files := []*os.File{nil, nil, nil}
	if err := r.channels(files); err != nil {
		return err
	}
	posix := slices.ContainsFunc(r.env, func(e string) bool { return strings.HasPrefix(e, "POSIXLY_CORRECT=") })
	w := wrapping{bash: r.e.bash, posix: posix, carry: r.carry, limits: r.limits()}
	if r.job != nil {
		gate, err := r.gated(&files)
		if err != nil {
			return notStarted("make a pipe for the start", err)
		}
		w.limits = gate + w.limits // nothing is done before the go
	}
	if r.carry { // descriptor 3: the texts of wrap.go count on it
		p, in, err := newPump(&collector{most: maxDump})
		if err != nil {
			return notStarted("make a pipe for the state", err)
		}
		r.state, files = p, append(files, in)
		r.child = append(r.child, in)
	}
	feed := func(text string) (int, error) {
		f, out, err := newFeeder(strings.NewReader(text))
		if err != nil {
			return 0, notStarted("make a pipe for the script", err)
		}
		r.feeds, r.child, files = append(r.feeds, f), append(r.child, out), append(files, out)
		return len(files) - 1, nil
	}
	var err error
	if r.b.Login != nil && r.b.Login.Text != "" && r.e.bash && r.c.Script != "" {
		if w.login, err = feed(r.b.Login.Text); err != nil {
			return err
		}
	}
	text, fits := "", len(r.c.Script) < argScript
	if fits {
		text = w.text(r.c.Script)
		fits = len(text) < longestString // as one word of the shell, a script full of quotes is much longer
	}
	if !fits {
		if w.script, err = feed(r.c.Script); err != nil {
			return err
		}
		text = w.text(r.c.Script)
	}
	for _, x := range r.c.Extra {
		f, err := duplicate(x)
		if err != nil {
			return notStarted("hand over a descriptor", err)
		}
		r.child, files = append(r.child, f), append(files, f)
		r.env = append(r.env, x.Name+"="+strconv.Itoa(len(files)-1))
	}
	r.files = files
	r.path, r.argv = r.e.shell, []string{r.e.shell, "-c", text}
	if len(r.c.Argv) > 0 {
		r.path, r.argv = "", r.c.Argv
		if w.limits != "" {
			r.path, r.argv = r.e.shell, append([]string{r.e.shell, "-c", w.limits + `exec "$0" "$@"`}, r.c.Argv...)
		}
	}
	return nil
}

func notStarted(op string, err error) error {
	return &environment.Error{Kind: environment.ErrNotStarted, Op: op, Err: err}
}

// duplicate takes a copy of a descriptor that we own.
func duplicate(x environment.Extra) (*os.File, error) {
	fd, err := unix.FcntlInt(x.File.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), x.Name), nil
}

// channels gives the child its input and outputs.
func (r *run) channels(files []*os.File) error {
	if r.job != nil && r.job.Terminal != nil {
		if err := r.console(files); err != nil {
			return notStarted("give the command a terminal", err)
		}
		return nil
	}
	input := r.input
	if r.job != nil && r.job.KeepStdin {
		input = r.keptInput
	}
	if err := input(files); err != nil {
		return notStarted("make a pipe for the input", err)
	}
	if err := r.outputs(files); err != nil {
		return notStarted("make a pipe for the output", err)
	}
	return nil
}

// input gives the child its standard input.
func (r *run) input(files []*os.File) error {
	switch in := r.c.Stdin.(type) {
	case nil:
		files[0] = r.e.null
	case *os.File:
		files[0] = in
	default:
		f, out, err := newFeeder(in)
		if err != nil {
			return err
		}
		r.stdin, files[0] = f, out
		r.child = append(r.child, out)
	}
	return nil
}

// outputs gives it standard output and error: one pipe for both, so that the order of bytes is that of writing.
func (r *run) outputs(files []*os.File) error {
	p, in, err := newPump(writerOr(r.c.Output))
	if err != nil {
		return err
	}
	p.idle = r.job != nil
	r.out, files[1], files[2] = p, in, in
	r.child = append(r.child, in)
	if r.c.Stderr == nil {
		return nil
	}
	p, in, err = newPump(r.c.Stderr)
	if err != nil {
		return err
	}
	r.err, files[2] = p, in
	r.child = append(r.child, in)
	return nil
}

func writerOr(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}

// start starts the process. The guard knows of the group before there is anyone in it.
func (r *run) start() error {
	path := r.path
	if path == "" {
		p, err := lookIn(r.argv[0], r.env, r.place.dir)
		if err != nil {
			return err
		}
		path = p
	}
	r.e.guard.Add(r.group.Record())
	attr := &os.ProcAttr{Dir: r.place.dir, Env: r.env, Files: r.files, Sys: r.attr()}
	proc, err := os.StartProcess(path, r.argv, attr)
	if err != nil && !isProgramError(err) && r.group.WithoutCgroup() { // it was refused after all: the marker remains
		attr.Sys = r.attr()
		proc, err = os.StartProcess(path, r.argv, attr)
	}
	if err != nil {
		r.e.guard.Remove(r.group.ID())
		return err
	}
	pid := proc.Pid // who waits for the process lets go of it
	r.pid = pid
	r.group.Started(pid)
	r.e.guard.Add(r.group.Record())
	for _, f := range r.child {
		f.Close()
	}
	r.child = nil
	r.out.start()
	r.err.start()
	r.state.start()
	r.stdin.start()
	for _, f := range r.feeds {
		f.start()
	}
	r.exited = make(chan exit, 1)
	if r.job != nil {
		go func() { r.exited <- awaitIdle(proc) }()
	} else {
		go func() { r.exited <- await(proc) }()
	}
	if r.c.OnStart != nil {
		r.c.OnStart(pid)
	}
	return nil
}

// attr has the command born in its group, and on its terminal if it has one.
func (r *run) attr() *syscall.SysProcAttr {
	a := r.group.Attr()
	if r.job != nil && r.job.Terminal != nil {
		a.Setctty, a.Ctty = true, 0
	}
	return a
}

// isProgramError tells errors about the program from errors about the way it is started.
func isProgramError(err error) bool {
	for _, e := range []error{syscall.ENOENT, syscall.EACCES, syscall.ENOEXEC, syscall.E2BIG, syscall.ENOTDIR, syscall.ETXTBSY, syscall.EAGAIN, syscall.ENOMEM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// refused turns a failed start into a result where a shell would report one, and into ErrNotStarted where the system is at fault.
func (r *run) refused(err error) (environment.Result, error) {
	res := environment.Result{Reason: environment.Exited, Dir: environment.Path(r.place.dir), DirNote: r.place.note}
	switch {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return environment.Result{}, notStarted("start "+r.argv[0], cause(err))
	case errors.Is(err, syscall.ENOENT), errors.Is(err, exec.ErrNotFound):
		res.ExitCode = 127
	case isProgramError(err):
		res.ExitCode = 126
	default:
		return environment.Result{}, notStarted("start "+r.argv[0], cause(err))
	}
	r.say(r.argv[0] + ": " + cause(err).Error())
	return res, nil
}

// lookIn finds a program as the child would: in the PATH that it gets, from the directory it starts in.
func lookIn(name string, env []string, dir string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil // relative names are resolved after the directory was entered
	}
	path := ""
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			path = v
		}
	}
	found := error(exec.ErrNotFound)
	for _, d := range strings.Split(path, ":") {
		if d == "" {
			d = "."
		}
		full := d + "/" + name
		if !strings.HasPrefix(d, "/") {
			full = dir + "/" + full
		}
		i, err := os.Stat(full)
		switch {
		case err != nil || i.IsDir():
		case i.Mode()&0o111 == 0:
			found = syscall.EACCES
		default:
			return full, nil
		}
	}
	return "", found
}
