//go:build !unix

package store

import "syscall"

// errQuota is how a disk of Windows is full (ERROR_DISK_FULL).
const errQuota = syscall.Errno(112)
