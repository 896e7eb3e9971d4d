package engine

// unreadRequest asks how much there is to read: FIONREAD, which has no name in x/sys for this system.
const unreadRequest = 0x4004667f
