package analysis

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// WithoutComments returns a command without the shell's comments, which do nothing but speak to readers. A text that can't be read as a
// whole is an error: what looks like a comment in it may be none.
func WithoutComments(command string) (text string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the shell parser failed: %v", v)
		}
	}()
	if s, err := Parse(command); err != nil || s.offsets != nil {
		return "", fmt.Errorf("read the command's comments: %w", err)
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(command), "")
	if err != nil {
		return "", fmt.Errorf("read the command's comments: %w", err)
	}
	cut := []byte(command)
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.Comment); ok {
			for i := int(c.Hash.Offset()); i < min(int(c.End().Offset()), len(cut)); i++ {
				cut[i] = 0
			}
		}
		return true
	})
	return strings.ReplaceAll(string(cut), "\x00", ""), nil
}
