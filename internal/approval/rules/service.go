package rules

import (
	"slices"
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

// stops are the verbs of most managers; others of a manager's own stand in its deed.
const stops = "stop|restart|force-reload|condrestart|try-restart|force-stop|zap|reload-or-restart"

// afterName are the same verbs behind the name of the service.
const afterName = "* stop|* restart|* force-reload|* condrestart|* try-restart|* force-stop|* zap|* reload-or-restart|* full-restart"

var managers = []deed{
	{names: "systemctl", short: "HMtpsno", long: "host machine type property signal lines output root kill-whom job-mode state image what when",
		verbs: "stop|restart|try-restart|reload-or-restart|reload-or-try-restart|try-reload-or-restart|condrestart|condstop|force-reload|disable|mask|kill|isolate|rescue|" +
			"emergency|default|preset-all|preset|clean|freeze|exit|switch-root", spare: "--dry-run"},
	{names: "service rc-service invoke-rc.d", opts: "--full-restart", verbs: afterName},
	{names: "initctl", verbs: stops},
	{names: "launchctl", verbs: "unload|bootout|disable|kill|stop|remove|kickstart -k|reboot|kickstart"},
	{names: "supervisorctl", short: "csup", verbs: "stop|restart|shutdown|reload|remove|signal"},
	{names: "sv", short: "w", verbs: "down|d|stop|restart|force-stop|force-restart|force-shutdown|exit|kill|k|shutdown|t|term|x"},
	{names: "svc", flags: "dkxt"},
	{names: "s6-svc", flags: "dkxrt"},
	{names: "s6-rc", flags: "d"},
	{names: "dinitctl", verbs: "stop|restart|disable|unload|kill"},
	{names: "monit", short: "cdgl", verbs: "stop|restart|unmonitor|quit"},
	{names: "pm2", verbs: "stop|restart|delete|kill|reload|del|gracefulReload"},
	{names: "forever god circusctl", verbs: "stop|stopall|restart|restartall|quit|terminate"},
	{names: "svcadm", verbs: "disable|restart|mark"},
	{names: "update-rc.d", verbs: "* remove|* disable", flags: "f"},
	{names: "rc-update", verbs: "del|delete"},
	{names: "chkconfig", opts: "--del", verbs: "* off"},
	{names: "net", fold: true, verbs: "stop"},
	{names: "sc", fold: true, verbs: "stop|delete|config|pause|failure|sdset"},
	{names: "Stop-Service Restart-Service Suspend-Service Set-Service Remove-Service stop-service restart-service", always: true, spare: "-whatif",
		fold: true},
	{names: "nssm", verbs: "stop|restart|remove"},
	{names: "brew", verbs: "services stop|services restart|services kill"},
	{names: "snap", verbs: "stop|restart|disable"},
	{names: "loginctl", verbs: "terminate-user|terminate-session|kill-user|kill-session|terminate-seat|disable-linger"},
	{names: "machinectl", verbs: "terminate|kill|poweroff|reboot|stop|disable"},
	{names: "apachectl apache2ctl httpd apache2", short: "kdfDcC", verbs: "stop|restart|graceful-stop|graceful"},
	{names: "nginx"}, // told by the value of an option
	{names: "rndc", verbs: "stop|halt"},
	{names: "postfix", verbs: "stop|abort"},
	{names: "pg_ctl", short: "DlmoptcN", verbs: "stop|restart|kill"},
	{names: "pg_ctlcluster", verbs: "* * stop|* * restart"},
	{names: "mysqladmin mariadb-admin", short: "uhPSp", verbs: "... shutdown"},
	{names: "rabbitmqctl", verbs: "stop|stop_app|shutdown|reset|force_reset"},
	{names: "catalina.sh shutdown.sh", verbs: "stop"},
	{names: "sysrc", flags: "x"},
	{names: "rcctl", verbs: "stop|restart|disable"},
	{names: "herd", verbs: "stop|restart|disable"},
	{names: "mysql.server mariadb.server redis-server.sh zkServer.sh zkServer nodemanager.sh hadoop-daemon.sh sidekiqctl elasticsearch.sh", short: "d", verbs: "stop|restart"},
	{names: "mongod", opts: "--shutdown"},
	{names: "kafka-server-stop kafka-server-stop.sh zookeeper-server-stop zookeeper-server-stop.sh connect-stop.sh stop-all.sh stop-dfs.sh stop-yarn.sh", always: true},
	{names: "caddy", verbs: "stop"},
	{names: "consul", verbs: "leave|force-leave"},
	{names: "ctlinnd", verbs: "shutdown|pause"},
	{names: "qm pct", verbs: "stop|shutdown|reset|suspend|reboot"},
	{names: "xl xm", verbs: "destroy|shutdown|reboot"},
	{names: "vmrun", short: "Tup", verbs: "stop|reset|suspend|pause"},
	{names: "VBoxManage vboxmanage", verbs: "controlvm * poweroff|controlvm * reset|controlvm * acpipowerbutton|controlvm * savestate"},
	{names: "esxcli", verbs: "vm process kill|system shutdown poweroff|system shutdown reboot"},
	{names: "vim-cmd", verbs: "vmsvc/power.off|vmsvc/power.reset|vmsvc/power.shutdown"},
	{names: "yarn mapred", opts: "-kill --kill"},
	{names: "ipmitool", short: "HUPI", verbs: "mc reset *|bmc reset *"},
	{names: "racadm", verbs: "racreset|racresetcfg"},
	{names: "mco", verbs: "service * stop|service * restart|package * uninstall|package * purge|rpc service stop ...|rpc service restart ...|rpc package uninstall ...|rpc package purge ..."},
	{names: "fail2ban-client", verbs: "stop|reload"},
	{names: "fail2ban-client", need: "--all", verbs: "unban"},
	{names: "tailscale", verbs: "down|logout"},
}

func serviceStop() Row {
	row := deedRow(Row{
		ID: "service.stop", Key: "stop/restart system service", Family: "service", Remember: RememberAll,
		Matches: "stop, restart, disable, mask, kill and their like, of service managers and supervisors",
		Examples: []string{"systemctl stop nginx", "sudo systemctl --user restart x", "service nginx stop", "rc-service sshd restart",
			"systemctl mask x",
			"/etc/init.d/nginx stop", "sh /etc/init.d/nginx restart", "launchctl unload x.plist", "systemctl -H host disable x",
			"supervisorctl stop all",
			"systemctl kill -s KILL x", "systemctl isolate rescue.target", "systemctl --now disable x", "brew services stop redis", "sv down x",
			"nginx -s stop", "httpd -k restart", "pg_ctl -D d stop",
			"pm2 delete all", "launchctl bootout system/x", "net stop x", "monit stop all", "apachectl graceful-stop"},
		LookAlikes: []string{"systemctl status nginx", "service nginx status", "systemctl start x", "echo systemctl stop x",
			"systemctl list-units stop",
			"journalctl -u stop", "service --status-all", "systemctl enable x", "systemctl is-active x", "systemctl daemon-reload", "systemctl cat x",
			"supervisorctl status",
			"launchctl list", "brew services list", "pm2 logs stop", "nginx -t", "nginx -s reload", "man systemctl", "systemctl show stop",
			"sv status x", "net start"},
	}, "stops or restarts a service", managers)
	plain := row.Match
	row.Match = func(a *Act) []Hit {
		if initScript(a.Command) {
			return startScript(a)
		}
		switch a.Program {
		case "nginx", "httpd", "apache2", "apachectl", "apache2ctl":
			if slices.ContainsFunc(a.after("-s", "-k"), func(w analysis.Word) bool {
				return w.Is("stop") || w.Is("quit") || w.Is("restart") || w.Is("graceful-stop")
			}) {
				return []Hit{{Reason: "stops a service: " + a.Line()}}
			}
		}
		return plain(a)
	}
	return row
}

// initScript tells whether a command is a start script called by its path.
func initScript(c *analysis.Command) bool {
	words := c.Words
	if len(words) > 0 && slices.Contains([]string{"sh", "bash", "dash"}, c.Program) {
		words = words[1:]
	}
	return len(words) > 1 && (strings.HasPrefix(words[0].Text, "/etc/init.d/") || strings.HasPrefix(words[0].Text, "/etc/rc.d/"))
}

func serviceRow() *Row { return ByName("service.stop") }

func startScript(a *Act) []Hit {
	verb := a.Words[1]
	if !strings.HasPrefix(a.Words[0].Text, "/etc/") { // behind a shell
		if len(a.Words) < 3 {
			return nil
		}
		verb = a.Words[2]
	}
	for v := range strings.SplitSeq(stops, "|") {
		if verb.Is(v) {
			return []Hit{{Reason: "stops or restarts a service: " + a.Line()}}
		}
	}
	return nil
}

// serviceManagers is the table as other rows use it.
var serviceManagers = sync.OnceValue(func() map[string][]*compiled { return compile(managers) })
