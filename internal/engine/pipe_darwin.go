package engine

import "os"

// widen does nothing: pipes grow by themselves here.
func widen(*os.File) {}
