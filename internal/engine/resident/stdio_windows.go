package resident

import (
	"io"
	"os"
)

// Stdio is standard input and output as one stream.
func Stdio() io.ReadWriteCloser { return stdio{os.Stdin, os.Stdout} }
