package engine

import "os"

// awaitIdle is await: there is no descriptor for a process to wait at.
func awaitIdle(p *os.Process) exit { return await(p) }
