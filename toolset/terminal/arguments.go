package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/tool"
)

// request is a call whose arguments are fit to run.
type request struct {
	Command    string   `json:"command"`
	Timeout    *int     `json:"timeout"`
	Workdir    string   `json:"workdir"`
	Background bool     `json:"background"`
	PTY        bool     `json:"pty"`
	KeepStdin  bool     `json:"keep_stdin"`
	Persist    bool     `json:"persist"`
	Notify     bool     `json:"notify_on_complete"`
	Watch      []string `json:"watch_patterns"`

	cfg     Config
	timeout time.Duration     // 0 = none, in the background
	reading *analysis.Reading // what the command will run; nil if it can't be read
}

// parameters are the arguments that there are, with what each of them is.
var parameters = []struct{ name, kind string }{
	{"command", "a string"}, {"timeout", "a whole number of seconds"}, {"workdir", "a string"}, {"background", "true or false"},
	{"pty", "true or false"}, {"keep_stdin", "true or false"}, {"persist", "true or false"}, {"notify_on_complete", "true or false"},
	{"watch_patterns", "a list of strings"},
}

// notInScripts are those that have no meaning where the caller is a script: each serves something that outlives the call.
var notInScripts = []string{"background", "pty", "keep_stdin", "persist", "notify_on_complete", "watch_patterns"}

// read checks a call in the order in which a person should hear of faults: arguments, timeout, what must not stand in the foreground.
// The error is a *tool.Refusal.
func read(ctx context.Context, c *tool.Call) (request, error) {
	var r request
	invalid := func(why string) (request, error) { return r, refuse(c, tool.ErrTypeInvalidArguments, statusError, why) }
	if err := decode(c, &r); err != nil {
		return invalid(err.Error())
	}
	if why := badCommand(r.Command); why != "" {
		return invalid(why)
	}
	r.cfg = settings(c.Host)
	if why := r.setTimeout(); why != "" {
		return invalid(why)
	}
	if why := r.tidy(); why != "" {
		return invalid(why)
	}
	if script, err := analysis.Parse(r.Command); err == nil {
		r.reading = script.Read(analysis.Input{Dir: c.Host.Dir()})
		if why := staysBehind(r.reading, adviceFor(c)); why != "" && !r.Background {
			return r, refuse(c, tool.ErrTypeTool, statusError, why)
		}
	}
	if err := unavailable(ctx, c.Host); err != nil {
		return r, refuse(c, tool.ErrTypeTool, statusDisabled, err.Error())
	}
	return r, nil
}

func badCommand(text string) string {
	switch {
	case strings.TrimSpace(text) == "":
		return "command is empty: give the text that the shell is to run"
	case strings.IndexByte(text, 0) >= 0:
		return "command holds a NUL byte, which no shell can read: write it as an escape such as \\0"
	}
	return ""
}

// setTimeout finds how long the command may take, or says what is wrong with what was asked for.
func (r *request) setTimeout() string {
	if r.Timeout == nil {
		if !r.Background {
			r.timeout = r.cfg.Timeout
		}
		return ""
	}
	longest := int(r.cfg.MaxForeground / time.Second)
	switch n := *r.Timeout; {
	case n < 1:
		return fmt.Sprintf("timeout is %d; it is a number of seconds from 1 up", n)
	case n > maxSeconds:
		return fmt.Sprintf("timeout is %d; at most %d s make sense", n, maxSeconds)
	case !r.Background && n > longest:
		return fmt.Sprintf(
			"timeout %d s is above the %d s that a command in the foreground may have (%s): start it with background: true, which has no such limit, split the work into shorter commands, or have the user raise the limit",
			n, longest, maxForegroundName)
	}
	r.timeout = time.Duration(*r.Timeout) * time.Second
	return ""
}

// maxSeconds is ten years.
const maxSeconds = 10 * 365 * 24 * 60 * 60

// Bounds of watch patterns: each is looked for in each line.
const (
	maxPatterns     = 100
	maxPatternChars = 1000
)

// tidy drops what says nothing: parameters of a background start without one, empty patterns.
func (r *request) tidy() string {
	r.Watch = slices.DeleteFunc(r.Watch, func(p string) bool { return p == "" })
	if !r.Background {
		r.KeepStdin, r.Persist, r.Notify, r.Watch = false, false, false, nil
	}
	if len(r.Watch) > maxPatterns {
		return fmt.Sprintf("watch_patterns holds %d patterns; at most %d are watched", len(r.Watch), maxPatterns)
	}
	for _, p := range r.Watch {
		if strings.ContainsAny(p, "\n\r") || len(p) > maxPatternChars {
			return fmt.Sprintf("watch_patterns are pieces of one line, of at most %d bytes", maxPatternChars)
		}
	}
	return ""
}

func decode(c *tool.Call, r *request) error {
	if c.Caller == tool.CallerScript {
		var given map[string]json.RawMessage
		_ = json.Unmarshal(c.Args, &given) // told below
		for _, name := range notInScripts {
			if _, ok := given[name]; ok {
				return fmt.Errorf("%s is not available in scripts: the terminal is foreground only there", name)
			}
		}
	}
	d := json.NewDecoder(bytes.NewReader(c.Args))
	d.DisallowUnknownFields()
	err := d.Decode(r)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong) && wrong.Field != "":
		name, _, _ := strings.Cut(wrong.Field, ".")
		return fmt.Errorf("%s must be %s, not %s", name, kindOf(name), article(wrong.Value))
	case errors.As(err, &wrong):
		return fmt.Errorf("the arguments must be an object with %s, not %s", names(), article(wrong.Value))
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("there is no parameter %s; there are %s", field, names())
	}
	return fmt.Errorf("the arguments can't be read: %w", err)
}

func kindOf(name string) string {
	for _, p := range parameters {
		if p.name == name {
			return p.kind
		}
	}
	return "of another kind"
}

func names() string {
	var list []string
	for _, p := range parameters {
		list = append(list, p.name)
	}
	return strings.Join(list, ", ")
}

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
