package rules_test

import "testing"

// A43, A44: git's verbs behind any global options, with bundled, attached and shortened options.
func TestGit_DestroyingFormsAreFound(t *testing.T) {
	finds(t, "git.discard", `
git reset --hard HEAD
git reset --hard origin/main
git reset -q --hard
git reset HEAD^ --hard
git --git-dir=.git --work-tree . reset --hard
git --git-dir .git --work-tree=. reset --hard
git -c core.pager=cat -C /data/app reset --hard
git --no-pager reset --hard HEAD~5
git -P reset --hard
git reset --merge
git reset --hard -- 
git fetch && git reset --hard FETCH_HEAD
git checkout --force main
git checkout -qf main
git checkout -f
git checkout -- src/
git checkout -- 'a b.txt'
git checkout HEAD -- .
git checkout HEAD .
git checkout origin/main -- go.mod
git checkout ./src
git checkout ../lib
git checkout src/
git checkout main.go
git checkout src/app/main.py README.md
git checkout :/
git checkout '*.py'
git checkout -q .
git checkout stash@{0} -- .
git checkout --pathspec-from-file=list.txt
git restore a.go
git restore -- a.go
git restore :/
git restore -s HEAD~1 a.go
git restore --source=HEAD --staged --worktree .
git restore --source HEAD~3 .
git restore -W a.go
git restore '*.go'
git switch --force main
git switch -qf main
git switch --discard-changes -
git stash drop stash@{1}
git stash clear
git stash drop -q
git -C x stash clear
git read-tree --reset -u HEAD
git checkout-index -f -a
git checkout-index -fa
git submodule update --init -f
git submodule deinit -f --all
git submodule deinit --force sub
sudo git reset --hard
env GIT_DIR=.git git reset --hard
timeout 5 git stash clear
cd sub && git checkout .
git status; git reset --hard
hg update --clean tip
hg up -C
hg co -C default
hg revert --all
hg -R repo revert --all --no-backup
svn revert -R .
svn revert a.c
svn revert --depth=infinity .
yadm reset --hard
/usr/bin/git reset --hard
G=git; $G reset --hard
git "reset" '--hard'
git re""set --h"ar"d
jj restore
p4 revert ./...
`)
	finds(t, "git.clean", `
git clean -f
git clean -f -d
git clean -df
git clean -xfd
git clean -dfx .
git clean -ffdx
git clean --force
git clean --for
git clean -d --force -x
git clean -fX
git -C /data/app clean -fd
git --no-pager clean -fdq
git -c clean.requireForce=false clean -dx
git -c clean.requireforce=0 clean
git clean -fe '*.log'
git clean -f -e n
git clean -fd -- build
git clean --no-dry-run -f
sudo git clean -fdx
hg purge
hg --config extensions.purge= purge --all
hg clean
svn cleanup --remove-unversioned --remove-ignored
`)
	finds(t, "git.force", `
git push --force
git push -f
git push -fu origin main
git push -uf origin main
git push origin main -f
git push origin main --force
git push --force-with-lease origin main
git push --force-with-lease=main:abc origin main
git push --force-if-includes --force-with-lease
git push --forc origin main
git push origin +main
git push origin +HEAD:main
git push origin main '+dev'
git push origin "+refs/heads/*:refs/heads/*"
git push --mirror git@h:r.git
git push origin --delete main
git push --delete origin v1.0
git push -d origin x
git push origin -d x
git push origin :main
git push origin :refs/tags/v1
git push --prune origin
git -C /data/app push --force
git --git-dir=/x/.git push -f
git -c push.default=current push -f
git push -o ci.skip -f
git push --no-verify --force
git push origin "+$BRANCH"
git push origin ":$BRANCH"
git push --force origin $(git branch --show-current)
GIT_SSH=x git push -f
git add . && git commit -m x && git push -f
hg push -f
hg push --force ssh://h/r
svn delete -m x https://h/r/branches/a
git send-pack --force h:r main
`)
	finds(t, "git.history", `
git branch -D a b
git branch -Dq a
git branch -rD origin/x
git branch -d -f a
git branch -fd a
git branch --delete --force a
git branch --force main HEAD~1
git branch -f main origin/main
git tag -d v1
git tag --delete v1 v2
git tag | xargs git tag -d
git update-ref -d HEAD
git update-ref --no-deref -d refs/heads/main
printf 'delete refs/heads/x\n' | git update-ref --stdin
git symbolic-ref --delete HEAD
git filter-branch -f --index-filter 'git rm --cached x' HEAD
git filter-repo --force --path secret --invert-paths
git-filter-repo --strip-blobs-bigger-than 1M
git reflog expire --all --expire=now
git reflog expire --expire-unreachable=now --all
git reflog delete --rewrite HEAD@{0}
git gc --prune=now
git gc --aggressive --prune=all
git gc --prune=NOW
git -c gc.reflogExpire=now -c gc.pruneExpire=now gc
git prune --expire now
git prune
git worktree remove -f ../x
git worktree remove ../x --force
bfg --strip-blobs-bigger-than 50M repo.git
bfg -D id_rsa
java -jar bfg.jar --delete-folders .ssh repo.git
git lfs migrate import --everything --include=*.zip
git for-each-ref --format='%(refname)' refs/heads | xargs -n1 git update-ref -d
hg strip -r tip
hg --cwd r strip 12
hg rollback
`)
}

// A35, A36: reading, making, dry runs, and words that are only data.
func TestGit_HarmlessFormsAreSilent(t *testing.T) {
	silent(t, `
git reset
git reset HEAD
git reset --soft HEAD~1
git reset --mixed HEAD~1
git reset -- a.go
git reset --keep HEAD~1
git reset -p
git checkout main
git checkout feature/x.y
git checkout release-1.2.x
git checkout v2.0.1
git checkout 3.x
git checkout -b feature main
git checkout -b fix/readme.md
git checkout -B main origin/main
git checkout --orphan gh-pages
git checkout -
git checkout @{-1}
git checkout $BRANCH
git checkout "$(git describe --tags)"
git checkout --track origin/dev
git checkout abc1234
git restore --staged .
git restore -S a.go
git restore --staged -s HEAD~1 a.go
git switch main
git switch -c x
git switch -C x
git switch -
git stash
git stash push -m 'drop it'
git stash save clear
git stash apply
git stash show -p
git stash list
git stash branch x
git clean -n
git clean -dn
git clean -fdn
git clean -nfd
git clean -f -n
git clean -fd --dry-run
git clean -ffdxn
git clean -e f -n
git clean -h
git push
git push origin main
git push -u origin HEAD
git push --set-upstream origin feature
git push origin HEAD:refs/heads/x
git push origin main:main
git push --tags
git push --dry-run --force
git push -n -f
git push --force-with-lease --dry-run
git push origin :
git push --push-option=--force origin main
git branch
git branch -a
git branch -d x
git branch --delete x
git branch -m old new
git branch -M main
git branch --merged
git branch -vv
git branch -u origin/main
git branch --contains HEAD
git tag
git tag -l 'v*'
git tag v1 -m 'git tag -d'
git tag -s v1 -m x
git gc
git gc --auto
git gc --aggressive
git gc --prune=never
git reflog
git reflog show HEAD
git reflog exists HEAD
git reflog expire --dry-run --all
git worktree add ../x
git worktree list
git worktree remove ../x
git worktree prune
git prune --dry-run
git filter-repo --analyze
git filter-branch --help
git lfs pull
git lfs migrate info
git rebase -i HEAD~3
git rebase --abort
git merge --abort
git cherry-pick --abort
git commit --amend --no-edit
git commit -m "git reset --hard && git clean -fdx"
git commit -am 'push -f'
git log --grep='reset --hard'
git log --oneline -- clean -f
git log -S'push --force'
git grep -n 'branch -D'
git show HEAD:reset
git diff --stat
git diff HEAD -- reset
git fetch --all --prune
git fetch -f origin
git pull --rebase
git remote prune origin
git remote remove old
git rm --cached x
git config alias.undo 'reset --soft HEAD^'
git help reset
git reset --help
git rev-parse --hard
git notes add -m 'stash drop'
git submodule update --init --recursive
git blame -f a.go
git ls-files -d
git update-ref refs/heads/x HEAD
git bisect reset
git apply --check p.diff
git am --abort
git revert HEAD
git mv -f a b
gh pr checkout 12
gh pr create --title 'git push --force'
hg status
hg update
hg update default
hg purge --print
hg push
hg revert --help
hg log -k strip
svn update
svn status
svn cleanup
svn delete old.c
svn commit -m 'revert -R'
echo "git clean -fdx" > notes.txt
alias gs='git status'
man git-reset
which git
`)
}
