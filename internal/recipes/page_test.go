package recipes

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// section is what stands under one heading of a page, in order.
type section struct {
	title string
	steps []step
}

// step is one fenced block that is to be carried out.
type step struct {
	line    int    // of the block's first line in the page
	file    string // the file that the block goes into; "" = the block is commands
	after   string // the line it goes behind; "" = it is the whole file
	talk    bool   // the block is a conversation at a terminal
	content string
}

var (
	heading = regexp.MustCompile(`^#{1,4} (.+)$`)
	newFile = regexp.MustCompile("^New file `([^`]+)`:$")
	addLine = regexp.MustCompile("^In `([^`]+)`, after `([^`]+)`:$")
)

// commands is the language of blocks that are typed; blocks in other languages are carried out only behind a line that names a file.
const commands = "console"

// conversation is the language of blocks that show a terminal; what stands behind its prompt is typed.
const conversation = "terminal"

// readPage takes a page apart. Blocks of no file and no commands are for reading.
func readPage(t *testing.T, file string) []section {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sections, err := parsePage(string(text))
	if err != nil {
		t.Fatalf("%s: %v", filepath.Base(file), err)
	}
	return sections
}

func parsePage(text string) ([]section, error) {
	sections := []section{{}}
	lines := strings.Split(text, "\n")
	var next step // what the line above a block says of it
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		language, fenced := strings.CutPrefix(line, "```")
		if !fenced {
			switch m := heading.FindStringSubmatch(line); {
			case m != nil:
				sections = append(sections, section{title: strings.ReplaceAll(m[1], "`", "")})
				next = step{}
			case newFile.MatchString(line):
				next = step{file: newFile.FindStringSubmatch(line)[1]}
			case addLine.MatchString(line):
				m := addLine.FindStringSubmatch(line)
				next = step{file: m[1], after: m[2]}
			case line != "":
				next = step{}
			}
			continue
		}
		block := next
		block.line = i + 2
		next = step{}
		var content []string
		for i++; i < len(lines) && lines[i] != "```"; i++ {
			content = append(content, lines[i])
		}
		if i == len(lines) {
			return nil, fmt.Errorf("line %d: the block is never closed", block.line)
		}
		block.content = strings.Join(content, "\n") + "\n"
		block.talk = language == conversation
		if block.file != "" || block.talk || language == commands {
			last := &sections[len(sections)-1]
			last.steps = append(last.steps, block)
		}
	}
	return sections, nil
}

// steps gives what stands under one heading.
func stepsOf(t *testing.T, page []section, title string) []step {
	t.Helper()
	for _, s := range page {
		if strings.HasPrefix(s.title, title) {
			if len(s.steps) == 0 {
				t.Fatalf("%q has nothing to carry out", title)
			}
			return s.steps
		}
	}
	t.Fatalf("no section is called %q", title)
	return nil
}

// command is one line to be typed, and what it does.
type command struct {
	text   string
	exit   string
	output []string
}

var exitMark = regexp.MustCompile(`\s+# exit (\d+)$`)

// commandsOf reads a block of commands: lines that begin with "$ ", each followed by what it prints.
func commandsOf(block string) ([]command, error) {
	var out []command
	for line := range strings.SplitSeq(strings.TrimSuffix(block, "\n"), "\n") {
		text, typed := strings.CutPrefix(line, "$ ")
		switch {
		case typed:
			c := command{text: text, exit: "0"}
			if m := exitMark.FindStringSubmatch(text); m != nil {
				c.text, c.exit = strings.TrimSuffix(text, m[0]), m[1]
			}
			out = append(out, c)
		case len(out) == 0:
			return nil, fmt.Errorf("%q is neither a command nor what one prints", line)
		default:
			out[len(out)-1].output = append(out[len(out)-1].output, line)
		}
	}
	return out, nil
}

// matches tells whether output is as expected: … stands for any text, and alone on a line for any lines.
func matches(output string, expected []string) bool {
	if len(expected) == 0 {
		return true
	}
	var b strings.Builder
	b.WriteString(`^`)
	for _, line := range expected {
		if line == "…" {
			b.WriteString(`(?:.*\n)*?`)
			continue
		}
		for i, part := range strings.Split(line, "…") {
			if i > 0 {
				b.WriteString(`.*`)
			}
			b.WriteString(regexp.QuoteMeta(part))
		}
		b.WriteString(`\n`)
	}
	b.WriteString(`$`)
	return regexp.MustCompile(b.String()).MatchString(output)
}

// A comparison that can't fail proves nothing of the pages.
func TestPages_AreReadAsWritten(t *testing.T) {
	page := "# A\n\nNew file `x/y.go`:\n\n```go\npackage y\n```\n\nFor reading:\n\n```go\nvar z int\n```\n\n## B `b`\n\n" +
		"In `x/y.go`, after `package y`:\n\n```go\n\nvar a int\n```\n\n```console\n$ ls\ny.go\n$ false    # exit 1\n```\n\n```terminal\n$ talk\n> hi\n```\n"
	sections, err := parsePage(page)
	if err != nil {
		t.Fatal(err)
	}
	a, b := stepsOf(t, sections, "A"), stepsOf(t, sections, "B b")
	if len(a) != 1 || a[0].file != "x/y.go" || a[0].content != "package y\n" || a[0].line != 6 {
		t.Errorf("A: %+v", a)
	}
	if len(b) != 3 || b[0].after != "package y" || b[1].file != "" || b[1].talk || !b[2].talk {
		t.Errorf("B: %+v", b)
	}
	cs, err := commandsOf(b[1].content)
	if err != nil || len(cs) != 2 || cs[0].text != "ls" || cs[1].text != "false" || cs[1].exit != "1" {
		t.Errorf("commands: %+v, %v", cs, err)
	}
	if _, err := parsePage("```go\nvar z int\n"); err == nil {
		t.Error("an open block is taken")
	}
}

func TestPages_OutputIsCompared(t *testing.T) {
	for _, c := range []struct {
		output   string
		expected []string
		want     bool
	}{
		{"a\nb\n", []string{"a", "b"}, true},
		{"a\nb\n", []string{"a"}, false},
		{"a\n", []string{"a", "b"}, false},
		{"a 1.5 s\n", []string{"a … s"}, true},
		{"a\nb\nc\n", []string{"a", "…", "c"}, true},
		{"a\nb\nc\n", []string{"…", "b", "…"}, true},
		{"a\nb\nc\n", []string{"…", "d", "…"}, false},
		{"anything\n", nil, true},
		{"", []string{"…"}, true},
	} {
		if got := matches(c.output, c.expected); got != c.want {
			t.Errorf("matches(%q, %q) = %v", c.output, c.expected, got)
		}
	}
}
