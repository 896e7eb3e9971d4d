package files

import (
	"path/filepath"
	"strings"
)

func isAbs(path string) bool { return filepath.IsAbs(path) }

// splitRoot splits an absolute path into its volume with a separator, and what follows.
func splitRoot(path string) (root, rest string) {
	volume := filepath.VolumeName(path)
	return volume + `\`, strings.TrimLeft(path[len(volume):], `\/`)
}

// lockKey is the name under which writers of path meet. Names differ by more than case, or not at all.
func lockKey(path string) string { return strings.ToLower(path) }
