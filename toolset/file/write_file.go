package file

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"unsafe"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/tool"
	"github.com/hermes-runtime/hermes/toolset/file/memory"
	"github.com/hermes-runtime/hermes/toolset/file/text"
)

func init() { tool.Register(writeFile{}) }

// writeFile writes a whole file.
type writeFile struct{}

const writeDescription = `Write a text file where the session works, whole: what it held before is replaced. Missing directories are made. Encoding, line breaks and mode of an existing file stay.

Use patch to change a part of a file, and this to create one or to write it anew.`

const writeSchema = `{
  "name": "write_file",
  "parameters": {
    "type": "object",
    "properties": {
      "path": {"type": "string", "description": "The file: absolute, from ~, or relative to the session's directory."},
      "content": {"type": "string", "contentMediaType": "text/plain", "description": "All that the file is to hold. May be empty."},
      "cross_profile": {"type": "boolean", "default": false, "description": "Allow files that belong to another profile of hermes."}
    },
    "required": ["path", "content"],
    "additionalProperties": false
  }
}`

// Spec declares the tool.
func (writeFile) Spec() tool.Spec {
	return tool.Spec{
		Name: "write_file", Toolset: toolset, Emoji: "✍️", Description: writeDescription, Schema: json.RawMessage(writeSchema),
		Effects: tool.PathScoped,
		Aliases: map[string]string{"file_path": "path", "filename": "path", "file": "path", "text": "content", "contents": "content"},
	}
}

type writeArgs struct {
	Path         string `json:"path"`
	Content      string `json:"content"`
	CrossProfile bool   `json:"cross_profile"`
}

// readWrite decodes the arguments.
func readWrite(c *tool.Call) (writeArgs, error) {
	var a writeArgs
	if c.Object != nil {
		a.Path, _ = c.Object["path"].(string)
		a.Content, _ = c.Object["content"].(string)
		a.CrossProfile, _ = c.Object["cross_profile"].(bool)
		return a, a.check()
	}
	if err := json.Unmarshal(c.Args, &a); err != nil {
		return a, refuse("the arguments of %s can't be read: %v", c.Name, err)
	}
	return a, a.check()
}

func (a writeArgs) check() error {
	if err := checkPath("path", a.Path); err != nil {
		return err
	}
	return ownAnswer(a.Content)
}

// Scope names the file.
func (writeFile) Scope(_ context.Context, c *tool.Call) ([]tool.Access, error) {
	a, err := readWrite(c)
	if err != nil {
		return nil, err
	}
	return []tool.Access{{Path: a.Path, Write: true}}, nil
}

// Risks refuses what the name alone shows, and hands the path over for approval.
func (writeFile) Risks(_ context.Context, c *tool.Call) ([]tool.Action, error) {
	a, err := readWrite(c)
	if err != nil {
		return nil, declined(err)
	}
	if err := guardName(c, a.Path, environment.OpWrite); err != nil {
		return nil, err
	}
	return []tool.Action{{Kind: tool.ActionWrite, Text: a.Path}}, nil
}

// writeResult is what became of a write.
type writeResult struct {
	BytesWritten  int         `json:"bytes_written"`
	ResolvedPath  string      `json:"resolved_path"`
	FilesModified []string    `json:"files_modified,omitempty"`
	Created       bool        `json:"created,omitempty"`
	DirsCreated   bool        `json:"dirs_created,omitempty"`
	InPlace       bool        `json:"in_place,omitempty"`
	Unchanged     bool        `json:"unchanged,omitempty"`
	Lint          *lintResult `json:"lint,omitempty"`
	Hint          string      `json:"_hint,omitempty"`
	Warning       string      `json:"_warning,omitempty"`
}

// Run writes.
func (writeFile) Run(ctx context.Context, c *tool.Call) (any, error) {
	v, err := write(ctx, c)
	if err != nil {
		return answer(ctx, err)
	}
	return v, nil
}

func write(ctx context.Context, c *tool.Call) (*writeResult, error) {
	a, err := readWrite(c)
	if err != nil {
		return nil, err
	}
	w, err := begin(ctx, c, a.CrossProfile)
	if err != nil {
		return nil, err
	}
	w.book.Other()
	t, err := w.resolve(a.Path)
	if err != nil {
		return nil, err
	}
	var res *writeResult
	err = w.inTurn([]environment.Path{t.path}, func() error {
		var err error
		res, err = w.write(t, a.Content)
		return err
	})
	return res, err
}

// write replaces a file by content, in the form that the file has.
func (w *work) write(t target, content string) (*writeResult, error) {
	if err := w.mayWrite(t); err != nil {
		return nil, err
	}
	old, err := w.look(t, maxWhole)
	if errors.Is(err, environment.ErrGuarded) || errors.Is(err, fs.ErrPermission) {
		old, err = w.look(t, 0) // may be written and not read: its form isn't looked at
	}
	if err != nil {
		return nil, err
	}
	if err := freshMarks(content, old.raw); err != nil {
		return nil, err
	}
	raw, formWarning := formed(t, old, content)
	res := &writeResult{ResolvedPath: string(t.path), Warning: lines(t.warn, formWarning, w.stale(t, old))}
	seen := memory.Seen{Name: t.name, Dir: w.dir, Whole: true}
	if old.known && bytes.Equal(old.raw, raw) {
		w.book.Read(t.path, old.stamp(), seen)
		res.Unchanged = true
		res.Hint = "the file holds this already: nothing was written"
		return res, nil
	}
	s, err := w.replace(t, before{exists: old.exists, info: old.info}, raw) // nothing of what it holds is kept
	if err != nil {
		return nil, err
	}
	w.book.Wrote(t.path, s.stamp, seen)
	w.book.Succeeded(t.path)
	res.BytesWritten, res.FilesModified = len(raw), []string{string(t.path)}
	res.Created, res.DirsCreated, res.InPlace = s.outcome.Created, s.outcome.DirsCreated, s.outcome.InPlace
	res.Lint = w.lint([]written{{path: t.path, name: t.name, old: old.raw, new: raw, created: !old.exists}})
	old.doneAfter(res.Lint)
	return res, nil
}

// mayWrite has the guard judge a write before anything is looked at, so that the reason is the guard's.
func (w *work) mayWrite(t target) error {
	var info *environment.FileInfo
	if i, err := w.fs.Stat(w.ctx, t.path); err == nil {
		info = &i
	}
	return w.guard.Judge(t.path, info, environment.OpWrite)
}

// formed gives content the encoding and the line breaks of the file that it replaces.
func formed(t target, old before, content string) (raw []byte, warning string) {
	if !old.known || len(old.raw) == 0 || inspect(t.name, old.raw[:min(len(old.raw), headSize)]).binary ||
		text.Plain(old.raw) && strings.IndexByte(content, '\r') < 0 {
		return unsafe.Slice(unsafe.StringData(content), len(content)), "" // only ever read
	}
	d := text.Parse(old.raw)
	if d.Encoding == text.EightBit {
		warning = "the file was in an old code page; it is UTF-8 now"
	}
	return d.Encode(content), warning
}
