package rpc

import "os"

// chmodSocket leaves the socket to its owner alone.
func chmodSocket(path string) error { return os.Chmod(path, 0o600) }
