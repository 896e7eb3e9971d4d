package approval

import (
	"time"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/rules"
	"github.com/hermes-runtime/hermes/tool"
)

// Kind says what a request is about.
type Kind string

// The kinds of request.
const (
	KindCommand Kind = "command" // a shell command; also the zero value
	KindPath    Kind = "path"    // files that a tool writes or deletes: Request.Paths
	KindCode    Kind = "code"    // a Python script's text; each call that it makes is judged by itself besides
	KindHook    Kind = "hook"    // a hook wants a person asked: Request.Asks
)

// Setting says how a session is run, which decides what happens when nobody can be asked.
type Setting string

// The settings of a session.
const (
	Attended    Setting = ""             // someone may be reachable
	SingleQuery Setting = "single_query" // one question, one answer, nobody there
	Scheduled   Setting = "cron"         // a job; it never borrows a surface
)

// PathAct is one file that a tool is about to change.
type PathAct struct {
	Path      string // absolute, or relative to Request.Dir
	Delete    bool
	Recursive bool
}

// The ids of questions that are about no command.
const (
	AskHook    = "hook.ask"    // a hook wants a person asked; each time
	AskPrivate = "net.private" // an address that is not of the public network; Request.Command is host:port, which an answer can be kept for
	AskPersist = "job.persist" // a process that outlives its session; each time
)

// AskFor is a question that something outside the table wants asked.
type AskFor struct {
	ID     string // AskHook (also ""), AskPrivate or AskPersist
	Key    string // what it is called in the question; "" = the key of the id
	Reason string
}

// Request is one act that wants to run.
type Request struct {
	ID      string // made when empty
	Session string
	Root    string // the session that began this one's ancestors; "" = it is no child
	Task    string
	Turn    string
	CallID  string
	Parent  string // the call whose script makes this one; "" = none
	Tool    string
	Caller  string // model, script, API, …: for the audit
	Surface string // where the session's person sits: for the audit
	Setting Setting
	Kind    Kind

	Command string
	Script  *analysis.Script // Command, if it was parsed already
	Paths   []PathAct
	Asks    []AskFor
	Notes   []string // shown with the question: where the act comes from

	Dir       string
	Home      string
	Workspace string
	User      string
	Vars      map[string]string // exported variables that the session carries
	Functions map[string]string // exported functions that the session carries: the text behind each name
	EnvID     string
	Hermes    string              // HERMES_HOME, as the place names it; "" = below Home
	HostLike  bool                // harm reaches the host: the floor holds
	Mounts    []environment.Mount // what else than HostLike is reached of the host
	HostHome  string              // the home directory on the host's side of Mounts
	Disk      Disk                // looks at files; nil = nothing is known of them

	Asker channel.Asker // of this session; default: the gate's
}

func (r *Request) input() analysis.Input {
	return analysis.Input{Dir: r.Dir, Home: r.Home, Workspace: r.Workspace, Hermes: r.Hermes, User: r.User, Vars: r.Vars, Functions: r.Functions}
}

// Outcome is how a request ended.
type Outcome string

// The outcomes. Only Allowed and Approved let the act run.
const (
	Allowed       Outcome = "allowed"       // nothing was found
	Approved      Outcome = "approved"      // something was found, and somebody's consent covers it
	Denied        Outcome = "denied"        // a person said no
	TimedOut      Outcome = "timeout"       // nobody answered in time
	Cancelled     Outcome = "cancelled"     // the session was interrupted while the question was open
	Unattended    Outcome = "unattended"    // nobody can be asked
	Policy        Outcome = "policy"        // a setting forbids it
	Floor         Outcome = "floor"         // nobody may approve it
	Undeliverable Outcome = "undeliverable" // the question reached nobody
)

// How says what a decision about findings rests on.
type How string

// What a decision can rest on.
const (
	ByPerson      How = "person"
	BySession     How = "session"     // an earlier answer for this session, or one given in advance
	ByAllowlist   How = "allowlist"   // the permanent list
	ByMode        How = "mode"        // questions are turned off
	ByRule        How = "rule"        // the floor, or nobody to ask
	ByModel       How = "model"       // the reviewing model
	ByProgram     How = "program"     // the user's own approver
	ByQuiet       How = "quiet"       // rows that are reported only
	ByEnvironment How = "environment" // the harm stays in a sandbox
)

// Decision is the answer to a request. A zero Decision doesn't let anything run.
type Decision struct {
	Outcome  Outcome
	Findings []rules.Finding
	Keys     []string // of the findings, gravest first
	IDs      []string // of their rows
	Who      string
	How      How
	Scope    channel.Choice // once, session or always, when a person approved
	Asked    bool           // a person was asked
	Waited   time.Duration  // on a person; not to be counted against the tool's time
	Analysis time.Duration  // what reading the request took
	Mode     Mode           // that it was decided in
	Text     string         // what the model reads when nothing ran
	Note     string         // for the person: an answer that couldn't be stored

	Entry     string // the entry of the permanent list that opened it
	Objection string // why a reviewer said no
	RequestID string
	Binding   string // of the folded commands, directory, environment and session; "" without findings

	targets  map[string]Identity // of deletions, when a person was shown them
	hostLike bool
	mounts   int
}

// Runs tells whether the act may run.
func (d *Decision) Runs() bool { return d.Outcome == Allowed || d.Outcome == Approved }

// Approval returns what a call's result carries about the decision, nil when nothing was found.
func (d *Decision) Approval() *tool.Approval {
	if d.Outcome == Allowed {
		return nil
	}
	return &tool.Approval{RequestID: d.RequestID, Outcome: string(d.Outcome), Who: d.Who, Keys: d.Keys, IDs: d.IDs, Text: d.Text,
		Asked: d.Asked, Waited: d.Waited}
}
