package config

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/hermes-runtime/hermes/internal/atomicfile"
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
		if name = strings.TrimSpace(name); !ok || !IsVariable(name) {
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

// SetDotEnv gives a variable its value in a file that LoadDotEnv reads, which is made if need be. All other lines stay as they are; the
// file is replaced as a whole and is its owner's alone (0600) afterwards. The directory must exist.
func SetDotEnv(ctx context.Context, path, name, value string) error {
	if !IsVariable(name) {
		return fmt.Errorf("%q is no name of a variable", name)
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }) {
		return fmt.Errorf("the value of %s has characters that can't be kept", name)
	}
	return atomicfile.UpdatePrivate(ctx, path, func(old []byte) ([]byte, error) {
		return []byte(withVariable(string(old), name, value)), nil
	})
}

// withVariable puts a line where the last one of the name stands, else at the end.
func withVariable(text, name, value string) string {
	line := name + "=" + quoted(value)
	lines := strings.SplitAfter(text, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		trimmed := strings.TrimSpace(strings.TrimPrefix(lines[i], "\ufeff"))
		before, _, ok := strings.Cut(strings.TrimPrefix(trimmed, "export "), "=")
		if !ok || trimmed[0] == '#' || strings.TrimSpace(before) != name {
			continue
		}
		end := lines[i][len(strings.TrimRight(lines[i], "\r\n")):]
		if strings.HasPrefix(trimmed, "export ") {
			line = "export " + line
		}
		lines[i] = line + end
		return strings.Join(lines, "")
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + line + "\n"
}

// quoted is a value as unquote reads it back.
func quoted(value string) string {
	if value != "" && strings.Trim(value, plainValue) == "" {
		return value
	}
	return `"` + strings.NewReplacer("\\", `\\`, `"`, `\"`, "\n", `\n`).Replace(value) + `"`
}

const plainValue = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,"

// IsVariable reports whether name can be the name of a variable.
func IsVariable(name string) bool {
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
