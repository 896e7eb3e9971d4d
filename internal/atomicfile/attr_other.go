//go:build !linux

package atomicfile

import "os"

// keepAttributes copies extended attributes where there is a portable way to; here there is none.
func keepAttributes(*os.File, string) {}
