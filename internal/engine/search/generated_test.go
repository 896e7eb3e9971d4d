package search_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
)

// generator makes trees, rules and globs out of a few names, so that they meet often.
type generator struct{ *rand.Rand }

func (g generator) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g generator) name() string {
	return g.pick("a", "b", "ab", "a.b", "b.a", ".a", ".b", "a b", "x.log", "build", "-a", "#a", "!b", "é", "aa")
}

// glob makes a pattern; some are nonsense.
func (g generator) glob() string {
	var parts []string
	for range g.IntN(3) + 1 {
		parts = append(parts, g.pick(g.name(), g.name(), "*", "**", "*.b", "a*", "?", "*b*", "[ab]", "[!a]", "[a-z]*", "{a,b}", "{a,.b}*", "*.{a,log}", "a?b", ".*", `\*`, "[]a]"))
	}
	return g.pick("", "", "/") + strings.Join(parts, "/") + g.pick("", "", "", "/")
}

func (g generator) rules() string {
	var lines []string
	for range g.IntN(4) + 1 {
		lines = append(lines, g.pick("", "", "", "!")+g.glob()+g.pick("", "", "", " ", "\r"))
	}
	return strings.Join(lines, "\n")
}

func (g generator) tree() map[string]string {
	tree := map[string]string{}
	for range 40 {
		var dir []string
		for range g.IntN(4) {
			dir = append(dir, g.name()+".d")
			if g.IntN(6) == 0 {
				tree[filepath.Join(append(dir, g.pick(".gitignore", ".ignore", ".rgignore"))...)] = g.rules()
			}
			if g.IntN(25) == 0 {
				tree[filepath.Join(append(dir, ".git", "HEAD")...)] = "x"
				tree[filepath.Join(append(dir, ".git", "info", "exclude")...)] = g.rules()
			}
		}
		tree[filepath.Join(append(dir, g.name())...)] = "x\n"
	}
	tree[g.pick(".gitignore", ".ignore", ".rgignore")] = g.rules()
	return tree
}

func TestEngines_ChooseTheSameFilesInGeneratedTrees(t *testing.T) { // SRC-2, SRC-3
	needRipgrep(t)
	for seed := range uint64(20 / thin) {
		g := generator{rand.New(rand.NewPCG(seed, 7))}
		root := t.TempDir()
		tree := g.tree()
		write(t, root, tree)
		for i := range 4 {
			q := environment.Query{Pattern: "", Root: environment.Path(root), Mode: environment.SearchFiles}
			if i > 0 {
				q.Glob = g.pick("", "", "!") + g.glob()
			}
			both(t, q)
		}
		if t.Failed() {
			for name, text := range tree {
				if strings.Contains(name, "ignore") || strings.Contains(name, "exclude") {
					t.Log(name, fmt.Sprintf("%q", text))
				}
			}
			t.Fatalf("seed %d", seed)
		}
	}
}
