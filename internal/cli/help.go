package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// furnish adds the verbs that cobra would add later, past the rules of this command line.
func furnish(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args, c.Run, c.RunE = cobra.ArbitraryArgs, nil, help
			c.Example = "  hermes help tools call"
		case "completion":
			c.Example = "  hermes completion bash >hermes.bash"
			for _, shell := range c.Commands() {
				shell.Example = "  " + shell.CommandPath()
			}
		}
	}
}

func help(c *cobra.Command, words []string) error {
	about, rest, err := c.Root().Find(words)
	if err != nil || about == nil || len(rest) > 0 && about.HasSubCommands() {
		return usage("no verb is called %q; `hermes --help` lists what there is", strings.Join(words, " "))
	}
	return about.Help()
}
