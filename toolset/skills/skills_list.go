package skills

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/hermes-runtime/hermes/tool"
)

func init() {
	tool.Register(tool.Func(tool.Spec{
		Name: "skills_list", Toolset: "skills", Emoji: "📚", Effects: tool.ReadOnly, Schema: json.RawMessage(listParameters),
		Description: "List the skills there are: texts on how to do a kind of work here, each with what it is for. Look before you begin work that one may cover; skill_view reads it.",
	}, list))
}

const listParameters = `{
  "type": "object",
  "properties": {
    "category": {"type": "string", "description": "Only those of this category. Left out, all."}
  },
  "additionalProperties": false
}`

type listArgs struct {
	Category string `json:"category"`
}

// row is a skill in a list.
type row struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Category    string `json:"category"`
}

type listing struct {
	Success    bool     `json:"success"`
	Skills     []row    `json:"skills"`
	Categories []string `json:"categories"`
	Count      int      `json:"count"`
	Hint       string   `json:"hint"`
}

func list(ctx context.Context, c *tool.Call, args listArgs) (any, error) {
	s, err := session(c)
	if err != nil {
		return nil, err
	}
	out := listing{Success: true, Skills: []row{}, Categories: []string{}, Hint: "skill_view with a name reads the skill"}
	categories := map[string]bool{}
	skills, broken := s.Find(ctx, c.Host)
	for _, k := range skills {
		if k.Category != "" {
			categories[k.Category] = true
		}
		if args.Category == "" || args.Category == k.Category {
			out.Skills = append(out.Skills, row{k.Title(), k.Description, k.Category})
		}
	}
	out.Categories = append(out.Categories, slices.Sorted(maps.Keys(categories))...)
	out.Count = len(out.Skills)
	switch {
	case out.Count == 0 && args.Category != "":
		out.Hint = "no skill is of that category; without one all are listed"
	case out.Count == 0:
		out.Hint = "there are no skills; a directory with a SKILL.md in skills below HERMES_HOME makes one"
	}
	if n := len(broken); n > 0 {
		out.Hint += fmt.Sprintf("; %d can't be used: `hermes doctor` says why", n)
	}
	return out, nil
}
