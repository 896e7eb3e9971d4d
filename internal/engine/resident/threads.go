package resident

import (
	"runtime"
	"sync"
)

// Reserve makes the runtime hold n threads in stock. Where processes and threads are bounded, as in a container, a command that forks
// until nothing is left would otherwise end this process as well: the runtime gives up when it needs a thread and gets none.
func Reserve(n int) {
	var there, gone sync.WaitGroup
	there.Add(n)
	all := make(chan struct{})
	for range n {
		gone.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread() // the thread stays, and is used before a new one is made
			there.Done()
			<-all
		})
	}
	there.Wait()
	close(all)
	gone.Wait()
}
