// Package review has dangerous commands judged in a person's place: by a model behind any endpoint that speaks the common chat protocol,
// and by a program or web address of the user's own. Whatever goes wrong, a person decides.
package review

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/rules"
)

const (
	maxCommands = 200
	maxFindings = 100
	maxWords    = 500 // of one command
)

// errTooMuch means that not everything could be told, so that nothing may be concluded.
var errTooMuch = errors.New("the command does more than can be told")

// Facts is what the analysis knows of a request, as reviewers get it in JSON.
type Facts struct {
	Directory   string    `json:"directory"`
	Environment string    `json:"environment"`
	HostLike    bool      `json:"reaches_host"`
	Elevated    bool      `json:"elevated"`
	Commands    []Command `json:"commands"` // what will run, in order, as the shell will run it
	Findings    []Finding `json:"findings"` // why it is asked
	Preview     string    `json:"would_be_lost,omitempty"`
}

// Command is one simple command.
type Command struct {
	Argv      []string `json:"argv"` // what isn't known before it runs is shown as such
	Directory string   `json:"directory,omitempty"`
	Inside    []string `json:"inside,omitempty"` // the programs that run it, outermost first
}

// Finding is one dangerous act.
type Finding struct {
	ID      string   `json:"id"`
	Key     string   `json:"key"`
	Reason  string   `json:"reason"`
	Runs    string   `json:"runs"`
	Targets []Target `json:"targets,omitempty"`
}

// Target is one place that an act is about.
type Target struct {
	Path  string `json:"path"`
	Class string `json:"class"`
	All   bool   `json:"everything_in_it,omitempty"`
}

// factsOf puts together what is known, secrets taken out. It fails when that is too much to tell it all.
func factsOf(ctx context.Context, r *approval.ReviewRequest, redact func(string) string) (Facts, error) {
	f := Facts{Commands: []Command{}, Findings: []Finding{}, Environment: r.Question.Environment, Directory: redact(r.Question.Dir), Elevated: r.Question.Elevated}
	if r.Request != nil {
		f.HostLike = r.Request.HostLike
	}
	if len(r.Findings) > maxFindings || r.Reading != nil && len(r.Reading.Commands) > maxCommands {
		return f, errTooMuch
	}
	if r.Reading != nil {
		for i := range r.Reading.Commands {
			c := &r.Reading.Commands[i]
			if len(c.Words) > maxWords {
				return f, errTooMuch
			}
			f.Commands = append(f.Commands, commandOf(c, redact))
		}
	}
	for _, found := range r.Findings {
		f.Findings = append(f.Findings, findingOf(found, redact))
	}
	if r.Preview != nil {
		f.Preview = redact(r.Preview(ctx))
	}
	return f, nil
}

func commandOf(c *analysis.Command, redact func(string) string) Command {
	out := Command{Argv: make([]string, 0, len(c.Words))}
	for _, w := range c.Words {
		out.Argv = append(out.Argv, redact(analysis.Show(w.Text)))
	}
	for _, r := range c.Redirects {
		out.Argv = append(out.Argv, r.Op+redact(analysis.Show(r.Target.Text)))
	}
	if len(c.Dirs) > 0 {
		out.Directory = redact(analysis.Show(c.Dirs[0]))
	}
	for o := c.Origin; o != nil; o = o.Parent {
		out.Inside = append(out.Inside, o.Name)
	}
	slices.Reverse(out.Inside)
	return out
}

func findingOf(found rules.Finding, redact func(string) string) Finding {
	out := Finding{ID: found.Row.ID, Key: found.Row.Key, Reason: redact(found.Reason), Runs: redact(found.Text)}
	for _, t := range found.Targets {
		out.Targets = append(out.Targets, Target{Path: redact(analysis.Show(t.Path)), Class: string(t.Class), All: t.All})
	}
	return out
}

// fit tells whether a reviewing model may be asked at all: nothing is hidden from it, nothing forbidden, and every act is of a kind that it
// may let through.
func fit(r *approval.ReviewRequest) bool {
	if len(r.Question.Command) > MaxCommand || len(r.Findings) == 0 || r.Question.Confirm != "" {
		return false
	}
	return !slices.ContainsFunc(r.Findings, func(f rules.Finding) bool {
		return f.Row == nil || !f.Row.Smart || f.Floor || f.Row.Note != "" || strings.HasSuffix(f.Row.ID, ".opaque") || strings.HasSuffix(f.Row.ID, ".dynamic")
	})
}
