package rules

import (
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

// gitTool has git's options in front of its verbs. Long options of git may be cut short.
func gitTool(acts string) tool {
	return tool{names: "git yadm hub", short: "Cc", long: "git-dir work-tree namespace super-prefix config-env", abbrev: true, acts: acts}
}

func hgTool(acts string) tool {
	return tool{names: "hg chg", short: "R", long: "repository cwd config encoding color pager", abbrev: true, acts: acts}
}

func gitRows() []Row {
	return []Row{gitForce(), gitHistory(), gitDiscard(), gitClean()}
}

func gitForce() Row {
	return verbRow(Row{
		ID: "git.force", Key: "git force push", Family: "git", Remember: RememberAll, Leaves: true,
		Matches: "a push that overwrites or removes what the other side has: force options, forced refspecs, mirror, prune, deletion of refs",
		Examples: []string{"git push -f", "git push --force origin main", "git push origin +main", "git push --force-with-lease",
			"git push --mirror backup",
			"git push origin --delete old", "git push origin :old", "git -C sub push -uf origin main", "git push -d origin v1",
			"git push --prune origin 'refs/heads/*'",
			"git push origin HEAD:main --force", "git --no-pager push --forc", "git -c user.name=x push origin +refs/heads/a:refs/heads/b"},
		LookAlikes: []string{"git push", "git push -u origin main", "git push --tags", "git push origin HEAD:main", "git commit -m 'push --force'",
			"git push --force --dry-run", "git push -nf", "git push -o --force origin main", "git log --grep 'push -f'", "git fetch -f",
			"git push --no-force",
			"git push --follow-tags", "git push origin :"},
	}, "overwrites what others may have", []tool{
		gitTool(`
push +-f +--force +--force-with-lease +--force-if-includes +--mirror +-d +--delete +--prune +@+* +@:?* !-n !--dry-run :o
send-pack +--force +--mirror +@+* +@:?* !--dry-run`),
		hgTool("push +-f +--force !-h"),
		{names: "jj", short: "R", long: "repository config", acts: "git push +--deleted !--dry-run"},
		{names: "gh", acts: "repo sync +--force"},
		{names: "svn", acts: "delete|del|remove|rm +@*://*"},
	}, nil)
}

func gitHistory() Row {
	r := verbRow(Row{
		ID: "git.history", Key: "lose git history", Family: "git", Remember: RememberAll,
		Matches: "deletes or moves branches by force, deletes tags and other refs, rewrites history, expires reflogs, prunes objects, removes worktrees by force",
		Examples: []string{"git branch -D feature", "git branch --delete --force x", "git branch -df x", "git branch -f main HEAD~3",
			"git tag -d v1.0",
			"git update-ref -d refs/heads/x", "git filter-branch --tree-filter true HEAD", "git filter-repo --path x --invert-paths",
			"git reflog expire --expire=now --all",
			"git reflog delete HEAD@{1}", "git gc --prune=now --aggressive", "git prune", "git worktree remove --force ../wt",
			"bfg --delete-files x.key",
			"java -jar /opt/bfg-1.14.jar --strip-blobs-bigger-than 1M", "git -c gc.pruneExpire=now gc", "git branch --merged | xargs git branch -D",
			"git lfs migrate import --include='*.psd'"},
		LookAlikes: []string{"git branch -d merged", "git branch", "git branch -m new", "git branch -M main", "git tag v1",
			"git tag -a v1 -m '-d'", "git reflog", "git gc",
			"git gc --auto", "git prune -n", "git worktree remove ../wt", "git worktree prune", "git filter-repo --analyze", "git fetch --prune",
			"git remote prune origin",
			"git branch --list '-D'", "git rebase main", "git commit --amend"},
	}, "loses commits", []tool{
		gitTool(`
branch +-D +-f +--force !--list !-l :u
tag +-d +--delete !--list !-l :mFu
update-ref|symbolic-ref +-d +--delete :m
filter-branch
filter-repo !--analyze !--dry-run
reflog expire|delete|drop !-n !--dry-run
prune !-n !--dry-run
gc +--prune=now +--prune=all +--prune=today
worktree remove +-f +--force
fast-import +--force
lfs migrate +@import +@export
lfs prune !--dry-run !-d !--verify-remote
annex dead|dropunused|forget +--force +@*`),
		{names: "git-filter-repo", safe: "--analyze --dry-run --version",
			acts: "+@* +--force +--path +--invert-paths +--strip-blobs-bigger-than +--replace-text +--path-glob +--path-regex +--paths-from-file"},
		{names: "bfg",
			acts: "+-D +-b +-B +-fi +--delete-files +--delete-folders +--strip-blobs-bigger-than +--strip-biggest-blobs +--replace-text +--strip-blobs-with-ids"},
		hgTool("strip !-n\ndebugstrip\nprune !-n\nrollback !-n !--dry-run"),
		{names: "jj", short: "R", acts: "abandon\nop abandon\nworkspace forget"},
		{names: "fossil", acts: "purge|scrub"},
		{names: "p4", short: "cCdHpPuQ", acts: "obliterate +-y"},
		{names: "darcs", acts: "obliterate|unpull !--dry-run"},
	}, gitLoses, append(gitInternals(), "java", "git")...)
	r.Writes = true // by redirect
	return r
}

// gitInternals are the programs that may delete or replace what git keeps of commits.
func gitInternals() []string {
	return slices.Concat(writing(), []string{"rm", "unlink", "shred", "grm"})
}

// keepsCommits tells whether a file is one without which commits can't be found.
func keepsCommits(t analysis.Target) bool {
	_, rest, ok := strings.Cut(t.Path, "/.git/")
	return ok && (rest == "HEAD" || rest == "packed-refs" || strings.HasPrefix(rest, "refs/") || strings.HasPrefix(rest, "objects/"))
}

// gitLoses finds what loses history by configuration, standard input or a jar.
func gitLoses(a *Act) []Hit {
	hit := false
	switch a.Program {
	case "git":
		front, verb, _ := gitVerb(a)
		switch verb {
		case "gc":
			hit = slices.ContainsFunc(front, func(w analysis.Word) bool {
				t := strings.ToLower(w.Text)
				return (strings.HasPrefix(t, "gc.pruneexpire=") || strings.HasPrefix(t, "gc.reflogexpire")) && !strings.HasSuffix(t, "=never")
			})
		case "update-ref":
			hit = slices.ContainsFunc(a.Words, func(w analysis.Word) bool { return w.Is("--stdin") }) &&
				slices.ContainsFunc(strings.Split(a.Stdin.Text, "\n"), func(l string) bool { return strings.HasPrefix(l, "delete ") })
		}
	}
	if !hit {
		return one("deletes or replaces what git keeps of commits", append(a.each(a.removal().operands, keepsCommits), a.wroteTo(keepsCommits)...))
	}
	return []Hit{{Reason: "loses commits: " + a.Line(), Targets: a.place()}}
}

func gitDiscard() Row {
	return verbRow(Row{
		ID: "git.discard", Key: "discard uncommitted work", Family: "git", Remember: RememberAll,
		Matches: "hard reset, forced checkout or switch, checkout or restore of files over changed ones, dropping stashes, and the like of other version control",
		Examples: []string{"git reset --hard", "git reset --hard HEAD~1", "git -C sub reset HEAD~3 --hard", "git reset --har",
			"git checkout -f main", "git checkout -- .", "git checkout .",
			"git checkout HEAD -- src", "git checkout HEAD~2 src/a.go", "git restore .", "git restore --staged --worktree a.go",
			"git restore -SW .", "git switch -f main",
			"git switch --discard-changes main", "git stash drop", "git stash clear", "git read-tree -u --reset HEAD",
			"git submodule update --force", "hg update -C",
			"svn revert -R .", "git checkout -- main.go", "git checkout *.go"},
		LookAlikes: []string{"git reset", "git reset --soft HEAD~1", "git reset HEAD a.go", "git checkout main", "git checkout -b x",
			"git checkout -b fix/a.b origin/main",
			"git checkout release/1.2", "git checkout v1.2.3", "git restore --staged a.go", "git restore -S .", "git switch main",
			"git switch -c new", "git stash", "git stash pop",
			"git stash list", "git log --grep 'reset --hard'", "git commit -m 'git reset --hard'", "git checkout --help",
			"git checkout -t origin/x", "git checkout --detach HEAD~1",
			"git checkout -", "git rm -r src", "git rm -rf --cached .", "git submodule update --init", "hg update", "svn revert --help", "git rev-parse --hard"},
	}, "discards changes that were never committed", []tool{
		gitTool(`
reset +--hard +--merge
checkout +-f +--force :bB
switch +-f +--force +--discard-changes :cC
stash drop|clear
rm +-f +--force &-r !--cached !-n !--dry-run
read-tree +--reset
checkout-index +-f +--force
submodule update|deinit +-f +--force`),
		hgTool("update|up|checkout|co|goto +-C +--clean\nrevert +-a +--all +-C +--no-backup +@*\nshelve +-d +--delete +--cleanup"),
		{names: "svn", acts: "revert +-R +--recursive +--depth=infinity +@*\nswitch +--force\nupdate +--force"},
		{names: "jj", short: "R", acts: "restore"},
		{names: "bzr brz fossil darcs got", acts: "revert !--dry-run"},
		{names: "p4", short: "cCdHpPuQ", acts: "revert !-n !-a"},
		{names: "cvs", acts: "update +-C"},
	}, gitOverwrites, "git", "yadm")
}

// gitVerb splits a git command: the words in front of the verb, the verb, and what follows.
func gitVerb(a *Act) (front []analysis.Word, verb string, rest []analysis.Word) {
	words := a.Words[1:]
	for i := 0; i < len(words); i++ {
		text := words[i].Text
		switch {
		case text == "-C" || text == "-c" || text == "--git-dir" || text == "--work-tree" || text == "--namespace" || text == "--super-prefix" ||
			text == "--config-env":
			i++
		case strings.HasPrefix(text, "-"):
		case analysis.Head(text) == "" && !analysis.Known(text): // may be nothing, or options
		default:
			return words[:i], text, words[i+1:]
		}
	}
	return words, "", nil
}

// gitDir is the directory that git is sent to: the value of -C.
func gitDir(a *Act) analysis.Word {
	front := a.Words[1:]
	if a.Program == "git" {
		front, _, _ = gitVerb(a)
	}
	dir := analysis.Word{Text: "."}
	for i, w := range front {
		if w.Text == "-C" && i+1 < len(front) {
			dir = front[i+1]
		}
	}
	return dir
}

// extensions are what files of repositories end in, and branches hardly ever.
var extensions = strings.Fields("c cc cfg conf cpp cs css csv cxx dart env erl ex exs go gradle h hpp hs html ini ipynb java js json jsx kt less lock lua " +
	"m md ml mod php pl png properties proto py r rb rs rst scala scss sh sql sum svelte svg swift tex tf toml ts tsx txt vue xml yaml yml")

// gitOverwrites finds checkout and restore of files.
func gitOverwrites(a *Act) []Hit {
	_, verb, rest := gitVerb(a)
	var paths []analysis.Word
	switch verb {
	case "checkout":
		paths = checkedOut(rest)
	case "restore":
		paths = restored(rest)
	}
	if len(paths) == 0 {
		return nil
	}
	return []Hit{{Reason: "overwrites files with their committed form: " + a.Line(), Targets: a.each(paths,
		func(analysis.Target) bool { return true })}}
}

// checkedOut lists the files that a checkout overwrites; none when it changes the branch.
func checkedOut(rest []analysis.Word) []analysis.Word {
	var operands []analysis.Word
	for i := 0; i < len(rest); i++ {
		text := rest[i].Text
		switch {
		case text == "--":
			return rest[i+1:]
		case text == "-b" || text == "-B" || text == "--orphan" || text == "--ours" || text == "--theirs" || text == "-t" || text == "-h" ||
			strings.HasPrefix(text, "--track") || text == "-p" || text == "--patch" || text == "--detach" || text == "-d":
			return nil
		case strings.HasPrefix(text, "--pathspec-from-file"):
			return []analysis.Word{{Text: "."}}
		case len(text) > 1 && text[0] == '-':
		default:
			operands = append(operands, rest[i])
		}
	}
	switch {
	case len(operands) > 1 && namesFile(operands[0].Text):
		return operands
	case len(operands) > 1:
		return operands[1:]
	case len(operands) == 1 && namesFile(operands[0].Text):
		return operands
	}
	return nil
}

// namesFile tells whether an operand is rather a file than a branch.
func namesFile(text string) bool {
	if !analysis.Known(text) {
		return false
	}
	plain := analysis.Plain(text)
	switch {
	case plain == ".", plain == "..", strings.HasPrefix(plain, "./"), strings.HasPrefix(plain, "../"), strings.HasPrefix(plain, ":/"),
		strings.HasPrefix(plain, ":("), strings.HasPrefix(plain, "/"), strings.HasSuffix(plain, "/"), strings.Contains(plain, "*"):
		return true
	}
	dot := strings.LastIndexByte(plain, '.')
	return dot > 0 && slices.Contains(extensions, strings.ToLower(plain[dot+1:]))
}

// restored lists the files of the working tree that git restore overwrites.
func restored(rest []analysis.Word) []analysis.Word {
	staged, tree := false, false
	var operands []analysis.Word
	for i := 0; i < len(rest); i++ {
		text := rest[i].Text
		switch {
		case text == "--":
			operands = append(operands, rest[i+1:]...)
			i = len(rest)
		case text == "-h" || text == "-p" || text == "--patch":
			return nil
		case text == "-s" || text == "--source":
			i++
		case strings.HasPrefix(text, "--pathspec-from-file"):
			operands = append(operands, analysis.Word{Text: "."})
		case strings.HasPrefix(text, "--st"):
			staged = true
		case strings.HasPrefix(text, "--w"):
			tree = true
		case strings.HasPrefix(text, "--"):
		case len(text) > 1 && text[0] == '-':
			for _, l := range text[1:] {
				if l == 's' {
					break
				}
				staged, tree = staged || l == 'S', tree || l == 'W'
			}
		default:
			operands = append(operands, rest[i])
		}
	}
	if staged && !tree {
		return nil
	}
	return operands
}

func gitClean() Row {
	return verbRow(Row{
		ID: "git.clean", Key: "git clean with force", Family: "git", Remember: RememberAll, Smart: true,
		Matches: "deletes files that version control doesn't know, without a dry run",
		Examples: []string{"git clean -f", "git clean -fdx", "git clean -xdf", "git clean --force -d", "git -C sub clean -fd",
			"git clean -d -f build", "git -c clean.requireForce=false clean -d",
			"git clean -qfd -e keep", "hg purge --all", "svn cleanup --remove-unversioned", "git clean -ffdX"},
		LookAlikes: []string{"git clean -n", "git clean -fdn", "git clean -nfdx", "git clean -f --dry-run", "git clean", "git clean -i",
			"git clean -d", "git clean --help", "git commit -m 'clean -f'",
			"git config alias.c 'clean -n'", "hg purge --print", "svn cleanup", "git log -- clean -f"},
	}, "deletes files that git doesn't know", []tool{
		gitTool("clean +-f +--force !-n !--dry-run :e"),
		hgTool("purge|clean !-p !--print"),
		{names: "svn", acts: "cleanup +--remove-unversioned +--remove-ignored"},
		{names: "bzr brz", acts: "clean-tree +--force !--dry-run"},
		{names: "fossil", acts: "clean|extras +-f +--force !-n !--dry-run"},
		{names: "p4", short: "cCdHpPuQ", acts: "clean !-n"},
	}, gitCleans)
}

// gitCleans finds a clean that needs no force because it is configured so.
func gitCleans(a *Act) []Hit {
	if a.Program != "git" {
		return nil
	}
	front, verb, rest := gitVerb(a)
	off := slices.ContainsFunc(front, func(w analysis.Word) bool {
		name, value, _ := strings.Cut(strings.ToLower(w.Text), "=")
		return name == "clean.requireforce" && slices.Contains(refusals, value)
	})
	dry := slices.ContainsFunc(rest, func(w analysis.Word) bool {
		return strings.HasPrefix(w.Text, "--dry") || strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") &&
			strings.ContainsAny(w.Text, "nih")
	})
	if verb != "clean" || !off || dry {
		return nil
	}
	return []Hit{{Reason: "deletes files that git doesn't know: " + a.Line(), Targets: a.place()}}
}
