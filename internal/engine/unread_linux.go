package engine

import "golang.org/x/sys/unix"

// unreadRequest asks how much there is to read.
const unreadRequest = unix.TIOCINQ
