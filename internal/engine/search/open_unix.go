//go:build unix

package search

import "syscall"

// openFlags keep an open from following a link or waiting for a peer.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
