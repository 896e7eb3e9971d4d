package rules

import (
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

func sudoRows() []Row {
	return []Row{
		{
			ID: "sudo.password", Key: "password given to sudo or su", Family: "sudo",
			Matches:  "sudo that reads its password from a pipe, a file or a literal, and su with one",
			Programs: []string{"sudo", "su", "doas", "runuser", "sudoedit"}, Match: sudoPassword,
			Examples: []string{"echo pw | sudo -S ls", "sudo -S ls <<< pw", "sudo --stdin ls < pw.txt", "printf 'pw\\n' | sudo -kS id",
				"cat pw | sudo -S -u bob id", "echo pw | su -c id", "su root -c id <<< pw", "yes pw | sudo -S true",
				"echo pw | sudo -p '' -S id"},
			LookAlikes: []string{"sudo ls", "sudo -n ls", "cat x | sudo tee y", "echo x | sudo grep -S x", "sudo -v", "su -c id", "sudo -S ls",
				"echo x | sudo cat", "echo sudo -S"},
		},
		{
			ID: "sudo.shell", Key: "root shell", Family: "sudo",
			Matches:  "an interactive or login shell with another's rights, and no command for it",
			Programs: append([]string{"sudo", "su", "doas", "pkexec", "runuser", "machinectl", "run0"}, shells...), Match: sudoShell,
			Examples: []string{"sudo -i", "sudo -s", "sudo su", "sudo su -", "su", "su -", "su root", "sudo bash", "doas -s", "pkexec bash",
				"sudo -u bob -i", "sudo /bin/sh", "sudo env A=1 bash", "su -l", "machinectl shell", "sudo bash -i", "sudo -Es"},
			LookAlikes: []string{"sudo ls", "sudo -l", "sudo -v", "sudo -k", "su -c id", "sudo bash x.sh", "sudo bash -c id", "sudo -i ls",
				"sudo -u bob id", "echo ls | sudo bash", "bash", "sudo -u bob -s ls", "doas ls", "sudo --help", "su --help",
				"sudo sh -c 'echo x'", "su bob -c id", "sudo -V", "sudo docker exec -it c bash"},
		},
	}
}

func sudoPassword(a *Act) []Hit {
	if a.Stdin.Kind == analysis.StdinInherited {
		return nil
	}
	if a.Program == "su" || a.Program == "runuser" {
		return when(!a.Elevated, a, "gives a password to su")
	}
	args, _ := a.front("ugCDhpRrtTUa", sudoLong...)
	return when(args.Has("S") || args.Long("stdin", 2), a, "gives a password to sudo")
}

// sudoLong are sudo's long options with a value.
var sudoLong = []string{"user", "group", "close-from", "chdir", "host", "prompt", "chroot", "role", "type", "command-timeout", "other-user",
	"auth-type"}

func sudoShell(a *Act) []Hit {
	hit := false
	switch a.Program {
	case "sudo", "doas", "run0":
		args, rest := a.front("ugCDhpRrtTUa", sudoLong...)
		for len(rest) > 0 && contains(rest[0], "=") && !strings.HasPrefix(rest[0].Text, "-") {
			rest = rest[1:]
		}
		hit = len(rest) == 0 && (args.Has("is") || args.Long("login", 3) || args.Long("shell", 2) || a.Program == "run0") && !args.Has("lvkKVe") && a.Stdin.Kind == analysis.StdinInherited
	case "pkexec":
		_, rest := a.front("", "user")
		hit = len(rest) == 0 && !a.option([]string{"--version"}, false)
	case "machinectl":
		hit = len(a.Words) > 1 && a.Words[1].Is("shell") && len(a.Words) < 4
	case "su", "runuser":
		args := a.Args(analysis.Grammar{Short: "cugGsw", Long: []string{"command", "user", "group", "shell", "session-command",
			"whitelist-environment"}})
		hit = len(args.Values["c"])+len(args.Values["command"])+len(args.Values["session-command"]) == 0 && !args.Has("uVh") && a.Stdin.Kind == analysis.StdinInherited
	default:
		hit = a.Elevated && a.Inside == nil && a.Stdin.Kind == analysis.StdinInherited && a.bareShell()
	}
	return when(hit, a, "starts a shell with another's rights")
}

// bareShell tells whether a shell gets no script and no command.
func (a *Act) bareShell() bool {
	return a.Program != "busybox" && !slices.ContainsFunc(a.Words[1:], func(w analysis.Word) bool {
		switch w.Text {
		case "-i", "-l", "-il", "-li", "--login", "-", "--norc", "--noprofile", "-p", "-ip", "-pi":
			return false
		}
		return true
	})
}

// ownDeeds lists the verbs of the agent's own command line that change its policy.
var ownDeeds = []deed{
	{names: "hermes", short: "", long: "profile dir config",
		verbs: "config set|config unset|config edit|config migrate|config import|config reset|approvals forget|approvals add|approvals allow|approvals set|plugins enable|plugins disable|plugins install|plugins remove|" +
			"plugins update|hooks add|hooks remove|hooks enable|hooks disable|mcp add|mcp remove|auth login|auth add|auth remove|profile create|profile delete|profile use|profiles use|setup|toolsets enable|" +
			"toolsets disable|tools enable|tools disable|cron add|cron remove|skills install|pairing approve|gateway setup",
		opts: "--yolo --yes-to"},
}

// stopDeeds lists the verbs that stop the agent.
var stopDeeds = []deed{
	{names: "hermes", short: "", long: "profile dir config",
		verbs: "stop|restart|update|upgrade|uninstall|shutdown|serve stop|serve restart|gateway stop|gateway restart|gateway uninstall|daemon stop|service stop|service restart|sessions kill"},
}

func agentRows() []Row {
	own, stop := compile(ownDeeds), compile(stopDeeds)
	return []Row{
		{
			ID: "agent.policy", Key: "change the agent's own policy", Family: "agent", Leaves: true,
			Matches:  "a write, delete or change of the agent's configuration, allowlist, hooks, environment file or audit, and its own commands for that",
			Programs: slices.Concat(writing(), removing(), []string{"hermes", "mv", "chattr", "rsync", "sqlite3"}), Writes: true,
			Match: func(a *Act) []Hit { return a.changesPolicy(own) },
			Examples: []string{"echo x >> ~/.hermes/config.yaml", "hermes config set approvals.mode off",
				"sed -i s/manual/off/ ~/.hermes/config.yaml", "rm ~/.hermes/audit/approvals.jsonl", "cp x ~/.hermes/hooks/",
				"hermes approvals forget x",
				"vim ~/.hermes/config.yaml", "hermes plugins enable x", "echo A=1 > ~/.hermes/.env", "mv ~/.hermes/config.yaml /tmp",
				"tee ~/.hermes/config.yaml < x", "rm -rf ~/.hermes", "hermes --yolo exec x.py", "cd ~/.hermes && echo x >> config.yaml",
				"truncate -s 0 ~/.hermes/audit/approvals.jsonl", "HERMES_YOLO_MODE=1 hermes exec x.py", "ln -sf /tmp/c ~/.hermes/config.yaml",
				"yq -i .a=1 ~/.hermes/config.yaml", "code ~/.hermes/config.yaml"},
			LookAlikes: []string{"cat ~/.hermes/config.yaml", "hermes config get", "hermes config check", "hermes approvals list",
				"hermes approvals test x", "ls ~/.hermes", "grep mode ~/.hermes/config.yaml", "cp ~/.hermes/config.yaml backup.yaml",
				"echo x > config.yaml", "hermes tools list", "hermes doctor", "hermes version", "diff ~/.hermes/config.yaml x",
				"echo 'hermes config set'", "echo x > ~/.hermes/notes/a.txt", "hermes config path", "chmod 600 ~/.hermes/.env"},
		},
		{
			ID: "agent.stop", Key: "stop the agent", Family: "agent", Leaves: true,
			Matches: "killing, stopping, restarting or updating the running agent",
			Programs: slices.Concat([]string{"hermes", "kill", "pkill", "killall", "skill", "taskkill", "systemctl", "service", "launchctl",
				"supervisorctl", "pm2", "rc-service", "sv", "pip", "pipx", "uv", "brew", "apt", "apt-get"},
				strings.Fields("Stop-Process Stop-Service")),
			Match: func(a *Act) []Hit { return when(a.does(stop) || a.endsAgent(), a, "stops the agent") },
			Examples: []string{"pkill hermes", "killall hermes", "pkill -f hermes", "systemctl --user restart hermes",
				"systemctl stop hermes-gateway", "hermes update", "hermes gateway restart", "kill $(pgrep hermes)", "kill $PPID",
				"kill -9 $(cat ~/.hermes/gateway.pid)", "pgrep -f hermes | xargs kill", "launchctl unload ~/Library/LaunchAgents/ai.hermes.plist",
				"service hermes stop", "supervisorctl stop hermes", "pkill -f 'hermes serve'", "kill -TERM \"$PPID\""},
			LookAlikes: []string{"pgrep hermes", "systemctl status hermes", "ps aux | grep hermes", "hermes version", "kill 1234",
				"pkill -f myserver", "echo pkill hermes", "systemctl start hermes", "kill $!", "hermes serve --help", "echo $PPID", "pkill -0 hermes",
				"kill $(pgrep node)", "git commit -m 'stop hermes'", "journalctl -u hermes"},
		},
	}
}

// policyPlace tells which places decide what the agent may do.
func policyPlace(t analysis.Target) bool { return t.Kind == analysis.KindPolicy }

func (a *Act) changesPolicy(own map[string][]*compiled) []Hit {
	const reason = "changes what the agent may do"
	if a.Program == "hermes" {
		yolo := slices.ContainsFunc(a.Assigns, func(s analysis.Assign) bool {
			return s.Name == "HERMES_YOLO_MODE" && !s.Value.Is("") && !s.Value.Is("0") && !s.Value.Is("false")
		})
		return when(yolo || a.does(own), a, reason)
	}
	targets := a.wroteTo(policyPlace)
	words := a.removal().operands
	switch a.Program {
	case "mv", "gmv":
		words = a.Args(analysis.Grammar{Short: "St"}).Operands
	case "chattr", "sqlite3":
		words = a.Args(analysis.Grammar{}).Operands
	case "rsync":
		words, _ = a.syncsTo()
	}
	for _, t := range a.each(words, policyPlace) {
		if !slices.Contains(targets, t) {
			targets = append(targets, t)
		}
	}
	return one(reason, targets)
}

// endsAgent tells whether a command ends the agent's process, or its service.
func (a *Act) endsAgent() bool {
	switch a.Program {
	case "kill", "pkill", "killall", "skill", "taskkill", "Stop-Process":
		signal, operands, list := signalOf(a)
		return !list && signal != "0" && slices.ContainsFunc(operands, func(w analysis.Word) bool {
			return a.Program != "kill" && aboutAgent(w) || a.Program == "kill" && (a.namesParent(w) || a.findsAgent(w.From))
		})
	case "systemctl", "service", "launchctl", "supervisorctl", "pm2", "rc-service", "sv", "Stop-Service":
		return slices.ContainsFunc(a.Words[1:], aboutAgent) && a.does(serviceManagers())
	case "pip", "pipx", "uv", "brew", "apt", "apt-get":
		return slices.ContainsFunc(a.Words[1:], func(w analysis.Word) bool { return w.Is("hermes") || w.Is("hermes-agent") }) &&
			slices.ContainsFunc(a.Words[1:], func(w analysis.Word) bool {
				return w.Is("uninstall") || w.Is("upgrade") || w.Is("remove") || w.Is("purge") || w.Is("--upgrade")
			})
	}
	return false
}

// aboutAgent tells whether a word names the agent.
func aboutAgent(w analysis.Word) bool {
	name := strings.ToLower(analysis.Plain(w.Text))
	return strings.Contains(name, "hermes")
}

// namesParent tells whether a word is the process that started the shell.
func (a *Act) namesParent(w analysis.Word) bool {
	return !analysis.Literal(w.Text) && strings.Contains(w.Span.Slice(a.Reading.Text), "PPID")
}

// findsAgent tells whether a flow looks the agent's process up.
func (a *Act) findsAgent(f analysis.Flow) bool {
	if f.Empty() {
		return false
	}
	for i := f.Start; i < min(f.End, len(a.Reading.Commands)); i++ {
		if slices.ContainsFunc(a.Reading.Commands[i].Words[min(1, len(a.Reading.Commands[i].Words)):], aboutAgent) {
			return true
		}
	}
	return false
}
