package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hermes-runtime/hermes/internal/store"
)

func (a *app) sessionsDelete() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "delete REF...", Short: "Delete conversations, with those of their child agents",
		Example: "  hermes sessions delete last",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			kept, err := a.disk(cmd.Context())
			if err != nil {
				return err
			}
			chosen, err := a.chosen(cmd.Context(), args)
			if err != nil {
				return err
			}
			all, err := kept.List(cmd.Context(), store.Filter{Archived: true})
			if err != nil {
				return err
			}
			var deleted []string
			for i := range chosen {
				for _, id := range withChildren(chosen[i].ID, all) {
					if err = remove(cmd.Context(), kept, id); err != nil && !errors.Is(err, store.ErrUnknown) { // named twice
						return errors.Join(a.printDeleted(deleted, asJSON), err)
					} else if err == nil {
						deleted = append(deleted, id)
					}
				}
			}
			return a.printDeleted(deleted, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	return cmd
}

// withChildren are a session and those that agents began in it, itself last.
func withChildren(id string, all []store.Entry) (ids []string) {
	for i := range all {
		if s := &all[i]; s.Parent == id && s.ID != id && slices.Contains(begunByAgents, s.Source) {
			ids = append(ids, withChildren(s.ID, all)...)
		}
	}
	return append(ids, id)
}

// remove deletes a session that nobody uses.
func remove(ctx context.Context, kept *store.Database, id string) error {
	release, err := kept.Claim(ctx, id)
	if err != nil {
		return err
	}
	defer release()
	return kept.Delete(ctx, id)
}

func (a *app) printDeleted(ids []string, asJSON bool) error {
	if asJSON {
		return a.printJSON(map[string][]string{"deleted": append([]string{}, ids...)})
	}
	for _, id := range ids {
		if _, err := fmt.Fprintln(a.out, "deleted", id); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) sessionsPrune() *cobra.Command {
	var asJSON bool
	var days int
	cmd := &cobra.Command{
		Use: "prune --days N", Short: "Delete the conversations in which nothing has happened for some days",
		Long: "Deletes the conversations in which nothing has happened for some days, but those that are in use or archived. The setting\n" +
			"sessions.keep_days has it done by itself.",
		Example: "  hermes sessions prune --days 90",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if days < 1 {
				return usage("--days must be given, a number from 1 up")
			}
			kept, err := a.disk(cmd.Context())
			if err != nil {
				return err
			}
			deleted, err := kept.Prune(cmd.Context(), time.Now().AddDate(0, 0, -days))
			return errors.Join(a.printDeleted(deleted, asJSON), err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	cmd.Flags().IntVar(&days, "days", 0, "how many `N`")
	return cmd
}

func (a *app) sessionsRecover() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "recover FILE", Short: "Bring back what can be read of a damaged file",
		Long:    "Copies the conversations of a file that was set aside because it is damaged, as far as they can be read. The file stays as it is.",
		Example: "  cp $HERMES_HOME/sessions.db old.db && hermes sessions recover old.db",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			kept, err := a.disk(cmd.Context())
			if err != nil {
				return err
			}
			r, err := kept.Recover(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(r)
			}
			_, err = fmt.Fprintf(a.out, "recovered: %d whole, %d in part; there before: %d\n", r.Whole, r.Part, r.There)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	return cmd
}
