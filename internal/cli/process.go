package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hermes-runtime/hermes/internal/process"
)

// user is who the command line acts for: all sessions' processes are theirs.
var user = process.Caller{User: true}

func (a *app) process() *cobra.Command {
	cmd := &cobra.Command{
		Use: "process", Short: "List, look at and end background processes",
		Long: "What tools started in the background, in all sessions: the same answers as the tool process gives.\n" +
			"An ID may be cut short as long as it names one process.",
		Example: "  hermes process list",
	}
	cmd.AddCommand(a.processList(), a.processPoll(), a.processLog(), a.processKill())
	return cmd
}

func (a *app) processList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "All processes, those that run first",
		Example: "  hermes process list\n  hermes process list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			rt, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			l, err := rt.Jobs().List(cmd.Context(), user)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(l)
			}
			return a.printProcesses(l)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	return cmd
}

func (a *app) printProcesses(l process.List) error {
	if l.Note != "" {
		fmt.Fprintln(a.err, "hermes: warning:", oneLine(errors.New(l.Note)))
	}
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	for i := range l.Processes {
		p := &l.Processes[i]
		state := cmp.Or(p.Reason, p.Status) // lost, killed, … say more than that it ended
		if p.ExitCode != nil {
			state += fmt.Sprintf(" %d", *p.ExitCode)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", p.ID, state, p.PID, time.Duration(p.Uptime*float64(time.Second)).Round(time.Second), firstLine(p.Command))
	}
	return w.Flush()
}

// about runs do for the process that an argument names.
func (a *app) about(do func(ctx context.Context, j process.Job) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		rt, err := a.open(cmd.Context())
		if err != nil {
			return err
		}
		id, err := rt.Jobs().Resolve(cmd.Context(), user, args[0])
		if err != nil {
			return err
		}
		j, err := rt.Jobs().Find(cmd.Context(), user, id)
		if err != nil {
			return err
		}
		return do(cmd.Context(), j)
	}
}

func (a *app) processPoll() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "poll ID", Short: "How a process stands, and the end of what it printed or its screen",
		Example: "  hermes process poll proc_0123456789ab --json",
		Args:    cobra.ExactArgs(1),
		RunE: a.about(func(ctx context.Context, j process.Job) error {
			p, err := j.Poll(ctx)
			switch {
			case err != nil:
				return err
			case asJSON:
				return a.printJSON(p)
			}
			state := p.Status
			if p.End != nil && p.ExitCode != nil {
				state += fmt.Sprintf(" %d (%s)", *p.ExitCode, p.Reason)
			} else if p.End != nil {
				state += " (" + p.Reason + ")"
			}
			fmt.Fprintf(a.out, "%s  %s  pid %d  %g s\n%s\n\n", p.ID, state, p.PID, p.Uptime, p.Command)
			if p.Note != "" {
				fmt.Fprintln(a.err, "hermes:", oneLine(errors.New(p.Note)))
			}
			text := p.Preview
			if p.Screen != nil {
				text = *p.Screen
			}
			return a.printText(text)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	return cmd
}

// printText writes text that ends with a line break.
func (a *app) printText(s string) error {
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	_, err := io.WriteString(a.out, s)
	return err
}

func (a *app) processLog() *cobra.Command {
	var asJSON, follow bool
	var offset, limit int
	cmd := &cobra.Command{
		Use: "log ID", Short: "Lines of what a process printed",
		Example: "  hermes process log proc_0123456789ab --limit 50\n  hermes process log -f proc_0123456789ab",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if offset < 0 || limit < 1 || asJSON && follow {
				return usage("--offset is a line from 0 up, --limit a number of lines from 1 up, and --json shows one moment, which -f doesn't")
			}
			return a.about(func(ctx context.Context, j process.Job) error {
				from := offset
				if from == 0 {
					from = -1 // the last ones
				}
				l, err := j.Log(ctx, from, limit)
				switch {
				case err != nil:
					return err
				case asJSON:
					return a.printJSON(l)
				case follow:
					return a.follow(ctx, j, l)
				}
				return a.printText(l.Output)
			})(cmd, args)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "one JSON document")
	f.BoolVarP(&follow, "follow", "f", false, "go on until the process has ended")
	f.IntVar(&offset, "offset", 0, "first `LINE`, counted from 0; 0 gives the last ones")
	f.IntVar(&limit, "limit", 200, "how many `LINES`")
	return cmd
}

const (
	// followEvery is how often a followed log is looked at; a wait for the end of its process comes between.
	followEvery = 200 * time.Millisecond
	followLines = 10_000
)

// follow prints lines as they come. The last one is held back until it is finished or the process has ended.
func (a *app) follow(ctx context.Context, j process.Job, l process.Log) error {
	next := l.Next
	for ended := false; ; {
		text := l.Output
		if !ended && !strings.HasSuffix(text, "\n") && text != "" {
			at := strings.LastIndexByte(text, '\n') + 1
			text, next = text[:at], next-1
		}
		if err := a.printText(text); err != nil {
			return err
		}
		if ended && l.Next >= l.Total {
			return nil
		}
		if !ended {
			w, err := j.Wait(ctx, followEvery)
			if err != nil {
				return err
			}
			if ctx.Err() != nil {
				return &exit{code: exitInterrupted}
			}
			ended = w.End != nil
		}
		var err error
		if l, err = j.Log(ctx, next, followLines); err != nil {
			return err
		}
		next = l.Next
	}
}

func (a *app) processKill() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "kill ID", Short: "End a process and all that it started",
		Example: "  hermes process kill proc_0123456789ab",
		Args:    cobra.ExactArgs(1),
		RunE: a.about(func(ctx context.Context, j process.Job) error {
			k, err := j.Kill(ctx)
			switch {
			case err != nil:
				return err
			case asJSON:
				err = a.printJSON(k)
			default:
				_, err = fmt.Fprintf(a.out, "%s  %s\n", k.ID, k.Status)
			}
			if err == nil && len(k.Survivors) > 0 {
				return &exit{exitFailed, fmt.Errorf("%d processes of %s could not be ended", len(k.Survivors), k.ID)}
			}
			return err
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	return cmd
}
