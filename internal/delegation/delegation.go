// Package delegation is what parents and their child agents agree on: tasks that are handed down, reports that come back, bounds.
package delegation

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/internal/config"
)

// Role says what a child may do itself.
type Role string

// The roles.
const (
	Leaf         Role = "leaf"         // works, and hands nothing on
	Orchestrator Role = "orchestrator" // may have children of its own, as far as the depth allows
)

// Task is the work of one child.
type Task struct {
	Goal     string   `json:"goal"`
	Context  string   `json:"context"`
	Toolsets []string `json:"toolsets"` // of those that the parent has; none = all of them
	Role     Role     `json:"role"`
}

// Status says how a child ended.
type Status string

// The statuses of a child.
const (
	Completed   Status = "completed"
	Failed      Status = "failed"
	Interrupted Status = "interrupted"
	Error       Status = "error"
	Timeout     Status = "timeout"
)

// Tokens are what a child used.
type Tokens struct {
	Input  int `json:"input"`
	Output int `json:"output"`
}

// Traced is one call of a child.
type Traced struct {
	Tool        string `json:"tool"`
	ArgsBytes   int    `json:"args_bytes"`
	ResultBytes int    `json:"result_bytes"`
	Status      string `json:"status"`
}

// Report is what a child hands back.
type Report struct {
	TaskIndex       int      `json:"task_index"`
	Status          Status   `json:"status"`
	Summary         string   `json:"summary"`
	APICalls        int      `json:"api_calls"`
	DurationSeconds float64  `json:"duration_seconds"`
	Model           string   `json:"model"`
	ExitReason      string   `json:"exit_reason"`
	Tokens          Tokens   `json:"tokens"`
	ToolTrace       []Traced `json:"tool_trace"`
	FilesChanged    []string `json:"files_changed"`
	ReadAgain       []string `json:"read_again,omitempty"` // of those, what the parent had read before
	Error           string   `json:"error,omitempty"`
}

// Result is what a delegation comes to: a report of each task, in the order of the tasks.
type Result struct {
	Results              []Report `json:"results"`
	TotalDurationSeconds float64  `json:"total_duration_seconds"`
}

// Dispatched says that a child works in the background.
type Dispatched struct {
	Status       string `json:"status"`
	DelegationID string `json:"delegation_id"`
	Goal         string `json:"goal"`
	Mode         string `json:"mode"`
	Note         string `json:"note"`
}

// Config is `delegation:`.
type Config struct {
	Model         string        `yaml:"model" help:"model of children, as [PROVIDER/]MODEL; empty = their parent's"`
	Provider      string        `yaml:"provider" help:"provider of that model; empty = as the model's name says"`
	BaseURL       string        `yaml:"base_url" help:"address of the API that children use, with the key of delegation.provider or none; empty = as for other models"`
	MaxIterations int           `yaml:"max_iterations" default:"50" min:"1" help:"requests that a child may make"`
	ChildTimeout  time.Duration `yaml:"child_timeout_seconds" default:"0" min:"0" env:"DELEGATION_CHILD_TIMEOUT_SECONDS" help:"seconds that a child may take, at least 30; 0 = no limit"`
	MaxChildren   int           `yaml:"max_concurrent_children" default:"3" min:"1" env:"DELEGATION_MAX_CONCURRENT_CHILDREN" help:"children that work side by side"`
	MaxAsync      int           `yaml:"max_async_children" default:"3" min:"1" env:"DELEGATION_MAX_ASYNC_CHILDREN" help:"children that work in the background"`
	MaxDepth      int           `yaml:"max_spawn_depth" default:"1" min:"1" help:"generations of children below a conversation"`
	Orchestrators bool          `yaml:"orchestrator_enabled" default:"true" help:"children may have children, as far as the depth allows"`
	Paused        bool          `yaml:"paused" default:"false" help:"no children are begun; those that work go on"`
}

// Section implements config.Sectioned.
func (*Config) Section() string { return "delegation" }

func init() { config.Register(func() config.Sectioned { return &Config{} }) }

// leastTimeout is the shortest time limit of a child.
const leastTimeout = 30 * time.Second

// Timeout is how long a child may take; 0 = no limit.
func (c Config) Timeout() time.Duration {
	if c.ChildTimeout <= 0 {
		return 0
	}
	return max(c.ChildTimeout, leastTimeout)
}

// ErrPaused is why no child is begun while delegation is paused.
var ErrPaused = errors.New("no children are begun at present: delegation.paused is true; do the work yourself, or say that it has to wait")

// Check refuses tasks that pass a bound, before any child is made. depth is how far the parent is below the root.
func (c Config) Check(tasks []Task, depth int) error {
	if depth >= c.MaxDepth {
		return fmt.Errorf("a child at depth %d may not be begun: delegation.max_spawn_depth is %d", depth+1, c.MaxDepth)
	}
	if len(tasks) > c.MaxChildren {
		return fmt.Errorf("%d tasks are too many at once: delegation.max_concurrent_children is %d", len(tasks), c.MaxChildren)
	}
	for i, t := range tasks {
		switch {
		case strings.TrimSpace(t.Goal) == "":
			return fmt.Errorf("task %d has no goal: say what the child is to do", i)
		case t.Role != "" && t.Role != Leaf && t.Role != Orchestrator:
			return fmt.Errorf("task %d: %q is no role: it is %s or %s", i, t.Role, Leaf, Orchestrator)
		}
	}
	return nil
}

// Deeper tells whether a child with this role, one below depth, may have children itself.
func (c Config) Deeper(role Role, depth int) bool {
	return role == Orchestrator && c.Orchestrators && depth+1 < c.MaxDepth
}
