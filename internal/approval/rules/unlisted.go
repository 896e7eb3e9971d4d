package rules

import (
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/payload"
)

// unlistedRows judge the tools that no table lists by what tools of all kinds call destroying.
func unlistedRows() []Row {
	return []Row{{
		ID: "tool.delete", Key: "deletion by a tool that is not listed", Family: "tool", Remember: RememberExact, Leaves: true, Unlisted: true,
		Matches: "of tools that no other row knows: verbs such as destroy, purge and wipe among the first words; delete, drop and their like when they are forced or about a whole store",
		Match:   matchUnlisted,
		Examples: []string{"frobctl cluster destroy c1", "frobctl wipe", "frobctl db purge --yes", "frobctl delete all --force", "frobctl database drop app",
			"frobctl --namespace=prod destroy web"},
		LookAlikes: []string{"frobctl delete item1", "frobctl destroy --help", "frobctl list destroy", "frobctl cluster destroy c1 --dry-run", "frobctl get wipe",
			"./frob.sh destroy", "frobctl run -- destroy", "frobctl create database drop", "frobctl rm -h"},
	}}
}

var (
	// wipers are verbs that no tool uses for less.
	wipers = strings.Fields("destroy destroy-all purge purge-all wipe wipe-all wipe-data nuke obliterate teardown tear-down decommission factory-reset delete-all " +
		"drop-all drop-database dropdb truncate-all reset-all erase-all flushall")
	// lesserVerbs are verbs that are everyday words as well.
	lesserVerbs = strings.Fields("delete del rm remove drop terminate erase flush reset truncate uninstall revoke clean prune gc clear")
	// stores are what a remover empties as a whole.
	stores = strings.Fields("db database databases schema cluster clusters tenant tenants project projects bucket buckets volume volumes namespace keyspace stack " +
		"environment env org organization account server servers instance instances vm vms index indices topic queue dataset collection backup backups snapshot snapshots")
	sureOptions = strings.Fields("-f --force -y --yes --assume-yes --auto-approve --no-confirm --skip-confirm --all --recursive --cascade --purge --no-preserve --hard")
	tryOptions  = strings.Fields("-n --dry-run --dryrun --check --noop --no-op --what-if --plan --preview --simulate -h --list")
)

// maxVerb is how many words in front of a verb may say what it is about.
const maxVerb = 3

func matchUnlisted(a *Act) []Hit {
	first := a.Words[0].Text
	if strings.ContainsAny(first, "/.") || !analysis.Literal(first) || a.Guess() {
		return nil // a script of the project's own
	}
	if payload.IsCmdlet(first) && a.Under("pwsh", "powershell") { // the scan hands on those that do harm
		return []Hit{{Reason: "a cmdlet that takes something away: " + a.Line()}}
	}
	var verbs []string
	for _, w := range a.Words[1:] {
		switch {
		case w.Text == "--" || slices.Contains(tryOptions, w.Text):
			if w.Text != "--" {
				return nil
			}
			return unlistedHit(a, verbs)
		case w.Text == "" || w.Text[0] == '-' || strings.ContainsAny(w.Text, " \t\n"):
		case len(verbs) < maxVerb:
			verbs = append(verbs, strings.ToLower(w.Text))
		}
	}
	return unlistedHit(a, verbs)
}

func unlistedHit(a *Act, verbs []string) []Hit {
	for i, v := range verbs {
		about := i > 0 && slices.Contains(stores, verbs[i-1]) || i+1 < len(verbs) && (slices.Contains(stores, verbs[i+1]) || verbs[i+1] == "all")
		switch {
		case slices.Contains(wipers, v), slices.Contains(lesserVerbs, v) && (about || a.option(sureOptions, false)):
			return []Hit{{Reason: "destroys something, as its words say: " + a.Line()}}
		case harmless[v] || v == "run" || v == "new" || v == "test":
			return nil // what follows is a name
		}
	}
	return nil
}
