package config

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// LoadDotEnv reads a file of NAME=value lines. Comments, blank lines, a leading export and quotes are understood; nothing is
// expanded. A missing file has no variables. A line that is none of these is an error with its number; the others
// hold all the same, so that no secret goes unknown.
func LoadDotEnv(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the environment file: %w", err)
	}
	defer f.Close()
	out := map[string]string{}
	var faults []error
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for line := 1; in.Scan(); line++ {
		text := strings.TrimSpace(strings.TrimPrefix(in.Text(), "\ufeff"))
		if text == "" || text[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(text, "export "), "=")
		if name = strings.TrimSpace(name); !ok || !isVariable(name) {
			faults = append(faults, &Problem{File: path, Line: line, Column: 1, Text: "not of the form NAME=value"})
			continue
		}
		out[name] = unquote(strings.TrimSpace(value))
	}
	if err := in.Err(); err != nil {
		faults = append(faults, fmt.Errorf("read %s: %w", path, err))
	}
	return out, errors.Join(faults...)
}

func isVariable(name string) bool {
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

func unquote(s string) string {
	if len(s) >= 2 && s[0] == '\'' && s[len(s)-1] == '\'' {
		return s[1 : len(s)-1]
	}
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return strings.NewReplacer(`\n`, "\n", `\"`, `"`, `\\`, `\`).Replace(s[1 : len(s)-1])
	}
	if i := strings.Index(s, " #"); i >= 0 {
		return strings.TrimSpace(s[:i])
	}
	return s
}
