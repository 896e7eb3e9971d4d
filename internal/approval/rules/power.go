package rules

import (
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

// powerDeeds lists the ways to switch a machine off or to restart it.
var powerDeeds = []deed{
	{names: "reboot halt poweroff", safe: "w", spare: "--wtmp-only --help -h -?", always: true},
	{names: "fasthalt fastreboot uadmin", always: true},
	{names: "init telinit runit-init openrc-init", short: "et", verbs: "0|6"},
	{names: "openrc-shutdown", safe: "cH", flags: "prk", opts: "--poweroff --reboot --halt"},
	{names: "systemctl", short: "HMtpsno", long: "host machine type property signal root when message", spare: "--dry-run --help",
		verbs: "poweroff|reboot|halt|kexec|soft-reboot|start poweroff.target|start reboot.target|start halt.target|start kexec.target|start shutdown.target|" +
			"start ctrl-alt-del.target|isolate poweroff.target|isolate reboot.target|isolate halt.target|isolate runlevel0.target|isolate runlevel6.target|isolate shutdown.target|" +
			"isolate ctrl-alt-del.target|start systemd-reboot.service|start systemd-poweroff.service|start systemd-halt.service"},
	{names: "loginctl", verbs: "poweroff|reboot|halt"},
	{names: "kexec", flags: "e", opts: "--exec"},
	{names: "ipmitool", short: "HUPIfLC", verbs: "... power off|... power cycle|... power reset|... power soft"},
	{names: "s6-linux-init-shutdown", safe: "ck", flags: "hpr"},
	{names: "s6-linux-init-hpr s6-hpr s6-poweroff s6-reboot s6-halt", always: true},
	{names: "s6-svscanctl", flags: "0678"},
	{names: "dinitctl", verbs: "shutdown|shutdown-system"},
	{names: "dinit-shutdown finit-shutdown", always: true},
	{names: "initctl", verbs: "reboot|poweroff|halt"},
	{names: "salt", short: "tCGEL", verbs: "* system.reboot|* system.shutdown|* system.halt|* system.poweroff|* system.init 0|* system.init 6"},
	{names: "salt-call salt-ssh", verbs: "... system.reboot|... system.shutdown|... system.halt|... system.poweroff"},
	{names: "puppet-task bolt", verbs: "task run reboot|plan run reboot"},
	{names: "racadm", verbs: "... serveraction powerdown|... serveraction powercycle|... serveraction hardreset|... serveraction graceshutdown"},
	{names: "esxcli", verbs: "system shutdown reboot|system shutdown poweroff"},
	{names: "xe", verbs: "host-reboot|host-shutdown"},
	{names: "rundll32", fold: true, verbs: "user.exe,ExitWindows|user.exe,ExitWindowsEx|shell32.dll,SHExitWindowsEx"},
	{names: "nircmd", fold: true, verbs: "exitwin|initshutdown"},
	{names: "tsshutdn", always: true},
	{names: "qdbus qdbus-qt5 qdbus6", verbs: "org.kde.ksmserver /KSMServer logout * 1|org.kde.ksmserver /KSMServer logout * 2|" +
		"org.kde.ksmserver /KSMServer org.kde.KSMServerInterface.logout * 1|org.kde.ksmserver /KSMServer org.kde.KSMServerInterface.logout * 2|" +
		"org.kde.Shutdown /Shutdown logoutAndShutdown|org.kde.Shutdown /Shutdown logoutAndReboot|" +
		"org.kde.Shutdown /Shutdown org.kde.Shutdown.logoutAndShutdown|org.kde.Shutdown /Shutdown org.kde.Shutdown.logoutAndReboot"},
	{names: "gnome-session-quit", opts: "--power-off --reboot"},
	{names: "xfce4-session-logout", flags: "hr", opts: "--halt --reboot"},
	{names: "Restart-Computer Stop-Computer restart-computer stop-computer", always: true, spare: "-whatif", fold: true},
	{names: "launchctl", verbs: "reboot|reboot system|reboot halt"},
	{names: "initctl", verbs: "emit runlevel"},
	{names: "pmset", verbs: "... restart|... shutdown"},
	{names: "wmic", fold: true, verbs: "os ... reboot|os ... shutdown"},
	{names: "shutdown.bat psshutdown", always: true},
}

func powerOff() Row {
	byProgram := compile(powerDeeds)
	programs := slices.Concat(writing(), []string{"shutdown", "busctl", "dbus-send", "gdbus", "qdbus", "osascript", "rtcwake", "ansible"})
	for name := range byProgram {
		programs = append(programs, name)
	}
	slices.Sort(programs)
	return Row{
		ID: "power.off", Key: "power off or restart the machine", Family: "power", Floor: true, Leaves: true,
		Matches:  "switching the machine off or restarting it, by any program, message or kernel file",
		Programs: slices.Compact(programs), Writes: true,
		Match: func(a *Act) []Hit {
			if a.calledOff() || !a.sysrq() && !a.does(byProgram) && !a.shutdown() && !a.message() && !a.module() && !a.sleepsOff() {
				return nil
			}
			return []Hit{{Reason: "switches the machine off or restarts it: " + a.Line(), Floor: !a.Contained()}}
		},
		Examples: []string{"shutdown -h now", "sudo reboot", "systemctl poweroff", "init 0", "poweroff -f", "telinit 6", "shutdown",
			"echo b > /proc/sysrq-trigger", "shutdown -r +5", "halt -p",
			"systemctl reboot --force", "systemctl isolate reboot.target", "loginctl poweroff", "echo o | sudo tee /proc/sysrq-trigger", "kexec -e",
			"systemctl start poweroff.target", "reboot -f",
			"osascript -e 'tell app \"System Events\" to shut down'", "shutdown.exe /s /t 0",
			"busctl call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager PowerOff b 0",
			"dbus-send --system --dest=org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager.Reboot boolean:true",
			"ssh h sudo reboot", "/sbin/reboot", "systemctl --no-wall -f reboot",
			"printf c > /proc/sysrq-trigger", "Restart-Computer -Force", "systemctl kexec"},
		LookAlikes: []string{"shutdown -c", "reboot --help", "echo reboot", "systemctl status reboot.target", "git init", "init 3", "shutdown --help",
			"man shutdown", "which reboot", "last reboot",
			"grep reboot /var/log/x", "systemctl list-units poweroff.target", "systemctl --dry-run reboot", "poweroff --wtmp-only", "shutdown -k now",
			"npm init 0", "cat /proc/sysrq-trigger", "systemctl cat reboot.service",
			"echo h > /proc/sysrq-trigger", "shutdown /a", "kexec -l /boot/x", "type poweroff", "shutdown --show",
			"osascript -e 'display dialog \"shut down\"'"},
	}
}

// shutdown tells whether that program switches off: not when it cancels, shows or only warns.
func (a *Act) shutdown() bool {
	if a.Program != "shutdown" {
		return false
	}
	if args := a.Args(analysis.Grammar{Short: "t"}); args.Has("ck") || args.Long("show", 2) {
		return false
	}
	for _, w := range a.Words[1:] {
		switch strings.ToLower(w.Text) {
		case "/a", "/?", "/l", "-a", "-?":
			return false
		}
	}
	return true
}

// sysrq tells whether a command writes a letter to the kernel's request file that restarts, switches off or crashes the machine, or one that isn't known.
func (a *Act) sysrq() bool {
	if len(a.wroteTo(func(t analysis.Target) bool { return t.Path == "/proc/sysrq-trigger" })) == 0 {
		return false
	}
	letters := []string{""}
	switch {
	case (a.Program == "echo" || a.Program == "printf") && len(a.Words) > 1:
		letters = a.Words[len(a.Words)-1].Values()
	case a.Stdin.Known:
		letters = []string{a.Stdin.Text}
	}
	return slices.ContainsFunc(letters, func(letter string) bool {
		return letter == "" || !analysis.Literal(letter) || strings.ContainsAny(letter[:1], "bocei")
	})
}

// calledOff tells whether systemctl is told to forget, or to show, what is planned.
func (a *Act) calledOff() bool {
	return a.Program == "systemctl" && slices.ContainsFunc(a.Words[1:], func(w analysis.Word) bool { return w.Is("--when=cancel") || w.Is("--when=show") })
}

// rebooters are modules of ansible that restart or switch off.
var rebooters = []string{"reboot", "ansible.builtin.reboot", "win_reboot", "ansible.windows.win_reboot", "community.general.shutdown", "shutdown"}

// module tells whether ansible is told to run one of them.
func (a *Act) module() bool {
	if a.Program != "ansible" {
		return false
	}
	args := a.Args(analysis.Grammar{Short: "aimuMfeltcTBPD", Long: []string{"args", "inventory", "module-name", "user", "become-user", "become-method",
		"private-key", "extra-vars", "limit"}})
	if args.Has("C") || args.Long("check", 3) || args.Long("list-hosts", 5) {
		return false
	}
	return slices.ContainsFunc(slices.Concat(args.Values["m"], args.Values["module-name"]), func(w analysis.Word) bool { return slices.Contains(rebooters, w.Text) })
}

// sleepsOff tells whether rtcwake switches off until its alarm.
func (a *Act) sleepsOff() bool {
	if a.Program != "rtcwake" {
		return false
	}
	args := a.Args(analysis.Grammar{Short: "msdtA", Long: []string{"mode", "seconds", "time", "date", "device", "adjfile"}})
	return !args.Has("n") && !args.Long("dry-run", 3) && slices.ContainsFunc(slices.Concat(args.Values["m"], args.Values["mode"]), func(w analysis.Word) bool { return w.Is("off") })
}

// message tells whether a message asks the session or the login service to switch off.
func (a *Act) message() bool {
	var calls []string
	switch a.Program {
	case "busctl", "dbus-send", "gdbus", "qdbus":
		calls = []string{"poweroff", "reboot", "halt", "stop", "restart", "shutdown"}
	case "osascript":
		for _, w := range append(slices.Clone(a.Words[1:]), analysis.Word{Text: a.Stdin.Text}) {
			text := strings.ToLower(w.Text)
			if strings.Contains(text, "to shut down") || strings.Contains(text, "to restart") || strings.Contains(text, "aevtrsdn") || strings.Contains(text, "aevtrrst") {
				return true
			}
		}
		return false
	default:
		return false
	}
	return slices.ContainsFunc(a.Words[1:], func(w analysis.Word) bool {
		name := strings.ToLower(w.Text)
		if i := strings.LastIndexAny(name, "./"); i >= 0 {
			if !strings.Contains(name, "login1") && !strings.Contains(name, "systemd1") && !strings.Contains(name, "consolekit") {
				return false
			}
			name = name[i+1:]
		}
		return slices.Contains(calls, name) || name == "rebootwithflags" || name == "poweroffwithflags"
	})
}
