package analysis

import (
	"slices"
	"strings"
	"sync"
)

// plain are programs whose arguments are data (A35): they print, search, compare, view, test, tell or file things.
var plain = sync.OnceValue(func() map[string]bool {
	return nameSet(`echo printf print cat bat batcat tac nl rev head tail less more most view zcat zless grep egrep fgrep zgrep pgrep rg ag ack
		ugrep sift locate mdfind ls ll exa eza lsd tree dir vdir stat file du df wc sort uniq cut paste join column fold fmt pr expand tr comm cmp
		diff sdiff colordiff delta vimdiff icdiff wdiff patch touch mkdir rmdir cp mv ln rm tee basename dirname realpath readlink pwd date cal
		true false : test [ [[ expr seq yes sleep wait jobs history fc complete compgen bind set unset shopt ulimit umask hash type which whereis
		whatis apropos man info help tldr cheat command-not-found cd pushd popd dirs exit return break continue read let local declare export
		readonly typeset getopts jq yq xq gron fx dasel miller mlr csvcut csvgrep xmllint xmlstarlet tidy git hg svn bzr fossil jj gh glab hub lab
		tea jira linear acli curl wget http https xh httpie grpcurl websocat notify-send osd_cat terminal-notifier logger wall write mail mailx
		sendmail mutt msmtp say espeak spd-say slack slackcat telegram-send ntfy apprise zenity dialog whiptail kdialog yad xmessage figlet
		cowsay toilet lolcat banner boxes gum glow mdcat pandoc todo task todo.sh taskwarrior timew remind calcurse khal code codium subl atom
		idea nano pico micro emacs emacsclient ed shellcheck shfmt bashate checkbashisms explainshell pytest py.test nosetests jest vitest mocha
		ava phpunit rspec ctest bats shellspec go cargo rustc gcc g++ clang clang++ cc c++ tsc eslint prettier black ruff flake8 mypy pylint
		isort golangci-lint staticcheck mvn gradle ant javac java cmake ninja meson npm pnpm yarn pip pip3 gem brew apt apt-get apt-cache dnf yum
		pacman zypper snap flatpak docker podman kubectl helm terraform ansible-playbook vagrant hermes claude codex aider ollama llm chatgpt
		sgpt tgpt mods xclip xsel pbcopy wl-copy clip md5sum sha1sum sha256sum sha512sum cksum b2sum base64 base32 xxd od hexdump strings nm
		objdump readelf ldd size ar ranlib strip tput stty tty clear reset id whoami who w groups users hostname uname uptime free vmstat iostat
		ps top htop lsof ss netstat ip ifconfig ping traceroute dig nslookup host getent lsblk blkid lscpu lspci lsusb lsmod dmesg journalctl
		seq factor bc dc units numfmt shuf tsort ptx look spell aspell hunspell wordlist dict trans asciinema-cat sqlite3 psql mysql redis-cli
		install mktemp dd gzip gunzip bzip2 xz zstd tar zip unzip 7z rar unrar chmod chown chgrp`)
})

func nameSet(names string) map[string]bool {
	set := map[string]bool{}
	for n := range strings.FieldsSeq(names) {
		set[n] = true
	}
	return set
}

// words that are programs' names and verbs or nouns as well: what stands behind one must look like a program's argument.
var ambiguous = sync.OnceValue(func() map[string]bool {
	return nameSet(`kill install source . eval trap command exec time watch script at batch alias builtin service http https fetch links find sort
		split patch env link unlink mount umount test nice screen expect view more less make net sc arch super sg retry daemon export R node go
		git docker format delete remove run start drop update upgrade user group passwd mail w3m wipe scrub crontab history top swift scala
		julia lua ruby perl python php deno bun npm yarn op nix lima foot st sem rush please box mise rails stack sops flatpak conda`)
})

// never are names that are verbs of too many programs.
var never = sync.OnceValue(func() map[string]bool {
	return nameSet("shutdown reboot halt poweroff init telinit stop restart . : time test in do set")
})

// textOptions are options behind which programs of all kinds take a command's text.
var textOptions = sync.OnceValue(func() map[string]bool {
	return nameSet("-c -e -x --command --cmd --exec --execute --run --shell --script --eval -Command --exec-command --run-command")
})

// maxGuesses is how many tails of one command are read.
const maxGuesses = 2

// guess reads the arguments of a program that no table lists: if a tail of them is a command, the program may be one that runs it (A24).
// What isn't known in there is no finding, since nothing says that it runs.
func (r *reader) guess(st *state, c *Command, at place) {
	if len(c.Words) < 2 || c.Program == "" || plain()[c.Program] || r.listed(c.Program) || c.Guess() {
		return
	}
	notes, left := len(r.out.Notes), maxGuesses
	at.last, at.redirects, at.want = false, nil, false
	for i := 1; i < len(c.Words) && left > 0; i++ {
		w := c.Words[i]
		switch {
		case i+1 < len(c.Words) && r.leads(w.Text, c.Words[i+1].Text):
			left--
			at.origin = &Origin{Name: "argument of " + c.Program, Guess: true, Span: c.Span, Parent: c.Origin}
			sub := st.clone()
			sub.funcs = nil
			r.run(sub, simple{words: c.Words[i:], span: c.Span, bypass: true}, at)
		case textOptions()[c.Words[i-1].Text], len(w.Text) > 2 && w.Text[0] == '-' && textOptions()[beforeEquals(w.Text)]:
			text := w
			if strings.HasPrefix(w.Text, "-") {
				text.Text = w.Text[strings.IndexByte(w.Text, '=')+1:]
			}
			first, _, spaced := strings.Cut(text.Text, " ")
			if !spaced || !r.known(first) {
				continue
			}
			left--
			as := *c
			as.Program = "argument of " + c.Program
			sub := at
			sub.origin = &Origin{Name: as.Program, Guess: true, Span: c.Span, Parent: c.Origin}
			r.text(elsewhere(st), text, &as, sub)
		}
	}
	r.out.Notes = r.out.Notes[:notes]
}

func beforeEquals(text string) string {
	name, _, _ := strings.Cut(text, "=")
	return name
}

// Listed tells whether one of the analysis's own tables says what a program does with its arguments.
func Listed(program string) bool {
	return plain()[program] || carrierSet()[program] || optionRunners()[program] != nil || ownLanguage(program) != nil || builtin(program) != nil
}

// listed tells whether a table says what the program does with its arguments.
func (r *reader) listed(name string) bool {
	if Listed(name) {
		return true
	}
	_, found := slices.BinarySearch(r.in.Programs, name)
	return found
}

// leads tells whether a word is a program's name that an argument of a program may follow.
func (r *reader) leads(word, next string) bool {
	if len(word) < 2 || word[0] == '-' || strings.IndexByte(word, mark) >= 0 || strings.IndexByte(word, ' ') >= 0 {
		return false
	}
	name := programName(word[strings.LastIndexByte(word, '/')+1:])
	if never()[name] || !r.known(name) {
		return false
	}
	return !ambiguous()[name] || next != "" && (next[0] == '-' || next[0] == '/')
}

// known tells whether a name is that of a carrier or of a program with a row.
func (r *reader) known(name string) bool {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	if carrierSet()[name] {
		return true
	}
	_, found := slices.BinarySearch(r.in.Programs, name)
	return found
}
