package environment

import (
	"context"
	"io"
)

// Forwarder is the ability to have connections that are made there end here.
type Forwarder interface {
	// Forward makes a private directory there with these files in it, by name, and listens on a Unix socket beside them. ctx bounds
	// the making only.
	Forward(ctx context.Context, files map[string][]byte) (Forwarding, error)
}

// Forwarding is a socket there whose connections end here. It is safe for concurrent use.
type Forwarding interface {
	Dir() Path    // entered by the user alone (0700), as the files in it are read (0600)
	Temp() Path   // for temporary files; its path leaves room for those of sockets
	Socket() Path // shorter than 100 bytes
	// Accept waits for the next connection; those of other users are closed unseen. Closing a connection ends what is read from it and
	// written to it. Failures that pass are waited out. An error is the last, and matches net.ErrClosed: after Close, and when contact
	// is lost.
	Accept() (io.ReadWriteCloser, error)
	// Close listens no more and removes the directories, whatever is in them by then. Again it tells the same.
	Close() error
}
