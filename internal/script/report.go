package script

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/hermes-runtime/hermes/tool"
)

// The statuses of a run.
const (
	StatusSuccess     = "success"
	StatusError       = "error"
	StatusTimeout     = "timeout"
	StatusInterrupted = "interrupted"
)

// Report is the result of execute_code. The first four members are in every one.
type Report struct {
	Status          string  `json:"status"`
	Output          string  `json:"output"` // what was printed, within its limits
	ToolCallsMade   int     `json:"tool_calls_made"`
	DurationSeconds Decimal `json:"duration_seconds"`

	Error          string `json:"error,omitempty"`     // one line, unless Status is success or interrupted
	ExitCode       *int   `json:"exit_code,omitempty"` // the child's own end: this or Signal
	Signal         string `json:"signal,omitempty"`
	InterruptCause string `json:"interrupt_cause,omitempty"`

	StdoutTruncated bool   `json:"stdout_truncated,omitempty"`
	StdoutTotal     *int64 `json:"stdout_bytes_total,omitempty"`
	StdoutCaptured  *int64 `json:"stdout_bytes_captured,omitempty"`
	StdoutOmitted   *int64 `json:"stdout_bytes_omitted,omitempty"`
	StdoutSpillPath string `json:"stdout_spill_path,omitempty"`

	Hint         string   `json:"hint,omitempty"`    // at most noteMax characters
	Warning      string   `json:"warning,omitempty"` // likewise
	ApprovalWait *Decimal `json:"approval_wait_seconds,omitempty"`
}

// noteMax bounds hint and warning, in characters.
const noteMax = 400

// Decimal is a number with two decimals.
type Decimal float64

// MarshalJSON writes two decimals.
func (d Decimal) MarshalJSON() ([]byte, error) {
	f := float64(d)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		f = 0
	}
	return strconv.AppendFloat(nil, f, 'f', 2, 64), nil
}

func decimal(d time.Duration) Decimal { return Decimal(math.Round(d.Seconds()*100) / 100) }

// Outcome is what the tool returns for r: how the call ended, beside what a model reads.
func (r *Report) Outcome() tool.Outcome {
	o := tool.Outcome{Value: r, Status: tool.StatusError}
	switch r.Status {
	case StatusSuccess:
		o.Status = tool.StatusOK
	case StatusTimeout:
		o.Status, o.Type = tool.StatusTimeout, tool.ErrTypeTimeout
	case StatusInterrupted:
		o.Status, o.Type = tool.StatusCancelled, tool.ErrTypeInterrupted
		if r.InterruptCause == string(outOfTime) { // the call's own time, not the script's
			o.Status, o.Type = tool.StatusTimeout, tool.ErrTypeTimeout
		}
	default:
		o.Type = tool.ErrTypeTool
	}
	return o
}

// Shape is what an answer given in the tool's place has besides (XC-4).
func Shape(s tool.Status) map[string]any {
	status := StatusError
	if s == tool.StatusCancelled {
		status = StatusInterrupted
	}
	return map[string]any{"status": status, "output": "", "tool_calls_made": 0, "duration_seconds": json.Number("0.00")}
}
