package file

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/tool"
	"github.com/hermes-runtime/hermes/toolset/file/memory"
	"github.com/hermes-runtime/hermes/toolset/file/text"
)

func init() { tool.Register(readFile{}) }

// readFile shows a part of a file.
type readFile struct{}

// defaultLines is how many lines a call shows that doesn't say.
const defaultLines = 500

const readDescription = `Read a text file where the session works. The result shows each line as NUMBER|TEXT, from line offset on, limit lines at most; truncated says that there is more, and hint names the next offset.

Use it instead of cat, head or tail in the terminal. Images are shown by the vision tool, not by this one. The numbers and bars are not part of the file: leave them out of what you give to patch.`

const readSchema = `{
  "name": "read_file",
  "parameters": {
    "type": "object",
    "properties": {
      "path": {"type": "string", "description": "The file: absolute, from ~, or relative to the session's directory."},
      "offset": {"type": ["integer", "null"], "description": "Number of the first line to show, from 1. Default 1."},
      "limit": {"type": ["integer", "null"], "description": "Lines to show, default 500, at most 2000 (tool_output.max_lines)."}
    },
    "required": ["path"],
    "additionalProperties": false
  }
}`

// Spec declares the tool.
func (readFile) Spec() tool.Spec {
	return tool.Spec{
		Name: "read_file", Toolset: toolset, Emoji: "📖", Description: readDescription, Schema: json.RawMessage(readSchema),
		Effects: tool.ReadOnly, Unspilled: true,
		Aliases: map[string]string{"file_path": "path", "filename": "path", "file": "path", "start_line": "offset", "max_lines": "limit"},
	}
}

type readArgs struct {
	Path   string `json:"path"`
	Offset number `json:"offset"`
	Limit  number `json:"limit"`
}

// Scope names the file.
func (readFile) Scope(_ context.Context, c *tool.Call) ([]tool.Access, error) {
	var a readArgs
	if err := decode(c, &a); err != nil {
		return nil, err
	}
	return []tool.Access{{Path: a.Path}}, nil
}

// Risks refuses what the name alone shows. Reading asks nobody.
func (readFile) Risks(_ context.Context, c *tool.Call) ([]tool.Action, error) {
	var a readArgs
	if err := decode(c, &a); err != nil {
		return nil, declined(err)
	}
	if err := checkPath("path", a.Path); err != nil {
		return nil, declined(err)
	}
	return nil, guardName(c, a.Path, environment.OpRead)
}

// readResult is what a reader gets.
type readResult struct {
	Content    *string `json:"content,omitempty"`
	TotalLines *int    `json:"total_lines,omitempty"`
	FileSize   int64   `json:"file_size"`
	Truncated  bool    `json:"truncated"`
	Resolved   string  `json:"resolved_path,omitempty"`
	Encoding   string  `json:"encoding,omitempty"`
	IsBinary   bool    `json:"is_binary,omitempty"`
	IsImage    bool    `json:"is_image,omitempty"`
	MimeType   string  `json:"mime_type,omitempty"`
	Extracted  bool    `json:"extracted_document,omitempty"`
	Error      string  `json:"error,omitempty"`
	Hint       string  `json:"hint,omitempty"`
	Advice     string  `json:"_hint,omitempty"`
	Warning    string  `json:"_warning,omitempty"`
}

// unchanged is the answer to a read whose content the model has already.
type unchanged struct {
	Status   string `json:"status"`
	Message  string `json:"message"`
	Path     string `json:"path"`
	Dedup    bool   `json:"dedup"`
	Returned bool   `json:"content_returned"`
}

// unchangedText is our own answer in place of a content. Writing it into a file is refused: it is a model's mistake.
const unchangedText = "The file has not changed since you read this part of it: what you were shown then still holds, so it is not shown again."

// Run reads.
func (readFile) Run(ctx context.Context, c *tool.Call) (any, error) {
	v, err := read(ctx, c)
	if err != nil {
		return answer(ctx, err)
	}
	return v, nil
}

func read(ctx context.Context, c *tool.Call) (any, error) {
	var a readArgs
	if err := decode(c, &a); err != nil {
		return nil, err
	}
	if err := checkPath("path", a.Path); err != nil {
		return nil, err
	}
	w, err := begin(ctx, c, false)
	if err != nil {
		return nil, err
	}
	t, err := w.resolve(a.Path)
	if err != nil {
		return nil, err
	}
	q := w.query(a)
	res, err := w.read(t, q)
	if err != nil {
		w.book.Other()
		return nil, w.explain(t, err)
	}
	res.Warning = lines(t.warn, res.Warning)
	return w.repeated(t, q, res)
}

// pageQuery is the part of a file that is wanted.
type pageQuery struct {
	offset, limit int // limit 0 = to the end
	script        bool
	wide          bool // more than what one usually needs was asked for
}

// wideLimit and largeFile are from where on a long read of a long file is advised against.
const (
	wideLimit = 200
	largeFile = 512_000
)

func (w *work) query(a readArgs) pageQuery {
	q := pageQuery{script: w.call.Caller == tool.CallerScript, offset: a.Offset.or(1, 1, 0)}
	if q.script && !a.Limit.given {
		return q
	}
	most := w.config.Output.MaxLines
	if q.script {
		most = 0
	}
	q.limit = a.Limit.or(min(defaultLines, w.config.Output.MaxLines), 1, most)
	q.wide = q.limit > wideLimit
	return q
}

// read reads the part that is wanted, in the form that the caller wants.
func (w *work) read(t target, q pageQuery) (*readResult, error) {
	info, err := w.fs.Stat(w.ctx, t.path)
	if err != nil {
		return nil, err
	}
	r, err := w.fs.Read(w.ctx, t.path, 0, -1)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	head := make([]byte, headSize)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	s := &source{work: w, target: t, info: info, head: head[:n], rest: r, whole: err != nil}
	res := &readResult{FileSize: info.Size, Resolved: string(t.path)}
	if k := inspect(t.name, s.head); k.binary {
		return s.binary(res, k, q)
	}
	if isNotebook(t.name) {
		if done, err := s.notebook(res, q); done || err != nil {
			return res, err
		}
	}
	if e := text.Detect(s.head); e == text.UTF16LE || e == text.UTF16BE {
		return s.wide(res, q)
	}
	return s.stream(res, q)
}

// repeated answers a model that asks again for what it has.
func (w *work) repeated(t target, q pageQuery, res *readResult) (any, error) {
	if w.call.Caller != tool.CallerModel || res.Content == nil {
		w.book.Other()
		return res, nil
	}
	key := "read\x00" + string(t.path) + "\x00" + strconv.Itoa(q.offset) + "\x00" + strconv.Itoa(q.limit)
	h := memory.NewHash()
	h.WriteString(*res.Content)
	fmt.Fprint(h, "\x00", res.FileSize, res.Truncated, w.book.Generation(t.path))
	n := w.book.Ask(key, h.Sum64())
	switch {
	case n.Same == 2:
		return unchanged{Status: "unchanged", Message: unchangedText, Path: t.name, Dedup: true}, nil
	case n.Same > 2:
		return nil, &refused{failure{
			Error: fmt.Sprintf("You have asked for this part of %s %d times and it has not changed. Stop reading it: go on with what you know, or read another part.", t.name, n.Same),
			Path:  t.name, AlreadyRead: n.Same,
		}, tool.ErrTypeGuardrailBlock}
	case n.Shown > 3:
		return nil, &refused{failure{
			Error: fmt.Sprintf("You have asked for this part of %s %d times in a row. It changes between the reads; do something else before you look again.", t.name, n.Asked),
			Path:  t.name, AlreadyRead: n.Asked,
		}, tool.ErrTypeGuardrailBlock}
	case n.Shown == 3:
		res.Warning = lines(res.Warning, "this is the third time in a row that you read this part; the next time is refused")
	}
	return res, nil
}

// explain adds to a failed read what helps: what there is instead.
func (w *work) explain(t target, err error) error {
	switch {
	case errors.Is(err, environment.ErrGuarded):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return &refused{failure{
			Error: describe(err), ResolvedPath: string(t.path), Similar: w.similar(t),
		}, tool.ErrTypeTool}
	case isDirectory(err):
		return &refused{failure{Error: describe(err) + w.listing(t.path), ResolvedPath: string(t.path)}, tool.ErrTypeTool}
	}
	return err
}

// source is a file whose beginning was read.
type source struct {
	*work
	target target
	info   environment.FileInfo
	head   []byte
	rest   io.Reader
	whole  bool // head is all there is
}

// maxWhole bounds what is held of one file at once.
const maxWhole = 256 << 20

// all reads what is left, at most limit bytes in all.
func (s *source) all(limit int64) ([]byte, error) {
	if s.whole {
		return s.head, nil
	}
	if s.info.Size > limit {
		return nil, tooLarge(s.target, s.info.Size, limit)
	}
	var b bytes.Buffer
	b.Grow(int(max(s.info.Size, int64(len(s.head)))) + bytes.MinRead)
	b.Write(s.head)
	if _, err := b.ReadFrom(io.LimitReader(s.rest, limit-int64(len(s.head))+1)); err != nil {
		return nil, err
	}
	if int64(b.Len()) > limit {
		return nil, tooLarge(s.target, int64(b.Len()), limit)
	}
	s.head, s.whole = b.Bytes(), true
	return s.head, nil
}

func tooLarge(t target, size, limit int64) error {
	return &refused{failure{
		Error: fmt.Sprintf("%s has %d bytes; at most %d are read at once. Read it in parts with offset and limit, or search it.", t.name, size, limit),
	}, tool.ErrTypeTool}
}

// binary answers for what can't be shown as text.
func (s *source) binary(res *readResult, k kind, q pageQuery) (*readResult, error) {
	if doc, ok := documents[k.mime]; ok {
		if done, err := s.document(res, q, doc); done || err != nil {
			return res, err
		}
	}
	res.IsBinary, res.IsImage, res.MimeType = true, k.image, k.mime
	if k.image {
		res.Advice = "an image: vision_analyze looks at it"
		return res, nil
	}
	res.Error = fmt.Sprintf("%s is a binary file (%s, %d bytes): it can't be shown as text", s.target.name, k.mime, s.info.Size)
	return res, nil
}
