package resident

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/resident/wire"
)

// The channels of a stream. What they carry depends on the side that writes.
const (
	chMessages = 0 // both: JSON values, one after the other
	chBytes    = 1 // to there: standard input, content; from there: output, content
	chErrors   = 2 // from there: standard error
	chControl  = 3 // to there: what must not wait behind anything else
)

// The operations, by which a stream is opened.
const (
	opRun     = "run"
	opFile    = "file"
	opSearch  = "search"
	opEnviron = "environ"
	opForward = "forward"

	opForwarded = "forwarded " // from there, with the number of a forward behind it: a connection to its socket
)

// about is what a side says of itself in its hello, beyond the version.
type about struct {
	OS      string            `json:"os"`
	Arch    string            `json:"arch"`
	UID     int               `json:"uid"`
	Home    environment.Path  `json:"home"`
	Temp    environment.Path  `json:"temp"`
	Shell   string            `json:"shell"`
	Memory  int               `json:"memory_mb,omitempty"`
	Lacking map[string]string `json:"lacking,omitempty"`
	Notes   []string          `json:"notes,omitempty"`
}

// runRequest is a command without what can't be sent: its input and outputs are channels.
type runRequest struct {
	Command environment.Command `json:"command"` // its readers, writers and functions are nil
	Stderr  bool                `json:"stderr,omitempty"`
	Stdin   bool                `json:"stdin,omitempty"`
	Sudo    bool                `json:"sudo,omitempty"`
	State   *snapshot           `json:"state,omitempty"`
}

// snapshot is a state on its way.
type snapshot struct {
	Dir  environment.Path   `json:"dir,omitempty"`
	Vars map[string]*string `json:"vars,omitempty"`
}

func snapshotOf(s *environment.State) *snapshot {
	if s == nil {
		return nil
	}
	v := s.Snapshot()
	return &snapshot{v.Dir, v.Vars}
}

func (s *snapshot) state() *environment.State {
	if s == nil {
		return nil
	}
	st := environment.NewState("")
	st.Merge(environment.Snapshot{}, environment.Snapshot(*s))
	return st
}

// runEvent is what the far side tells of a command. The last one has a result or an error.
type runEvent struct {
	PID    int                 `json:"pid,omitempty"`
	Sudo   bool                `json:"sudo,omitempty"` // asks for the password
	Result *environment.Result `json:"result,omitempty"`
	State  *snapshot           `json:"state,omitempty"`
	Error  *failure            `json:"error,omitempty"`
}

// secretAnswer answers a question for sudo's password.
type secretAnswer struct {
	Secret string `json:"secret"`
	Error  string `json:"error,omitempty"`
}

// control ends a command.
type control struct {
	End string `json:"end"` // endInterrupted or endTimedOut
}

const (
	endInterrupted = "interrupted"
	endTimedOut    = "timed out"
)

// failure is an error on its way: its words, and the kinds that errors.Is finds in it.
type failure struct {
	Text  string   `json:"text"`
	Kinds []string `json:"kinds,omitempty"`
	Judge int      `json:"judge,omitempty"` // the number of the question that a guard answered with a refusal
}

// kinds are the errors that callers look for.
var kinds = []struct {
	name string
	err  error
}{
	{"config", environment.ErrConfig}, {"unavailable", environment.ErrUnavailable}, {"not started", environment.ErrNotStarted},
	{"lost", environment.ErrLost}, {"gone", environment.ErrGone}, {"unsupported", environment.ErrUnsupported},
	{"changed", environment.ErrChanged}, {"guarded", environment.ErrGuarded},
	{"not exist", fs.ErrNotExist}, {"exist", fs.ErrExist}, {"permission", fs.ErrPermission},
	{"is directory", syscall.EISDIR}, {"no directory", syscall.ENOTDIR}, {"not empty", syscall.ENOTEMPTY}, {"no space", syscall.ENOSPC},
	{"read-only", syscall.EROFS}, {"other device", syscall.EXDEV}, {"name too long", syscall.ENAMETOOLONG}, {"links", syscall.ELOOP},
	{"closed pipe", io.ErrClosedPipe},
}

func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	f := &failure{Text: err.Error()}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			f.Kinds = append(f.Kinds, k.name)
		}
	}
	var judged *judgedError
	if errors.As(err, &judged) {
		f.Judge = judged.number
	}
	return f
}

// remoteError is an error of the far side.
type remoteError struct {
	text  string
	kinds []error
}

func (e *remoteError) Error() string   { return e.text }
func (e *remoteError) Unwrap() []error { return e.kinds }

func (f *failure) err() error {
	if f == nil {
		return nil
	}
	e := &remoteError{text: f.Text}
	for _, name := range f.Kinds {
		for _, k := range kinds {
			if k.name == name {
				e.kinds = append(e.kinds, k.err)
			}
		}
	}
	return e
}

// judgedError stands there for what a guard on this side said.
type judgedError struct {
	number int
	text   string
}

func (e *judgedError) Error() string { return e.text }
func (e *judgedError) Unwrap() error { return environment.ErrGuarded }

// fileRequest is one operation on files.
type fileRequest struct {
	Op      string                     `json:"op"`
	Path    environment.Path           `json:"path,omitempty"`
	To      environment.Path           `json:"to,omitempty"`
	Name    string                     `json:"name,omitempty"`
	Mode    fs.FileMode                `json:"mode,omitempty"`
	Offset  int64                      `json:"offset,omitempty"`
	Bytes   int64                      `json:"bytes,omitempty"`
	Replace environment.ReplaceOptions `json:"replace"`
	Guarded bool                       `json:"guarded,omitempty"`
}

// fileAnswer is what became of it, or a question on the way there.
type fileAnswer struct {
	Judge   *judgement                 `json:"judge,omitempty"` // a guard of this side has to decide
	Path    environment.Path           `json:"path,omitempty"`
	Info    *environment.FileInfo      `json:"info,omitempty"`
	Outcome environment.ReplaceOutcome `json:"outcome"`
	Entries []environment.DirEntry     `json:"entries,omitempty"`
	Error   *failure                   `json:"error,omitempty"`
}

// judgement asks whether an operation may touch a file.
type judgement struct {
	Number int                   `json:"number"`
	Path   environment.Path      `json:"path"`
	Info   *environment.FileInfo `json:"info,omitempty"`
	Op     environment.Operation `json:"op,omitempty"` // "" = may a search look at it?
}

// verdict answers a judgement: "" = it may.
type verdict struct {
	Refused string `json:"refused,omitempty"`
}

// searchAnswer is what a search found, or a question on the way there.
type searchAnswer struct {
	Judge   *judgement           `json:"judge,omitempty"`
	Matches *environment.Matches `json:"matches,omitempty"`
	Error   *failure             `json:"error,omitempty"`
}

// forwardRequest asks for a socket. It is closed when the client has nothing more to say.
type forwardRequest struct {
	ID    uint64            `json:"id"`
	Files map[string][]byte `json:"files,omitempty"`
}

// forwardAnswer tells where it is, and after its end how that went.
type forwardAnswer struct {
	Dir    environment.Path `json:"dir,omitempty"`
	Temp   environment.Path `json:"temp,omitempty"`
	Socket environment.Path `json:"socket,omitempty"`
	Error  *failure         `json:"error,omitempty"`
}

// talk reads and writes the messages of a stream.
type talk struct {
	s     *wire.Stream
	first string // what the stream was opened with, heard before anything else
	in    *json.Decoder
	out   *json.Encoder
}

func newTalk(s *wire.Stream) *talk { return &talk{s: s} }

// shortRequest is what may stand in the head of a stream, in bytes: a head fits one frame of any transport.
const shortRequest = 500

// withRequest gives the head of a stream that brings its request along, or, where that is long, the request to send behind it.
func withRequest(op string, v any) (head []byte, rest json.RawMessage, err error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, nil, err
	}
	if len(text) > shortRequest {
		return []byte(op), text, nil
	}
	return append([]byte(op+" "), text...), nil, nil
}

// asked is a talk with who opened the stream, and what was asked for. A request in the head is heard first.
func asked(s *wire.Stream) (op string, t *talk) {
	t = newTalk(s)
	op, t.first, _ = strings.Cut(string(s.Head()), " ")
	return op, t
}

func (t *talk) say(v any) error {
	if t.out == nil {
		t.out = json.NewEncoder(t.s.Writer(chMessages))
	}
	return t.out.Encode(v)
}

// conclude is say for the last message of the stream.
func (t *talk) conclude(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return t.s.Answer(chMessages, text)
}

// hear reads the next message. The end of the messages is an error: each side knows when the last one has come.
func (t *talk) hear(v any) error {
	if first := t.first; first != "" {
		t.first = ""
		return json.Unmarshal([]byte(first), v)
	}
	if t.in == nil {
		t.in = json.NewDecoder(t.s.Reader(chMessages))
	}
	err := t.in.Decode(v)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}
