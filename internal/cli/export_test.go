package cli

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// HelpExamples lists what the help of each verb shows, by verb: one shell command a line.
func HelpExamples() map[string][]string {
	a := &app{in: os.Stdin, out: &steady{to: io.Discard}, err: io.Discard}
	out := map[string][]string{}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if !c.Hidden {
			out[c.CommandPath()] = nil
			for line := range strings.Lines(c.Example) {
				out[c.CommandPath()] = append(out[c.CommandPath()], strings.TrimSpace(line))
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(a.root())
	return out
}
