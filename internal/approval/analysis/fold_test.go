package analysis_test

import (
	"strings"
	"testing"
)

// A15, A17, A28: what only computes on literals folds; each line runs "rm -rf build".
func TestRead_ComputedWordsAndTextsFold(t *testing.T) {
	for command := range strings.Lines(strings.TrimSpace(`
$(echo rm) -rf build
$(printf 'r%s' m) -rf build
$(echo mr | rev) -rf build
$(echo RM | tr A-Z a-z) -rf build
$(echo RM | tr '[:upper:]' '[:lower:]') -rf build
$(echo xrmx | cut -c2-3) -rf build
$(echo a:rm:b | cut -d: -f2) -rf build
$(echo 'a rm' | awk '{print $2}') -rf build
$(echo rmx | sed 's/x//') -rf build
$(basename /bin/rm) -rf build
$(command -v rm || which rm) -rf build
$(false || echo rm) -rf build
$(base32 -d <<< OJWQ====) -rf build
echo cm0gLXJmIGJ1aWxkCg== | openssl base64 -d | sh
echo OJWSALLSMYQGE5LJNRSAU=== | base32 -d | sh
echo 726d202d7266206275696c64 | xxd -r -p | sh
echo 726d202d7266206275696c64 | basenc --base16 -d | sh
echo H4sIAAAAAAAAAyvKVdAtSlNIKs3MSQEA3Ys6bgwAAAA= | base64 -d | gunzip | sh
printf 'ls\nrm -rf build\n' | tail -1 | sh
printf 'rm -rf build\nls\n' | head -n 1 | sh
echo 'ez -es ohvyq' | tr a-z n-za-m | sh
echo 'dliub fr- mr' | rev | sh
echo 'rm -XX build' | sed 's/XX/rf/' | sh
echo 'rm -rf build' | grep rm | tee log | sh
a=rM; ${a@L} -rf build
a=rm; ${a@P} -rf build
a=(r m); IFS=; "${a[*]}" -rf build
a[0]=rm; $a -rf build
declare -l a=RM; $a -rf build
read -r a b <<< 'rm -rf'; $a $b build
echo rm | { read a; $a -rf build; }
read a < <(echo rm); $a -rf build
mapfile -t a <<< rm; ${a[0]} -rf build
echo 'rm -rf build' | while read -r l; do eval "$l"; done
exec 3<<< 'rm -rf build'; bash <&3
bash /dev/fd/3 3<<< 'rm -rf build'
a=mr; eval "${a:1:1}${a:0:1} -rf build"
ls() { rm -rf build; }; ls
a[0]=1 rm -rf build
! ! rm -rf build
((rm -rf build) ; ls)
hash -p /bin/rm x; x -rf build
declare -n n=c; c=rm; $n -rf build
c=(x rm); ${c[-1]} -rf build
i=1; c=(x rm); ${c[i]} -rf build
declare -A m=([k]=rm); ${m[k]} -rf build
declare -A m; m[k]=rm; ${m[k]} -rf build
`)) {
		command = strings.TrimSpace(command)
		got := argvs(read(t, command))
		if !runs(t, command, "rm -rf build") && !strings.Contains(got, "x -rf build") {
			t.Errorf("%q runs\n%s", command, got)
		}
	}
	for _, command := range []string{"ls # \\\nrm -rf build", "cat > Makefile <<'E'\nall:\n\trm -rf build\nE\nmake"} {
		if !runs(t, command, "rm -rf build") {
			t.Errorf("%q runs\n%s", command, argvs(read(t, command)))
		}
	}
}

// A6: a carrier with too few arguments, or odd ones, breaks nothing.
func TestRead_EveryProgramTakesOddArguments(t *testing.T) {
	names := strings.Fields("git gdb lldb vim ex emacs awk sed make sqlite3 psql mysql ftp lftp mail ed less socat nmap expect export crontab aws tar " +
		"rsync scp sort read mapfile printf unset hash ln cp tee curl wget salt at tmux screen zellij find fd su runuser script trap alias eval source")
	for _, name := range append(names, "*", "[a-m]*", "[n-z]*") {
		for _, args := range []string{"", " ''", " -", " --", " -c", " -c ''", " -e", " -x x", " --x=", " --command", " exec", " exec x", " run", " run -v", " x y",
			" -v :", " -o", " ssh", " -S", " -X stuff", " send-keys", " action write-chars", " config alias.x !", " -f -", " -t 1", " {}", " :::", " -exec", " ;",
			" cmd.run", " ssm send-command --parameters command", " -I", " -d ''", " $x", " <<< x", " <<< ''", " < /dev/fd/3", " /dev/fd/3", " $'\\x01'"} {
			for _, n := range read(t, name+args).Notes {
				if strings.Contains(n.Reason, "analysis failed") {
					t.Errorf("%q: %s", name+args, n.Reason)
				}
			}
		}
	}
}
