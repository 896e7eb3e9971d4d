package envs

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
)

// Owner stands for a HERMES_HOME of this machine in places that several of them use: containers and jobs there are one's own.
func Owner(home string) string {
	id, err := os.ReadFile("/etc/machine-id")
	if err != nil {
		host, _ := os.Hostname()
		id = []byte(host)
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(string(id)) + "\x00" + filepath.Clean(home)))
	return hex.EncodeToString(sum[:8])
}
