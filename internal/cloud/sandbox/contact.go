package sandbox

import (
	"context"
	"sync"

	"github.com/hermes-runtime/hermes/environment"
)

// Contact is what a machine whose scripts are requests of an API knows of its sandbox: whether anything can be expected of it any more.
type Contact struct {
	name string
	over chan struct{}
	once sync.Once
}

// NewContact makes one with the sandbox of that name.
func NewContact(name string) *Contact { return &Contact{name: name, over: make(chan struct{})} }

// Done is closed when no script can be started in the sandbox any more.
func (c *Contact) Done() <-chan struct{} { return c.over }

// Over tells whether Done is closed.
func (c *Contact) Over() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}

func (c *Contact) end() { c.once.Do(func() { close(c.over) }) }

// Unbegun is the error for a script that was not started. Unless it was called off, nothing else can be expected after that.
func (c *Contact) Unbegun(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		c.end()
	}
	return &environment.Error{Kind: environment.ErrNotStarted, Op: "run a shell in sandbox " + c.name, Err: err}
}

// Lost is the error for a script of which nobody knows what became of it.
func (c *Contact) Lost(err error) error {
	c.end()
	return &environment.Error{Kind: environment.ErrLost, Op: "follow a shell in sandbox " + c.name, Err: err}
}
