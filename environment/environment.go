// Package environment is the contract for places where commands run and files live: this machine, a container, a host far away.
package environment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Path is an absolute path inside one environment. It is a type of its own so that a path of a container is never handed to the
// host's file system by accident; Info.HostPath is the only way over.
type Path string

// Namespace says whose file system the paths of an environment name.
type Namespace string

// The namespaces.
const (
	NamespaceHost Namespace = "host" // this machine's
	NamespaceOwn  Namespace = "own"  // the environment's own
)

// Environment is one place where commands run and files live. It is safe for concurrent use.
type Environment interface {
	// Info describes the place as started. It does no I/O.
	Info() Info
	// Run runs one command from start to end. The error is non-nil only if the place failed (ErrUnavailable, ErrNotStarted, ErrLost,
	// ErrGone); a command that ran and failed is a Result. When ctx ends the command is ended with everything it started: cause
	// context.DeadlineExceeded gives TimedOut, any other cause Interrupted. What was printed so far has reached Output by then.
	Run(ctx context.Context, c Command) (Result, error)
	// Files is the file system of the place.
	Files() FS
	// Close ends what runs there and lets go of the place. Calling it again does nothing. After it Run fails with ErrUnavailable.
	Close(ctx context.Context) error
}

// Info is what is known of an environment without asking it.
type Info struct {
	Backend   string
	ID        string
	Home      Path
	Temp      Path
	Shell     string // the shell that runs scripts, "" where commands can't run
	MemoryMB  int    // of the machine; 0 = not known
	Namespace Namespace
	Traits    Traits
	Shows     []Mount           // of OpenOptions.Share, what the place shows itself; not among Traits.Mounts, since nothing is changed through it
	Lacking   map[string]string // ability → why it is missing
	Notes     []string          // what a user should know, for doctor
}

// HostPath returns p as a path of this machine, and false for an environment whose paths are its own.
func (i Info) HostPath(p Path) (string, bool) { return string(p), i.Namespace == NamespaceHost }

// Traits says what a place exposes of the host, read back from the place as it was started. Approval decides by it.
type Traits struct {
	HostLike   bool // acts there reach the host as they would without it
	Privileged bool
	Mounts     []Mount
	Sockets    []string // forwarded sockets and credentials
	Network    bool
}

// Mount is one host directory that is visible inside.
type Mount struct {
	Host     string
	Inside   Path
	Writable bool
	Own      bool // a directory that hermes keeps for this place alone: what it holds belongs to the place, not to the host's people
}

// Command is one command. What can't be sent anywhere has no name in JSON.
type Command struct {
	Script     string            // program text for the shell, any length up to 1 MiB; or
	Argv       []string          // a program without a shell
	Dir        string            // where to start, relative to State.Dir; "" = State.Dir, then home
	Env        map[string]string // on top of State, this call only
	Environ    []string          // non-nil: the whole environment, "name=value"; State's variables and Env are not added
	Stdin      io.Reader         `json:"-"` // nil = /dev/null
	Output     io.Writer         `json:"-"` // stdout and stderr together, bytes, in order of arrival; nil = dropped
	Stderr     io.Writer         `json:"-"` // nil = into Output
	Timeout    time.Duration     // 0 = none; ctx counts all the same
	Grace      time.Duration     // between TERM and KILL; 0 = the backend's kill_grace. An interruption takes at most 1 s
	State      *State            `json:"-"` // carried directory and variables; nil = stateless
	EndLeft    bool              // end what the command left running after a normal end too
	Limits     Limits
	Extra      []Extra                                   `json:"-"` // further descriptors, in process environments only
	OnStart    func(pid int)                             `json:"-"`
	SudoSecret func(ctx context.Context) (string, error) `json:"-"` // answers sudo's askpass; nil = none
}

// Destroyer is a place that can be thrown away. Destroy is Close, and what the place would have kept beyond it, running processes
// included, is ended and removed; files that the host keeps for it stay.
type Destroyer interface {
	Destroy(ctx context.Context) error
}

// Extra is a descriptor handed to the child under the number that a variable names.
type Extra struct {
	Name string // variable that holds the number
	File interface {
		Fd() uintptr
	}
}

// Limits bounds what a command may use. Zero means the backend's default.
type Limits struct {
	MemoryMB   int
	Processes  int
	CPUSeconds int
	FileSizeMB int
	OpenFiles  int
}

// Reason says how a command ended.
type Reason string

// The reasons.
const (
	Exited      Reason = "exited"
	Signaled    Reason = "signaled"
	TimedOut    Reason = "timed_out"
	Interrupted Reason = "interrupted"
	LimitHit    Reason = "limit_hit"
)

// Result is what became of a command.
type Result struct {
	ExitCode  int // the program's own; 124 timed out, 126 not executable, 127 not found, 128+n signal n, 130 interrupted, -1 nothing ran
	Reason    Reason
	Signal    string       // name such as SIGKILL, where Reason is Signaled
	Limit     string       // where Reason is LimitHit: the limit and its value
	Dir       Path         // directory at the end
	DirNote   string       // the carried directory was gone: which one is used, and why
	VarsNote  string       // variables that the next command won't see, and why
	Left      []ProcessRef // members of the command's group still alive after a normal end; with EndLeft those that were ended then
	LeftGroup string       // what Keeper.Adopt takes for those of Left; "" = they can't be given to it
	Survivors []ProcessRef // members that couldn't be ended
	Recreated bool         // the place was made anew before this command
	Elapsed   time.Duration
}

// ProcessRef names one process of the place.
type ProcessRef struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
}

// The errors of an environment, matched with errors.Is.
var (
	ErrConfig      = errors.New("bad configuration")       // names the key
	ErrUnavailable = errors.New("environment unavailable") // can't be created or reached, or was closed
	ErrNotStarted  = errors.New("command not started")     // it provably did not start: safe to repeat
	ErrLost        = errors.New("contact lost")            // after the start; the outcome is unknown
	ErrGone        = errors.New("environment gone")        // removed by someone else
	ErrUnsupported = errors.New("not supported there")     // an ability declared missing
)

// Failed tells an error of a place that can't be used from an error of what was asked of it.
func Failed(err error) bool {
	for _, kind := range []error{ErrUnavailable, ErrNotStarted, ErrLost, ErrGone} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// Environer is the ability to tell the variables that a command with this state would see.
type Environer interface {
	Environ(ctx context.Context, s *State) (map[string]string, error)
}

// Place is where one task works: an environment, and what that task carries from command to command.
type Place struct {
	Environment
	State     *State
	Workspace Path // the repository around the first directory, else that directory; "" = none
}

// Error is a failure of a place with its kind (one of the Err values) and what was attempted.
type Error struct {
	Kind error
	Op   string // what was attempted, on what
	Err  error  // cause; may be nil
}

// Error gives what was attempted, the kind and the cause.
func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("%s: %v", e.Op, e.Kind)
	}
	return fmt.Sprintf("%s: %v: %v", e.Op, e.Kind, e.Err)
}

// Unwrap gives the kind and the cause to errors.Is and errors.As.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}
