// Package guard holds the lists of files that file tools keep away from, and judges paths by them.
package guard

// anchor is where the pattern of a row begins.
type anchor int

const (
	absolute anchor = iota
	anywhere        // a name in any directory
	home            // the environment's home
	hermes          // HERMES_HOME, of the profile and of the root
)

// row is one kind of guarded file. A pattern is made of names with * and ?; a slash at its end means the directory and all below.
type row struct {
	at       anchor
	patterns []string
	except   []string // of the same form
	read     bool     // reading is refused
	write    bool     // so is changing
	byName   bool     // another name of such a file is not looked for: sockets and a great many locks, which hold nothing
	why      string   // behind "is guarded: "
}

const (
	deviceWhy  = "it is a device or a door into the kernel or a process, not a file of text"
	secretWhy  = "it holds credentials of hermes, which tools neither see nor change"
	projectWhy = "it usually holds secrets; ask the user for the value that you need, or read its .example"
	keysWhy    = "it belongs to the user's keys and logins, which file tools don't change"
	systemWhy  = "it belongs to the system; sudo in the terminal asks the user for it"
)

// rows are all lists. A test goes through each pattern.
var rows = []row{
	{at: absolute, read: true, write: true, why: deviceWhy, patterns: []string{
		"/dev/zero", "/dev/random", "/dev/urandom", "/dev/full", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/console",
		"/dev/fd/[0-2]", "/proc/*/fd/[0-2]", "/proc/*/environ", "/proc/*/cmdline", "/proc/*/maps", "/proc/*/mem",
		"/proc/*/task/*/fd/[0-2]", "/proc/*/task/*/environ", "/proc/*/task/*/cmdline", "/proc/*/task/*/maps", "/proc/*/task/*/mem",
		"/proc/kmsg", // reading it waits for the kernel, and takes from its log what others were to read
	}},
	{at: anywhere, read: true, write: true, why: deviceWhy, patterns: []string{"trace_pipe"}},
	{at: hermes, read: true, write: true, why: secretWhy, patterns: []string{
		"auth.json", ".env", "mcp-tokens/", "pairing/", ".anthropic_oauth.json", "skills/.hub/", "cache/bws_cache.json",
		"jobs/*/job.json", "state/", "gateway/",
	}},
	{at: hermes, read: true, write: true, byName: true, why: secretWhy, patterns: []string{"run/"},
		except: []string{"run/*/*/t/"}}, // the temp directory that a script was given
	{at: hermes, write: true, why: "it is hermes's configuration; `hermes config set` changes it", patterns: []string{"config.yaml"}},
	{at: hermes, write: true, why: "it lists the MCP servers; `hermes mcp` changes it", patterns: []string{"mcp.json"}},
	{at: hermes, write: true, why: "it lists the hooks that may run; `hermes hooks` changes it", patterns: []string{"shell-hooks-allowlist.json"}},
	{at: hermes, write: true, why: "it holds the conversations; `hermes sessions` changes it", patterns: []string{"sessions.db"}},
	{at: hermes, write: true, why: "it holds what the user approved; `hermes approvals` changes it", patterns: []string{"approvals/"}},
	{at: hermes, write: true, why: "it records what was done; nothing changes it, `hermes audit` shows it", patterns: []string{"audit/"}},
	{at: anywhere, read: true, why: projectWhy, patterns: []string{".env", ".env[!a-zA-Z]*", ".envrc"},
		except: []string{".env*.example", ".env*.sample", ".env*.template"}},
	{at: home, write: true, why: keysWhy, patterns: []string{
		".ssh/", ".aws/", ".gnupg/", ".kube/", ".docker/", ".azure/", ".config/gh/", ".config/gcloud/",
		".netrc", ".pgpass", ".npmrc", ".pypirc", ".git-credentials",
	}},
	{at: absolute, write: true, why: systemWhy, patterns: []string{
		"/etc/", "/boot/", "/usr/lib/systemd/", "/private/etc/", "/private/var/",
	}, except: []string{"/private/var/folders/", "/private/var/tmp/"}},
	{at: anywhere, write: true, why: systemWhy, patterns: []string{"docker.sock"}},
}

// profileDirs are the parts of a profile that other profiles leave alone.
var profileDirs = []string{"skills", "plugins", "cron", "memories"}
