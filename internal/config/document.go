// Package config reads config.yaml and .env, and hands every module its own settings: a struct that the module declares, filled
// from the file, the environment and the defaults in its tags, with errors that name line and column.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Document is one configuration, read and parsed. It does not change; load again to see changes.
type Document struct {
	Path   string // file it was read from, also where there is none yet
	Exists bool
	root   *ast.MappingNode // nil = empty
	text   string           // as read
	getenv func(string) (string, bool)
}

// What bounds a configuration file: more was not written by a person, and reading it takes long.
const (
	MaxBytes   = 1 << 20
	maxNesting = 1000 // brackets within brackets
)

// Load reads the file at path. A missing file is an empty configuration. getenv looks variables up; nil = none.
func Load(path string, getenv func(string) (string, bool)) (*Document, error) {
	d := &Document{Path: path, getenv: getenv}
	if getenv == nil {
		d.getenv = func(string) (string, bool) { return "", false }
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return d, fmt.Errorf("read the configuration: %w", err)
	}
	d.Exists = true
	if info.Size() > MaxBytes {
		return d, tooLarge(path)
	}
	text, err := read(path)
	if err != nil {
		return d, fmt.Errorf("read the configuration: %w", err)
	}
	if len(text) > MaxBytes {
		return d, tooLarge(path)
	}
	root, err := parse(path, text)
	d.root, d.text = root, string(text)
	return d, err
}

func tooLarge(path string) error {
	return fmt.Errorf("%s: a configuration may have %d bytes, and this file has more", path, MaxBytes)
}

// read reads a file that may be a pipe, whose size nobody knows.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxBytes+1))
}

// nested reports whether brackets stand in one another more than maxNesting deep.
func nested(text []byte) bool {
	depth := 0
	for _, c := range text {
		switch c {
		case '[', '{':
			if depth++; depth > maxNesting {
				return true
			}
		case ']', '}':
			depth--
		}
	}
	return false
}

// Parse is Load for text that is at hand; name stands for the file in errors.
func Parse(name, text string, getenv func(string) (string, bool)) (*Document, error) {
	d := &Document{Path: name, Exists: true, getenv: getenv}
	if getenv == nil {
		d.getenv = func(string) (string, bool) { return "", false }
	}
	root, err := parse(name, []byte(text))
	d.root, d.text = root, text
	return d, err
}

func parse(name string, text []byte) (*ast.MappingNode, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if nested(text) {
		return nil, fmt.Errorf("%s: brackets are nested more than %d deep", name, maxNesting)
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, syntaxError(name, err)
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			return nil, at(name, doc.Body, "", "a second YAML document; put everything into one")
		}
		body = doc.Body
	}
	if body == nil || body.Type() == ast.NullType {
		return nil, nil
	}
	root, ok := mapping(body)
	if !ok {
		return nil, at(name, body, "", "it must be a mapping of keys, such as `name: value`")
	}
	return root, nil
}

// mapping sees a mapping where the parser made a single pair of it, and through tags and anchors.
func mapping(n ast.Node) (*ast.MappingNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n, true
	case *ast.MappingValueNode:
		return ast.Mapping(n.GetToken(), false, n), true
	case *ast.AnchorNode:
		return mapping(n.Value)
	case *ast.TagNode:
		return mapping(n.Value)
	}
	return nil, false
}

func keyOf(v *ast.MappingValueNode) string {
	if s, ok := v.Key.(*ast.StringNode); ok {
		return s.Value
	}
	return v.Key.GetToken().Value
}

// node finds the value at a dotted path, nil if there is none or it is null.
func (d *Document) node(path string) ast.Node {
	if d.root == nil {
		return nil
	}
	var n ast.Node = d.root
	for part := range strings.SplitSeq(path, ".") {
		m, ok := mapping(n)
		if !ok {
			return nil
		}
		if n = child(m, part); n == nil {
			return nil
		}
	}
	if n.Type() == ast.NullType {
		return nil
	}
	return n
}

func child(m *ast.MappingNode, key string) ast.Node {
	for _, v := range m.Values {
		if keyOf(v) == key {
			return v.Value
		}
	}
	return nil
}

// Has reports whether the file itself has a value at the dotted path.
func (d *Document) Has(path string) bool { return d.node(path) != nil }

// Get returns the value at the dotted path as plain Go data (string, int64, float64, bool, []any, map[string]any).
func (d *Document) Get(path string) (any, bool) {
	n := d.node(path)
	if n == nil {
		return nil, false
	}
	return plain(n), true
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Problem is something in a configuration that a person must mend.
type Problem struct {
	File   string
	Line   int // 1-based; 0 = the whole file
	Column int
	Key    string // dotted
	Text   string // what is wrong and what is allowed
}

// Error gives the place, the key and what is wrong, in one line.
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": ")
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Text)
	return b.String()
}

// Problem says what is wrong with the value at a dotted path, and where that is.
func (d *Document) Problem(path, text string) *Problem { return at(d.Path, d.node(path), path, text) }

func at(name string, n ast.Node, key, text string) *Problem {
	p := &Problem{File: name, Key: key, Text: text}
	if n != nil && n.GetToken() != nil && n.GetToken().Position != nil {
		pos := n.GetToken().Position
		p.Line, p.Column = pos.Line, pos.Column
	}
	return p
}

// DefaultPath is where the configuration of a HERMES_HOME lies.
func DefaultPath(home string) string { return filepath.Join(home, "config.yaml") }

// Nested is a document that holds one value at a dotted path; value is YAML.
func Nested(name, path, value string) (*Document, error) {
	var b strings.Builder
	parts := strings.Split(path, ".")
	for i, part := range parts {
		b.WriteString(strings.Repeat("  ", i) + part + ":")
		if i < len(parts)-1 {
			b.WriteString("\n")
		}
	}
	return Parse(name, b.String()+" "+value+"\n", nil)
}
