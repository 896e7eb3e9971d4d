package skills

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hermes-runtime/hermes/internal/skill"
	"github.com/hermes-runtime/hermes/tool"
)

func init() {
	tool.Register(tool.Func(tool.Spec{
		Name: "skill_view", Toolset: "skills", Emoji: "📖", Effects: tool.ReadOnly, Schema: json.RawMessage(viewParameters),
		Description: "Load a skill: its text, and the files that lie beside it. The variables that it declares reach terminal and execute_code from then on. Follow its text; read a file of it where the text points to one.",
	}, view))
}

const viewParameters = `{
  "type": "object",
  "properties": {
    "name": {"type": "string", "description": "The skill, as skills_list names it; plugin:skill means one of a plugin."},
    "file_path": {"type": "string", "description": "A file of the skill instead of its text, relative to its directory, such as references/api.md."}
  },
  "required": ["name"],
  "additionalProperties": false
}`

type viewArgs struct {
	Name string `json:"name"`
	File string `json:"file_path"`
}

// loaded is what a model reads of a skill.
type loaded struct {
	Success     bool             `json:"success"`
	Name        string           `json:"name"`
	Description string           `json:"description"`
	Category    string           `json:"category"`
	File        string           `json:"file_path,omitempty"`
	Content     string           `json:"content"`
	Dir         string           `json:"skill_dir"`
	Files       []string         `json:"files"`
	Tools       []string         `json:"allowed_tools,omitempty"`
	Variables   []skill.Variable `json:"required_environment_variables,omitempty"`
	SetupNeeded bool             `json:"setup_needed"`
	Missing     []string         `json:"missing_required_environment_variables,omitempty"`
	Refused     []skill.Refused  `json:"refused_environment_variables,omitempty"`

	MissingFiles []string        `json:"missing_credential_files,omitempty"`
	RefusedFiles []skill.Refused `json:"refused_credential_files,omitempty"`

	Notes []string `json:"notes,omitempty"`
}

func view(ctx context.Context, c *tool.Call, args viewArgs) (any, error) {
	s, err := session(c)
	if err != nil {
		return nil, err
	}
	v, err := s.Load(ctx, args.Name, args.File, c.Host)
	if n, ok := errors.AsType[*skill.NotFound](err); ok {
		out := refused{Error: n.Error(), Matches: n.Matches}
		if len(n.Matches) == 0 {
			out.Available = append([]string{}, n.Known...)
		}
		return out, nil
	}
	if err != nil {
		return refused{Error: err.Error()}, nil
	}
	k := v.Skill
	out := loaded{
		Success: true, Name: k.Title(), Description: k.Description, Category: k.Category, File: v.File, Content: v.Text, Dir: v.Dir, Files: v.Files,
		Tools: k.Tools, Variables: k.Variables, SetupNeeded: len(v.Missing)+len(v.MissingFiles) > 0, Missing: v.Missing, Refused: k.Refused, MissingFiles: v.MissingFiles,
		RefusedFiles: v.RefusedFiles, Notes: k.Warnings[:len(k.Warnings):len(k.Warnings)],
	}
	if len(v.Missing) > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%s: no value is set. The user can add it to the .env of HERMES_HOME; go on without what needs it, or ask them to.", strings.Join(v.Missing, ", ")))
	}
	if len(v.MissingFiles) > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%s: not in HERMES_HOME, where the user can put what is missing. Go on without what needs it, or ask them to.", strings.Join(v.MissingFiles, ", ")))
	}
	if v.Dir == "" {
		out.Notes = append(out.Notes, "commands don't find the skill's files: it is linked from elsewhere, and isn't brought to where they run. The user can name its directory in skills.external_dirs.")
	}
	return out, nil
}
