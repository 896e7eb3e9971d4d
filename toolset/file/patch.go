package file

import (
	"context"
	"encoding/json"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/tool"
	"github.com/hermes-runtime/hermes/toolset/file/v4a"
)

func init() { tool.Register(patch{}) }

// patch changes parts of files.
type patch struct{}

const patchDescription = `Change parts of files where the session works.

Mode replace (default): in the file path, old_string becomes new_string. It must stand there exactly once; give enough lines around it, or replace_all. Small slips in blanks, indent, quotes or escapes are forgiven where only one place can be meant.
Mode patch: patch holds operations on several files, all done or none:
*** Begin Patch
*** Update File: src/a.py
@@ def main():
 context
-old line
+new line
*** Add File: b.txt
+content
*** Delete File: c.txt
*** Move File: d.txt -> e.txt
*** End Patch

Give text as it stands in the file, without line numbers. The result shows the diff.`

const patchSchema = `{
  "name": "patch",
  "parameters": {
    "type": "object",
    "properties": {
      "mode": {"type": "string", "enum": ["replace", "patch"], "default": "replace", "description": "replace: old_string in path; patch: the operations in patch."},
      "path": {"type": ["string", "null"], "description": "Mode replace: the file."},
      "old_string": {"type": ["string", "null"], "description": "Mode replace: the text to be replaced, as it stands in the file."},
      "new_string": {"type": ["string", "null"], "description": "Mode replace: what comes in its place. May be empty."},
      "replace_all": {"type": "boolean", "default": false, "description": "Mode replace: every place, not the only one."},
      "patch": {"type": ["string", "null"], "description": "Mode patch: the operations."},
      "cross_profile": {"type": "boolean", "default": false, "description": "Allow files that belong to another profile of hermes."}
    },
    "additionalProperties": false
  }
}`

// Spec declares the tool.
func (patch) Spec() tool.Spec {
	return tool.Spec{
		Name: "patch", Toolset: toolset, Emoji: "🔧", Description: patchDescription, Schema: json.RawMessage(patchSchema),
		Effects: tool.PathScoped,
		Aliases: map[string]string{
			"file_path": "path", "filename": "path", "file": "path", "old_str": "old_string", "new_str": "new_string", "old_text": "old_string",
			"new_text": "new_string", "diff": "patch", "input": "patch",
		},
	}
}

// The modes.
const (
	modeReplace = "replace"
	modePatch   = "patch"
)

type patchArgs struct {
	Mode         string  `json:"mode"`
	Path         string  `json:"path"`
	Old          *string `json:"old_string"`
	New          *string `json:"new_string"`
	ReplaceAll   bool    `json:"replace_all"`
	Patch        string  `json:"patch"`
	CrossProfile bool    `json:"cross_profile"`

	ops []v4a.Operation // of mode patch
}

// readPatch decodes the arguments, and parses the patch: what it names is what guards, approval, the scheduler and the run go by.
func readPatch(c *tool.Call) (patchArgs, error) {
	var a patchArgs
	if err := decode(c, &a); err != nil {
		return a, err
	}
	if a.Mode == "" {
		a.Mode = modeReplace
		if a.Patch != "" && a.Old == nil && a.Path == "" {
			a.Mode = modePatch
		}
	}
	if a.Mode == modePatch {
		if a.Patch == "" {
			return a, refuse("patch is missing: mode patch needs its text")
		}
		var err error
		if a.ops, err = v4a.Parse(a.Patch); err != nil {
			return a, refuse("%v", err)
		}
		for _, o := range a.ops {
			for _, p := range o.Paths() {
				if err := checkPath("the path of "+o.String(), p); err != nil {
					return a, err
				}
			}
		}
		return a, nil
	}
	return a, a.checkReplace()
}

func (a patchArgs) checkReplace() error {
	if err := checkPath("path", a.Path); err != nil {
		return err
	}
	switch {
	case a.Old == nil:
		return refuse("old_string is missing: give the text to be replaced")
	case a.New == nil:
		return refuse("new_string is missing: give what comes in place of old_string; \"\" takes it out")
	case *a.Old == "":
		return refuse("old_string is empty: write_file writes a whole file")
	case *a.Old == *a.New:
		return refuse("old_string and new_string are identical: there is nothing to change")
	}
	return nil
}

// paths are the names that a call touches.
func (a patchArgs) paths() []string {
	if a.Mode != modePatch {
		return []string{a.Path}
	}
	var out []string
	for _, o := range a.ops {
		out = append(out, o.Paths()...)
	}
	return out
}

// Scope names every file that the call changes; in mode patch those in its text, whatever path says.
func (patch) Scope(_ context.Context, c *tool.Call) ([]tool.Access, error) {
	a, err := readPatch(c)
	if err != nil {
		return nil, err
	}
	var out []tool.Access
	for _, p := range a.paths() {
		out = append(out, tool.Access{Path: p, Write: true})
	}
	return out, nil
}

// Risks refuses what the arguments alone show, and hands every path over for approval.
func (patch) Risks(_ context.Context, c *tool.Call) ([]tool.Action, error) {
	a, err := readPatch(c)
	if err != nil {
		return nil, declined(err)
	}
	var out []tool.Action
	for _, p := range a.paths() {
		if err := guardName(c, p, environment.OpWrite); err != nil {
			return nil, err
		}
		out = append(out, tool.Action{Kind: tool.ActionWrite, Text: p})
	}
	return out, nil
}

// patchResult is what became of a patch.
type patchResult struct {
	Success       bool        `json:"success"`
	Diff          string      `json:"diff,omitempty"`
	FilesModified []string    `json:"files_modified,omitempty"`
	FilesCreated  []string    `json:"files_created,omitempty"`
	FilesDeleted  []string    `json:"files_deleted,omitempty"`
	MatchStrategy string      `json:"match_strategy,omitempty"`
	Matches       int         `json:"matches,omitempty"`
	Lint          *lintResult `json:"lint,omitempty"`
	ResolvedPath  string      `json:"resolved_path,omitempty"`
	InPlace       bool        `json:"in_place,omitempty"`
	Unchanged     bool        `json:"unchanged,omitempty"`
	Hint          string      `json:"_hint,omitempty"`
	Warning       string      `json:"_warning,omitempty"`
}

// maxDiff is how many characters of a diff are shown.
const maxDiff = 20_000

// Run patches.
func (patch) Run(ctx context.Context, c *tool.Call) (any, error) {
	a, err := readPatch(c)
	if err != nil {
		return answer(ctx, err)
	}
	w, err := begin(ctx, c, a.CrossProfile)
	if err != nil {
		return answer(ctx, err)
	}
	w.book.Other()
	var v any
	if a.Mode == modePatch {
		v, err = w.patch(a)
	} else {
		v, err = w.replaceText(a)
	}
	if err != nil {
		return answer(ctx, err)
	}
	return v, nil
}
