// Package runtime builds everything from the configuration and owns all state: it is the only place that knows every service.
package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/approval/ask"
	"github.com/hermes-runtime/hermes/internal/atomicfile"
	"github.com/hermes-runtime/hermes/internal/config"
	"github.com/hermes-runtime/hermes/internal/dispatch"
	"github.com/hermes-runtime/hermes/internal/envs"
	"github.com/hermes-runtime/hermes/internal/hook"
	"github.com/hermes-runtime/hermes/internal/memory"
	"github.com/hermes-runtime/hermes/internal/mirror"
	"github.com/hermes-runtime/hermes/internal/observe"
	"github.com/hermes-runtime/hermes/internal/process"
	"github.com/hermes-runtime/hermes/internal/redact"
	"github.com/hermes-runtime/hermes/internal/registry"
	"github.com/hermes-runtime/hermes/internal/script"
	"github.com/hermes-runtime/hermes/internal/secret"
	"github.com/hermes-runtime/hermes/internal/session"
	"github.com/hermes-runtime/hermes/internal/skill"
	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/tool"
)

// Options makes a Runtime. The zero value works.
type Options struct {
	Home       string        // HERMES_HOME; "" = as the environment says, else ~/.hermes
	ConfigFile string        // "" = config.yaml in Home
	Dir        string        // directory that sessions start in; "" = as configured
	Tools      *tool.Table   // built-in tools; nil = those that are linked in
	Embedded   []tool.Tool   // tools of the embedder
	Hooks      []hook.Hook   // asked in this order
	Asker      channel.Asker // reaches the person at this runtime; nil = nobody can answer
	Environ    []string      // nil = the process's
	Log        *slog.Logger  // nil = warnings and errors are dropped
	Progress   io.Writer     // what a person is told while they wait; nil = nothing
	GuardArgv  []string      // starts the guard that ends commands if this process dies; nil = there is none
	KeeperArgv []string      // starts the keeper of background processes; nil = this process keeps them, and they end with it
	GOOS       string        // operating system whose rules decide what is available; "" = this one's
	Subreaper  bool          // the process may adopt what its commands orphan, where there are no cgroups
	Version    string        // told to collectors of telemetry
}

// Runtime is a tool runtime. It is safe for concurrent use.
type Runtime struct {
	options  Options
	home     string
	environ  map[string]string
	dotenv   atomic.Pointer[map[string]string] // .env as it is now
	doc      *config.Document
	settings settings
	log      *slog.Logger
	secrets  *secret.Set
	redactor *redact.Redactor
	services *services
	registry *registry.Registry
	hooks    *hook.Set
	gate     *approval.Gate
	list     *permanentList
	exposes  sync.Map    // what a place that isn't open yet will show of the host: exposed by name of the backend
	place    envs.Config // where commands run, as configured
	places   *envs.Manager
	mirror   *mirror.Mirror
	door     *dispatch.Door
	audit    *atomicfile.Rotating
	decided  *atomicfile.Rotating
	scripts  *script.Runner
	jobs     *process.Table
	observer *observe.Observer
	sudo     session.Sudo
	distant  *distant
	desk     ask.Desk // where all questions to a person wait for their turn
	awaited  awaited
	memory   tool.Memory
	store    *store.Lasting
	skills   *skill.Library
	sweep    func(string)
	paused   atomic.Bool // no children are begun

	mu            sync.Mutex
	problems      []error
	closed        bool
	sessions      map[*Session]bool
	conversations map[*Conversation]bool // those that are no children
}

// Open reads the configuration and builds a runtime. A file that can't be read as YAML is an error; a single bad value is a
// Problem, and its default holds.
func Open(_ context.Context, o Options) (*Runtime, error) {
	r := &Runtime{options: o, environ: variables(o.Environ), sessions: map[*Session]bool{}, conversations: map[*Conversation]bool{}, distant: newDistant()}
	var err error
	if r.home, err = homeDir(o.Home, r.environ); err != nil {
		return nil, err
	}
	file := o.ConfigFile
	if file == "" {
		file = config.DefaultPath(r.home)
	} else if _, err := os.Stat(file); err != nil {
		return nil, fmt.Errorf("read the configuration given: %w", err)
	}
	if r.doc, err = config.Load(file, r.lookupEnv); err != nil {
		return nil, err
	}
	dotenv, err := config.LoadDotEnv(r.dotenvFile())
	r.dotenv.Store(&dotenv)
	if err != nil {
		for _, e := range unjoin(err) {
			r.problem(e)
		}
	}
	r.settings.read(r.doc, r.problem)
	if tz := r.settings.root.Timezone; tz != "" {
		r.environ[timezoneName] = tz
	}
	r.build()
	r.paused.Store(r.delegation().Paused)
	return r, nil
}

var errNoTools = errors.New("there are no tools: import github.com/hermes-runtime/hermes/toolset/all, or single ones below toolset, or give Options.Tools")

// build puts the services together. Nothing is started.
func (r *Runtime) build() {
	o := r.options
	r.secrets = &secret.Set{}
	for name, value := range r.heldSecrets() {
		r.secrets.Add(name, value)
	}
	r.redactor = redact.New(r.secrets)
	r.log = slog.New(slog.DiscardHandler)
	if o.Log != nil {
		r.log = slog.New(redact.LogHandler(o.Log.Handler(), r.hide))
	}
	r.sweep = (&sweeper{keep: r.settings.output.SpillKeep, total: spillTotal, every: sweepEvery}).sweep
	r.hooks = &hook.Set{Log: r.log}
	r.hooks.Add(o.Hooks...)
	r.audit = &atomicfile.Rotating{Path: filepath.Join(r.home, "audit", "calls.jsonl")}
	r.decided = &atomicfile.Rotating{Path: filepath.Join(r.home, "audit", "approvals.jsonl")}
	r.services = &services{doc: func() *config.Document { return r.doc }, getenv: r.Getenv, warn: r.problem}
	r.place = r.readPlace()
	r.skills = skill.New(skill.Options{
		Home: r.home, UserHome: r.environ["HOME"], Config: r.settings.skills, Getenv: r.Getenv, Keep: r.keepVariable,
		CheckFile: func(name string) error { return mirror.CheckFile(r.home, name) },
	})
	r.mirror = r.newMirror()
	r.places = r.environments()
	r.jobs = process.New(process.Options{
		Homes: r.jobHomes, Elsewhere: r.jobsElsewhere, Note: r.noteJobs, Bounds: r.settings.jobs.Bounds(), ForgetWithSession: r.settings.jobs.KeepFinished == 0,
		Redact: r.hide, Log: r.log,
	})
	r.registry = registry.New(registry.Options{Table: o.Tools, Log: r.log, Services: r.services, Settings: r.settings.tools(), Checked: r.checked})
	for _, t := range o.Embedded {
		if err := r.registry.Register(registry.Embedder, t); err != nil {
			r.problem(err)
		}
	}
	if len(r.registry.Names()) == 0 {
		r.problem(errNoTools)
	}
	r.gate = r.newGate()
	r.desk.Asked = r.asked
	parts := dispatch.Parts{
		Registry: r.registry, Hooks: r.hooks, Approver: r.gate, Redactor: r.redactor, Audit: r.audit, Memory: &r.memory, Desk: &r.desk, Log: r.log,
		Config: r.settings.door(),
	}
	var err error
	if r.observer, err = observe.New(observe.Options{Getenv: r.Getenv, Version: o.Version, Log: r.log}); err != nil {
		r.problem(err)
	}
	if r.observer != nil {
		parts.Tracer, parts.Metrics = r.observer, r.observer.Measure
	}
	r.door = dispatch.New(parts)
	if r.observer != nil {
		r.observer.Watch(observe.Gauges{Abandoned: r.door.Abandoned, Pending: r.desk.Pending})
	}
	r.scripts = script.New(script.Options{Home: r.home, Getenv: r.Getenv, Log: r.log, Tell: r.tell, GOOS: o.GOOS})
	r.store = store.New(store.Options{
		File: filepath.Join(r.home, "sessions.db"), Redact: r.redactor.Known, Warn: r.warn,
		Keep: time.Duration(r.settings.kept.KeepDays) * 24 * time.Hour,
	})
	r.services.held = []any{
		r, r.registry, r.redactor, r.secrets, r.hooks, r.places, r.door, &r.memory, &r.sudo, r.scripts, r.jobs,
		memory.New(r.home, r.settings.notes), r.store,
	}
}

// checked tells the metrics of a run of an availability check. None runs before the runtime is whole.
func (r *Runtime) checked(check string, took time.Duration) { r.observer.Checked(check, took) }

// hide takes secrets out of what is logged.
func (r *Runtime) hide(text string) string {
	if r.settings.security.KnownOnly() {
		return r.redactor.Known(text)
	}
	return r.redactor.All(text)
}

// Known takes the secrets that the runtime knows out of a text. JSON stays JSON.
func (r *Runtime) Known(text string) string { return r.redactor.Known(text) }

// Home is HERMES_HOME.
func (r *Runtime) Home() string { return r.home }

// Config is the configuration as read.
func (r *Runtime) Config() *config.Document { return r.doc }

// Registry is what tools there are.
func (r *Runtime) Registry() *registry.Registry { return r.registry }

// Store keeps conversations. Its file is opened at the first use.
func (r *Runtime) Store() *store.Lasting { return r.store }

// Problems are the faults that were found in configuration and registrations, each told once.
func (r *Runtime) Problems() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]error{}, r.problems...)
}

func (r *Runtime) problem(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.problems {
		if p.Error() == err.Error() {
			return
		}
	}
	r.problems = append(r.problems, err)
	if r.log != nil {
		r.log.Warn(err.Error())
	}
}

// warn is for what goes wrong while somebody works: it is a problem, and they are told.
func (r *Runtime) warn(err error) {
	r.problem(err)
	r.tell("warning: " + err.Error())
}

// tell says to a person who waits what they wait for.
func (r *Runtime) tell(text string) {
	if r.options.Progress != nil {
		fmt.Fprintln(r.options.Progress, "hermes: "+text)
	}
}

// maxProfileName is in characters.
const maxProfileName = 64

// isProfileName tells whether name is one path element on every system.
func isProfileName(name string) bool {
	first, _ := utf8.DecodeRuneInString(name)
	if !unicode.In(first, unicode.L, unicode.N) || utf8.RuneCountInString(name) > maxProfileName || !utf8.ValidString(name) {
		return false
	}
	return strings.IndexFunc(name, func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.N, unicode.M) && !strings.ContainsRune(" ._-", r)
	}) < 0
}

// homeDir finds HERMES_HOME, or a profile of it.
func homeDir(given string, env map[string]string) (string, error) {
	home := given
	if home == "" {
		home = env["HERMES_HOME"]
	}
	if home == "" {
		user := env["HOME"]
		if user == "" {
			user, _ = os.UserHomeDir()
		}
		if user == "" {
			return "", errors.New("find HERMES_HOME: neither HERMES_HOME nor HOME is set; set one of them")
		}
		home = filepath.Join(user, ".hermes")
	}
	if given == "" && env["HERMES_PROFILE"] != "" {
		name := env["HERMES_PROFILE"]
		if !isProfileName(name) {
			return "", fmt.Errorf("HERMES_PROFILE: %q is no name of a profile: letters, digits, blanks, . _ and - make one, and it begins with a letter or digit", name)
		}
		home = filepath.Join(home, "profiles", name)
	}
	return filepath.Abs(home)
}

// Traceparent is the header that hands the span in ctx on to children, "" without one.
func (r *Runtime) Traceparent(ctx context.Context) string { return observe.Traceparent(ctx) }

// closeTime bounds the end of everything.
const closeTime = 10 * time.Second

// Close ends every call, environment and goroutine of the runtime. Calling it again does nothing.
func (r *Runtime) Close(ctx context.Context) error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	talks := maps.Clone(r.conversations)
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	var errs []error
	for c := range talks { // all at once, so that they end side by side
		c.Interrupt(tool.Shutdown)
	}
	for c := range talks {
		errs = append(errs, c.end(ctx, tool.Shutdown))
	}
	r.mu.Lock()
	open := maps.Clone(r.sessions)
	r.mu.Unlock()
	for s := range open {
		errs = append(errs, s.end(ctx, tool.Shutdown))
	}
	errs = append(errs, r.places.Close(ctx), r.distant.close(ctx), r.door.Close(ctx), r.scripts.Close(), r.registry.Close(ctx), r.hooks.Close(ctx), r.observer.Close(ctx), r.store.Close(), r.audit.Close(), r.decided.Close())
	return errors.Join(errs...)
}
