// Package bench measures whole paths of the runtime against a bare equivalent in the same run, so that the figures are ratios
// that mean the same on every machine.
package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/hermes-runtime/hermes/internal/hook"
	"github.com/hermes-runtime/hermes/internal/runtime"
	"github.com/hermes-runtime/hermes/tool"
)

// Row is what one path measured.
type Row struct {
	Path   string  `json:"path"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"` // "×" for a ratio to the bare equivalent
	Budget float64 `json:"budget,omitempty"`
	Within bool    `json:"within"`
	Detail string  `json:"detail"`          // the two figures behind a ratio
	Error  string  `json:"error,omitempty"` // why there is no figure
}

// path is one thing that is measured.
type path struct {
	name    string
	unit    string
	budget  float64
	atLeast bool // the budget is a lower bound
	run     func(ctx context.Context, b *Bench) (value float64, detail string, err error)
}

// Options makes a Bench.
type Options struct {
	Executable string   // the hermes binary, for paths that are whole processes; "" = this program
	Config     string   // the user's config.yaml, which says how other places are reached; "" = there is none
	GuardArgv  []string // as runtime.Options has them
	KeeperArgv []string
	Environ    []string
	Only       func(path string) bool // nil = all
	Progress   func(path string)
}

// Bench holds what the paths share.
type Bench struct {
	Options
	dir     string
	runtime *runtime.Runtime
	session *runtime.Session
	places  map[string]*far // by backend, those that are open
}

// Run measures every path, one after the other. A path that can't be measured here says why; the others are measured.
func Run(ctx context.Context, o Options) (rows []Row, err error) {
	dir, err := os.MkdirTemp("", "hermes-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a scratch directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if o.Executable == "" {
		if o.Executable, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find the program to measure: %w", err)
		}
	}
	b := &Bench{Options: o, dir: dir, places: map[string]*far{}}
	if err := b.open(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close(context.WithoutCancel(ctx))) }()
	for _, p := range paths() {
		if o.Only != nil && !o.Only(p.name) {
			continue
		}
		if ctx.Err() != nil {
			return rows, context.Cause(ctx)
		}
		if o.Progress != nil {
			o.Progress(p.name)
		}
		rows = append(rows, b.measure(ctx, p))
	}
	return rows, nil
}

func (b *Bench) measure(ctx context.Context, p path) Row {
	row := Row{Path: p.name, Unit: p.unit, Budget: p.budget}
	value, detail, err := p.run(ctx, b)
	row.Detail = detail
	if err != nil {
		row.Error = err.Error()
		return row
	}
	row.Value = value
	row.Within = p.budget == 0 || (value <= p.budget) != p.atLeast || value == p.budget
	return row
}

// noop is a tool that does nothing: what is left is the way through the door.
type noopArgs struct {
	Text  string `json:"text"`
	Count int    `json:"count"`
}

const noopName = "bench_noop"

func noop() tool.Tool {
	return tool.Func(tool.Spec{Name: noopName, Toolset: "bench", Description: "Does nothing.", Effects: tool.ReadOnly},
		func(_ context.Context, _ *tool.Call, a noopArgs) (any, error) {
			return struct {
				Text  string `json:"text"`
				Count int    `json:"count"`
			}{a.Text, a.Count}, nil
		})
}

func (b *Bench) open(ctx context.Context) error {
	if err := os.MkdirAll(b.dir+"/home", 0o700); err != nil {
		return fmt.Errorf("make a home for the benchmark: %w", err)
	}
	config := []byte(`# what is measured is more than is usual
code_execution:
  max_tool_calls: 10000
process:
  max_running: 5000
  max_running_per_session: 5000
`)
	if err := os.WriteFile(b.dir+"/home/config.yaml", config, 0o600); err != nil {
		return fmt.Errorf("configure the benchmark: %w", err)
	}
	o := b.runtimeOptions(b.dir + "/home")
	o.Dir = b.dir
	rt, err := runtime.Open(ctx, o)
	if err != nil {
		return err
	}
	b.runtime = rt
	b.session = rt.Session(runtime.SessionOptions{Caller: tool.CallerAPI})
	return nil
}

// runtimeOptions are those of a runtime that is measured: it has hooks, tools of the benchmark, and nobody to ask.
func (b *Bench) runtimeOptions(home string) runtime.Options {
	observed := hook.Hook{
		Name:        "bench",
		PreToolCall: func(context.Context, hook.Call) (hook.Verdict, error) { return hook.Verdict{}, nil },
	}
	return runtime.Options{
		Home: home, Environ: b.Environ, Embedded: []tool.Tool{noop(), quick(), slow()}, Hooks: []hook.Hook{observed},
		GuardArgv: b.GuardArgv, KeeperArgv: b.KeeperArgv,
	}
}

func (b *Bench) close(ctx context.Context) error {
	errs := []error{b.session.Close(ctx), b.runtime.Close(ctx)} // jobs end with their session
	for _, f := range b.places {
		errs = append(errs, f.close(ctx))
	}
	return errors.Join(errs...)
}

// median is the middle of several durations.
func median(list []time.Duration) time.Duration {
	s := slices.Clone(list)
	slices.Sort(s)
	return s[len(s)/2]
}

// pair measures two things in turn, n times each, and gives the medians.
func pair(n int, one, other func() error) (a, b time.Duration, err error) {
	var as, bs []time.Duration
	for range n + 1 {
		for _, side := range []struct {
			f    func() error
			list *[]time.Duration
		}{{one, &as}, {other, &bs}} {
			start := time.Now()
			if err := side.f(); err != nil {
				return 0, 0, err
			}
			*side.list = append(*side.list, time.Since(start))
		}
	}
	return median(as[1:]), median(bs[1:]), nil // the first round warms up
}

// ratio of two medians, with both in words.
func ratio(n int, ours, bare func() error) (float64, string, error) {
	a, b, err := pair(n, ours, bare)
	if err != nil {
		return 0, "", err
	}
	return float64(a) / float64(max(b, 1)), fmt.Sprintf("%v against %v", a.Round(time.Microsecond), b.Round(time.Microsecond)), nil
}

// perCall is how long f takes on average over n calls, the best of five rounds.
func perCall(n int, f func()) time.Duration {
	best := time.Duration(0)
	for round := range 5 {
		start := time.Now()
		for range n {
			f()
		}
		if d := time.Since(start) / time.Duration(n); round == 0 || d < best {
			best = d
		}
	}
	return best
}

// Sort orders rows by path.
func Sort(rows []Row) {
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.Path, b.Path) })
}
