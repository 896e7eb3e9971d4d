// Package clarify is the toolset clarify: questions to the user.
package clarify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/config"
	"github.com/hermes-runtime/hermes/tool"
)

func init() {
	tool.Register(tool.Func(tool.Spec{
		Name: "clarify", Toolset: "clarify", Emoji: "❓", Description: description, Schema: json.RawMessage(parameters),
		Needs: []tool.Need{tool.NeedAsker},
	}, run))
	config.Register(func() config.Sectioned { return &Config{} })
}

// Config is `clarify:`.
type Config struct {
	Timeout time.Duration `yaml:"timeout" default:"0" min:"0" max:"86400" help:"seconds that the user has for an answer; 0 = 300 in a chat or console, without end at a terminal"`
}

// Section is where Config stands in the configuration.
func (*Config) Section() string { return "clarify" }

const parameters = `{
  "type": "object",
  "properties": {
    "question": {"type": "string", "pattern": "\\S", "description": "What you need to know, in one or two sentences."},
    "choices": {"type": "array", "items": {"type": "string"}, "description": "Up to 4 answers to pick from. The user may answer in other words all the same. Leave it out for an open question."}
  },
  "required": ["question"],
  "additionalProperties": false
}`

const description = `Ask the user a question and wait for the answer. Use it where the task can be understood in several ways, or where a choice is theirs and costs much to undo. Don't ask what you can find out, nor for consent to a command: that is asked for by itself.`

// Args are the parameters of a call.
type Args struct {
	Question string   `json:"question"`
	Choices  []string `json:"choices"`
}

// mostChoices is how many answers are put before a person; more are no choice but a list.
const mostChoices = 4

type answer struct {
	Question string   `json:"question"`
	Choices  []string `json:"choices_offered"`
	Response string   `json:"user_response"`
}

func run(ctx context.Context, c *tool.Call, args Args) (any, error) {
	q := channel.Question{Kind: channel.KindClarify, Title: "The agent asks.", Text: strings.TrimSpace(args.Question), Options: offered(args.Choices), Turn: c.Turn}
	if conf, ok := tool.Service[*Config](c); ok && conf.Timeout > 0 {
		q.Expires = time.Now().Add(conf.Timeout)
	}
	a, err := c.Host.Ask(ctx, q)
	switch {
	case ctx.Err() != nil || errors.Is(err, channel.ErrInterrupted):
		return nil, err
	case errors.Is(err, channel.ErrTimeout):
		return nil, unanswered("nobody answered in time")
	case err != nil:
		return nil, unanswered("the question reached nobody: " + err.Error())
	case strings.TrimSpace(a.Text) == "":
		return nil, unanswered("the user gave no answer")
	}
	return answer{q.Text, q.Options, a.Text}, nil
}

func unanswered(why string) error {
	return fmt.Errorf("%s. Go on by your best judgement, and say what you assumed", why)
}

// offered are the choices that are shown.
func offered(choices []string) []string {
	out := []string{}
	for _, c := range choices {
		if c = strings.TrimSpace(c); c != "" && len(out) < mostChoices {
			out = append(out, c)
		}
	}
	return out
}
