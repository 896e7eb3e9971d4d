//go:build linux

// The command apptainer is the stand-in of the package above as a program: small, and with no race detector in it, since tests start it
// hundreds of times.
package main

import "github.com/hermes-runtime/hermes/backend/singularity/apptainertest"

func main() { apptainertest.Act() }
