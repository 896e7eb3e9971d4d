package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/config"
	"github.com/hermes-runtime/hermes/internal/runtime"
	"github.com/hermes-runtime/hermes/internal/script"
	"github.com/hermes-runtime/hermes/tool"
)

// far is a backend whose places are measured against its usual client.
type far struct {
	*Bench
	backend environment.Backend
	options environment.OpenOptions
	runtime *runtime.Runtime
	session *runtime.Session
	place   environment.Environment
	client  environment.BareClient
}

// measures are the rows of a place, in their order.
var measures = []struct {
	what environment.Measure
	run  func(*far, context.Context) (float64, string, error)
}{
	{environment.MeasureEcho, (*far).echo},
	{environment.MeasureRead, (*far).read},
	{environment.MeasureScript, (*far).script},
	{environment.MeasureOpen, (*far).ready},
	{environment.MeasureFlood, (*far).flood},
}

// placePaths are those of every backend that has something to be measured against.
func placePaths() []path {
	var out []path
	for _, b := range environment.Backends() {
		if b.Bare == nil {
			continue
		}
		for _, m := range measures {
			out = append(out, path{
				name: fmt.Sprintf("%s: %s, to %s", b.Name, m.what, b.Bare.Client), unit: "×", budget: b.Bare.Budgets[m.what],
				atLeast: m.what == environment.MeasureFlood,
				run: func(ctx context.Context, bench *Bench) (float64, string, error) {
					f, err := bench.far(ctx, b)
					if err != nil {
						return 0, "", err
					}
					return m.run(f, ctx)
				},
			})
		}
	}
	return out
}

// far opens a backend, once: as it is configured, in a home of the benchmark's own.
func (b *Bench) far(ctx context.Context, backend environment.Backend) (*far, error) {
	if f := b.places[backend.Name]; f != nil {
		return f, nil
	}
	f := &far{Bench: b, backend: backend}
	if err := f.open(ctx); err != nil {
		return nil, errors.Join(err, f.close(ctx))
	}
	b.places[backend.Name] = f
	return f, nil
}

func (f *far) open(ctx context.Context) error {
	file, err := f.configure(ctx)
	if err != nil {
		return err
	}
	o := f.runtimeOptions(filepath.Dir(file))
	if f.runtime, err = runtime.Open(ctx, o); err != nil {
		return err
	}
	if err := f.runtime.TerminalUnavailable(ctx); err != nil {
		return err
	}
	f.session = f.runtime.Session(runtime.SessionOptions{Caller: tool.CallerAPI})
	if f.options, err = f.runtime.OpenOptions(f.backend); err != nil {
		return err
	}
	f.options.Key = "bench"
	if f.place, err = f.backend.Open(ctx, f.options); err != nil {
		return err
	}
	f.client, err = f.backend.Bare.Begin(ctx, f.options, f.place.Info())
	return err
}

// configure writes the configuration: the user's, in which the backend is chosen.
func (f *far) configure(ctx context.Context) (string, error) {
	home := filepath.Join(f.dir, f.backend.Name)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return "", err
	}
	file := config.DefaultPath(home)
	text, err := os.ReadFile(f.Config)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read the configuration: %w", err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return "", err
	}
	settings := map[string]string{"backend": f.backend.Name}
	for key, value := range f.backend.Bare.Settings {
		settings[key] = value
	}
	for key, value := range settings {
		if err := config.Set(ctx, file, "terminal."+key, value); err != nil {
			return "", err
		}
	}
	return file, nil
}

func (f *far) close(ctx context.Context) error {
	var errs []error
	if f.client.Close != nil {
		errs = append(errs, f.client.Close())
	}
	if f.place != nil {
		errs = append(errs, f.place.Close(ctx))
	}
	if f.session != nil {
		errs = append(errs, f.session.Close(ctx))
	}
	if f.runtime != nil {
		errs = append(errs, f.runtime.Close(ctx))
	}
	return errors.Join(errs...)
}

// bare runs a script in the place by the usual client.
func (f *far) bare(ctx context.Context, out io.Writer, script string) error {
	all := append(slices.Clone(f.client.Argv), script)
	cmd := exec.CommandContext(ctx, all[0], all[1:]...) //nolint:gosec // the client is the backend's
	cmd.Stdout = out
	return cmd.Run()
}

// call makes a call of the session whose commands run in the place. It must end well.
func (f *far) call(ctx context.Context, name, args string) error {
	r := f.session.Call(ctx, tool.Request{Name: name, Arguments: []byte(args)})
	if r.Status != tool.StatusOK {
		return fmt.Errorf("%s: %s", name, r.JSON)
	}
	return nil
}

func (f *far) echo(ctx context.Context) (float64, string, error) {
	return ratio(20, func() error { return f.call(ctx, "terminal", `{"command":"echo hi"}`) },
		func() error { return f.bare(ctx, nil, "echo hi") })
}

func (f *far) read(ctx context.Context) (float64, string, error) {
	if err := f.call(ctx, writer, `{"path":"bench.txt","content":"a few\nlines of\ntext\n"}`); err != nil {
		return 0, "", err
	}
	n := 0
	return ratio(20, func() error {
		n++ // a page that was read is not sent again
		return f.call(ctx, reader, fmt.Sprintf(`{"path":"bench.txt","limit":%d}`, 3+n))
	}, func() error { return f.bare(ctx, nil, "cat /etc/passwd") })
}

func (f *far) script(ctx context.Context) (float64, string, error) {
	return ratio(10, func() error { return f.call(ctx, script.ToolName, `{"code":"print(1)"}`) },
		func() error { return f.bare(ctx, nil, `exec python3 -c 'print(1)'`) })
}

// ready is the time until a place of its own is open. No command is run in it. How long the client takes for a command that does nothing
// is told beside it: a user's shell that has much to read at its start is part of ours, and of no handshake.
func (f *far) ready(ctx context.Context) (float64, string, error) {
	var ours, theirs, nothing []time.Duration
	for i := range 8 {
		took, err := f.opened(ctx, i)
		if err != nil {
			return 0, "", err
		}
		start := time.Now()
		undo, err := f.client.Open(ctx)
		if err != nil {
			return 0, "", err
		}
		theirs, ours = append(theirs, time.Since(start)), append(ours, took)
		if err := undo(); err != nil {
			return 0, "", err
		}
		start = time.Now()
		if err := f.bare(ctx, nil, "true"); err != nil {
			return 0, "", err
		}
		nothing = append(nothing, time.Since(start))
	}
	a, b := median(ours[1:]), median(theirs[1:])
	detail := fmt.Sprintf("%v against %v", a.Round(time.Microsecond), b.Round(time.Microsecond))
	if s := f.backend.Bare.Settle; s > 0 {
		detail += fmt.Sprintf(", of which %v are allowed for", s)
		a = max(0, a-s)
	}
	return float64(a) / float64(max(b, 1)), fmt.Sprintf("%s; running true there takes the client %v", detail, median(nothing[1:]).Round(time.Microsecond)), nil
}

func (f *far) opened(ctx context.Context, i int) (time.Duration, error) {
	o := f.options
	o.Key = fmt.Sprintf("bench-%d", i)
	start := time.Now()
	e, err := f.backend.Open(ctx, o)
	if err != nil {
		return 0, err
	}
	took := time.Since(start)
	return took, e.Close(ctx)
}

func (f *far) flood(ctx context.Context) (float64, string, error) {
	const n = 100_000_000
	script := fmt.Sprintf("head -c %d /dev/zero", n)
	a, b, err := pair(3, func() error {
		var got counter
		c := environment.Command{Script: script, Output: &got}
		res, err := f.place.Run(ctx, c)
		if err == nil && (res.ExitCode != 0 || got.n != n) {
			err = fmt.Errorf("exit code %d, %d bytes", res.ExitCode, got.n)
		}
		return err
	}, func() error {
		var got counter
		if err := f.bare(ctx, &got, script); err != nil || got.n != n {
			return fmt.Errorf("%d bytes, %w", got.n, cmp.Or(err, errShort))
		}
		return nil
	})
	if err != nil {
		return 0, "", err
	}
	return float64(b) / float64(max(a, 1)), fmt.Sprintf("%v against %v", a.Round(time.Millisecond), b.Round(time.Millisecond)), nil
}

var errShort = errors.New("and the client says nothing is wrong")

// counter counts what is written to it.
type counter struct{ n int }

func (c *counter) Write(b []byte) (int, error) { c.n += len(b); return len(b), nil }
