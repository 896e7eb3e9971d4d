package secret

import (
	"path"
	"strings"
)

// ownFiles are what the runtime keeps in its home for itself: credentials, consents, records and settings. A directory stands for all
// that lies in it.
var ownFiles = []string{
	".env", "auth.json", "mcp-tokens", "pairing", ".anthropic_oauth.json", "skills/.hub", "cache/bws_cache.json", "jobs", "run", "state", "gateway",
	"config.yaml", "mcp.json", "shell-hooks-allowlist.json", "sessions.db", "sessions.db-wal", "sessions.db-shm", "approvals", "audit", "profiles", "sandboxes",
}

// IsOwnFile reports whether a path below HERMES_HOME, of slashes, is one of the runtime's own: no skill has it handed to commands.
func IsOwnFile(name string) bool {
	name = strings.ToLower(path.Clean(name)) // some disks take two spellings for one
	for _, own := range ownFiles {
		if name == own || strings.HasPrefix(name, own+"/") {
			return true
		}
	}
	return false
}
