package review

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/secret"
)

const (
	// DefaultProgramTime is how long the user's own approver has.
	DefaultProgramTime = 10 * time.Second
	// pipeTime is how long its output may stay open after its end, in what it left behind.
	pipeTime = 500 * time.Millisecond
)

// Approver says which program or web address of the user's judges. Command or URL is needed, and Redact.
type Approver struct {
	Command []string // argv, without a shell; gets the request on standard input and answers on standard output
	URL     string   // gets the request by POST and answers in the body
	Timeout time.Duration
	Redact  func(string) string // takes secrets out of what is sent
	Log     *slog.Logger
}

// Program is the user's own approver. It is an approval.Reviewer.
type Program struct{ approver Approver }

// NewProgram makes a reviewer. It starts nothing.
func NewProgram(a Approver) (*Program, error) {
	switch {
	case (len(a.Command) > 0) == (a.URL != ""):
		return nil, errors.New("an approver is either a command or a url")
	case a.URL == "" && a.Command[0] == "":
		return nil, errors.New("the approver's command has no program")
	case a.Redact == nil:
		return nil, errors.New("nothing takes secrets out of what the approver is sent")
	}
	if a.URL != "" {
		if u, err := url.Parse(a.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, errors.New("the approver's url has to begin with http:// or https:// and a host")
		}
	}
	if a.Timeout <= 0 {
		a.Timeout = DefaultProgramTime
	}
	if a.Log == nil {
		a.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return &Program{a}, nil
}

// Petition is what an approver gets, in JSON.
type Petition struct {
	RequestID string `json:"request_id"`
	Session   string `json:"session"`
	Task      string `json:"task,omitempty"`
	CallID    string `json:"call_id,omitempty"`
	Tool      string `json:"tool,omitempty"`
	Surface   string `json:"surface,omitempty"`
	Command   string `json:"command"` // secrets taken out
	Facts
}

// Review implements approval.Reviewer. It takes the configured time at most; whatever isn't a clean verdict is Escalate.
func (p *Program) Review(ctx context.Context, r approval.ReviewRequest) (approval.Verdict, string) {
	ctx, cancel := context.WithTimeout(ctx, p.approver.Timeout)
	defer cancel()
	v, reason, err := p.review(ctx, &r)
	if err != nil {
		p.approver.Log.Warn("the approver gave no verdict, a person has to", "request", r.Question.ID, "error", err)
		return approval.Escalate, ""
	}
	return v, reason
}

func (p *Program) review(ctx context.Context, r *approval.ReviewRequest) (approval.Verdict, string, error) {
	facts, err := factsOf(ctx, r, p.approver.Redact)
	if err != nil {
		return approval.Escalate, "", err
	}
	q := &r.Question
	body, err := json.Marshal(Petition{RequestID: q.ID, Session: q.Session, Task: q.Task, CallID: q.Call, Tool: q.Tool, Surface: q.Surface,
		Command: p.approver.Redact(q.Command), Facts: facts})
	if err != nil {
		return approval.Escalate, "", fmt.Errorf("encode the request: %w", err)
	}
	var reply []byte
	if p.approver.URL != "" {
		reply, err = post(ctx, client(p.approver.Timeout), p.approver.URL, "", body)
	} else {
		reply, err = run(ctx, p.approver.Command, body)
	}
	if err != nil {
		return approval.Escalate, "", err
	}
	return parseVerdict(bytes.TrimSpace(reply))
}

// run starts a program of the user's without the secrets of this process, and ends it and what it started with ctx.
func run(ctx context.Context, argv []string, input []byte) ([]byte, error) {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Env = environ()
	c.Stdin = bytes.NewReader(input)
	out := &bounded{}
	c.Stdout = out
	c.WaitDelay = pipeTime
	group(c)
	err := c.Run()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("run the approver %s: %w", argv[0], context.Cause(ctx))
	case err != nil:
		return nil, fmt.Errorf("run the approver %s: %w", argv[0], err)
	case out.over:
		return nil, fmt.Errorf("the approver %s wrote more than %d bytes", argv[0], maxReply)
	}
	return out.kept, nil
}

func environ() []string {
	var out []string
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); !secret.IsSecretName(name) {
			out = append(out, e)
		}
	}
	return out
}

// bounded keeps the beginning of an output and drops the rest, so that its writer isn't held up.
type bounded struct {
	kept []byte // not a buffer of the library, which would read past the bound by itself
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := maxReply - len(b.kept)
	b.over = b.over || len(p) > room
	b.kept = append(b.kept, p[:min(room, len(p))]...)
	return len(p), nil
}
