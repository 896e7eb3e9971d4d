package runtime

import "os"

// number is what a file is told from others by; here its time of making has to do.
func number(info os.FileInfo) (device, inode uint64) { return 0, uint64(info.ModTime().UnixNano()) }
