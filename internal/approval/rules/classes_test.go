package rules_test

import (
	"testing"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/rules"
)

// A11, A15, A17, A22, A28, A29, A44, A45: kinds of ways to a floor act, each with one of its forms.
func TestCheck_EachWayToAFloorActDenies(t *testing.T) {
	for _, text := range []string{
		// names with an index, and arithmetic
		`let 'a[$(rm -rf /)]=1'`, `[[ -v 'a[$(rm -rf /)]' ]]`, `printf -v 'a[$(rm -rf /)]' x`, `unset 'a[$(rm -rf /)]'`, `declare 'a[$(rm -rf /)]=1'`,
		`x='a[$(rm -rf /)]'; echo $((x))`, `x='a[$(rm -rf /)]'; [[ $x -eq 1 ]]`, `x='$(rm -rf /)'; echo "${x@P}"`, `a=([$(rm -rf /)]=1)`,
		// lists and their slices, parameters, options
		`a=(x /etc y); rm -rf "${a[@]:1:1}"`, `set -- rm -rf /; ${@:1:3}`, `f() { rm -rf "${@: -1}"; }; f x /`, `f() { while getopts d: o; do rm -rf "$OPTARG"; done; }; f -d /`,
		`clean() { while (($#)); do rm -rf "$1"; shift; done; }; clean a /etc`, `f() { rm -rf "$T"; }; T=/ f`, `[[ 'zz rm' =~ (r.)$ ]] && ${BASH_REMATCH[1]} -rf /`,
		`CDPATH=/ cd etc && rm -rf .`, `rm -rf /proc/self/root/etc`,
		// callbacks of builtins, process substitutions that read
		`mapfile -C 'rm -rf /; :' -c 1 a < f`, `compgen -C 'rm -rf /' x`, `bind -x '"\C-x":rm -rf /'`, `echo rm -rf / > >(bash)`, `echo rm -rf / | tee >(sh) >/dev/null`,
		// programs' texts: printed, encoded, in files, through descriptors
		`python3 -c 'print("rm -rf /")' | sh`, `jq -rn '"rm -rf /"' | sh`, `awk 'BEGIN{print "rm -rf /"}' | sh`, `echo 'rm -rf /' | base64 | base64 -d | sh`,
		`echo 'rm -rf /' | sed 's/^ *//' | sh`, `echo 'BEGIN{system("rm -rf /")}' > a.awk; awk -f a.awk`, `xargs --arg-file=<(echo /) rm -rf`,
		`echo '{"scripts":{"x":"rm -rf /"}}' > package.json; npm run x`, `printf 'shell rm -rf /\n' > x.gdb; gdb -batch -x x.gdb`,
		`echo 'int main(){ system("rm -rf /"); }' > x.c; gcc x.c -o x && ./x`,
		// languages without a scanner
		`elixir -e 'System.cmd("rm", ["-rf", "/"])'`, `racket -e '(system* "rm" "-rf" "/")'`, `raku -e 'run <rm -rf />'`, `groovy -e '["rm","-rf","/"].execute()'`,
		// loops and files that only start processes
		`perl -e 'while(1){fork}'`, `node -e "while(true) require('child_process').spawn(process.argv[0])"`, "cat > b.sh <<'E'\n./b.sh | ./b.sh &\nE\nsh b.sh",
		// devices, power
		"mkfs.ext4 /dev/anything", "nandwrite /dev/mtd0 x", "zstd -d x.zst -o /dev/sda", "bcachefs format /dev/sdb", "find . -maxdepth 0 -fprintf /dev/sda x",
		"rtcwake -m off -s 60", "ansible all -b -m reboot", "for i in r e i s u b; do echo $i > /proc/sysrq-trigger; done",
		"docker run --privileged -v /:/h x chroot /h reboot", "kubectl debug node/n1 -it --image=busybox -- chroot /host reboot",
		`find / \( -name a -o -name '*' \) -delete`, "find / -name x -prune -o -delete",
	} {
		if found := judged(text); len(found) == 0 || !found[0].Floor {
			t.Errorf("%s\n   not denied: %v", text, ids(found))
		}
	}
}

// A35, A36: what looks like them and does nothing.
func TestCheck_WhatLooksLikeAFloorActIsSilent(t *testing.T) {
	for _, text := range []string{
		`let 'a[1]=1'`, `[[ -v 'a[0]' ]]`, `printf '%s' 'a[$(rm -rf /)]'`, `echo 'a[$(rm -rf /)]'`, `x='$(rm -rf /)'; echo "$x"`, `python3 -c 'print("rm -rf /")'`,
		`python3 -c 'import platform; print(platform.system())'`, `awk 'BEGIN{print "rm -rf /"}'`, "find / -name core -o -name x", "rtcwake -m mem -s 60", "ansible all -m ping",
		"systemctl --when=cancel reboot", "qemu-img create -f qcow2 x.qcow2 10G", "echo 'int main(){}' > x.c; gcc x.c -o x && ./x", "coproc bc", "zstd -d x.zst -o x",
		"for f in a b; do echo $f & done", `node -e "while(true) { await next() }"`, "git clone https://h/r && cd r && ls",
	} {
		if found := judged(text); len(found) > 0 {
			t.Errorf("%s\n   found %v", text, ids(found))
		}
	}
}

func judged(text string) []rules.Finding {
	s, _ := analysis.Parse(text)
	return rules.Check(s.Read(analysis.Input{Dir: "/data/app", Home: "/home/ann", User: "ann", Programs: rules.Programs()}))
}

func ids(found []rules.Finding) []string {
	var out []string
	for _, f := range found {
		out = append(out, f.Row.ID)
	}
	return out
}
