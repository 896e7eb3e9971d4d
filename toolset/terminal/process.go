package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/process"
	"github.com/hermes-runtime/hermes/tool"
)

func init() { tool.Register(processes{}) }

// processes looks at background jobs, writes to them and ends them.
type processes struct{}

const processSchema = `{
  "name": "process",
  "parameters": {
    "type": "object",
    "properties": {
      "action": {"type": "string", "description": "list: all; poll: how it stands and the end of its output, or its screen; log: lines of its output; wait: until it ends; kill: end it and all it started; write: send data as it is, then keys; submit: send data and Enter; close: end of input; resize: its terminal.", "enum": ["list", "poll", "log", "wait", "kill", "write", "submit", "close", "resize"]},
      "session_id": {"type": ["string", "integer"], "description": "Which process, as its start or list said. Not for list."},
      "data": {"type": "string", "description": "write, submit: the text."},
      "keys": {"type": "array", "items": {"type": "string"}, "description": "write, with a pty: keys to press after data, such as enter, up, ctrl-c, f1, alt-x."},
      "timeout": {"type": "integer", "minimum": 1, "description": "wait: most seconds to wait."},
      "offset": {"type": "integer", "minimum": 0, "description": "log: first line, counted from 0; 0 or left out gives the last lines."},
      "limit": {"type": "integer", "minimum": 1, "description": "log: how many lines. Left out, 200."},
      "rows": {"type": "integer", "description": "resize: rows of the terminal."},
      "cols": {"type": "integer", "description": "resize: columns of the terminal."}
    },
    "required": ["action"],
    "additionalProperties": false
  }
}`

const processDescription = `Look at processes that terminal started in the background, wait for them, write to them and end them.`

// manage is the arguments of a call.
type manage struct {
	Action    string   `json:"action"`
	SessionID id       `json:"session_id"`
	Data      string   `json:"data"`
	Keys      []string `json:"keys"`
	Timeout   *int     `json:"timeout"`
	Offset    int      `json:"offset"`
	Limit     *int     `json:"limit"`
	Rows      int      `json:"rows"`
	Cols      int      `json:"cols"`
}

// id is text, or a number that is taken for it.
type id string

// UnmarshalJSON takes a string or a number.
func (i *id) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*i = id(s)
		return nil
	}
	var n json.Number
	if err := json.Unmarshal(b, &n); err != nil {
		return errors.New("session_id must be a string")
	}
	*i = id(n.String())
	return nil
}

// defaultLines is how many lines log shows.
const defaultLines = 200

// visit is one call about one job.
type visit struct {
	call  *tool.Call
	args  manage
	table *process.Table
	by    process.Caller
	job   process.Job
	typed typed // what the call would send
}

// action is one thing that can be done.
type action struct {
	name  string
	tells bool // the answer may bring the end of the job to the model
	do    func(ctx context.Context, v *visit) (any, error)
}

var actions = []action{
	{"list", false, func(ctx context.Context, v *visit) (any, error) { return v.table.List(ctx, v.by) }},
	{"poll", true, func(ctx context.Context, v *visit) (any, error) { return v.job.Poll(ctx) }},
	{"log", true, showLog},
	{"wait", true, wait},
	{"kill", false, func(ctx context.Context, v *visit) (any, error) { return v.job.Kill(ctx) }},
	{actWrite, false, send},
	{actSubmit, false, send},
	{actClose, false, closeInput},
	{"resize", false, resize},
}

// The actions that send something.
const (
	actWrite  = "write"
	actSubmit = "submit"
	actClose  = "close"
)

// actionOf gives an action; nil = there is none of that name.
func actionOf(name string) *action {
	for i := range actions {
		if actions[i].name == name {
			return &actions[i]
		}
	}
	return nil
}

func actionNames() string {
	var list []string
	for _, a := range actions {
		list = append(list, a.name)
	}
	return strings.Join(list, ", ")
}

// Spec declares the tool.
func (processes) Spec() tool.Spec {
	return tool.Spec{
		Name: "process", Toolset: "terminal", Emoji: "⏳",
		Description: processDescription,
		Schema:      json.RawMessage(processSchema),
		Check:       check,
		Redact:      tool.LooksSecret,
		Effects:     tool.PathScoped,
	}
}

// processRoot is where jobs lie for Scope. There are no files there: it keeps calls about one job in order, and those about others apart.
const processRoot = "/.hermes-processes"

// Scope has calls about different jobs run side by side. What is sent to a job may be meant for anything, so that has its turn alone.
func (processes) Scope(_ context.Context, c *tool.Call) ([]tool.Access, error) {
	v, err := readVisit(c)
	switch {
	case err != nil:
		return nil, err
	case v.sends():
		return nil, errors.New("what is sent to a process may touch anything")
	case v.args.SessionID == "":
		return []tool.Access{{Path: processRoot}}, nil
	}
	return []tool.Access{{Path: processRoot + "/" + url.PathEscape(string(v.args.SessionID)), Write: v.args.Action == "kill" || v.args.Action == "resize"}}, nil
}

// Risks hands over what would be sent to a process that reads commands, as the language that it reads.
func (processes) Risks(ctx context.Context, c *tool.Call) ([]tool.Action, error) {
	if a, _ := c.Object["action"].(string); c.Object != nil && !sends(a) {
		return nil, nil // most calls look: they are read once, and the job is looked for once
	}
	v, err := readVisit(c)
	if err != nil || !v.sends() {
		return nil, err
	}
	if err := v.find(ctx); err != nil {
		return nil, err
	}
	return v.typed.acts(v.job.Info())
}

// Run does it.
func (processes) Run(ctx context.Context, c *tool.Call) (any, error) {
	v, err := readVisit(c)
	if err == nil {
		err = v.find(ctx)
	}
	if err != nil {
		return declined(err)
	}
	a := actionOf(v.args.Action)
	res, err := a.do(ctx, v)
	if err != nil {
		return tool.Outcome{Value: problem{Error: cause(err)}, Status: tool.StatusError, Type: tool.ErrTypeTool}, nil
	}
	if a.tells && tellsEnd(res) && c.Caller == tool.CallerModel && v.job.Owned(v.by) {
		if err := v.table.Seen(ctx, v.job); err != nil {
			return res, nil // it will be told once more
		}
	}
	return res, nil
}

// tellsEnd reports whether an answer says how the job ended, with the end of its output.
func tellsEnd(res any) bool {
	switch r := res.(type) {
	case process.Poll:
		return r.End != nil
	case process.Wait:
		return r.End != nil
	}
	return false
}

// problem is the answer to a call that can't be done.
type problem struct {
	Status string `json:"status,omitempty"`
	Error  string `json:"error"`
}

const statusNotFound = "not_found"

func decline(t tool.ErrorType, p problem) error { return &tool.Refusal{Type: t, Result: p} }

// readVisit checks a call. The error is a *tool.Refusal.
func readVisit(c *tool.Call) (*visit, error) {
	v := &visit{call: c, by: caller(c)}
	wrong := func(format string, args ...any) (*visit, error) {
		return nil, decline(tool.ErrTypeInvalidArguments, problem{Error: fmt.Sprintf(format, args...)})
	}
	if err := json.Unmarshal(c.Args, &v.args); err != nil {
		return wrong("the arguments can't be read: %v", err)
	}
	a := &v.args
	switch {
	case a.Action == "":
		return wrong("action is missing; it is one of %s", actionNames())
	case actionOf(a.Action) == nil:
		return wrong("there is no action %q; it is one of %s", a.Action, actionNames())
	case a.Action != "list" && a.SessionID == "":
		return wrong("%s needs a session_id: the id that the start of the process gave; list shows all", a.Action)
	case a.Timeout != nil && *a.Timeout < 1:
		return wrong("timeout is %d; it is a number of seconds from 1 up", *a.Timeout)
	case a.Offset < 0 || a.Limit != nil && *a.Limit < 1:
		return wrong("offset is a number of a line from 0 up, limit a number of lines from 1 up")
	case a.Action == "resize" && !sizeOK(environment.Size{Rows: a.Rows, Cols: a.Cols}):
		return wrong("resize needs rows from %d to %d and cols from %d to %d", minRows, maxRows, minCols, maxCols)
	case len(a.Keys) > 0 && a.Action != actWrite:
		return wrong("keys belong to %s", actWrite)
	case a.Action == actWrite && a.Data == "" && len(a.Keys) == 0:
		return wrong("write needs data or keys")
	}
	return v, nil
}

// find finds the job of a call. The error is a *tool.Refusal.
func (v *visit) find(ctx context.Context) error {
	var err error
	if v.table, err = jobs(v.call); err != nil {
		return decline(tool.ErrTypeTool, problem{Error: cause(err)})
	}
	if v.args.Action == "list" {
		return nil
	}
	v.job, err = v.table.Find(ctx, v.by, string(v.args.SessionID))
	switch {
	case errors.Is(err, process.ErrUnknown):
		return decline(tool.ErrTypeTool, problem{Status: statusNotFound, Error: err.Error()})
	case err != nil:
		return decline(tool.ErrTypeTool, problem{Error: cause(err)})
	}
	if v.sends() {
		v.typed, err = v.foresee(ctx)
	}
	if err != nil {
		return decline(tool.ErrTypeTool, problem{Error: cause(err)})
	}
	return nil
}

// sends reports whether the call sends something to the job.
func (v *visit) sends() bool { return sends(v.args.Action) }

func sends(action string) bool {
	return action == actWrite || action == actSubmit || action == actClose
}

func showLog(ctx context.Context, v *visit) (any, error) {
	limit, offset := defaultLines, v.args.Offset
	if v.args.Limit != nil {
		limit = *v.args.Limit
	}
	if offset == 0 {
		offset = -1 // the last ones
	}
	return v.job.Log(ctx, offset, limit)
}

func wait(ctx context.Context, v *visit) (any, error) {
	longest := settings(v.call.Host).Timeout
	d, note := longest, ""
	if v.args.Timeout != nil {
		switch asked := *v.args.Timeout; {
		case asked > int(longest/time.Second):
			note = fmt.Sprintf("; %d s were asked for, and a wait takes at most %g s (terminal.timeout)", asked, longest.Seconds())
		default:
			d = time.Duration(asked) * time.Second
		}
	}
	w, err := v.job.Wait(ctx, d)
	switch {
	case err != nil:
		return nil, err
	case w.Status == process.WaitInterrupted:
		return tool.Outcome{Value: w, Status: tool.StatusCancelled, Type: tool.ErrTypeInterrupted}, nil
	case w.Status == process.WaitTimeout:
		w.TimeoutNote += note
	}
	return w, nil
}

// sent is the answer to an action that sends something or changes the terminal.
type sent struct {
	Status  string            `json:"status"`
	Bytes   *int              `json:"bytes_written,omitempty"`
	Message string            `json:"message,omitempty"`
	Size    *environment.Size `json:"size,omitempty"`
}

const statusOK = "ok"

// send writes data, then presses keys; submit ends it as the Enter key would.
func send(ctx context.Context, v *visit) (any, error) {
	p, keys, data := v.job.Process(), v.args.Keys, v.args.Data
	onTerminal := v.job.Info().Terminal != nil
	if v.args.Action == actSubmit {
		if onTerminal {
			keys = []string{keyEnter}
		} else {
			data += "\n"
		}
	}
	if len(keys) > 0 && !onTerminal {
		return nil, errors.New("the process has no terminal, so there are no keys to press: write data, or start it with pty")
	}
	n := 0
	if data != "" {
		var err error
		if n, err = p.Write(ctx, []byte(data)); err != nil {
			return nil, inputError(err)
		}
	}
	res := sent{Status: statusOK, Bytes: &n}
	if n < len(data) {
		res.Message = fmt.Sprintf("the process doesn't read: it took %d of %d bytes, and the rest was not written", n, len(data))
		return res, nil
	}
	if len(keys) > 0 {
		if err := p.Keys(ctx, keys); err != nil {
			return nil, inputError(err)
		}
	}
	return res, nil
}

// inputError says what is closed.
func inputError(err error) error {
	if errors.Is(err, io.ErrClosedPipe) {
		return errors.New(strings.TrimSuffix(err.Error(), ": "+io.ErrClosedPipe.Error()))
	}
	return err
}

func closeInput(ctx context.Context, v *visit) (any, error) {
	if err := v.job.Process().CloseInput(ctx); err != nil {
		return nil, inputError(err)
	}
	return sent{Status: statusOK, Message: "end of input"}, nil
}

func resize(ctx context.Context, v *visit) (any, error) {
	z := environment.Size{Rows: v.args.Rows, Cols: v.args.Cols}
	if err := v.job.Process().Resize(ctx, z); err != nil {
		return nil, err
	}
	return sent{Status: statusOK, Size: &z}, nil
}
