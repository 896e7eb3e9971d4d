package channel

import (
	"os"
	"slices"
	"sync"
	"time"
)

// Descriptor describes a way to reach people. It is inert.
type Descriptor struct {
	Name        string
	Description string // one line
	// Local makes an Asker for the person who started this process, or nil where the files lead to nobody. Channels that reach
	// people elsewhere leave it out.
	Local func(o LocalOptions) Asker
}

// LocalOptions is what a local channel is given.
type LocalOptions struct {
	In      *os.File
	Out     *os.File
	NoColor bool
	Timeout time.Duration // for an answer; 0 = what the question says
	// Interrupt is called when the person interrupts a question, beside the refusal; nil = an interrupt signal to this process.
	Interrupt func()
}

var registered struct {
	sync.Mutex
	list []Descriptor
}

// Register adds a channel to the process's table. It is called from init and starts nothing.
func Register(d Descriptor) {
	registered.Lock()
	defer registered.Unlock()
	registered.list = append(registered.list, d)
}

// Registered returns the channels that are linked in, in order of registration.
func Registered() []Descriptor {
	registered.Lock()
	defer registered.Unlock()
	return slices.Clone(registered.list)
}
