package runtime

import (
	"cmp"
	"context"
	"fmt"
	"os/user"

	goruntime "runtime"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/agent"
	"github.com/hermes-runtime/hermes/internal/memory"
	"github.com/hermes-runtime/hermes/tool"
)

// project are the files by which the project around the session's directory speaks to agents; nil where commands run elsewhere.
func (c *Conversation) project() *agent.Project {
	if _, namespace := c.rt.configured(c.rt.places.Backend(c.Stored.ID)); namespace != environment.NamespaceHost {
		return nil
	}
	return agent.NewProject(c.Stored.Dir)
}

// prompt is what every request of the conversation begins with.
func (c *Conversation) prompt(ctx context.Context, project *agent.Project) agent.Prompt {
	r := c.rt
	p := agent.Prompt{Identity: cmp.Or(r.settings.agent.SystemPrompt, agent.Identity)}
	if c.options.parent != nil {
		p.Identity += "\n" + childOrders
		if left := c.options.birth.Left.String(); left != "" {
			p.Identity += fmt.Sprintf(childBudget, left)
		}
	}
	p.Facts = []string{
		"Working directory: " + c.Stored.Dir, "System: " + goruntime.GOOS + "/" + goruntime.GOARCH + ", commands run in: " + r.places.Backend(c.Stored.ID),
		"This conversation began on: " + agent.Date(c.Stored.Started), // the same however often it is resumed
	}
	if u, err := user.Current(); err == nil {
		p.Facts = append(p.Facts, "User: "+u.Username)
	}
	if project != nil {
		var faults []string
		p.Project, faults = project.Begin()
		if c.options.parent == nil {
			c.Notices = append(c.Notices, faults...)
		}
	}
	if c.options.parent == nil {
		if files, ok := tool.Lookup[*memory.Files](r.services); ok {
			var err error
			if p.Notes, err = files.Snapshot(); err != nil {
				c.Notices = append(c.Notices, err.Error())
			}
		}
	}
	if skills := c.skills(); skills != nil {
		p.Skills = skills.Index(ctx)
	}
	return p
}

// childOrders is what a child is told of its place.
const childOrders = "You work for another agent, which has handed you one task. Nobody can answer questions: decide by yourself and say what you assumed. Your last message is all that is handed back: put into it what was found or done, with paths and numbers."

// childBudget is what it is told of what it may use.
const childBudget = " You share what is left of a budget with it: %s."
