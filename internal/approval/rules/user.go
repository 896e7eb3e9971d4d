package rules

import (
	"slices"
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

func userRows() []Row {
	return []Row{
		{
			ID: "user.credentials", Key: "write to keys or credentials", Family: "user", Remember: RememberAll,
			Matches:  "a write to keys, to who may log in, or to the files in which clients of clouds, clusters and registries keep their tokens",
			Programs: slices.Concat(writing(), []string{"ssh-copy-id"}, keyTools().programs()), Writes: true, Match: writesCredentials,
			Examples: []string{"echo key >> ~/.ssh/authorized_keys", "cp x ~/.aws/credentials", "cat k | tee -a /root/.ssh/authorized_keys",
				"echo x > ~/.netrc", "sed -i s/a/b/ ~/.kube/config",
				"cp id_rsa ~/.ssh/", "echo x >> ~/.ssh/config", "echo t > ~/.npmrc", "curl -o ~/.docker/config.json http://h",
				"mv x ~/.git-credentials", "cd ~/.ssh && echo k >> authorized_keys",
				"cat k >> /home/bob/.ssh/authorized_keys", "ssh-copy-id host", "pass rm -f mail/work", "gpg --batch --delete-secret-keys K",
				"security delete-keychain k", "keytool -delete -alias a -keystore k", "op item delete x", "bw delete item i",
				"aws configure set aws_secret_access_key x", "npm config set //r/:_authToken x", "certbot delete --cert-name x"},
			LookAlikes: []string{"cat ~/.ssh/id_ed25519.pub", "ssh-keygen -l -f ~/.ssh/id_rsa", "ls ~/.ssh", "chmod 600 ~/.ssh/id_rsa",
				"ssh-keyscan h >> ~/.ssh/known_hosts", "cp ~/.kube/config .",
				"echo x > .npmrc", "echo x > docs/authorized_keys", "ssh -i ~/.ssh/id_rsa h", "mkdir -p ~/.ssh",
				"ssh-keygen -t ed25519 -f ~/.ssh/new", "pass ls", "gpg --list-secret-keys", "security list-keychains", "keytool -list -keystore k",
				"op item list", "aws configure set region eu-west-1", "npm config set registry http://r", "certbot certificates", "gpg --delete-keys pub"},
		},
		{
			ID: "user.startup", Key: "write to a start-up file", Family: "user", Remember: RememberAll,
			Matches:  "a write to what runs at login, at the start of a session, a shell or a program, and to the places of hooks",
			Programs: slices.Concat(writing(), startTools().programs(), []string{"git"}), Writes: true, Match: writesStartup,
			Examples: []string{"echo x >> ~/.bashrc", "cat a > ~/.zshrc", "cp x.desktop ~/.config/autostart/", "sed -i s/a/b/ ~/.profile",
				"echo x | tee -a ~/.bash_profile",
				"cp x.service ~/.config/systemd/user/", "cp x.plist ~/Library/LaunchAgents/", "cp hook .git/hooks/pre-commit", "npm config set script-shell /tmp/x",
				"echo x > .git/hooks/post-merge", "ln -s /tmp/x ~/.zshenv",
				"git config --global core.hooksPath /tmp/h", "cp .bashrc ~", "echo x >> /home/bob/.bash_login",
				"curl -o ~/.config/fish/config.fish http://h"},
			LookAlikes: []string{"cat ~/.bashrc", "source ~/.bashrc", "grep x ~/.zshrc", "cp ~/.bashrc backup", "echo x > bashrc",
				"echo 'x >> ~/.bashrc'", "ls .git/hooks", "git config user.name x",
				"git config --get core.hooksPath", "cp a .bashrc.d", "diff ~/.profile x"},
		},
	}
}

// keyTools are keepers of keys, passwords and certificates.
var keyTools = sync.OnceValue(func() *toolSet {
	return newToolSet([]tool{
		{names: "pass gopass", acts: "rm|remove|delete"}, {names: "lpass", acts: "rm|destroy|rmgroup"}, {names: "secret-tool", acts: "clear"},
		{names: "gpg gpg2", acts: "+--delete-secret-keys +--delete-secret-key +--delete-secret-and-public-key +--delete-secret-and-public-keys"},
		{names: "keytool", single: true, long: "alias keystore storepass", acts: "+--delete"}, {names: "security", acts: "delete-*|remove-trusted-cert|set-keychain-password"},
		{names: "bw", long: "session organizationid", acts: "delete"}, {names: "op", long: "vault account session", acts: "** delete"}, {names: "kdestroy", acts: "+-A"},
		{names: "certbot", acts: "delete|revoke"}, {names: "acme.sh", acts: "+--remove +--revoke +--deactivate"}, {names: "step", acts: "ca revoke"}, {names: "easyrsa", acts: "revoke|renew"},
		{names: "aws", long: "profile", acts: "configure set +@*secret* +@*token* +@*access_key*"}, {names: "npm yarn pnpm", acts: "config|set set +@*_auth* +@*_password*\nset +@*_auth*"},
	})
})

// startTools keep settings that name a program which they run later.
var startTools = sync.OnceValue(func() *toolSet {
	return newToolSet([]tool{
		{names: "npm pnpm yarn", acts: "config|c set +@script-shell* +@shell* +@node-options* +@editor* +@git +@git=* +@onload-script* +@init-module*\n" +
			"set +@script-shell* +@shell* +@node-options* +@onload-script*"},
		{names: "gh", acts: "config set +@editor* +@pager* +@browser*\nalias set +-s +--shell +@!*"},
		{names: "defaults", acts: "write com.apple.loginwindow +@LoginHook +@LogoutHook"},
		{names: "enable", noHelp: true, acts: "+-f"},
	})
})

func writesCredentials(a *Act) []Hit {
	if a.Program == "ssh-copy-id" {
		if args := a.Args(analysis.Grammar{Short: "iptoFs"}); len(args.Operands) == 0 || args.Has("nh") {
			return nil
		}
		return []Hit{{Reason: "lets a key log in on another machine: " + a.Line()}}
	}
	if a.Program == "ssh-keygen" && !strings.HasPrefix(a.Stdin.Text, "y") { // a new key is made beside others, and one is overwritten only behind a question
		return nil
	}
	if keyTools().find(a, a.Program, a.Words[min(1, len(a.Words)):]) {
		return []Hit{{Reason: "removes or replaces a key or a credential: " + a.Line()}}
	}
	return one("writes to keys or credentials", a.wroteTo(func(t analysis.Target) bool {
		switch t.Kind {
		case analysis.KindKeys, analysis.KindCredentials:
			return t.Class != analysis.ClassKernel && t.Class != analysis.ClassDevice
		case analysis.KindPublic:
			return t.Class == analysis.ClassSensitive
		}
		return false
	}))
}

// hookSettings are settings of git that name a program or where hooks lie.
var hookSettings = []string{"core.hookspath", "core.fsmonitor", "core.sshcommand", "core.pager", "core.editor", "init.templatedir", "core.askpass",
	"sequence.editor",
	"diff.external", "credential.helper", "gpg.program"}

func writesStartup(a *Act) []Hit {
	if a.Program == "git" {
		return a.setsHook()
	}
	if startTools().find(a, a.Program, a.Words[min(1, len(a.Words)):]) {
		return []Hit{{Reason: "gives a tool a program to run at its own acts: " + a.Line()}}
	}
	return one("writes to what runs at a start", a.wroteTo(func(t analysis.Target) bool {
		return t.Kind == analysis.KindStartup && t.Class != analysis.ClassSystem
	}))
}

// setsHook tells whether git config gives git something to run.
func (a *Act) setsHook() []Hit {
	_, rest := a.front("Cc", "git-dir", "work-tree", "namespace")
	if len(rest) < 3 || !rest[0].Is("config") || a.option([]string{"--get", "--get-all", "--get-regexp", "--unset", "--unset-all", "--list"}, false) {
		return nil
	}
	for i, w := range rest[1 : len(rest)-1] {
		name := strings.ToLower(w.Text)
		for _, s := range hookSettings {
			if name != s {
				continue
			}
			value := rest[i+2].Text
			if s == "core.hookspath" || s == "init.templatedir" || s == "core.fsmonitor" && value != "true" && value != "false" || strings.ContainsAny(value, "!;|&$`") {
				return []Hit{{Reason: "gives git a program to run at its own acts: " + a.Line()}}
			}
		}
		if strings.HasPrefix(name, "alias.") && strings.HasPrefix(rest[i+2].Text, "!") {
			return []Hit{{Reason: "gives git a program to run: " + a.Line()}}
		}
	}
	return nil
}
