package analysis_test

import (
	"strings"
	"testing"
)

const (
	makefile = "cat > Makefile <<'E'\nD = build\nall: lib\n\t@echo all\nlib:\n\tcc -c x.c\nclean: wipe\n\t-rm -f x\nwipe:\n\trm -rf $(D)\n%.gone:\n\trm -rf $*\nE\n"
	justfile = "cat > justfile <<'E'\nd := \"build\"\ndefault: test\ntest:\n  go test\nclean: wipe\nwipe:\n  rm -rf {{d}}\ngone dir:\n  rm -rf {{dir}}\nE\n"
	taskfile = "cat > Taskfile.yml <<'E'\nversion: 3\nvars:\n  D: build\ntasks:\n  default:\n    cmds:\n      - go test\n  clean:\n    deps: [wipe]\n  wipe:\n    cmds:\n      - rm -rf {{.D}}\n  all:\n    cmds:\n      - task: clean\nE\n"
)

// A29: of a build tool's file, what the targets asked for lead to runs, with its variables; nothing else does.
func TestRead_TargetsAskedFor(t *testing.T) {
	for command, want := range map[string]bool{
		makefile + "make": false, makefile + "make all": false, makefile + "make clean": true, makefile + "make wipe": true, makefile + "make all clean": true, makefile + "make -n clean": false,
		makefile + "make lib": false, makefile + "make wipe D=build": true, makefile + "make wipe D=x": false,
		justfile + "just": false, justfile + "just test": false, justfile + "just clean": true, justfile + "just gone build": true, justfile + "just gone x": false, justfile + "just d=y wipe": false,
		taskfile + "task": false, taskfile + "task clean": true, taskfile + "task all": true, taskfile + "task wipe": true,
		"make -f - <<'E'\nall:\n\trm -rf build\nE": true, "make -f - other <<'E'\nall:\n\trm -rf build\nother:\n\techo\nE": false, "make -f - x <<'E'\ninclude y.mk\nall:\n\trm -rf build\nE": true,
		"make -f - <<'E'\nO := $(S:.c=.o)\na: $(O)\n\tcc -o $@ $^ $<\nE": false, "make -f - <<'E'\nD := build\na:\n\t$(RM) -rf x; rm -rf $(D:x=y)\nE": true, "make --eval='$(shell rm -rf build)' x": true, "make -E 'x:;rm -rf build' x": true, "CC='gcc -m32' make": false,
	} {
		if got := runs(t, command, "rm -rf build"); got != want {
			t.Errorf("%q runs it: %v\n%s", command, got, argvs(read(t, command)))
		}
	}
}

// A22, A27: programs that take a command or a program text by ways of their own.
func TestRead_OtherWaysToACommand(t *testing.T) {
	for command := range strings.SplitSeq(strings.TrimSpace(`
/usr/lib/git-core/git -c alias.x='!rm -rf build' x
git-submodule foreach 'rm -rf build'
salt-ssh '*' -r 'rm -rf build'
TAR_OPTIONS='--to-command=rm\ -rf\ build' tar xf x
GIT_CONFIG_PARAMETERS="'core.pager=rm -rf build'" git log
curl -K <(echo x) u; logrotate -f <(printf '/x {\npostrotate\nrm -rf build\nendscript\n}')
cmake -P <(echo 'execute_process(COMMAND rm -rf build)')
cmake -P <(echo 'file(REMOVE_RECURSE build)')
rpm --eval '%(rm -rf build)'
dpkg --pre-invoke='rm -rf build' -i x
nano -s 'rm -rf build' x
echo 'rm -rf build' > x; ssh h < x
irb <<< 'system "rm -rf build"'
python manage.py shell <<< 'import os; os.system("rm -rf build")'
./manage.py shell -c "import os; os.system('rm -rf build')"
rails r 'system("rm -rf build")'
jupyter console <<< '!rm -rf build'
ipython3 -c '%rm -rf build'
ipython -c $'%%bash\nrm -rf build'
osascript -l JavaScript -e 'app.doShellScript("rm -rf build")'
bb '(system "rm -rf build")'
nim --eval:'execCmd("rm -rf build")'
emacs --batch --eval '(call-process "rm" nil nil nil "-rf" "build")'
ex -sc '!rm -rf build' -c q
coreutils --coreutils-prog=rm -rf build
gxargs rm -rf <<< build
powershell -W Hidden -File - <<< 'bash -c "rm -rf build"'
erl -noshell -s init stop -eval 'os:cmd("rm -rf build")'
cc -xc - -o t <<< 'int main(){system("rm -rf build");}' && ./t
a=(build); for i in "${!a[@]}"; do rm -rf "${a[$i]}"; done
`), "\n") {
		if !runs(t, command, "rm -rf build") {
			t.Errorf("%q runs\n%s", command, argvs(read(t, command)))
		}
	}
	for command := range strings.SplitSeq(strings.TrimSpace(`
python3 compare.py <(echo 'rm -rf build') x
logrotate -d /etc/logrotate.conf
rpm --eval '%{_topdir}'
pm2 start app.js --name 'rm -rf build'
ipython -c 'print("!rm -rf build")'
tclsh <<< 'puts "exec rm -rf build"'
make help
TAR_OPTIONS=--no-same-owner tar xf build
`), "\n") {
		if runs(t, command, "rm -rf build") {
			t.Errorf("%q runs\n%s", command, argvs(read(t, command)))
		}
	}
}

// A17: names that the shell expanded, and those of devices, stay what they are through a pipe.
func TestRead_NamesThroughPipes(t *testing.T) {
	for command, want := range map[string]string{
		"echo /* | xargs rm -rf": "rm -rf /*", "printf '%s\\n' /* | xargs rm -rf": "rm -rf /*", "ls -d /* | xargs rm -rf": "rm -rf /*", "lsblk -dpno NAME | xargs -I{} mkfs.ext4 {}": "mkfs.ext4 /dev/…",
		"fdisk -l | awk '{print $2}' | xargs -n1 mkfs.ext4": "mkfs.ext4 /dev/…", "for d in $(ls /dev/sd?); do mkfs $d; done": "mkfs /dev/…", "lsblk -po NAME | while read d; do mkfs $d; done": "mkfs /dev/…",
	} {
		if !strings.Contains(argvs(read(t, command)), want) {
			t.Errorf("%q: no %q in\n%s", command, want, argvs(read(t, command)))
		}
	}
	for _, command := range []string{"echo '/*' | xargs rm -rf", "ls /* | xargs rm -rf", "lsblk -o NAME | xargs -I{} mkfs {}"} {
		if out := argvs(read(t, command)); strings.Contains(out, "rm -rf /*\n") && !strings.Contains(command, "'") || strings.Contains(out, "mkfs /dev/…") {
			t.Errorf("%q:\n%s", command, out)
		}
	}
}
