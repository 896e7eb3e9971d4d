package environment

import (
	"context"
	"time"
)

// Starter is the ability to start commands that go on by themselves: jobs.
type Starter interface {
	// Start starts a job and returns when it has begun, its record on disk. The error is ErrNotStarted where it provably did not
	// begin. The command's outputs, input and State belong to the job: it has a copy of State and never changes it.
	Start(ctx context.Context, j Job) (Process, error)
}

// Keeper is the ability to find jobs again, also those that an earlier process started.
type Keeper interface {
	// Jobs lists every job that is known, those that run first, each with the last preview bytes of what it printed.
	Jobs(ctx context.Context) ([]JobInfo, error)
	// Attach finds one by its id. The error matches fs.ErrNotExist where there is none.
	Attach(ctx context.Context, id string) (Process, error)
	// Adopt gives what a command left running an entry among the jobs: it is listed and can be ended, and nobody sees its output.
	Adopt(ctx context.Context, l Leftover) (Process, error)
	// Forget removes a job that has ended, with its log. One that isn't there is forgotten already; one that runs is an error.
	Forget(ctx context.Context, id string) error
	// Events gives what jobs have to tell and nobody has taken yet, oldest first, and waits for the first up to ctx's end. It tells of
	// jobs that have all of these labels, nil = of all, and what is no single job's.
	Events(ctx context.Context, labels map[string]string) ([]JobEvent, error)
	// Taken says that a conversation has taken an event, or was told the same in another way: it isn't given again.
	Taken(ctx context.Context, eventID string) error
}

// Size is that of a terminal, in characters.
type Size struct {
	Rows int `json:"rows"`
	Cols int `json:"cols"`
}

// Job is a command that goes on by itself.
type Job struct {
	ID        string            // "" = made: proc_ and 12 hexadecimal digits
	Command   Command           // its Timeout is the longest life of the job
	Shown     string            // how the command is recorded and shown, secrets replaced; "" = as it is
	Encoding  string            // of what it prints; "" = UTF-8
	Terminal  *Size             // runs on a terminal of that size; nil = on pipes
	KeepStdin bool              // without a terminal: standard input stays open until it is closed; else it is /dev/null
	Watch     []string          // text that, once on a finished line, is worth an event
	Notify    bool              // the end is worth an event
	Labels    map[string]string // kept with the job and given back: owner, session, where to tell of it. Never interpreted here
	Bounds    JobBounds
}

// JobBounds bounds what jobs may take. Each start brings them, since who keeps jobs has no configuration; zero = what the keeper holds to.
type JobBounds struct {
	Running   int           `json:"running,omitempty"`    // jobs at once, of all owners
	PerOwner  int           `json:"per_owner,omitempty"`  // jobs at once, of this job's owner
	LogBytes  int64         `json:"log_bytes,omitempty"`  // of the end of its log; what was dropped before is counted
	Keep      time.Duration `json:"keep,omitempty"`       // how long it is remembered after its end
	EventKeep time.Duration `json:"event_keep,omitempty"` // how long what it has to tell waits
}

// Leftover is what a command in the foreground left running.
type Leftover struct {
	Group  string            `json:"group"` // Result.LeftGroup
	Left   []ProcessRef      `json:"left"`
	Shown  string            `json:"shown"` // the command, secrets replaced
	Dir    Path              `json:"dir,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Bounds JobBounds         `json:"bounds,omitzero"`
}

// JobStatus says whether a job's command goes on.
type JobStatus string

// The states of a job.
const (
	JobRunning JobStatus = "running"
	JobExited  JobStatus = "exited"
)

// JobEnd says how a job came to its end.
type JobEnd string

// The ends of a job.
const (
	EndExited      JobEnd = "exited"
	EndKilled      JobEnd = "killed"
	EndTimeout     JobEnd = "timeout"
	EndLimit       JobEnd = "limit"
	EndLost        JobEnd = "lost" // it isn't there, and nobody saw how it ended
	EndFailedStart JobEnd = "failed_start"
)

// TypedKept is how much of what was written to a job is known, in bytes: enough to know what stands on its line.
const TypedKept = 64 << 10

// JobInfo is what is known of a job.
type JobInfo struct {
	ID           string            `json:"session_id"`
	Command      string            `json:"command"`
	Dir          Path              `json:"cwd"`
	PID          int               `json:"pid,omitempty"`
	Started      time.Time         `json:"started_at"`
	Ended        time.Time         `json:"ended_at,omitzero"`
	Status       JobStatus         `json:"status"`
	ExitCode     *int              `json:"exit_code,omitempty"` // nil while it runs, and where nobody could see it
	End          JobEnd            `json:"completion_reason,omitempty"`
	Source       string            `json:"termination_source,omitempty"` // who ended it: as Kill was told, "timeout", or a signal's name
	Limit        string            `json:"limit,omitempty"`              // with EndLimit: which one, and its value
	Terminal     *Size             `json:"size,omitempty"`
	KeepStdin    bool              `json:"keep_stdin,omitempty"`
	Detached     bool              `json:"detached,omitempty"`      // adopted: it can be ended, and nothing more is seen of it
	StillRunning []ProcessRef      `json:"still_running,omitempty"` // the command ended, and these of its group go on
	Waiting      *bool             `json:"waiting_for_input,omitempty"`
	Log          Path              `json:"log_path,omitempty"`
	Lines        int               `json:"lines"`
	Chars        int64             `json:"chars"`
	Dropped      int               `json:"dropped,omitempty"` // lines between beginning and end that were dropped
	Preview      string            `json:"preview,omitempty"` // the end of what it printed
	Note         string            `json:"note,omitempty"`
	Typed        []byte            `json:"typed,omitempty"` // the end of what was written to it, at most TypedKept bytes; only where Info is asked
	Labels       map[string]string `json:"labels,omitempty"`
}

// Process is one job. Its methods fail with ErrLost where the place can't be reached, and otherwise as said.
type Process interface {
	// Info tells how the job stands, with up to preview characters of the end of its output.
	Info(ctx context.Context, preview int) (JobInfo, error)
	// Wait waits for the end of the job's command, and gives the cause of ctx where that ends first.
	Wait(ctx context.Context) error
	// Kill ends all that the job started and says who wanted it; it returns when that is done or the ladder is over, with what is left.
	Kill(ctx context.Context, source string) ([]ProcessRef, error)
	// Write sends bytes to standard input or the terminal, and tells how many were taken within 5 seconds. The error matches
	// io.ErrClosedPipe where there is no input to write to.
	Write(ctx context.Context, b []byte) (int, error)
	// Keys presses keys of a terminal, in the form that the program has asked for. An unknown name presses none.
	Keys(ctx context.Context, names []string) error
	// CloseInput ends standard input; on a terminal it types the end-of-file character.
	CloseInput(ctx context.Context) error
	// Resize changes a terminal's size.
	Resize(ctx context.Context, s Size) error
	// Screen tells what a person would see on the terminal. The error is ErrUnsupported for a job without one.
	Screen(ctx context.Context) (Screen, error)
	// Log reads lines of the output, counted from 0 over the whole life: from offset, or the last ones for an offset below 0.
	Log(ctx context.Context, offset, limit int) (LogPage, error)
}

// Described is a Process that knows how the job stood when Start or Attach gave it, with up to DescribedPreview characters of the end
// of its output, so that nobody who wants to know that has to ask once more.
type Described interface {
	Standing() JobInfo
}

// DescribedPreview is what Standing shows of a job's output, in characters.
const DescribedPreview = 1500

// Screen is what stands on a terminal.
type Screen struct {
	Text   string `json:"text"` // lines without trailing blanks
	Row    int    `json:"row"`  // of the cursor, from 0
	Col    int    `json:"col"`
	Size   Size   `json:"size"`
	Title  string `json:"title,omitempty"`
	Hidden bool   `json:"hidden,omitempty"` // the cursor isn't shown
}

// LogPage is some lines of a job's output.
type LogPage struct {
	Text    string `json:"text"`
	First   int    `json:"first"` // number of the first line
	Count   int    `json:"count"`
	Total   int    `json:"total"`
	Dropped int    `json:"dropped,omitempty"`
}

// CompletionID is the id of the event that tells the end of a job.
func CompletionID(job string) string { return job + ".end" }

// JobEventType says what an event tells.
type JobEventType string

// The types of events.
const (
	EventCompletion    JobEventType = "completion"
	EventWatch         JobEventType = "watch_match"
	EventWatchDisabled JobEventType = "watch_disabled"
	EventTripped       JobEventType = "watch_overflow_tripped"
	EventReleased      JobEventType = "watch_overflow_released"
)

// JobEvent is something that a job has to tell its owner, once.
type JobEvent struct {
	ID           string            `json:"id"`
	Type         JobEventType      `json:"type"`
	Job          string            `json:"session_id,omitempty"`
	Command      string            `json:"command,omitempty"`
	Time         time.Time         `json:"time"`
	ExitCode     *int              `json:"exit_code,omitempty"`
	End          JobEnd            `json:"completion_reason,omitempty"`
	Source       string            `json:"termination_source,omitempty"`
	Pattern      string            `json:"pattern,omitempty"`
	Output       string            `json:"output,omitempty"`
	Suppressed   int               `json:"suppressed,omitempty"`
	StillRunning []ProcessRef      `json:"still_running,omitempty"` // the command ended, and these of its group go on
	Labels       map[string]string `json:"labels,omitempty"`
}
