//go:build !unix

package terminal

import (
	"errors"
	"os"
)

// Commands don't run on these systems, so there is nothing to ask about.
const supported = false

func openKeys(*os.File) (keys, error) { return nil, errors.ErrUnsupported }
