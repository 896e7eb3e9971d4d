package search

import "golang.org/x/sys/unix"

// noLinks refuses links anywhere in a path.
const noLinks = unix.O_NOFOLLOW_ANY | unix.O_NONBLOCK
