package rules

import (
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

// accountDeeds lists what changes users, groups and passwords.
var accountDeeds = []deed{
	{names: "useradd adduser userdel deluser usermod groupadd addgroup groupdel delgroup groupmod gpasswd newusers chgpasswd chfn groupmems vipw vigr " +
		"pwconv pwunconv grpconv grpunconv rmuser removeuser", spare: "-D --defaults", always: true},
	{names: "useradd", need: "-D --defaults", flags: "befgs"},
	{names: "chpasswd chsh", spare: "-l --list-shells", always: true},
	{names: "passwd", safe: "S", spare: "--status -a", always: true},
	{names: "pw", verbs: "useradd|userdel|usermod|groupadd|groupdel|groupmod|lock|unlock|user add|user del|user mod|group add|group del|group mod"},
	{names: "chage", safe: "l", spare: "--list", plain: true},
	{names: "dscl", opts: "-create -delete -append -passwd -change -merge -changei"},
	{names: "dscl", verbs: "... create|... delete|... append|... passwd|... change|... merge"},
	{names: "sysadminctl", opts: "-adduser -deleteuser -resetpasswordfor -addUser -deleteUser -resetPasswordFor -newPassword -secureTokenOn"},
	{names: "dseditgroup", verbs: "... edit|... create|... delete", short: "atuPn"},
	{names: "dseditgroup", opts: "-oedit -ocreate -odelete"},
	{names: "net net1", fold: true, opts: "/add /delete /active:no /active:yes"},
	{names: "New-LocalUser Remove-LocalUser Set-LocalUser Disable-LocalUser Add-LocalGroupMember Remove-LocalGroupMember New-ADUser Remove-ADUser Set-ADUser " +
		"Set-ADAccountPassword Disable-ADAccount", always: true, spare: "-whatif", fold: true},
	{names: "homectl", verbs: "create|remove|update|passwd|deactivate|lock"},
	{names: "smbpasswd", always: true},
	{names: "samba-tool", verbs: "user delete|user create|user add|user setpassword|user disable|group delete|group addmembers"},
	{names: "ldapdelete ldapmodify ldapadd ldappasswd ldapmodrdn", safe: "n", always: true},
	{names: "ipa", verbs: "user-del|user-add|user-mod|group-del|passwd|user-disable"},
	{names: "realm", verbs: "leave|join|permit|deny"},
	{names: "kadmin kadmin.local", flags: "q"},
	{names: "faillock", opts: "--reset"},
	{names: "dsmod dsrm dsadd", always: true},
	{names: "ipmitool", short: "HUPILpoEb", verbs: "user set|user disable|user enable|user priv"},
}

// cronDeeds lists what replaces or removes scheduled jobs.
var cronDeeds = []deed{
	{names: "crontab fcrontab", short: "ucT", flags: "re", safe: "lT", plain: true},
	{names: "at", short: "qft", flags: "dr"},
	{names: "atrm", plain: true},
	{names: "schtasks SCHTASKS", fold: true, opts: "/delete /create /change /end"},
	{names: "Unregister-ScheduledTask Register-ScheduledTask Disable-ScheduledTask", always: true, spare: "-whatif"},
	{names: "launchctl", verbs: "submit"},
}

// grants are the verbs with which clouds and clusters give somebody all rights, and make users.
var grants = sync.OnceValue(func() *toolSet {
	const clouds = "profile region output endpoint-url query"
	return newToolSet([]tool{
		{names: "aws", long: clouds, acts: `
iam attach-user-policy|attach-role-policy|attach-group-policy +@*AdministratorAccess +@*FullAccess +--policy-arn=*AdministratorAccess +--policy-arn=*FullAccess
iam create-user|delete-user|create-login-profile|update-login-profile|add-user-to-group|put-user-policy|update-assume-role-policy`},
		{names: "gcloud", long: "project account format", acts: "** add-iam-policy-binding +--member=all* +@allUsers +@allAuthenticatedUsers +--role=roles/owner +--role=roles/editor +@roles/owner\n" +
			"** set-iam-policy"},
		{names: "aws", long: clouds, acts: "s3api put-bucket-acl|put-object-acl +--acl=public-read-write\n" +
			"s3api put-public-access-block +--public-access-block-configuration=*BlockPublicAcls=false*"},
		{names: "gsutil", acts: "acl ch|set +@AllUsers:W +@AllUsers:O +@public-read-write\niam ch +@allUsers* +@allAuthenticatedUsers*\niam set"},
		{names: "az", short: "o", long: "output subscription", acts: "role assignment create +--role=Owner +--role=Contributor +@Owner\nad user create|delete"},
		{names: "kubectl oc k", short: "n", long: "namespace context kubeconfig", safe: "--dry-run",
			acts: "create clusterrolebinding|rolebinding +--clusterrole=cluster-admin +--clusterrole=admin\nadm policy add-cluster-role-to-user|add-scc-to-user|add-cluster-role-to-group"},
	})
})

func accountRows() []Row {
	cron := deedRow(Row{
		ID: "cron.change", Key: "replace or remove scheduled jobs", Family: "cron", Remember: RememberAll,
		Matches: "crontab from a file or from standard input, its removal or edit, and removal of queued jobs",
		Examples: []string{"crontab -r", "crontab jobs.txt", "crontab -", "echo '* * * * * x' | crontab -", "(crontab -l; echo x) | crontab",
			"crontab -u bob -r", "crontab < jobs", "atrm 3", "at -d 3", "crontab -e",
			"crontab -ir", "schtasks /Delete /TN x /F", "crontab -ru bob", "sudo crontab -u root f"},
		LookAlikes: []string{"crontab -l", "crontab -u bob -l", "crontab -l > backup", "at -l", "atq", "man crontab", "grep x /etc/crontab",
			"echo crontab -r", "schtasks /query", "crontab -lu bob", "crontab --help", "systemctl list-timers"},
	}, "replaces or removes scheduled jobs", cronDeeds)
	byDeed := cron.Match
	cron.Match = func(a *Act) []Hit {
		if a.Program == "crontab" && len(a.Words) == 1 && a.Stdin.Kind != analysis.StdinInherited {
			return []Hit{{Reason: "replaces the scheduled jobs by what it reads"}}
		}
		return byDeed(a)
	}
	return []Row{
		alsoVerbs(deedRow(Row{
			ID: "account.change", Key: "change users or groups", Family: "account", Remember: RememberAll,
			Matches: "creating, deleting and changing users, groups and their passwords, also a provider's; all rights given away in a cloud or a cluster",
			Examples: []string{"useradd bob", "sudo adduser bob", "userdel -r bob", "usermod -aG sudo bob", "groupadd x", "groupdel x",
				"gpasswd -d bob x", "passwd bob", "passwd", "echo a:b | chpasswd", "chsh -s /bin/zsh",
				"passwd -l root", "dscl . -create /Users/bob", "net user bob x /add", "vipw", "chage -M 1 bob", "dscl . -delete /Users/bob",
				"net localgroup administrators bob /add", "deluser bob",
				"aws iam create-user --user-name x", "kubectl create clusterrolebinding x --clusterrole=cluster-admin --user=u"},
			LookAlikes: []string{"id bob", "getent passwd", "passwd -S bob", "chage -l bob", "groups", "whoami", "cat /etc/passwd", "useradd --help",
				"net user", "dscl . -read /Users/bob", "grep bob /etc/group", "man useradd",
				"finger bob", "dscl . list /Users", "passwd --status bob", "chsh -l"},
		}, "changes users, groups or passwords", accountDeeds), "changes who may do what at a provider", grants),
		cron,
	}
}

func contains(w analysis.Word, text string) bool { return strings.Contains(w.Text, text) }
