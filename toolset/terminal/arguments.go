package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/tool"
)

// request is a call whose arguments are fit to run.
type request struct {
	Command string `json:"command"`
	Timeout *int   `json:"timeout"`
	Workdir string `json:"workdir"`

	cfg     Config
	timeout time.Duration
	reading *analysis.Reading // what the command will run; nil if it can't be read
}

// read checks a call in the order in which a person should hear of faults: arguments, timeout, what must not stand in the foreground.
// The error is a *tool.Refusal.
func read(ctx context.Context, c *tool.Call) (request, error) {
	var r request
	if err := decode(c.Args, &r); err != nil {
		return r, refuse(c, tool.ErrTypeInvalidArguments, statusError, err.Error())
	}
	if strings.TrimSpace(r.Command) == "" {
		return r, refuse(c, tool.ErrTypeInvalidArguments, statusError, "command is empty: give the text that the shell is to run")
	}
	if strings.IndexByte(r.Command, 0) >= 0 {
		return r, refuse(c, tool.ErrTypeInvalidArguments, statusError, "command holds a NUL byte, which no shell can read: write it as an escape such as \\0")
	}
	r.cfg = settings(c.Host)
	r.timeout = r.cfg.Timeout
	if r.Timeout != nil {
		longest := int(r.cfg.MaxForeground / time.Second)
		r.timeout = time.Duration(*r.Timeout) * time.Second
		switch {
		case *r.Timeout < 1:
			return r, refuse(c, tool.ErrTypeInvalidArguments, statusError, fmt.Sprintf("timeout is %d; it is a number of seconds from 1 up", *r.Timeout))
		case *r.Timeout > longest:
			return r, refuse(c, tool.ErrTypeInvalidArguments, statusError, fmt.Sprintf(
				"timeout %d s is above the %d s that a command in the foreground may have (%s), and background is not offered here: split the work into shorter commands, or have the user raise the limit",
				*r.Timeout, longest, maxForegroundName))
		}
	}
	if script, err := analysis.Parse(r.Command); err == nil {
		r.reading = script.Read(analysis.Input{Dir: c.Host.Dir()})
		if why := staysBehind(r.reading); why != "" {
			return r, refuse(c, tool.ErrTypeTool, statusError, why)
		}
	}
	if err := unavailable(ctx, c.Host); err != nil {
		return r, refuse(c, tool.ErrTypeTool, statusDisabled, err.Error())
	}
	return r, nil
}

func decode(args json.RawMessage, r *request) error {
	d := json.NewDecoder(bytes.NewReader(args))
	d.DisallowUnknownFields()
	err := d.Decode(r)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong) && wrong.Field != "":
		return fmt.Errorf("%s must be %s, not %s", wrong.Field, kinds[wrong.Field], article(wrong.Value))
	case errors.As(err, &wrong):
		return fmt.Errorf("the arguments must be an object with command, timeout, workdir, not %s", article(wrong.Value))
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("there is no parameter %s; there are command, timeout, workdir", field)
	}
	return fmt.Errorf("the arguments can't be read: %w", err)
}

var kinds = map[string]string{"command": "a string", "timeout": "a whole number of seconds", "workdir": "a string"}

func article(kind string) string {
	if strings.ContainsRune("aeiou", rune(kind[0])) {
		return "an " + kind
	}
	return "a " + kind
}

// refuse is the answer to a call for which nothing is run.
func refuse(c *tool.Call, t tool.ErrorType, status, why string) error {
	return &tool.Refusal{Type: t, Result: answer{ExitCode: nothingRan, Status: status, Error: errorText{text: why, script: c.Caller == tool.CallerScript}}}
}
