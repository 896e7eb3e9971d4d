package analysis_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

// A22: an option, a variable or a program's own language is where the command stands.
func TestRead_OptionsVariablesAndLanguagesThatRun(t *testing.T) {
	for command := range strings.Lines(strings.TrimSpace(`
git -c core.pager='rm -rf build' log
git -c core.sshCommand='rm -rf build' fetch
git -c alias.x='!rm -rf build' x
git -c core.fsmonitor='rm -rf build' status
git -c diff.external='rm -rf build' diff
git -c credential.helper='!rm -rf build' fetch
git config alias.x '!rm -rf build'
git config --global core.pager 'rm -rf build'
git config set core.editor 'rm -rf build'
git rebase -i --exec 'rm -rf build' HEAD~3
git rebase -x 'rm -rf build' HEAD~3
git bisect run rm -rf build
git submodule foreach 'rm -rf build'
git submodule foreach --recursive rm -rf build
git filter-branch --tree-filter 'rm -rf build' HEAD
git grep -O'rm -rf build' x
git difftool -x 'rm -rf build'
git clone --upload-pack='rm -rf build' x
git clone 'ext::rm -rf build' x
GIT_SSH_COMMAND='rm -rf build' git fetch
GIT_PAGER='rm -rf build' git log
PAGER='rm -rf build' man ls
MANPAGER='rm -rf build' man ls
EDITOR='rm -rf build' crontab -e
VISUAL='rm -rf build' git commit
LESSOPEN='|rm -rf build' less x
RSYNC_RSH='rm -rf build' rsync a b
export PROMPT_COMMAND='rm -rf build'
export GIT_EDITOR='rm -rf build'
env PAGER='rm -rf build' man ls
PAGER='rm -rf build'; export PAGER
tar cf x.tar d --checkpoint=1 --checkpoint-action=exec='rm -rf build'
tar cf x.tar d --checkpoint=1 --checkpoint-action exec='rm -rf build'
tar xf x.tar --to-command='rm -rf build'
tar -I 'rm -rf build' -xf x.tar
tar xf x --use-compress-program='rm -rf build'
rsync -e 'rm -rf build' a b:c
rsync --rsh='rm -rf build' a b:c
rsync -av --rsync-path='rm -rf build' a b:c
ssh -o ProxyCommand='rm -rf build' host
ssh -oProxyCommand='rm -rf build' host
ssh -o 'ProxyCommand rm -rf build' host
ssh -o PermitLocalCommand=yes -o LocalCommand='rm -rf build' host
scp -o ProxyCommand='rm -rf build' a b:
man -P 'rm -rf build' ls
man --pager='rm -rf build' ls
zip x.zip a -T -TT 'rm -rf build'
zip x.zip a -T --unzip-command='rm -rf build'
split --filter='rm -rf build' x
awk 'BEGIN{system("rm -rf build")}'
gawk 'BEGIN { "rm -rf build" | getline x }'
awk '{print | "rm -rf build"}' x
awk -f <(echo 'BEGIN{system("rm -rf build")}')
sed '1e rm -rf build' x
sed -n 'e rm -rf build' x
sed 's/.*/rm -rf build/e' x
sed -e 's/a/b/;s|x|rm -rf build|e' x
vim -c ':!rm -rf build' -c q
vim '+!rm -rf build' +q
nvim --headless -c 'silent !rm -rf build' +q
vim -es -c 'call system("rm -rf build")' -c q
vi -c 'r !rm -rf build'
nvim -c 'lua os.execute("rm -rf build")'
ex -s x <<< '!rm -rf build'
emacs --batch --eval '(shell-command "rm -rf build")'
gdb -batch -ex 'shell rm -rf build'
gdb -ex '!rm -rf build' -ex quit
lldb -o 'platform shell rm -rf build'
make -f - <<< $'all:\n\t@rm -rf build'
make --eval='x:;rm -rf build' x
make -f <(printf 'all:\n\trm -rf build\n')
make SHELL='rm -rf build'
sqlite3 x.db '.shell rm -rf build'
sqlite3 x.db <<< '.system rm -rf build'
psql -c '\! rm -rf build'
psql -c "COPY x FROM PROGRAM 'rm -rf build'"
psql <<< '\! rm -rf build'
mysql -e 'system rm -rf build'
ftp host <<< '!rm -rf build'
lftp -c '!rm -rf build'
mail x <<< '~!rm -rf build'
socat TCP-LISTEN:1 EXEC:'rm -rf build'
socat - SYSTEM:'rm -rf build'
ncat -l -c 'rm -rf build'
expect -c 'spawn rm -rf build'
fzf --preview 'rm -rf build'
hg --config alias.x='!rm -rf build' x
less '+!rm -rf build' x
crontab - <<< '* * * * * rm -rf build'
echo '@daily rm -rf build' | crontab -
restic --password-command 'rm -rf build' x
bash --rcfile <(echo rm -rf build) -i
BASH_ENV=<(echo rm -rf build) bash x.sh
$SHELL -c 'rm -rf build'
expect -c 'send "rm -rf build\r"'
git clone 'ext::sh -c rm% -rf% build' x
awk 'BEGIN { c = "rm"; c = c " -rf build"; system(c) }'
gawk 'BEGIN { system("rm " "-rf build") }'
emacs -Q --batch -eval '(shell-command "rm -rf build")'
vim -c 'call delete("build","rf")'
ipython -c '!rm -rf build'
tclsh <<< 'exec rm -rf build'
elixir -e 'System.cmd("rm", ["-rf", "build"])'
groovy -e '"rm -rf build".execute()'
ghc -e 'System.Process.callCommand "rm -rf build"'
guile -c '(system "rm -rf build")'
nmap --script=<(echo 'os.execute("rm -rf build")') h
apt-get -o APT::Update::Pre-Invoke::='rm -rf build' update
GIT_EXTERNAL_DIFF='rm -rf build' git diff
PS4='$(rm -rf build)' bash -xc ls
scp -S 'rm -rf build' a h:
sort --compress-program='rm -rf build' f
concurrently 'rm -rf build' ls
ip netns exec ns rm -rf build
vagrant ssh web -- rm -rf build
script -q /dev/null rm -rf build
fish --command='rm -rf build'
powershell -Command "bash -c 'rm -rf build'"
`)) {
		command = strings.TrimSpace(command)
		if !runs(t, command, "rm -rf build") {
			t.Errorf("%q runs\n%s", command, argvs(read(t, command)))
		}
	}
}

// A22, A35: options and languages that look like it run nothing.
func TestRead_OptionsThatRunNothing(t *testing.T) {
	for command := range strings.Lines(strings.TrimSpace(`
git -c user.name='rm -rf build' log
git log --grep='rm -rf build'
git config alias.x 'log --oneline'
awk '{print "rm -rf build"}' x
awk '/system/ {print $1}' x
awk '# system("rm -rf build")'
sed 's/rm -rf build/x/' x
sed 's/x/rm -rf build/g' x
sed '/rm -rf build/d' x
vim -c 'set nu' x
tar czf x.tgz build --exclude 'rm -rf build'
psql -c "select 'rm -rf build'"
sqlite3 x.db "insert into t values ('rm -rf build')"
make -n --eval='x:;rm -rf build'
ssh -o User='rm -rf build' host
PAGER=less git log
EDITOR=vim git commit
export NODE_ENV='rm -rf build'
rsync --exclude 'rm -rf build' a b
split -l 10 'rm -rf build'
`)) {
		command = strings.TrimSpace(command)
		if runs(t, command, "rm -rf build") {
			t.Errorf("%q runs\n%s", command, argvs(read(t, command)))
		}
	}
}

// A33: languages that write files say so.
func TestRead_LanguagesThatWrite(t *testing.T) {
	for command, want := range map[string]string{
		`awk '{print > "/etc/x"}' a`: "/etc/x", `sed -n 'w /etc/x' a`: "/etc/x", `sed 's/a/b/w /etc/x' a`: "/etc/x",
	} {
		r := read(t, command)
		if !slices.ContainsFunc(r.Commands, func(c analysis.Command) bool {
			return slices.ContainsFunc(c.Redirects, func(red analysis.Redirect) bool { return red.Write && red.Target.Is(want) })
		}) {
			t.Errorf("%q writes %s: %+v", command, want, r.Commands)
		}
	}
}
