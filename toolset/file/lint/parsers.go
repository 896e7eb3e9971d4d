package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/goccy/go-yaml"
	yamlparser "github.com/goccy/go-yaml/parser"
	"mvdan.cc/sh/v3/syntax"
	"sync"
)

// lineOf is the line of a place in a text.
func lineOf(b []byte, at int64) int {
	return bytes.Count(b[:max(0, min(at, int64(len(b))))], []byte("\n")) + 1
}

// commented are JSON files that allow comments by custom.
func commented(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, "tsconfig") || base == "jsconfig.json" || strings.Contains(name, ".vscode/")
}

func checkJSON(f File) []Problem {
	content := bytes.TrimPrefix(f.Content, []byte("\uFEFF"))
	if commented(f.Name) || len(bytes.TrimSpace(content)) == 0 {
		return nil
	}
	var v any
	err := json.Unmarshal(content, &v)
	if err == nil {
		return nil
	}
	p := Problem{Text: err.Error()}
	var s *json.SyntaxError
	if errors.As(err, &s) {
		p.Line = lineOf(content, s.Offset)
	}
	return []Problem{p}
}

// position is how the YAML parser begins its messages.
var position = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\[(\d+):(\d+)\] `) })

func checkYAML(f File) []Problem {
	_, err := yamlparser.ParseBytes(f.Content, 0)
	if err == nil {
		return nil
	}
	text, _, _ := strings.Cut(yaml.FormatError(err, false, false), "\n")
	p := Problem{Text: text}
	if m := position().FindStringSubmatch(text); m != nil {
		p.Line, _ = strconv.Atoi(m[1])
		p.Text = text[len(m[0]):]
	}
	return []Problem{p}
}

func checkTOML(f File) []Problem {
	var v map[string]any
	err := toml.Unmarshal(f.Content, &v)
	if err == nil {
		return nil
	}
	var pe toml.ParseError
	if errors.As(err, &pe) {
		return []Problem{{Line: pe.Position.Line, Text: pe.Message}}
	}
	return []Problem{{Text: err.Error()}}
}

func checkGo(f File) []Problem {
	_, err := parser.ParseFile(token.NewFileSet(), "", f.Content, parser.SkipObjectResolution)
	if err == nil {
		return nil
	}
	var list scanner.ErrorList
	if !errors.As(err, &list) {
		return []Problem{{Text: err.Error()}}
	}
	var out []Problem
	for _, e := range list {
		out = append(out, Problem{Line: e.Pos.Line, Text: e.Msg})
	}
	return out
}

func checkShell(f File) []Problem {
	_, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(bytes.NewReader(f.Content), "")
	if err == nil {
		return nil
	}
	var pe syntax.ParseError
	if errors.As(err, &pe) {
		return []Problem{{Line: int(pe.Pos.Line()), Text: pe.Text}}
	}
	return []Problem{{Text: err.Error()}}
}
