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
	{names: "rtcwake", short: "mstd", opts: "--mode=off"},
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
	programs := slices.Concat(writing(), []string{"shutdown", "busctl", "dbus-send", "gdbus", "qdbus", "osascript"})
	for name := range byProgram {
		programs = append(programs, name)
	}
	slices.Sort(programs)
	return Row{
		ID: "power.off", Key: "power off or restart the machine", Family: "power", Floor: true, Leaves: true,
		Matches:  "switching the machine off or restarting it, by any program, message or kernel file",
		Programs: slices.Compact(programs), Writes: true,
		Match: func(a *Act) []Hit {
			if !a.sysrq() && !a.does(byProgram) && !a.shutdown() && !a.message() {
				return nil
			}
			return []Hit{{Reason: "powerDeeds the machine off or restarts it: " + a.Line(), Floor: !a.Contained()}}
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

// shutdown tells whether that program powerDeeds off: not when it cancels, shows or only warns.
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

// sysrq tells whether a command writes a letter to the kernel's request file that restarts, powerDeeds off or crashes the machine, or one that isn't known.
func (a *Act) sysrq() bool {
	if len(a.wroteTo(func(t analysis.Target) bool { return t.Path == "/proc/sysrq-trigger" })) == 0 {
		return false
	}
	letter := ""
	switch {
	case (a.Program == "echo" || a.Program == "printf") && len(a.Words) > 1:
		letter = a.Words[len(a.Words)-1].Text
	case a.Stdin.Known:
		letter = a.Stdin.Text
	}
	if !analysis.Literal(letter) || letter == "" {
		return true
	}
	return strings.ContainsAny(letter[:1], "bocei")
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
