//go:build unix

package files

func isAbs(path string) bool { return path != "" && path[0] == '/' }

// splitRoot splits an absolute path into its root and what follows.
func splitRoot(path string) (root, rest string) { return "/", path[1:] }

// lockKey is the name under which writers of path meet.
func lockKey(path string) string { return foldKey(path) }
