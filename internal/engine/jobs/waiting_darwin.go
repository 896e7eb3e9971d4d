package jobs

import "os"

// waiting is not known on this system.
func waiting(*os.File) *bool { return nil }
