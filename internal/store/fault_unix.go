//go:build unix

package store

import "syscall"

// errQuota is how a user's share of a disk is used up.
const errQuota = syscall.EDQUOT
