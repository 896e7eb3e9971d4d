//go:build linux || darwin

package resident

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"

	"github.com/hermes-runtime/hermes/internal/engine/resident/wire"
	"github.com/hermes-runtime/hermes/internal/engine/staging"
)

const (
	// jobsDir holds the jobs below a home, runDir what belongs to processes that run.
	jobsDir = "jobs"
	runDir  = "run"
	// longestSocket is what the path of a socket may have on every system, in bytes: macOS takes 104 with the end mark.
	longestSocket = 100
)

// major is the version of the protocol that this program speaks. A keeper of another one has another socket, and goes on until its jobs
// have ended; its records, logs and receipts are read where they lie.
var major = wire.Version

func encode(v any) ([]byte, error) { return json.Marshal(v) }

// socketPath is where the keeper of a home listens. Its directory is there afterwards, and ours alone. A path that is too long for a
// socket is replaced by one in a short private directory.
func socketPath(home string) (string, error) {
	name := "keeper-" + strconv.Itoa(major) + ".sock"
	dir := filepath.Join(home, runDir)
	if len(filepath.Join(dir, name)) > longestSocket {
		h := fnv.New64a()
		_, _ = h.Write([]byte(home)) // never fails
		dir = filepath.Join("/tmp", "hermes-"+strconv.Itoa(os.Getuid())+"-"+strconv.FormatUint(h.Sum64(), 36))
	}
	if err := staging.Private(dir); err != nil {
		return "", fmt.Errorf("make a directory for the keeper's socket: %w", err)
	}
	return filepath.Join(dir, name), nil
}
