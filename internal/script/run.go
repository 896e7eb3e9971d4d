package script

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/redact"
	"github.com/hermes-runtime/hermes/internal/script/python"
	"github.com/hermes-runtime/hermes/internal/script/rpc"
	"github.com/hermes-runtime/hermes/internal/script/stub"
	"github.com/hermes-runtime/hermes/internal/secret"
	"github.com/hermes-runtime/hermes/tool"
)

// Names of the files in a run's directory.
const (
	scriptName = "script.py"
	stubName   = stub.ModuleFile
)

// run is one script on its way.
type run struct {
	r     *Runner
	call  *tool.Call
	cfg   *Config
	code  string
	began time.Time

	mode      string
	warnings  []string
	place     environment.Place
	far       bool // the place is not this machine
	forwarder environment.Forwarder
	environer environment.Environer
	vars      map[string]string // of the session
	python    python.Interpreter
	dir       string // where the script starts
	session   string // the session's directory
	withheld  []Withheld
	reasons   map[string]string

	socket environment.Forwarding
	proof  *proof // of the way there and back; nil = there is none
	token  string
	known  *secret.Set // the runtime's secrets; nil = it tells none
	server *rpc.Server
	gate   *gate
	stdout *stream
	stderr *stream
	clock  *deadline
	whole  tool.SpillFile // has the whole of stdout; nil = nothing is left out of the output
	spill  string         // its path
	watch  *progress
}

// Run runs the code of a call and reports what became of it. It always reports: what went wrong is in the report.
func (r *Runner) Run(ctx context.Context, c *tool.Call, code string) *Report {
	x := &run{r: r, call: c, began: r.o.Clock.Now()}
	rep := &Report{}
	if r.begin() {
		defer r.runs.Done()
		rep = x.guarded(ctx, code)
		x.clean()
	} else {
		x.interrupted(rep, tool.Shutdown)
	}
	x.finish(rep)
	return rep
}

// guarded makes a report of a panic too.
func (x *run) guarded(ctx context.Context, code string) (rep *Report) {
	defer func() {
		if p := recover(); p != nil {
			x.r.o.Log.Error("running a script panicked", "panic", p, "call", x.call.ID, "stack", string(debug.Stack()))
			rep = &Report{Status: StatusError, Error: "running the script failed inside Hermes; the log tells more"}
		}
	}()
	return x.start(ctx, code)
}

// start does what has to be done before the child, and runs it.
func (x *run) start(ctx context.Context, code string) *Report {
	cfg, ok := tool.Service[*Config](x.call)
	if !ok || cfg == nil {
		cfg = DefaultConfig()
	}
	x.cfg = cfg
	if err := cfg.Validate(); err != nil {
		return x.failed(ctx, err)
	}
	var warning string
	x.mode, warning = cfg.mode()
	x.warn(warning)
	var err error
	if x.code, err = source(code, cfg.MaxScript); err != nil {
		return x.failed(ctx, err)
	}
	if err := x.r.queue.enter(ctx, cfg.MaxRuns, x.queued); err != nil {
		return x.failed(ctx, err)
	}
	defer x.r.queue.leave()
	for _, step := range []func(context.Context) error{x.findPlace, x.findPython, x.prepare} {
		if err := step(ctx); err != nil {
			return x.failed(ctx, err)
		}
	}
	return x.execute(ctx)
}

func (x *run) queued(ahead int) {
	x.call.Host.Progress(0, x.cfg.Timeout.Seconds(), fmt.Sprintf("waiting for %d other scripts to end (%s.max_concurrent_runs %d)",
		x.cfg.MaxRuns+ahead-1, Section, x.cfg.MaxRuns))
}

func (x *run) warn(text string) {
	if text != "" {
		x.warnings = append(x.warnings, text)
	}
}

// prepare makes the directory, the channel and the sinks.
func (x *run) prepare(ctx context.Context) error {
	x.reasons = map[string]string{}
	if offer, ok := tool.Service[Offer](x.call); ok {
		names := make([]string, len(stub.Functions))
		for i, f := range stub.Functions {
			names[i] = f.Name
		}
		x.reasons = offer.Offered(ctx, names)
	}
	names := available(x.reasons)
	if names == nil {
		names = []string{}
	}
	files := map[string][]byte{
		scriptName: []byte(declareUTF8(x.code)),
		stubName:   stub.Source(stub.Options{Available: names, Reasons: x.reasons, MaxMessage: x.cfg.MaxMessage}),
	}
	if x.far {
		x.proof = newProof(x.r.o.Clock)
		files[proofName] = x.proof.program()
	}
	var err error
	if x.socket, err = x.forwarder.Forward(ctx, files); err != nil {
		return fmt.Errorf("make a directory for the script: %w", err)
	}
	x.dir = x.session
	if x.mode == ModeStrict {
		x.dir = string(x.socket.Dir())
	}
	x.token = rpc.NewToken()
	if x.known, _ = tool.Service[*secret.Set](x.call); x.known != nil { // so that nobody shows it, for as long as it is good for anything
		x.known.Add(tokenName, x.token)
	}
	x.watch = newProgress(x)
	return x.sinks()
}

func (x *run) sinks() error {
	red, _ := tool.Service[*redact.Redactor](x.call)
	spill := func() (io.WriteCloser, error) {
		// The run may be ending when the first byte too many comes: the file is wanted all the same.
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		f, err := x.call.Host.Spill(ctx)
		if err != nil {
			return nil, err
		}
		if f == nil {
			return nil, errNoSpill
		}
		x.whole = f
		return f, nil
	}
	o := streamOptions{limit: x.cfg.MaxStderr, head: 30, staging: string(x.socket.Dir()), token: x.token, redactor: red}
	if r, ok := tool.Service[Redaction](x.call); ok {
		o.known = r.KnownOnly()
	}
	var err error
	if x.stderr, err = newStream(o); err != nil {
		return err
	}
	o.limit, o.head, o.spillMax, o.spill, o.watch = x.cfg.MaxStdout, 40, x.cfg.SpillMax, spill, x.watch.text
	x.stdout, err = newStream(o)
	return err
}

// shortestWait is the least standstill that is told: nobody answers in less, but looking whether anybody must be asked takes time.
const shortestWait = 50 * time.Millisecond

// errTimeUp is the cause of a context whose script has had its time.
var errTimeUp = fmt.Errorf("the script's time is up: %w", context.DeadlineExceeded)

// execute starts the child and waits for its end.
func (x *run) execute(outer context.Context) *Report {
	ctx, cancel := context.WithCancelCause(outer)
	defer cancel(nil)
	x.gate = newGate(x.r, x.call, x.reasons, x.cfg.MaxToolCalls, x.code)
	x.server = rpc.Serve(ctx, x.socket, x.proof.before(x.gate.serve), rpc.Options{Parallel: x.cfg.MaxParallel, MaxMessage: x.cfg.MaxMessage, Token: x.token, Log: x.r.o.Log})
	x.clock = startDeadline(x.r.o.Clock, x.cfg.Timeout, x.cfg.MaxApprovalWait, func() {
		cancel(errTimeUp)
	})
	if w, ok := tool.Service[Waiting](x.call); ok {
		defer w.WatchWaiting(x.call.ID, x.clock.wait)()
	}
	res, err := x.child(ctx, x.argv(), x.environ(ctx))
	cause := context.Cause(ctx)
	stood := x.clock.end()
	x.server.Close()
	x.stdout.close()
	x.stderr.close()
	if x.whole != nil { // where it lies is known once it is whole: it goes where read_file finds it
		x.spill = x.whole.Path()
	}
	rep := x.report(outer, end{res: res, err: err, cause: cause})
	if stood >= shortestWait {
		d := decimal(stood)
		rep.ApprovalWait = &d
	}
	return rep
}

// argv is how the script is started. Nothing of it or of what it is given stands there but the words of a person's command line.
func (x *run) argv() []string {
	argv := []string{x.python.Path, "-u"}
	if x.python.AtLeast(3, 11) {
		argv = append(argv, "-P") // the staging directory is first by PYTHONPATH; it needn't stand there twice
	}
	argv = append(argv, path.Join(string(x.socket.Dir()), scriptName))
	if inv, _ := tool.Service[*Invocation](x.call); inv != nil {
		argv = append(argv, inv.Args...)
	}
	if x.proof == nil {
		return argv
	}
	return append([]string{x.python.Path, "-I", "-S", path.Join(string(x.socket.Dir()), proofName)}, argv...)
}

// child runs the interpreter, with a sign of life beside it.
func (x *run) child(ctx context.Context, argv, environ []string) (environment.Result, error) {
	x.watch.start()
	defer x.watch.stop()
	out, errs, done := x.proof.strip(x.stdout, x.stderr)
	defer done()
	return x.place.Run(ctx, environment.Command{
		Argv: argv, Environ: environ, Dir: x.dir, Output: out, Stderr: errs, Grace: x.cfg.KillGrace, EndLeft: true, Limits: x.limits(),
	})
}

func (x *run) limits() environment.Limits { return x.cfg.limits(x.place.Info().MemoryMB) }

func (x *run) environ(ctx context.Context) []string {
	var granted []string
	if g, ok := tool.Service[Grants](x.call); ok {
		granted = g.Granted()
	}
	x.declare()
	kept, withheld := scrub(x.vars, granted)
	x.withheld = withheld
	if len(withheld) > 0 {
		names := make([]string, len(withheld))
		for i, w := range withheld {
			names[i] = w.Name
		}
		x.r.o.Log.Debug("variables withheld from a script", "names", names, "setting", PassSetting)
	}
	o := ours{
		socket: string(x.socket.Socket()), cookie: x.token, session: x.call.Session, temp: string(x.socket.Temp()), staging: string(x.socket.Dir()),
		timezone: x.vars[timezoneName], trace: x.vars["TRACEPARENT"],
	}
	if o.timezone == "" {
		o.timezone = x.call.Host.Getenv(timezoneName)
	}
	if t, ok := tool.Service[Tracer](x.call); ok {
		o.trace = t.Traceparent(ctx)
	}
	if x.mode == ModeProject {
		o.dir = x.session
	} else if x.far { // the interpreter there is anybody's, and has what its users gave it
		maps.DeleteFunc(kept, func(name, _ string) bool { return strings.HasPrefix(name, "PYTHON") })
		kept["PYTHONNOUSERSITE"] = "1"
	}
	return o.apply(kept)
}

// declare gives the script the variables of loaded skills, unless the session has set them itself.
func (x *run) declare() {
	d, ok := tool.Service[Declared](x.call)
	if !ok {
		return
	}
	var own map[string]*string
	if x.place.State != nil {
		own = x.place.State.Snapshot().Vars
	}
	for name, value := range d.Variables() {
		if _, set := own[name]; !set {
			x.vars[name] = value
		}
	}
}

// clean ends what the run holds; it may be called at any stage, and again.
func (x *run) clean() {
	if x.server != nil {
		x.server.Close()
	}
	if x.clock != nil {
		x.clock.end()
	}
	if x.known != nil {
		x.known.Remove(tokenName, x.token)
	}
	if x.socket != nil {
		if err := x.socket.Close(); err != nil {
			x.r.o.Log.Warn("a script's directory may stay", "place", x.place.Info().ID, "error", err)
		}
		x.socket = nil
	}
}

// failed reports a run that didn't come to its child.
func (x *run) failed(ctx context.Context, err error) *Report {
	rep := &Report{Status: StatusError, Error: oneLine(err.Error())}
	if cause := context.Cause(ctx); cause != nil {
		x.interrupted(rep, cause)
	}
	return rep
}

// finish fills in what every report has.
func (x *run) finish(rep *Report) {
	if x.gate != nil {
		rep.ToolCallsMade, _ = x.gate.counts()
	}
	rep.DurationSeconds = decimal(x.r.o.Clock.Now().Sub(x.began))
	if x.code != "" && rep.Status != StatusInterrupted {
		if n := x.r.repeats.seen(x.call.Session, x.code, rep); n >= repeatWarn {
			x.warnings = slices.Insert(x.warnings, 0, fmt.Sprintf("This script has now ended the same way %d times in this session; running it again changes nothing.", n))
		}
	}
	rep.Warning = clip(strings.Join(x.warnings, " "), noteMax)
	rep.Hint = clip(rep.Hint, noteMax)
}

func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
