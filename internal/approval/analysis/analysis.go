// Package analysis reads a shell command as the shell will: text in, simple commands with folded words, redirects, working
// directories and origins out. It does no input or output and remembers nothing: equal input gives equal output.
package analysis

import (
	"slices"
	"strings"
	"time"
)

// Limits of one analysis. The text limit is the most that Linux accepts as one argument; the rest bounds time and memory, and what
// is over a limit is asked about, never allowed or denied.
const (
	MaxText      = 128 << 10             // bytes of command text
	MaxNesting   = 128                   // openings that are open at once
	MaxCommands  = 4000                  // simple commands visited
	MaxPayload   = 8                     // command texts inside command texts
	MaxBraces    = 1024                  // words from one brace expansion
	MaxValues    = 8                     // values that a word may have
	MaxLoopItems = 64                    // items of one loop that are followed
	MaxFolded    = 256 << 10             // bytes of folded text
	MaxTime      = 50 * time.Millisecond // backstop of long texts
	MaxTimeShort = 2 * time.Second       // backstop below shortText, where the other limits come first: a busy machine changes no verdict
	shortText    = 64 << 10
)

// Input is what an analysis may know. The zero value of each field means "unknown".
type Input struct {
	Dir       string            // absolute working directory
	Home      string            // absolute home directory
	Workspace string            // repository around the session's first directory; default: Dir
	Hermes    string            // HERMES_HOME: the agent's own files; default: .hermes below Home
	User      string            // login name
	Vars      map[string]string // exported variables that the session is known to carry
	Functions map[string]string // exported functions that it carries: the text behind each name, "() {" and on
	Programs  []string          // names that a partly known command word is compared with, besides the carriers'
	Files     Files             // nil: nothing is known of files
}

// FileOrigin says how a file came to be, as far as the session knows.
type FileOrigin string

// The origins of files. The zero value is a file that was there before, whose content is its owner's.
const (
	FileDownloaded FileOrigin = "downloaded" // its content came from the network
	FileWritten    FileOrigin = "written"    // the agent wrote it
)

// Files tells what the session and the environment know about files. Paths are absolute. Its methods keep within a small bound of time.
type Files interface {
	// Any tells whether the session brought any file at all.
	Any() bool
	// Origin tells how a file came to be in this session.
	Origin(path string) FileOrigin
	// Text returns what stands in a file that the agent wrote; ok is false over MaxFile bytes and when it can't be read.
	Text(path string) (text string, ok bool)
	// Resolve returns the path with its symbolic links followed, or the path itself where that isn't known.
	Resolve(path string) string
}

// MaxFile is the most of a followed file that is read, in bytes.
const MaxFile = 64 << 10

// Span is a range of byte offsets in the original command text.
type Span struct{ Start, End int }

// Slice returns the part of text that s covers, and "" when it doesn't fit.
func (s Span) Slice(text string) string {
	if s.Start < 0 || s.End > len(text) || s.Start > s.End {
		return ""
	}
	return text[s.Start:s.End]
}

// Origin says what carries a command to its execution: a wrapper, a shell's program text, a function. Parent is the next one out.
type Origin struct {
	Name    string // program or function
	Payload bool   // the command stood in a text that Name reads
	Guess   bool   // Name isn't known to run its arguments
	Span    Span
	Parent  *Origin
}

// Word is one folded word of a command. Its text may hold marks for what isn't known; the methods tell.
type Word struct {
	Text string   // the first or only value, with marks
	Alts []string // further values
	From Flow     // commands whose output is part of the word
	Span Span
}

// Flow is a range of Reading.Commands whose output goes somewhere; empty when Start == End.
type Flow struct{ Start, End int }

// Empty tells that no command feeds it.
func (f Flow) Empty() bool { return f.Start >= f.End }

// Redirect is one redirect of a command.
type Redirect struct {
	Op     string // as written: > >> >| &> &>> <> >& < <<< << <&
	Write  bool   // opens the target for writing
	Target Word   // a here-document's is its body
	fd     string // the descriptor, when one is written
}

// Stdin says what a command reads.
type Stdin struct {
	Kind  StdinKind
	Text  string // what is read, when Known
	Known bool
	From  Flow // the commands upstream
	File  Word // StdinFile
}

// StdinKind is where standard input comes from.
type StdinKind uint8

// The kinds of standard input.
const (
	StdinInherited StdinKind = iota // nothing in this command feeds it
	StdinPipe
	StdinText // here-document, here-string
	StdinFile // a redirect from a file
)

// Assign is one assignment in front of a command.
type Assign struct {
	Name  string
	Value Word
}

// Command is one simple command, as it will run.
type Command struct {
	Program   string // base name of the first word; "" for a bare redirect or an unknown word
	Words     []Word // argv, the program first
	Assigns   []Assign
	Redirects []Redirect
	Stdin     Stdin
	Dirs      []string // possible working directories, the likely one first; "" = unknown
	Elevated  bool
	Inside    *Inside  // the environment it runs in, when that isn't the one the text runs in
	Runs      *FileRun // the file that it runs as a program, when a command of the session brought that file
	Origin    *Origin
	Span      Span   // in the original text; in a payload: the word that carries it
	Code      Flow   // an interpreter's: the commands whose output it runs
	Call      string // the call in a program of another language that it stands for: shutil.rmtree

	Payload    bool // not a piece of the original text, so spans can't be used to change it
	Background bool // in a list ended by &
	Piped      bool // a part of a pipeline of two or more
	Last       bool // decides the exit status of the whole text
	index      int  // its own in Reading.Commands
}

// FileRun is a file that the session brought and a command runs or sources.
type FileRun struct {
	Path   string // absolute, where the directory is known
	Origin FileOrigin
}

// Contained tells whether a command runs where it reaches neither the files nor the processes of the environment the text runs in,
// but for what is mounted: a container. Its paths are judged by Targets, which knows the mounts.
func (c *Command) Contained() bool {
	for in := c.Inside; in != nil; in = in.Parent {
		if in.Root != "" && in.Parent != nil && slices.Contains(in.Parent.Mounts, Mount{"/", in.Root}) {
			return false // the host's own root
		}
		if in.Container {
			return true
		}
	}
	return false
}

// Guess tells whether a command was only guessed: it stands in the arguments of a program that may run them or not.
func (c *Command) Guess() bool {
	for o := c.Origin; o != nil; o = o.Parent {
		if o.Guess {
			return true
		}
	}
	return false
}

// NoteKind is what the analysis itself found.
type NoteKind string

// What an analysis can find without a table.
const (
	NoteLimit    NoteKind = "limit"       // too large to analyse
	NoteUnparsed NoteKind = "unparsed"    // not parsed
	NoteDynamic  NoteKind = "dynamic"     // the command word isn't known
	NoteOpaque   NoteKind = "opaque"      // a shell reads a text that isn't known
	NoteCode     NoteKind = "code opaque" // an interpreter of another language does
	NoteBomb     NoteKind = "bomb"        // a function that multiplies itself
)

// Note is one such finding. Command is the index of the command it is about, or −1.
type Note struct {
	Kind    NoteKind
	Span    Span
	Reason  string
	Command int
}

// Job is a list that was started in the background.
type Job struct {
	Span       Span
	Start, End int // its commands
}

// Reading is what an analysis yields.
type Reading struct {
	Commands []Command
	Notes    []Note
	Jobs     []Job
	Input    Input
	Text     string            // the original
	resolved map[string]string // what the environment told
	links    map[string]link   // symbolic links that the text makes
	made     map[string]file   // files that the text makes
	printed  map[Flow]output   // what process substitutions print
	budget   Budget
}

// Last returns the command whose exit status the whole text returns, wrappers such as env and timeout stripped; nil when a
// compound or a negated command decides it.
func (r *Reading) Last() *Command {
	for i := len(r.Commands) - 1; i >= 0; i-- {
		if r.Commands[i].Last {
			return &r.Commands[i]
		}
	}
	return nil
}

// Unawaited lists the background jobs that no later command waits for, ends or brings back.
func (r *Reading) Unawaited() []Span {
	var spans []Span
	for _, j := range r.Jobs {
		if !r.awaited(j) {
			spans = append(spans, j.Span)
		}
	}
	return spans
}

func (r *Reading) awaited(j Job) bool {
	exits := slices.ContainsFunc(r.Commands, trapsExit)
	for i := range r.Commands {
		c := &r.Commands[i]
		atExit := exits && c.Under("trap") // runs last, wherever it stands
		if i < j.End && !atExit {
			continue
		}
		switch c.Program {
		case "wait", "fg":
			return true
		case "kill":
			if atExit || slices.ContainsFunc(c.Words[1:], r.namesJob) {
				return true
			}
		}
	}
	return false
}

func trapsExit(c Command) bool {
	return c.Program == "trap" && len(c.Words) > 2 && slices.ContainsFunc(c.Words[2:], func(w Word) bool {
		return strings.EqualFold(strings.TrimPrefix(w.Text, "SIG"), "EXIT") || w.Is("0")
	})
}

// namesJob tells whether a word is a job of the same text, or the list of all.
func (r *Reading) namesJob(w Word) bool {
	if w.IsJob() {
		return true
	}
	from := r.Commands[min(w.From.Start, len(r.Commands)):min(max(w.From.Start, w.From.End), len(r.Commands))]
	return slices.ContainsFunc(from, func(c Command) bool { return c.Program == "jobs" })
}

// Under tells whether a carrier of that name leads to c.
func (c *Command) Under(names ...string) bool {
	for o := c.Origin; o != nil; o = o.Parent {
		for _, n := range names {
			if o.Name == n {
				return true
			}
		}
	}
	return false
}
