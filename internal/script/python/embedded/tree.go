// Package embedded holds Hermes's own Python: an interpreter inside the binary, laid out on disk at its first use.
package embedded

//go:generate go run gen.go

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Version is the version of the interpreter.
const Version = "3.14.6"

// Binary is the interpreter in its tree; Links are further names of it.
const Binary = "bin/python3.14"

// Links are the other names under which programs look for the interpreter beside it.
var Links = []string{"bin/python3", "bin/python"}

// dropped is what a script has no use for: window systems, and the library for programs that embed Python.
var dropped = []string{
	"lib/itcl*", "lib/thread*", "lib/*.so", "lib/*.so.*", "lib/python3.14/tkinter", "lib/python3.14/turtle.py",
	"lib/python3.14/config-*", "lib/python3.14/lib-dynload/_tkinter*",
}

// Keep reports whether a file of the original, by its slash-separated name, belongs to the tree.
func Keep(name string) bool {
	if strings.HasPrefix(name, "bin/") {
		return name == Binary
	}
	if !strings.HasPrefix(name, "lib/") || strings.Contains(name, "/__pycache__/") {
		return false
	}
	for p := name; p != "."; p = path.Dir(p) {
		for _, pattern := range dropped {
			if ok, _ := path.Match(pattern, p); ok {
				return false
			}
		}
	}
	return true
}

// File is one regular file of the tree.
type File struct {
	Name string // slash-separated, relative
	Size int64
	Hash string // SHA-256, hex
}

// Line is the file as it stands in the manifest.
func (f File) Line() string { return fmt.Sprintf("%s %d %s\n", f.Hash, f.Size, f.Name) }

// Digest identifies a tree: the SHA-256 of its manifest's lines in order of name.
func Digest(files []File) string {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	h := sha256.New()
	for _, f := range files {
		h.Write([]byte(f.Line()))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// parseManifest reads lines as File.Line writes them.
func parseManifest(text string) ([]File, error) {
	var files []File
	for line := range strings.Lines(text) {
		var f File
		line = strings.TrimSuffix(line, "\n")
		parts := strings.SplitN(line, " ", 3)
		if len(parts) != 3 || len(parts[0]) != 2*sha256.Size {
			return nil, fmt.Errorf("read the manifest: line %q", line)
		}
		if _, err := fmt.Sscan(parts[1], &f.Size); err != nil || !filepath.IsLocal(parts[2]) {
			return nil, fmt.Errorf("read the manifest: line %q", line)
		}
		f.Hash, f.Name = parts[0], parts[2]
		files = append(files, f)
	}
	return files, nil
}

// walk calls f for each regular file below root with its slash-separated name.
func walk(root string, f func(name string, i fs.FileInfo) error) error {
	return filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Type()&fs.ModeSymlink != 0 {
			return err
		}
		i, err := e.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		return f(filepath.ToSlash(rel), i)
	})
}

func hashFile(name string) (string, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}
